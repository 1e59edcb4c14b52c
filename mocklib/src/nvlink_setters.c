/* What can be set of a GPU's NVLinks; the programs are data (tables/programs/nvlink.yaml). */
#include "nvp.h"
#include "nvp_links.h"

nvmlReturn_t nvp_h_set_link_bw_mode(const struct nvp_device *device, nvmlNvlinkSetBwMode_t *wanted)
{
    return nvp_run_number(device, wanted->bSetBest ? NVP_P_nvlink_bw_best : NVP_P_nvlink_bw_mode, wanted->bwMode);
}

nvmlReturn_t nvp_h_set_link_low_power(const struct nvp_device *device, nvmlNvLinkPowerThres_t *wanted)
{
    const bool back = wanted->lowPwrThreshold == NVML_NVLINK_LOW_POWER_THRESHOLD_RESET;
    return nvp_run_number(device, back ? NVP_P_nvlink_low_power_default : NVP_P_nvlink_low_power, wanted->lowPwrThreshold);
}

/* The errors of a link count from now on; one that is down counts none. */
nvmlReturn_t nvp_h_clear_link_errors(const struct nvp_device *device, unsigned int number)
{
    const uint64_t now = nvp_now_ns();
    const struct nvp_argument arguments[] = {
        {.value = (uint64_t)number * 2}, {.value = (uint64_t)number * 2 + 1}, {.value = now & UINT32_MAX}, {.value = now >> 32}};
    struct nvp_link link;
    const nvmlReturn_t code = nvp_link(device, number, &link);
    if (code != NVML_SUCCESS)
        return code;
    if (link.state == NVML_NVLINK_STATE_INACTIVE)
        return NVML_ERROR_NOT_SUPPORTED;
    return nvp_run_program(device, NVP_P_nvlink_errors_cleared, arguments, 4);
}
