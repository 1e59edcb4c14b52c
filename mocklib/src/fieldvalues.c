/* nvmlDeviceGetFieldValues from the image's field-id table: the call succeeds, each entry carries its own code. */
#include "nvp.h"
#include "nvp_links.h"

/* The scope of an id that has none: whatever is asked for is the device. */
#define ANY_SCOPE 0xffffffffU

static NVP_INLINE const struct nvp_field_id *row_of(unsigned int id, unsigned int scope)
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

/* What a field id answers, by itself: of the device, or of the link that the scope names. */
nvmlReturn_t nvp_field_value(const struct nvp_device *device, unsigned int id, unsigned int scope, uint64_t *value)
{
    const struct nvp_field_id *row = row_of(id, scope);
    unsigned int type;
    return row ? nvp_number(device, row->field, value) : nvp_link_field(device, id, scope, &type, value);
}

/* A number in the union by its value type; what the type does not cover is zero, so that a caller who reads a wider member sees no garbage. */
static NVP_INLINE void put(nvmlFieldValue_t *entry, const struct nvp_field_id *row, uint64_t value)
{
    entry->valueType = (nvmlValueType_t)row->value_type;
    memset(&entry->value, 0, sizeof entry->value);
    switch (row->value_type) {
    case NVML_VALUE_TYPE_DOUBLE:
        entry->value.dVal = (double)value / row->per;
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

/* Whether an entry was recorded; then its code, and type and value where that is SUCCESS. */
static bool recorded(const struct nvp_device *device, nvmlFieldValue_t *entry)
{
    const uint64_t given[] = {device->record - 1, 1, (uint64_t)(uintptr_t)entry};
    return NVP_FLAGS(NVP_FN_nvmlDeviceGetFieldValues) & NVP_FLAG_RECORDED &&
           nvp_recorded(NVP_FN_nvmlDeviceGetFieldValues, device->record - 1, given, &entry->nvmlReturn);
}

/* A field that is not plain; the first guarded one of a list counts as its call. */
static NVP_COLD nvmlReturn_t settle(const struct nvp_device *device, uint16_t id, bool *guarded, uint64_t *value)
{
    if (!*guarded)
        *guarded = nvp_guard(device, &id, 1);
    return nvp_settle(device, &id, 1, value);
}

/* An id whose value is the length of a list (ledger L26), or one about a link; *type 0xff where it is neither.  The two of lists are the same in every
 * nvml.h that has field values. */
static nvmlReturn_t apart(const struct nvp_device *device, unsigned int id, unsigned int scope, unsigned int *type, uint64_t *value)
{
    if (id != NVML_FI_DEV_RETIRED_SBE && id != NVML_FI_DEV_RETIRED_DBE)
        return nvp_link_field(device, id, scope, type, value);
    const nvmlReturn_t code = nvp_retired_count(
        device, id == NVML_FI_DEV_RETIRED_SBE ? NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS : NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
        value);
    *type = code == NVML_ERROR_NOT_SUPPORTED ? NVP_NO_TYPE : NVML_VALUE_TYPE_UNSIGNED_INT;
    return code;
}

/* An id that no field of the device answers: one of those apart, or one that nothing is known of. */
static NVP_COLD void other(const struct nvp_device *device, nvmlFieldValue_t *entry, const bool slow)
{
    unsigned int type;
    uint64_t value;
    entry->nvmlReturn = apart(device, entry->fieldId, entry->scopeId, &type, &value);
    if (type != NVP_NO_TYPE) {
        const struct nvp_field_id row = {.value_type = (uint8_t)type, .per = 1};
        if (entry->nvmlReturn == NVML_SUCCESS)
            put(entry, &row, value);
        return;
    }
    entry->nvmlReturn = entry->fieldId > nvp_image->field_id_limit ? NVML_ERROR_INVALID_ARGUMENT : nvp_lacking(device, NVML_ERROR_NOT_SUPPORTED);
    if (slow)
        (void)nvp_without_data(NVP_FN_nvmlDeviceGetFieldValues, entry->nvmlReturn);
}

/* slow: recorded entries are answered as they were, and those that nothing answers are counted. */
static NVP_INLINE nvmlReturn_t all(const struct nvp_device *device, int count, nvmlFieldValue_t *values, const bool slow)
{
    if (count <= 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    const long long now_us = (long long)(nvp_now_ns() / 1000);
    bool guarded = false; /* the whole list is one call */
    for (int i = 0; i < count; i++) {
        nvmlFieldValue_t *entry = &values[i];
        const struct nvp_field_id *row = row_of(entry->fieldId, entry->scopeId);
        uint64_t value;
        entry->timestamp = now_us;
        entry->latencyUsec = 0;
        if (slow && recorded(device, entry))
            continue;
        if (row == NULL) {
            other(device, entry, slow);
            continue;
        }
        entry->nvmlReturn = nvp_load(device, row->field, &value) ? NVML_SUCCESS : settle(device, row->field, &guarded, &value);
        if (entry->nvmlReturn == NVML_SUCCESS)
            put(entry, row, value);
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_field_values(const struct nvp_device *device, int count, nvmlFieldValue_t *values)
{
    return all(device, count, values, false);
}

/* A trace says which fields a call declined: its own code is SUCCESS all the same (ledger A06). */
NVP_COLD nvmlReturn_t nvp_field_values_slow(const struct nvp_device *device, int count, nvmlFieldValue_t *values)
{
    const nvmlReturn_t code = all(device, count, values, true);
    for (int i = 0; nvp_tracing && code == NVML_SUCCESS && i < count; i++)
        if (values[i].nvmlReturn != NVML_SUCCESS)
            nvp_debug("field %u scope %u -> %d", values[i].fieldId, values[i].scopeId, (int)values[i].nvmlReturn);
    return code;
}
