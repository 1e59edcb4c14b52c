/* What each running process uses of the engines: one sample a process, taken now (ledger R19). */
#include "nvp.h"

/* One process of the field: five numbers. */
struct use {
    uint32_t pid;
    uint32_t sm;
    uint32_t memory;
    uint32_t encoder;
    uint32_t decoder;
};

/* One engine of a sample of the private table: which process had how much of it.  No word between the two, and none after them, was seen to move
 * anything that nvidia-smi prints. */
struct engine {
    uint32_t share;
    uint32_t reserved;
    uint32_t pid;
    uint32_t reserved2[17];
};

/* A sample as nvidia-smi 390 to 535 reads it. */
struct sample_four {
    uint64_t time_us;
    struct engine engines[4];
};

/* A sample as nvidia-smi 550 and newer reads it: two more engines, JPEG and optical flow. */
struct sample {
    uint64_t time_us;
    struct engine engines[6];
};

typedef void writer(void *samples, uint64_t at, const struct use *use, unsigned long long now_us);

static void write_sample(void *samples, uint64_t at, const struct use *use, unsigned long long now_us)
{
    nvmlProcessUtilizationSample_t *sample = (nvmlProcessUtilizationSample_t *)samples + at;
    sample->pid = use->pid;
    sample->timeStamp = now_us;
    sample->smUtil = use->sm;
    sample->memUtil = use->memory;
    sample->encUtil = use->encoder;
    sample->decUtil = use->decoder;
}

/* No key says what a process uses of the JPEG and optical flow engines: 0, as for any engine that is not named. */
static void write_info(void *samples, uint64_t at, const struct use *use, unsigned long long now_us)
{
    nvmlProcessUtilizationInfo_v1_t *info = (nvmlProcessUtilizationInfo_v1_t *)samples + at;
    info->timeStamp = now_us;
    info->pid = use->pid;
    info->smUtil = use->sm;
    info->memUtil = use->memory;
    info->encUtil = use->encoder;
    info->decUtil = use->decoder;
    info->jpgUtil = 0;
    info->ofaUtil = 0;
}

/* The uses of one half: bounded, or a code. */
static nvmlReturn_t uses_in(const struct nvp_device *device, const unsigned char *half, const unsigned char **uses, uint64_t *number)
{
    const void *items = NULL;
    const nvmlReturn_t code = nvp_list_in(device, half, NVP_F_processes_utilization, sizeof(struct use), &items, number);
    *uses = items;
    return code;
}

/* Samples newer than the last one seen; too small a capacity is INSUFFICIENT_SIZE and the count, none that is newer NOT_FOUND. */
static nvmlReturn_t fill(const struct nvp_device *device, unsigned int *count, void *samples, unsigned long long seen_us, writer *write)
{
    const unsigned long long now_us = nvp_now_ns() / 1000;
    const unsigned int capacity = *count;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const unsigned char *uses;
        uint64_t number = 0;
        *count = capacity;
        code = uses_in(device, nvp_half, &uses, &number);
        if (code == NVML_SUCCESS && seen_us >= now_us)
            code = NVML_ERROR_NOT_FOUND;
        if (code == NVML_SUCCESS && number && (samples == NULL || capacity < number))
            code = NVML_ERROR_INSUFFICIENT_SIZE;
        for (uint64_t i = 0; code == NVML_SUCCESS && i < number; i++) {
            struct use use;
            memcpy(&use, uses + i * sizeof use, sizeof use); /* once: a state may change under the reader */
            write(samples, i, &use, now_us);
        }
        if (code == NVML_SUCCESS || code == NVML_ERROR_INSUFFICIENT_SIZE)
            *count = (unsigned int)number;
    NVP_READ_END(device)
    return code;
}

nvmlReturn_t nvp_h_process_utilization(const struct nvp_device *device, nvmlProcessUtilizationSample_t *utilization, unsigned int *count,
                                       unsigned long long seen_us)
{
    return fill(device, count, utilization, seen_us, write_sample);
}

nvmlReturn_t nvp_h_processes_utilization(const struct nvp_device *device, nvmlProcessesUtilizationInfo_t *info)
{
    return fill(device, &info->processSamplesCount, info->procUtilArray, info->lastSeenTimeStamp, write_info);
}

/* The engines of sample number at: of each, the process whose use it is.  nvidia-smi adds up a process's shares and divides by the number of samples,
 * so that each of them holds number times what is to be shown. */
static void write_engines(struct engine *engines, const struct use *use, uint64_t number)
{
    const uint32_t shares[] = {use->sm, use->memory, use->encoder, use->decoder};
    for (unsigned int i = 0; i < 4; i++) {
        engines[i].share = shares[i] * (uint32_t)number;
        engines[i].pid = use->pid;
    }
}

/* What pmon asks: a sample a process, as many as fit.  Uses that are not known are no samples, and never a code: with any but SUCCESS and NOT_FOUND,
 * nvidia-smi 390 and 418 read on in a list that nobody filled, and crash. */
nvmlReturn_t nvp_slot_samples(const struct nvp_device *device, unsigned int id, unsigned int *count, void *items, bool four)
{
    const uint64_t now_us = nvp_now_ns() / 1000;
    if (count == NULL || items == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned int capacity = *count;
    NVP_READ_BEGIN(device)
        const void *uses = NULL;
        uint64_t number = 0;
        if (nvp_list_in(device, nvp_half, id, sizeof(struct use), &uses, &number) != NVML_SUCCESS)
            number = 0;
        if (number > capacity)
            number = capacity;
        for (uint64_t i = 0; i < number; i++) {
            struct use use;
            memcpy(&use, (const unsigned char *)uses + i * sizeof use, sizeof use); /* once: a state may change under the reader */
            struct sample sample = {.time_us = now_us};
            write_engines(sample.engines, &use, number);
            const size_t size = four ? sizeof(struct sample_four) : sizeof sample;
            memcpy((unsigned char *)items + i * size, &sample, size);
        }
        *count = (unsigned int)number;
    NVP_READ_END(device)
    return NVML_SUCCESS;
}
