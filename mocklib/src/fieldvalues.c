/* nvmlDeviceGetFieldValues from the image's field-id table: the call succeeds, each entry carries its own code. */
#include "nvp.h"

/* The scope of an id that has none: whatever is asked for is the device. */
#define ANY_SCOPE 0xffffffffU

static const struct nvp_field_id *row_of(unsigned int id, unsigned int scope)
{
    const unsigned char *bytes = (const unsigned char *)nvp_image;
    const struct nvp_field_id *rows = (const void *)(bytes + nvp_image->field_ids.offset);
    const uint16_t *index = (const void *)(bytes + nvp_image->field_index.offset);
    if (id >= nvp_image->field_index.count || index[id] == NVP_NO_FIELD)
        return NULL;
    for (unsigned int i = index[id]; i < nvp_image->field_ids.count && rows[i].id == id; i++)
        if (rows[i].scope == scope || rows[i].scope == ANY_SCOPE)
            return &rows[i];
    return NULL;
}

/* A number in the union by its value type; what the type does not cover is zero, so that a caller who reads a wider member sees no garbage. */
static void put(nvmlFieldValue_t *entry, unsigned int type, uint64_t value)
{
    entry->valueType = (nvmlValueType_t)type;
    memset(&entry->value, 0, sizeof entry->value);
    switch (type) {
    case NVML_VALUE_TYPE_DOUBLE:
        entry->value.dVal = (double)value;
        break;
    case NVML_VALUE_TYPE_UNSIGNED_INT:
        entry->value.uiVal = (unsigned int)value;
        break;
    case NVML_VALUE_TYPE_UNSIGNED_LONG:
        entry->value.ulVal = (unsigned long)value;
        break;
    case NVML_VALUE_TYPE_SIGNED_INT:
        entry->value.siVal = (int)value;
        break;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT:
        entry->value.usVal = (unsigned short)value;
        break;
    default:
        entry->value.ullVal = value;
        break;
    }
}

nvmlReturn_t nvp_h_field_values(const struct nvp_device *device, int count, nvmlFieldValue_t *values)
{
    if (count <= 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    const long long now_us = (long long)(nvp_now_ns() / 1000);
    for (int i = 0; i < count; i++) {
        nvmlFieldValue_t *entry = &values[i];
        const struct nvp_field_id *row = row_of(entry->fieldId, entry->scopeId);
        uint64_t value;
        entry->timestamp = now_us;
        entry->latencyUsec = 0;
        if (row == NULL) {
            entry->nvmlReturn =
                entry->fieldId > nvp_image->field_id_limit ? NVML_ERROR_INVALID_ARGUMENT : nvp_lacking(device, NVML_ERROR_NOT_SUPPORTED);
            continue;
        }
        entry->nvmlReturn = nvp_load(device, row->field, &value) ? NVML_SUCCESS : nvp_number(device, row->field, &value);
        if (entry->nvmlReturn == NVML_SUCCESS)
            put(entry, row->value_type, value);
    }
    return NVML_SUCCESS;
}
