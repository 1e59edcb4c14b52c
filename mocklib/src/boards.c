/* Handlers that no row of the tables can say: sensors, firmware parts, and switches whose meaning hangs on another argument. */
#include "nvp.h"

/* One sensor, the GPU's own (ledger G01); sensor 15 means all of them (nvml.h, NVML_THERMAL_TARGET_ALL). */
nvmlReturn_t nvp_h_thermal_settings(const struct nvp_device *device, unsigned int sensor, nvmlGpuThermalSettings_t *settings)
{
    uint64_t value;
    if (sensor >= NVML_MAX_THERMAL_SENSORS_PER_GPU && sensor != NVML_THERMAL_TARGET_ALL)
        return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t code = nvp_number(device, NVP_F_thermal_temperature_gpu_c, &value);
    if (code != NVML_SUCCESS)
        return code;
    if (sensor != 0 && sensor != NVML_THERMAL_TARGET_ALL)
        return NVML_ERROR_NOT_SUPPORTED;
    memset(settings, 0, sizeof *settings);
    settings->count = 1;
    settings->sensor[0].controller = NVML_THERMAL_CONTROLLER_GPU_INTERNAL;
    settings->sensor[0].target = NVML_THERMAL_TARGET_GPU;
    settings->sensor[0].currentTemp = (int)value;
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_bridge_chip(const struct nvp_device *device, nvmlBridgeChipHierarchy_t *hierarchy)
{
    static const uint16_t ids[] = {NVP_F_bridge_chip_type, NVP_F_bridge_chip_firmware};
    uint64_t values[2];
    const nvmlReturn_t code = nvp_resolve(device, ids, 2, values);
    if (code != NVML_SUCCESS)
        return code;
    memset(hierarchy, 0, sizeof *hierarchy);
    hierarchy->bridgeCount = 1;
    hierarchy->bridgeChipInfo[0].type = (nvmlBridgeChipType_t)values[0];
    hierarchy->bridgeChipInfo[0].fwVersion = (unsigned int)values[1];
    return NVML_SUCCESS;
}

/* Board firmware version: 64 bytes without a length argument (nvml.h, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE). */
nvmlReturn_t nvp_h_gsp_version(const struct nvp_device *device, char *version)
{
    return nvp_string(device, NVP_F_gsp_firmware_version, version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE);
}

/* How long a policy held clocks back, in nanoseconds, against now in microseconds (ledger J10).  Policies without a counter in a profile never did
 * where the board counts at all, but for the application clocks' total, which is not served (ledger J12). */
nvmlReturn_t nvp_h_violation_status(const struct nvp_device *device, nvmlPerfPolicyType_t policy, nvmlViolationTime_t *violation)
{
    static const uint16_t ids[] = {
        [NVML_PERF_POLICY_POWER] = NVP_F_clocks_throttle_reasons_counters_sw_power_cap_us,
        [NVML_PERF_POLICY_THERMAL] = NVP_F_clocks_throttle_reasons_counters_sw_thermal_slowdown_us,
        [NVML_PERF_POLICY_SYNC_BOOST] = NVP_F_clocks_throttle_reasons_counters_sync_boost_us,
    };
    uint64_t value;
    const bool counted = (unsigned int)policy < sizeof ids / sizeof ids[0];
    if (policy == NVML_PERF_POLICY_TOTAL_APP_CLOCKS)
        return NVML_ERROR_NOT_SUPPORTED;
    const nvmlReturn_t code = nvp_number(device, ids[counted ? (unsigned int)policy : NVML_PERF_POLICY_POWER], &value);
    if (code != NVML_SUCCESS)
        return code;
    violation->referenceTime = nvp_now_ns() / 1000;
    violation->violationTime = counted ? value : 0;
    return NVML_SUCCESS;
}
