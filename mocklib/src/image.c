/* Opening an image: mapped read-only, checked whole before anything of it is used.  What is not sound is refused with one line. */
#include "nvp.h"
#include "nvp_crc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST (1ULL << 30)

static bool within(uint64_t offset, uint64_t count, uint64_t each, uint64_t size)
{
    return offset <= size && count <= (size - offset) / each && offset % 8 == 0;
}

/* Fields whose value is an offset of variable data, and how many bytes one item of it has. */
static bool sound_field(const struct nvp_field *field, const struct nvp_record *record, unsigned int type)
{
    const bool number = type == NVP_T_u64 || type == NVP_T_i64;
    const bool moves = field->kind == NVP_RAMP || field->kind == NVP_TRACK;
    if (field->kind > NVP_COUNTED || (field->kind != NVP_CONSTANT && !number) || (moves && field->extra >= record->motion_count))
        return false;
    if (number || field->status != 0)
        return true;
    return field->value <= record->size && field->extra <= record->size - field->value;
}

static bool sound_fields(const unsigned char *bytes, const struct nvp_record *record, const unsigned char *types)
{
    for (unsigned int i = 0; i < record->field_count; i++)
        if (!sound_field(NVP_FIELD_AT(bytes, i), record, types[i]))
            return false;
    return true;
}

/* Whether size bytes are one record, of the node or of a device: everything that it names lies within them. */
bool nvp_record_sound(const unsigned char *bytes, uint64_t size, bool of_node)
{
    const unsigned int field_count = of_node ? NVP_SYSTEM_FIELD_COUNT : NVP_DEVICE_FIELD_COUNT;
    struct nvp_record record;
    if (size < sizeof record)
        return false;
    memcpy(&record, bytes, sizeof record);
    if (record.magic != NVP_RECORD_MAGIC || record.size != size || record.field_count != field_count)
        return false;
    if (!within(sizeof record, field_count, sizeof(struct nvp_field), size) || record.clock_mode > NVP_CLOCK_SCALED ||
        record.odd != ~(record.modes << 24))
        return false;
    if (!within(record.motions, record.motion_count, sizeof(struct nvp_motion), size) || !within(record.overridden, (field_count + 7) / 8, 1, size))
        return false;
    if (record.text > size || record.text_size > size - record.text || record.all_text > size || record.all_text_size > size - record.all_text)
        return false;
    return sound_fields(bytes, &record, of_node ? nvp_system_types : nvp_device_types);
}

static bool sound_tables(const struct nvp_image *image)
{
    return within(image->devices.offset, image->devices.count, sizeof(struct nvp_device_entry), image->size) &&
           within(image->gates.offset, image->gates.count, sizeof(uint16_t), image->size) &&
           within(image->field_ids.offset, image->field_ids.count, sizeof(struct nvp_field_id), image->size) &&
           within(image->field_index.offset, image->field_index.count, sizeof(uint16_t), image->size) &&
           within(image->link_ids.offset, image->link_ids.count, sizeof(struct nvp_link_id), image->size) &&
           within(image->slots.offset, image->slots.count, sizeof(struct nvp_slot), image->size) &&
           within(image->entries.offset, image->entries.count, sizeof(struct nvp_entry), image->size) &&
           within(image->programs.offset, image->programs.count, sizeof(struct nvp_program), image->size) &&
           within(image->steps.offset, image->steps.count, sizeof(struct nvp_step), image->size) &&
           within(image->source.offset, image->source.count, 1, image->size) && image->source.count >= sizeof(struct nvp_source) &&
           within(image->forms.offset, image->forms.count, sizeof(struct nvp_form), image->size) &&
           within(image->parts.offset, image->parts.count, sizeof(struct nvp_part), image->size) &&
           within(image->recorded.offset, image->recorded.count, sizeof(struct nvp_recorded), image->size) &&
           within(image->answers.offset, image->answers.count, sizeof(struct nvp_answer), image->size) &&
           within(image->writes.offset, image->writes.count, sizeof(struct nvp_write), image->size) &&
           within(image->answer_data.offset, image->answer_data.count, 1, image->size);
}

static bool is_field(uint16_t field, unsigned int count)
{
    return field < count || field == NVP_NO_FIELD;
}

/* Whether a step can be done on a field of a type: numbers are set, bytes and lists looked into and edited, texts set; tables of offsets are neither. */
static bool takes(unsigned int op, unsigned int type)
{
    const bool number = type == NVP_T_u64 || type == NVP_T_i64, bytes = type == NVP_T_bytes || type == NVP_T_u32list;
    switch (op) {
    case NVP_STEP_CHECK_LIST:
    case NVP_STEP_CHECK_WITHIN:
    case NVP_STEP_CHECK_INDEX:
    case NVP_STEP_SET_ITEM:
    case NVP_STEP_MASK_OR:
    case NVP_STEP_MASK_CLEAR:
    case NVP_STEP_MASK_SET:
    case NVP_STEP_ARBITRATE:
        return bytes;
    case NVP_STEP_CHECK_EMPTY:
        return !number && type != NVP_T_string;
    case NVP_STEP_DROP_TERMINATED:
        return type == NVP_T_accounted;
    case NVP_STEP_CHECK_PAIR:
        return type == NVP_T_clocktable;
    case NVP_STEP_SET_TEXT:
        return type == NVP_T_string;
    case NVP_STEP_RESTORE:
        return number || bytes || type == NVP_T_string;
    case NVP_STEP_SET:
    case NVP_STEP_COPY:
    case NVP_STEP_ZERO:
    case NVP_STEP_CLAMP:
    case NVP_STEP_REBASE:
    case NVP_STEP_CLEAR:
    case NVP_STEP_SET_MOTION:
    case NVP_STEP_ADOPT:
    case NVP_STEP_FOLLOW:
    case NVP_STEP_SET_AMONG:
    case NVP_STEP_SHARE:
        return number;
    default:
        return true;
    }
}

/* Steps of modes, marks and arguments alone speak of no field. */
static bool sound_step(const struct nvp_step *step, unsigned int count)
{
    const unsigned char *types = count == NVP_SYSTEM_FIELD_COUNT ? nvp_system_types : nvp_device_types;
    return step->op < NVP_STEP_COUNT && (step->field >= count || takes(step->op, types[step->field])) && is_field(step->field, count) &&
           is_field(step->low, count) && is_field(step->high, count) && is_field(step->when_field, count);
}

static bool sound_programs(const struct nvp_image *image)
{
    const unsigned char *bytes = (const unsigned char *)image;
    const struct nvp_program *programs = (const void *)(bytes + image->programs.offset);
    const struct nvp_step *steps = (const void *)(bytes + image->steps.offset);
    for (unsigned int i = 0; i < image->programs.count; i++) {
        const struct nvp_program *program = &programs[i];
        if (program->first > image->steps.count || program->count > image->steps.count - program->first)
            return false;
        for (uint32_t k = 0; k < program->count; k++)
            if (!sound_step(&steps[program->first + k], program->scope == NVP_NODE ? NVP_SYSTEM_FIELD_COUNT : NVP_DEVICE_FIELD_COUNT))
                return false;
    }
    return true;
}

static bool sound_rows(const struct nvp_image *image)
{
    const unsigned char *bytes = (const unsigned char *)image;
    const struct nvp_field_id *ids = (const void *)(bytes + image->field_ids.offset);
    const uint16_t *index = (const void *)(bytes + image->field_index.offset);
    const struct nvp_link_id *links = (const void *)(bytes + image->link_ids.offset);
    const struct nvp_slot *slots = (const void *)(bytes + image->slots.offset);
    const struct nvp_entry *entries = (const void *)(bytes + image->entries.offset);
    for (unsigned int i = 0; i < image->field_ids.count; i++)
        if (ids[i].field >= NVP_DEVICE_FIELD_COUNT)
            return false;
    for (unsigned int i = 0; i < image->field_index.count; i++)
        if (index[i] != NVP_NO_FIELD && index[i] >= image->field_ids.count)
            return false;
    for (unsigned int i = 0; i < image->link_ids.count; i++)
        if (links[i].field >= NVP_DEVICE_FIELD_COUNT || links[i].reading >= NVP_LINK_READINGS)
            return false;
    for (unsigned int i = 0; i < image->slots.count; i++)
        if (slots[i].number >= NVP_SLOT_COUNT || slots[i].shape >= NVP_SHAPE_COUNT ||
            (slots[i].shape < NVP_SHAPE_HANDLE && slots[i].field >= NVP_DEVICE_FIELD_COUNT))
            return false;
    for (unsigned int i = 0; i < image->entries.count; i++)
        if (entries[i].function >= NVP_FUNCTION_COUNT || entries[i].shape > NVP_ENTRY_DETAIL)
            return false;
    return sound_programs(image);
}

static const char *sound_devices(const struct nvp_image *image)
{
    const unsigned char *bytes = (const unsigned char *)image;
    const struct nvp_device_entry *devices = (const void *)(bytes + image->devices.offset);
    if (!within(image->node.record, image->node.size, 1, image->size) ||
        !nvp_record_sound(bytes + image->node.record, image->node.size, true))
        return "its node record is not sound";
    for (unsigned int i = 0; i < image->device_count; i++)
        if (!within(devices[i].record, devices[i].size, 1, image->size) ||
            !nvp_record_sound(bytes + devices[i].record, devices[i].size, false))
            return "a device record is not sound";
    return NULL;
}

/* The checksum of an image: over all of it, its own place as zeros. */
uint32_t nvp_image_crc(const unsigned char *bytes, uint64_t size)
{
    static const unsigned char zero[sizeof(uint32_t)];
    const size_t place = offsetof(struct nvp_image, crc);
    const uint32_t crc = nvp_crc32(nvp_crc32(0, bytes, place), zero, sizeof zero);
    return nvp_crc32(crc, bytes + place + sizeof zero, size - place - sizeof zero);
}

/* What is wrong with an image, or NULL.  Each check leans on those before it alone. */
const char *nvp_image_fault(const unsigned char *bytes, uint64_t size)
{
    const struct nvp_image *image = (const void *)bytes;
    if (size < sizeof *image)
        return "it is too short to be an image";
    if (image->magic != NVP_IMAGE_MAGIC)
        return "it is no image";
    if (image->format != NVP_FORMAT || image->layout != NVP_LAYOUT)
        return "it was compiled for another version of this library";
    if (image->size != size)
        return "it is truncated or longer than it says";
    if (nvp_image_crc(bytes, size) != image->crc)
        return "its checksum is wrong";
    if (image->device_count > NVP_MAX_DEVICES || image->devices.count != image->device_count || image->gates.count != NVP_FUNCTION_COUNT ||
        image->programs.count != NVP_PROGRAM_COUNT)
        return "its counts are out of range";
    if (!sound_tables(image) || !sound_rows(image))
        return "a table in it is not sound";
    if (!nvp_recorded_sound(image))
        return "its recorded answers are not sound";
    return sound_devices(image);
}

/* The image at path, or NULL with one line that says why; quiet says nothing where there is no such file.  A mapping lives until the process ends. */
const struct nvp_image *nvp_image_open(const char *path, bool quiet)
{
    struct stat status;
    const char *fault = NULL;
    void *bytes = MAP_FAILED;
    const int file = open(path, O_RDONLY | NVP_OPEN);
    if (file < 0) {
        if (!quiet)
            nvp_say("%s: %s; make it with: nvparity compile PROFILE", path, strerror(errno));
        return NULL;
    }
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || (uint64_t)status.st_size > LARGEST)
        fault = "it is no image";
    else if ((uint64_t)status.st_size < sizeof(struct nvp_image))
        fault = "it is too short to be an image";
    else if ((bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0)) == MAP_FAILED)
        fault = strerror(errno);
    else
        fault = nvp_image_fault(bytes, (uint64_t)status.st_size);
    close(file);
    if (fault == NULL)
        return bytes;
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)status.st_size);
    nvp_say("%s: refused: %s; compile it again with: nvparity compile PROFILE", path, fault);
    return NULL;
}
