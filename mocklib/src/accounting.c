/* The accounting buffer: terminated processes, oldest first, then those that run.  While accounting is off nothing of it is told. */
#include "nvp.h"

/* The buffer of one half, bounded; the code where there is none.  Empty while accounting is off: captures of such boards, one in MIG mode among them, list
 * no process, and their list is no state.  On a board in MIG mode that accounts there is none (ledger R06). */
static nvmlReturn_t buffer(const struct nvp_device *device, const unsigned char *half, const struct nvp_accounted **list, uint64_t *number)
{
    uint64_t mode = 0, mig = 0;
    const void *items = NULL;
    const nvmlReturn_t code = nvp_list_in(device, half, NVP_F_accounting_processes, sizeof **list, &items, number);
    *list = items;
    if (code != NVML_SUCCESS)
        return code;
    if (nvp_field_in(device, half, NVP_F_accounting_mode, &mode) == NVML_SUCCESS && mode == 0)
        *number = 0;
    else if (nvp_field_in(device, half, NVP_F_mig_mode_current, &mig) == NVML_SUCCESS && mig != 0)
        return NVML_ERROR_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_accounting_pids(const struct nvp_device *device, unsigned int *count, unsigned int *pids)
{
    const unsigned int capacity = *count;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const struct nvp_accounted *list;
        uint64_t number = 0;
        *count = capacity;
        code = buffer(device, nvp_half, &list, &number);
        if (code == NVML_SUCCESS)
            code = nvp_room(count, pids, number);
        for (uint64_t i = 0; code == NVML_SUCCESS && i < number; i++)
            pids[i] = list[i].pid;
    NVP_READ_END(device)
    return code;
}

/* The figures of one process; one that is not in the buffer is NOT_FOUND, and while accounting is off the call is unsupported (ledger R06). */
static nvmlReturn_t figures_in(const struct nvp_device *device, const unsigned char *half, unsigned int pid, struct nvp_accounted *found)
{
    const struct nvp_accounted *list;
    uint64_t number = 0, mode = 0;
    nvmlReturn_t code = nvp_field_in(device, half, NVP_F_accounting_mode, &mode);
    if (code == NVML_SUCCESS)
        code = mode ? buffer(device, half, &list, &number) : NVML_ERROR_NOT_SUPPORTED;
    if (code != NVML_SUCCESS)
        return code;
    for (uint64_t i = number; i > 0; i--) { /* of two records of a pid the later stands (R05) */
        *found = list[i - 1];
        if (found->pid == pid)
            return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t figures(const struct nvp_device *device, unsigned int pid, struct nvp_accounted *found)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        code = figures_in(device, nvp_half, pid, found);
    NVP_READ_END(device)
    return code;
}

/* startTime is the instant the image's clock begins at: a process counts as started when the driver loaded (R04). */
nvmlReturn_t nvp_h_accounting_stats(const struct nvp_device *device, unsigned int pid, nvmlAccountingStats_t *stats)
{
    struct nvp_accounted found = {0};
    const nvmlReturn_t code = figures(device, pid, &found);
    if (code != NVML_SUCCESS)
        return code;
    memset(stats, 0, sizeof *stats);
    stats->gpuUtilization = found.gpu_utilization;
    stats->memoryUtilization = found.memory_utilization;
    stats->maxMemoryUsage = found.max_memory;
    stats->time = found.time_ms;
    stats->startTime = nvp_epoch_ns() / 1000;
    stats->isRunning = found.running;
    return NVML_SUCCESS;
}

/* As above, with the samples that the shares were made of: nothing tells how many there were, so there are none, and no sums of them. */
nvmlReturn_t nvp_h_accounting_stats_v2(const struct nvp_device *device, nvmlAccountingStats_v2_t *stats)
{
    struct nvp_accounted found = {0};
    const nvmlReturn_t code = figures(device, stats->pid, &found);
    if (code != NVML_SUCCESS)
        return code;
    const unsigned int pid = stats->pid;
    memset(stats, 0, sizeof *stats);
    stats->pid = pid;
    stats->gpuUtilization = found.gpu_utilization;
    stats->memoryUtilization = found.memory_utilization;
    stats->maxMemoryUsage = found.max_memory;
    stats->time = found.time_ms;
    stats->startTime = nvp_epoch_ns() / 1000;
    stats->isRunning = found.running;
    return NVML_SUCCESS;
}
