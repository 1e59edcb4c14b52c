/* The last readings of power, engines and clocks: twenty, one at each full second (ledger U15).  Of a field that moves each is what it was then, so that
 * every process sees the same history; of one that stands all are what is read now. */
#include "nvp.h"

#define SAMPLES 20ULL
#define SECOND_US 1000000ULL
#define SECOND_NS 1000000000ULL

/* The field of a kind of samples.  Module power has none (U15). */
static nvmlReturn_t sampled(nvmlSamplingType_t type, unsigned int *id)
{
    static const uint16_t ids[] = {
        [NVML_TOTAL_POWER_SAMPLES] = NVP_F_power_current_draw_mw,
        [NVML_GPU_UTILIZATION_SAMPLES] = NVP_F_utilization_gpu,
        [NVML_MEMORY_UTILIZATION_SAMPLES] = NVP_F_utilization_memory,
        [NVML_ENC_UTILIZATION_SAMPLES] = NVP_F_utilization_encoder,
        [NVML_DEC_UTILIZATION_SAMPLES] = NVP_F_utilization_decoder,
        [NVML_PROCESSOR_CLK_SAMPLES] = NVP_F_clocks_graphics_current,
        [NVML_MEMORY_CLK_SAMPLES] = NVP_F_clocks_memory_current,
        [NVML_JPG_UTILIZATION_SAMPLES] = NVP_F_utilization_jpeg,
        [NVML_OFA_UTILIZATION_SAMPLES] = NVP_F_utilization_ofa,
    };
    if (type == NVML_MODULE_POWER_SAMPLES)
        return NVML_ERROR_NOT_SUPPORTED;
    *id = ids[type];
    return NVML_SUCCESS;
}

/* Whether the board has no samples of a kind because MIG is on: those of the four engines (nvml.h; ledger U15). */
static bool without(const struct nvp_device *device, nvmlSamplingType_t type)
{
    uint64_t mig;
    return type >= NVML_GPU_UTILIZATION_SAMPLES && type <= NVML_DEC_UTILIZATION_SAMPLES &&
           nvp_number(device, NVP_F_mig_mode_current, &mig) == NVML_SUCCESS && mig != 0;
}

/* Without a list the number of samples newer than the last one seen; with one, as many of them as it has room for, the oldest first. */
nvmlReturn_t nvp_h_samples(const struct nvp_device *device, nvmlSamplingType_t type, unsigned long long seen_us, nvmlValueType_t *kind,
                           unsigned int *count, nvmlSample_t *samples)
{
    const uint64_t newest = nvp_now_ns() / 1000 / SECOND_US;
    const uint64_t seen = seen_us / SECOND_US;
    uint64_t value;
    unsigned int id;
    nvmlReturn_t code = sampled(type, &id);
    if (code == NVML_SUCCESS && without(device, type))
        code = NVML_ERROR_NOT_SUPPORTED;
    if (code == NVML_SUCCESS)
        code = nvp_number(device, id, &value);
    if (code != NVML_SUCCESS)
        return code;
    if (samples != NULL && *count == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (newest <= seen)
        return NVML_ERROR_NOT_FOUND;
    const uint64_t number = newest - seen < SAMPLES ? newest - seen : SAMPLES;
    const uint64_t given = samples != NULL && *count < number ? *count : number;
    *kind = NVML_VALUE_TYPE_UNSIGNED_INT;
    *count = (unsigned int)given;
    for (uint64_t i = 0; samples != NULL && i < given && code == NVML_SUCCESS; i++) {
        const uint64_t second = newest - number + 1 + i;
        code = nvp_number_at(device, id, second * SECOND_NS, &value);
        memset(&samples[i], 0, sizeof samples[i]);
        samples[i].timeStamp = second * SECOND_US;
        samples[i].sampleValue.uiVal = (unsigned int)value;
    }
    return code;
}
