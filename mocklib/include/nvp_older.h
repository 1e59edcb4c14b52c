/* Functions that libraries export although the 13.5 header does not declare them.
 * nvmlDeviceCcu*: nvml.h of CUDA 12.0.  *PowerMode*: nvml.h of CUDA 11.8 alone.  nvmlGetBlacklist*: older names of the Excluded calls, whose structs they share.
 * nvmlInternalGetExportTable: measured with the real nvidia-smi.  nvmlRetry_NvRmControl: exported by 460 to 525, called by nothing known. */
#ifndef NVP_OLDER_H
#define NVP_OLDER_H

nvmlReturn_t nvmlDeviceCcuGetStreamState(nvmlDevice_t device, unsigned int *state);
nvmlReturn_t nvmlDeviceCcuSetStreamState(nvmlDevice_t device, unsigned int state);
nvmlReturn_t nvmlDeviceGetPowerMode(nvmlDevice_t device, unsigned int *powerModeId);
nvmlReturn_t nvmlDeviceGetSupportedPowerModes(nvmlDevice_t device, unsigned int *supportedPowerModes);
nvmlReturn_t nvmlDeviceSetPowerMode(nvmlDevice_t device, unsigned int powerModeId);
nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int *deviceCount);
nvmlReturn_t nvmlGetBlacklistDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info);
nvmlReturn_t nvmlInternalGetExportTable(void **table, const void *id);
nvmlReturn_t nvmlRetry_NvRmControl(void);

#endif
