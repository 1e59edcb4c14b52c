/* Reading fields the general way: need, status and motion; variable data within the bounds of its record. */
#include "nvp.h"

/* The variable data at offset, or NULL where it does not lie within the record. */
const void *nvp_data(const struct nvp_device *device, const unsigned char *half, uint64_t offset, uint64_t size)
{
    if (offset > device->capacity || size > device->capacity - offset)
        return NULL;
    return half + offset;
}

/* The code of the mode bits that do not hold: that of the record for a device that is not present, any other bit makes the reading unsupported. */
static nvmlReturn_t need_code(const struct nvp_record *record, uint32_t lacking)
{
    return (lacking & NVP_MODE_PRESENT) ? (nvmlReturn_t)record->reading_code : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t track(const struct nvp_device *device, const unsigned char *half, const struct nvp_motion *motion, uint64_t elapsed,
                          uint64_t *value)
{
    uint64_t step = motion->period_ns ? elapsed / motion->period_ns : 0;
    if (motion->sample_count == 0)
        return NVML_ERROR_UNKNOWN;
    if (step >= motion->sample_count)
        step = motion->loop ? step % motion->sample_count : motion->sample_count - 1;
    const unsigned char *sample = nvp_data(device, half, motion->samples + step * sizeof *value, sizeof *value);
    if (sample == NULL)
        return NVML_ERROR_UNKNOWN;
    memcpy(value, sample, sizeof *value);
    return NVML_SUCCESS;
}

/* Where a moving field stands at an instant.  A ramp's product fits 128 bits: rate and nanoseconds are 64 each. */
static nvmlReturn_t moved(const struct nvp_device *device, const unsigned char *half, const struct nvp_field *field, uint64_t now, uint64_t *value)
{
    const struct nvp_record *record = (const struct nvp_record *)(const void *)half;
    struct nvp_motion motion;
    const unsigned char *place = nvp_data(device, half, record->motions + (uint64_t)field->extra * sizeof motion, sizeof motion);
    if (place == NULL || field->extra >= record->motion_count)
        return NVML_ERROR_UNKNOWN;
    memcpy(&motion, place, sizeof motion);
    const uint64_t start = nvp_motion_start(&motion), elapsed = now > start ? now - start : 0;
    if (field->kind == NVP_TRACK)
        return track(device, half, &motion, elapsed, value);
    *value = field->value + (uint64_t)((__extension__(__int128)motion.rate * (__extension__(__int128)elapsed)) / 1000000000);
    return NVML_SUCCESS;
}

/* One field of one half at an instant (0: now): the first of need, status and motion that is not plain decides. */
static nvmlReturn_t field_at(const struct nvp_device *device, const unsigned char *half, unsigned int id, uint64_t at_ns, uint64_t *value)
{
    struct nvp_field field;
    memcpy(&field, NVP_FIELD_AT(half, id), sizeof field);
    *value = field.value;
    if (nvp_plain(nvp_meta(&field), half))
        return NVML_SUCCESS;
    const struct nvp_record *const record = (const void *)half;
    const uint32_t lacking = field.need & ~record->modes & ~(uint32_t)NVP_MODE_UNARMED;
    if (lacking)
        return need_code(record, lacking);
    if (field.status != NVML_SUCCESS)
        return (nvmlReturn_t)field.status;
    if (field.kind == NVP_COUNTED)
        *value += nvp_calls_in(device, half);
    return field.kind == NVP_RAMP || field.kind == NVP_TRACK ? moved(device, half, &field, at_ns ? at_ns : nvp_now_ns(), value) : NVML_SUCCESS;
}

nvmlReturn_t nvp_field_in(const struct nvp_device *device, const unsigned char *half, unsigned int id, uint64_t *value)
{
    return field_at(device, half, id, 0, value);
}

/* One field as it was at an instant, as far as its motion says: what was set at run time is what it is now. */
nvmlReturn_t nvp_number_at(const struct nvp_device *device, unsigned int id, uint64_t at_ns, uint64_t *value)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        code = field_at(device, nvp_half, id, at_ns, value);
    NVP_READ_END(device)
    return code;
}

/* A call on an armed device counts where one of the fields it reads is guarded. */
bool nvp_guard(const struct nvp_device *device, const uint16_t *ids, unsigned int count)
{
    bool guarded = false;
    if (!nvp_armed(device))
        return false;
    for (unsigned int i = 0; i < count && !guarded; i++)
        guarded = (NVP_FIELD_AT(device->half[0], ids[i])->need & NVP_MODE_UNARMED) != 0;
    if (guarded)
        nvp_guarded_call(device);
    return guarded;
}

nvmlReturn_t nvp_resolve(const struct nvp_device *device, const uint16_t *ids, unsigned int count, uint64_t *values)
{
    (void)nvp_guard(device, ids, count);
    return nvp_settle(device, ids, count, values);
}

nvmlReturn_t nvp_settle(const struct nvp_device *device, const uint16_t *ids, unsigned int count, uint64_t *values)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        code = NVML_SUCCESS;
        for (unsigned int i = 0; i < count && code == NVML_SUCCESS; i++)
            code = nvp_field_in(device, nvp_half, ids[i], &values[i]);
    NVP_READ_END(device)
    return code;
}

/* The variable data of a field and its size; NULL where the record is not sound. */
static const void *variable(const struct nvp_device *device, const unsigned char *half, unsigned int id, size_t *size)
{
    struct nvp_field field;
    memcpy(&field, NVP_FIELD_AT(half, id), sizeof field);
    *size = field.extra;
    return nvp_data(device, half, field.value, field.extra);
}

/* A text into a caller's buffer of size bytes: INSUFFICIENT_SIZE and an untouched buffer where text and NUL do not fit. */
nvmlReturn_t nvp_string(const struct nvp_device *device, unsigned int id, char *buffer, size_t size)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        struct nvp_field field;
        uint64_t unused;
        memcpy(&field, NVP_FIELD_AT(nvp_half, id), sizeof field);
        code = nvp_plain(nvp_meta(&field), nvp_half) ? NVML_SUCCESS : nvp_field_in(device, nvp_half, id, &unused);
        if (NVP_LIKELY(code == NVML_SUCCESS)) {
            const void *text = nvp_data(device, nvp_half, field.value, field.extra);
            if (NVP_UNLIKELY(text == NULL)) {
                code = NVML_ERROR_UNKNOWN;
            } else if (NVP_UNLIKELY(size <= field.extra)) {
                code = NVML_ERROR_INSUFFICIENT_SIZE;
            } else {
                memcpy(buffer, text, field.extra);
                buffer[field.extra] = '\0';
            }
        }
    NVP_READ_END(device)
    return code;
}

/* What a device is known by, whether it is present or not: a lookup of a lost device finds it.  False where the field has a code or does not fit. */
bool nvp_identity_text(const struct nvp_device *device, unsigned int id, char *buffer, size_t size)
{
    bool found;
    NVP_READ_BEGIN(device)
        size_t length;
        const void *text = variable(device, nvp_half, id, &length);
        found = NVP_FIELD_AT(nvp_half, id)->status == 0 && text != NULL && length < size;
        if (found) {
            memcpy(buffer, text, length);
            buffer[length] = '\0';
        }
    NVP_READ_END(device)
    return found;
}

bool nvp_identity_number(const struct nvp_device *device, unsigned int id, uint64_t *value)
{
    uint16_t status;
    NVP_READ_BEGIN(device)
        status = NVP_FIELD_AT(nvp_half, id)->status;
        *value = NVP_FIELD_AT(nvp_half, id)->value;
    NVP_READ_END(device)
    return status == 0;
}

/* Variable data that the caller wants whole: a code, or exactly size bytes copied (cut or filled up with zeros). */
nvmlReturn_t nvp_array(const struct nvp_device *device, unsigned int id, void *buffer, size_t size)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        uint64_t unused;
        code = nvp_field_in(device, nvp_half, id, &unused);
        if (code == NVML_SUCCESS)
            nvp_copy_bytes(device, nvp_half, id, buffer, size);
    NVP_READ_END(device)
    return code;
}

void nvp_copy_text(const struct nvp_device *device, const unsigned char *half, unsigned int id, void *buffer, size_t size)
{
    size_t length;
    const void *text = variable(device, half, id, &length);
    if (text == NULL)
        length = 0;
    if (length >= size)
        length = size - 1;
    if (length)
        memcpy(buffer, text, length);
    ((char *)buffer)[length] = '\0';
}

/* Bytes of another size than asked for: cut, or filled up with zeros. */
void nvp_copy_part(const struct nvp_device *device, const unsigned char *half, unsigned int id, void *buffer, size_t size)
{
    size_t length;
    const void *bytes = variable(device, half, id, &length);
    if (bytes == NULL)
        length = 0;
    if (length > size)
        length = size;
    if (length)
        memcpy(buffer, bytes, length);
    memset((char *)buffer + length, 0, size - length);
}

/* The list of field id in one half: its items of size bytes, bounded and aligned, and their number; the field's code where there is none. */
nvmlReturn_t nvp_list_in(const struct nvp_device *device, const unsigned char *half, unsigned int id, size_t size, const void **items, uint64_t *number)
{
    struct nvp_field field;
    uint64_t place;
    const nvmlReturn_t code = nvp_field_in(device, half, id, &place);
    if (code != NVML_SUCCESS)
        return code;
    memcpy(&field, NVP_FIELD_AT(half, id), sizeof field);
    *number = field.extra / size;
    *items = nvp_data(device, half, field.value, field.extra);
    return *items == NULL || field.value % 8 ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}
