/* Functions that libraries export although the 13.5 header does not declare them.
 * nvmlDeviceCcu*: nvml.h of CUDA 12.0.  nvmlGetBlacklist*: older names of the Excluded calls, whose structs they share.
 * nvmlInternalGetExportTable: measured with the real nvidia-smi.  nvmlRetry_NvRmControl: exported by 470 and 525, called by nothing known. */
#ifndef NVP_OLDER_H
#define NVP_OLDER_H

nvmlReturn_t nvmlDeviceCcuGetStreamState(nvmlDevice_t device, unsigned int *state);
nvmlReturn_t nvmlDeviceCcuSetStreamState(nvmlDevice_t device, unsigned int state);
nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int *deviceCount);
nvmlReturn_t nvmlGetBlacklistDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info);
nvmlReturn_t nvmlInternalGetExportTable(void **table, const void *id);
nvmlReturn_t nvmlRetry_NvRmControl(void);

#endif
