/* Process lists: three generations of struct, the detail list, the private table's entries, and names by pid. */
#include "nvp.h"

/* One entry of the private table, as nvidia-smi 535 and newer reads it. */
struct slot_process {
    uint32_t pid;
    uint32_t pad;
    uint64_t used_bytes;
    uint32_t gpu_instance;
    uint32_t compute_instance;
    uint64_t protected_bytes;
    char name[4096];
};

/* The same as nvidia-smi 525 reads it: no protected memory yet (4120 bytes; measured by a buffer in which each word is its own offset). */
struct slot_process_unprotected {
    uint32_t pid;
    uint32_t pad;
    uint64_t used_bytes;
    uint32_t gpu_instance;
    uint32_t compute_instance;
    char name[4096];
};

typedef void writer(void *items, uint64_t at, const struct nvp_process *process, const struct nvp_device *device, const unsigned char *half);

static void write_v1(void *items, uint64_t at, const struct nvp_process *process, const struct nvp_device *device, const unsigned char *half)
{
    nvmlProcessInfo_v1_t *info = (nvmlProcessInfo_v1_t *)items + at;
    (void)device;
    (void)half;
    info->pid = process->pid;
    info->usedGpuMemory = process->used_bytes;
}

static void write_v2(void *items, uint64_t at, const struct nvp_process *process, const struct nvp_device *device, const unsigned char *half)
{
    nvmlProcessInfo_v2_t *info = (nvmlProcessInfo_v2_t *)items + at;
    (void)device;
    (void)half;
    info->pid = process->pid;
    info->usedGpuMemory = process->used_bytes;
    info->gpuInstanceId = process->gpu_instance;
    info->computeInstanceId = process->compute_instance;
}

static void write_detail(void *items, uint64_t at, const struct nvp_process *process, const struct nvp_device *device, const unsigned char *half)
{
    nvmlProcessDetail_v1_t *info = (nvmlProcessDetail_v1_t *)items + at;
    (void)device;
    (void)half;
    info->pid = process->pid;
    info->usedGpuMemory = process->used_bytes;
    info->gpuInstanceId = process->gpu_instance;
    info->computeInstanceId = process->compute_instance;
    info->usedGpuCcProtectedMemory = process->protected_bytes;
}

static void copy_name(const struct nvp_process *process, const struct nvp_device *device, const unsigned char *half, char *name, size_t size)
{
    const char *text = nvp_data(device, half, process->name, process->name_size);
    size_t length = text ? process->name_size : 0;
    if (length >= size)
        length = size - 1;
    if (length)
        memcpy(name, text, length);
    name[length] = '\0';
}

static void write_slot(void *items, uint64_t at, const struct nvp_process *process, const struct nvp_device *device, const unsigned char *half)
{
    struct slot_process *info = (struct slot_process *)items + at;
    info->pid = process->pid;
    info->used_bytes = process->used_bytes;
    info->gpu_instance = process->gpu_instance;
    info->compute_instance = process->compute_instance;
    info->protected_bytes = process->protected_bytes;
    copy_name(process, device, half, info->name, sizeof info->name);
}

static void write_slot_unprotected(void *items, uint64_t at, const struct nvp_process *process, const struct nvp_device *device,
                                   const unsigned char *half)
{
    struct slot_process_unprotected *info = (struct slot_process_unprotected *)items + at;
    info->pid = process->pid;
    info->used_bytes = process->used_bytes;
    info->gpu_instance = process->gpu_instance;
    info->compute_instance = process->compute_instance;
    copy_name(process, device, half, info->name, sizeof info->name);
}

/* The structs that an image may give a list's entries, by NVP_ENTRY. */
static const struct {
    writer *write;
    uint64_t size;
} entries[] = {{write_v1, sizeof(nvmlProcessInfo_v1_t)}, {write_v2, sizeof(nvmlProcessInfo_v2_t)}, {write_detail, sizeof(nvmlProcessDetail_v1_t)}};

/* What the image says of the entries of a function's list; NULL where they are those of nvml.h. */
static const struct nvp_entry *entry_of(const struct nvp_image *image, unsigned int function)
{
    const struct nvp_entry *rows = (const void *)((const unsigned char *)image + image->entries.offset);
    for (unsigned int i = 0; i < image->entries.count; i++)
        if (rows[i].function == function)
            return &rows[i];
    return NULL;
}

/* Bytes of an entry of a function's list, usual where the image does not say. */
uint64_t nvp_entry_size(const struct nvp_image *image, unsigned int function, uint64_t usual)
{
    const struct nvp_entry *entry = entry_of(image, function);
    return entry ? entries[entry->shape].size : usual;
}

/* The processes of one half: bounded, or a code. */
static nvmlReturn_t list_in(const struct nvp_device *device, const unsigned char *half, unsigned int id, const struct nvp_process **list,
                            uint64_t *number)
{
    const void *items = NULL;
    const nvmlReturn_t code = nvp_list_in(device, half, id, sizeof **list, &items, number);
    *list = items;
    return code;
}

/* cut: fill what fits and say how many that is; else too small a capacity is INSUFFICIENT_SIZE and the count. */
static nvmlReturn_t fill(const struct nvp_device *device, unsigned int id, unsigned int *count, void *items, writer *write, bool cut)
{
    const unsigned int capacity = *count;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const struct nvp_process *list;
        uint64_t number = 0;
        code = list_in(device, nvp_half, id, &list, &number);
        if (code == NVML_SUCCESS && cut && number > capacity)
            number = capacity;
        if (code == NVML_SUCCESS && number && (items == NULL || capacity < number))
            code = NVML_ERROR_INSUFFICIENT_SIZE;
        for (uint64_t i = 0; code == NVML_SUCCESS && i < number; i++) {
            const struct nvp_process process = list[i]; /* once: a state may change under the reader */
            write(items, i, &process, device, nvp_half);
        }
        *count = code == NVML_SUCCESS || code == NVML_ERROR_INSUFFICIENT_SIZE ? (unsigned int)number : capacity;
    NVP_READ_END(device)
    return code;
}

nvmlReturn_t nvp_slot_processes(const struct nvp_device *device, unsigned int id, unsigned int *count, void *items)
{
    return fill(device, id, count, items, write_slot, true);
}

nvmlReturn_t nvp_slot_processes_unprotected(const struct nvp_device *device, unsigned int id, unsigned int *count, void *items)
{
    return fill(device, id, count, items, write_slot_unprotected, true);
}

/* A list as the driver has it. */
static nvmlReturn_t listed(const struct nvp_device *device, unsigned int function, unsigned int id, unsigned int *count, void *infos, writer *usual)
{
    const struct nvp_entry *entry = entry_of(nvp_image, function);
    return fill(device, id, count, infos, entry ? entries[entry->shape].write : usual, false);
}

nvmlReturn_t nvp_h_compute_v1(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v1_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetComputeRunningProcesses, NVP_F_processes_compute, count, infos, write_v1);
}

nvmlReturn_t nvp_h_compute_v2(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetComputeRunningProcesses_v2, NVP_F_processes_compute, count, infos, write_v2);
}

nvmlReturn_t nvp_h_compute_v3(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetComputeRunningProcesses_v3, NVP_F_processes_compute, count, infos, write_v2);
}

nvmlReturn_t nvp_h_graphics_v1(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v1_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetGraphicsRunningProcesses, NVP_F_processes_graphics, count, infos, write_v1);
}

nvmlReturn_t nvp_h_graphics_v2(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetGraphicsRunningProcesses_v2, NVP_F_processes_graphics, count, infos, write_v2);
}

nvmlReturn_t nvp_h_graphics_v3(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetGraphicsRunningProcesses_v3, NVP_F_processes_graphics, count, infos, write_v2);
}

nvmlReturn_t nvp_h_mps_v1(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v1_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetMPSComputeRunningProcesses, NVP_F_processes_mps, count, infos, write_v1);
}

nvmlReturn_t nvp_h_mps_v2(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetMPSComputeRunningProcesses_v2, NVP_F_processes_mps, count, infos, write_v2);
}

nvmlReturn_t nvp_h_mps_v3(const struct nvp_device *device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
    return listed(device, NVP_FN_nvmlDeviceGetMPSComputeRunningProcesses_v3, NVP_F_processes_mps, count, infos, write_v2);
}

/* NVML_PROCESS_MODE_COMPUTE 0, GRAPHICS 1, MPS 2 (nvml.h, nvmlProcessMode_t); ALL joins the three. */
nvmlReturn_t nvp_h_process_details(const struct nvp_device *device, nvmlProcessDetailList_t *list)
{
    static const unsigned int ids[] = {NVP_F_processes_compute, NVP_F_processes_graphics, NVP_F_processes_mps};
    unsigned int used = 0;
    if (list->mode > NVML_PROCESS_MODE_ALL)
        return NVML_ERROR_INVALID_ARGUMENT;
    const bool all = list->mode == NVML_PROCESS_MODE_ALL;
    nvmlReturn_t result = NVML_SUCCESS;
    for (unsigned int i = all ? 0 : list->mode; i < (all ? 3U : list->mode + 1U); i++) {
        unsigned int count = list->procArray && list->numProcArrayEntries > used ? list->numProcArrayEntries - used : 0;
        const nvmlReturn_t code = fill(device, ids[i], &count, list->procArray ? list->procArray + used : NULL, write_detail, false);
        if (code != NVML_SUCCESS && code != NVML_ERROR_INSUFFICIENT_SIZE)
            return code;
        if (code != NVML_SUCCESS)
            result = code;
        used += count;
    }
    list->numProcArrayEntries = used;
    return result;
}

static nvmlReturn_t name_in(const struct nvp_device *device, unsigned int id, unsigned int pid, char *name, unsigned int length)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const struct nvp_process *list;
        uint64_t number = 0;
        code = NVML_ERROR_NOT_FOUND;
        if (list_in(device, nvp_half, id, &list, &number) == NVML_SUCCESS)
            for (uint64_t i = 0; code == NVML_ERROR_NOT_FOUND && i < number; i++) {
                const struct nvp_process process = list[i];
                if (process.pid != pid)
                    continue;
                copy_name(&process, device, nvp_half, name, length);
                code = NVML_SUCCESS;
            }
    NVP_READ_END(device)
    return code;
}

/* The name of a process on any device; a long one is cut (nvml.h: the buffer is filled up to length). */
nvmlReturn_t nvp_h_process_name(unsigned int pid, char *name, unsigned int length)
{
    static const unsigned int ids[] = {NVP_F_processes_compute, NVP_F_processes_graphics, NVP_F_processes_mps};
    if (length == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    const struct nvp_device *other;
    for (unsigned int i = 0; (other = nvp_device_at(i)) != NULL; i++)
        for (unsigned int j = 0; j < 3; j++)
            if (name_in(other, ids[j], pid, name, length) == NVML_SUCCESS)
                return NVML_SUCCESS;
    return NVML_ERROR_NOT_FOUND;
}
