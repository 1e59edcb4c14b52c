/* The private table that nvidia-smi asks for by its id; which slot means what is data of the image, chosen by the driver a profile claims. */
#include "nvp_slots.h"

#include <limits.h>

nvmlReturn_t nvp_slot_processes(const struct nvp_device *device, unsigned int id, unsigned int *count, void *items);
nvmlReturn_t nvp_slot_processes_unprotected(const struct nvp_device *device, unsigned int id, unsigned int *count, void *items);
nvmlReturn_t nvp_slot_topology_pair(const char *one, const char *other, uint32_t *path);
nvmlReturn_t nvp_slot_lanes(const struct nvp_device *device, unsigned int number, size_t lanes, void *entries, bool corrections);
nvmlReturn_t nvp_slot_samples(const struct nvp_device *device, unsigned int id, unsigned int *count, void *items, bool four);

/* 6c3efec4-8fc9-4e6c-a327-ee696e12f7c4, its first three groups little-endian: the only id asked for by any nvidia-smi measured. */
static const unsigned char known_id[16] = {0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e, 0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4};

nvmlReturn_t nvp_h_export_table(void **table, const void *id)
{
    if (memcmp(id, known_id, sizeof known_id) != 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *table = nvp_slot_table;
    return NVML_SUCCESS;
}

/* The first row of a slot; one of field values has a row for each id. */
static const struct nvp_slot *row_of(unsigned int number)
{
    const struct nvp_slot *rows = (const void *)((const unsigned char *)nvp_image + nvp_image->slots.offset);
    for (unsigned int i = 0; i < nvp_image->slots.count; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

static nvmlReturn_t write_word(const struct nvp_device *device, unsigned int field, uint32_t *out)
{
    uint64_t value;
    if (out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t code = nvp_number(device, field, &value);
    if (code == NVML_SUCCESS)
        *out = (uint32_t)value;
    return code;
}

/* Entries as those of nvmlDeviceGetFieldValues, with ids of the private table: the call succeeds, each carries its own code. */
static nvmlReturn_t field_values(const struct nvp_device *device, const struct nvp_slot *row, uintptr_t count, nvmlFieldValue_t *values)
{
    const struct nvp_slot *const end = (const struct nvp_slot *)(const void *)((const unsigned char *)nvp_image + nvp_image->slots.offset) + nvp_image->slots.count;
    if (count == 0 || count > INT_MAX || values == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (uintptr_t i = 0; i < count; i++) {
        const struct nvp_slot *found = row;
        uint64_t value = 0;
        while (found < end && found->number == row->number && found->key != values[i].fieldId)
            found++;
        const bool known = found < end && found->number == row->number;
        values[i].timestamp = (long long)(nvp_now_ns() / 1000);
        values[i].latencyUsec = 0;
        values[i].nvmlReturn = known ? nvp_number(device, found->field, &value) : NVML_ERROR_NOT_SUPPORTED;
        if (values[i].nvmlReturn != NVML_SUCCESS)
            continue;
        values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        memset(&values[i].value, 0, sizeof values[i].value);
        values[i].value.uiVal = (unsigned int)value;
    }
    return NVML_SUCCESS;
}

/* Part numbers and firmware versions: nvidia-smi hands a buffer without its length; 64 bytes is what nvml.h gives the longest of them
 * (NVML_GSP_FIRMWARE_VERSION_BUF_SIZE), so a longer text is refused. */
#define SLOT_TEXT_SIZE 64

static nvmlReturn_t handle_slot(unsigned int index, nvmlDevice_t *out)
{
    const struct nvp_device *const device = nvp_device_at(index);
    if (out == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = nvp_handle_of(device);
    return NVML_SUCCESS;
}

/* The address of a GPU by its index, in NVML's older spelling, whether its handle is given or not: nvidia-smi names by it a GPU that it cannot ask.
 * 32 bytes are room on every branch measured; without an address it names the index. */
static nvmlReturn_t address_slot(unsigned int index, char *out)
{
    const struct nvp_device *const device = nvp_device_at(index);
    if (out == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    return nvp_identity_text(device, NVP_F_pci_bus_id_legacy, out, NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE) ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

/* What a mock has none of: a GPU that the console shows on, a fabric that is not up, GPUs that must be reset together with others. */
static nvmlReturn_t write_zero(uint32_t *out)
{
    if (out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = 0;
    return NVML_SUCCESS;
}

/* nvidia-smi -r: the GPUs of a list, one after the other; codes: how each went. */
static nvmlReturn_t reset_list(uintptr_t count, const nvmlDevice_t *handles, uint32_t *codes)
{
    nvmlReturn_t result = NVML_SUCCESS;
    if (nvp_unprivileged())
        return NVML_ERROR_NO_PERMISSION;
    if (handles == NULL || codes == NULL || count > __atomic_load_n(&nvp_device_count, __ATOMIC_RELAXED))
        return NVML_ERROR_INVALID_ARGUMENT;
    for (uintptr_t i = 0; i < count; i++) {
        const struct nvp_device *device = nvp_device_of(handles[i]);
        const nvmlReturn_t code = device ? nvp_state_reset(device) : NVML_ERROR_INVALID_ARGUMENT;
        codes[i] = code;
        if (result == NVML_SUCCESS)
            result = code;
    }
    return result;
}

/* nvidia-smi -pm: the mode asked for; what is written says that no persistence daemon holds it. */
static nvmlReturn_t persistence(const struct nvp_device *device, uintptr_t mode, uint32_t *by_daemon)
{
    if (by_daemon == NULL || mode > NVML_FEATURE_ENABLED)
        return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t code = nvp_unprivileged() ? NVML_ERROR_NO_PERMISSION : nvp_run_number(device, NVP_P_persistence_mode, mode);
    if (code == NVML_SUCCESS)
        *by_daemon = 0;
    return code;
}

/* The slots whose first argument is a device. */
static nvmlReturn_t answer_of(const struct nvp_device *device, const struct nvp_slot *row, void *const given[NVP_SLOT_ARGUMENTS])
{
    void *second = given[1], *third = given[2];
    switch (row->shape) {
    case NVP_SHAPE_U32:
    case NVP_SHAPE_I32:
        return write_word(device, row->field, second);
    case NVP_SHAPE_FIELD_VALUES:
        return field_values(device, row, (uintptr_t)second, third);
    case NVP_SHAPE_LANE_ERRORS: /* (device, link, lanes, lanes, entries) */
    case NVP_SHAPE_LANE_CORRECTIONS:
        return nvp_slot_lanes(device, (unsigned int)(uintptr_t)second, (size_t)(uintptr_t)third, given[4], row->shape == NVP_SHAPE_LANE_CORRECTIONS);
    case NVP_SHAPE_STRING:
        return second ? nvp_string(device, row->field, second, SLOT_TEXT_SIZE) : NVML_ERROR_INVALID_ARGUMENT;
    case NVP_SHAPE_PROCESSES:
        return second ? nvp_slot_processes(device, row->field, second, third) : NVML_ERROR_INVALID_ARGUMENT;
    case NVP_SHAPE_PROCESSES_UNPROTECTED:
        return second ? nvp_slot_processes_unprotected(device, row->field, second, third) : NVML_ERROR_INVALID_ARGUMENT;
    case NVP_SHAPE_PROCESS_SAMPLES: /* (device, since when in microseconds, a word that nothing was seen to come from, count, samples) */
    case NVP_SHAPE_PROCESS_SAMPLES_FOUR:
        return nvp_slot_samples(device, row->field, given[3], given[4], row->shape == NVP_SHAPE_PROCESS_SAMPLES_FOUR);
    case NVP_SHAPE_RESET:
        return nvp_unprivileged() ? NVML_ERROR_NO_PERMISSION : nvp_state_reset(device);
    case NVP_SHAPE_PERSISTENCE:
        return persistence(device, (uintptr_t)second, third);
    default:
        return NVML_ERROR_NOT_SUPPORTED;
    }
}

static nvmlReturn_t answer(const struct nvp_slot *row, void *const given[NVP_SLOT_ARGUMENTS])
{
    switch (row->shape) {
    case NVP_SHAPE_OK:
        return NVML_SUCCESS;
    case NVP_SHAPE_ZERO_FIRST:
    case NVP_SHAPE_ZERO_SECOND:
    case NVP_SHAPE_ZERO_THIRD:
        return write_zero(given[row->shape - NVP_SHAPE_ZERO_FIRST]);
    case NVP_SHAPE_TOPOLOGY_PAIR:
        return nvp_slot_topology_pair(given[0], given[1], given[2]);
    case NVP_SHAPE_HANDLE:
        return handle_slot((unsigned int)(uintptr_t)given[0], given[1]);
    case NVP_SHAPE_PCI_ADDRESS:
        return address_slot((unsigned int)(uintptr_t)given[0], given[1]);
    case NVP_SHAPE_RESET_LIST:
        return reset_list((uintptr_t)given[0], given[1], given[2]);
    default:
        break;
    }
    const struct nvp_device *device = nvp_device_of(given[0]);
    return device ? answer_of(device, row, given) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvp_slot_call(unsigned int number, void *const given[NVP_SLOT_ARGUMENTS])
{
    nvmlReturn_t code = NVML_ERROR_UNINITIALIZED;
    if (nvp_initialised()) {
        const struct nvp_slot *row = row_of(number);
        code = row ? answer(row, given) : NVML_ERROR_NOT_SUPPORTED;
    }
    if (NVP_UNLIKELY(nvp_tracing))
        nvp_debug("slot %u(%p, %p, %p) -> %d", number, given[0], given[1], given[2], (int)code);
    return code;
}
