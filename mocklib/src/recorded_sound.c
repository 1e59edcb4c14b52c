/* The tables of recorded answers of an image that is not trusted yet: every offset, count and size, against what the functions' parameters hold.
 * Rows of a table follow those of the table before it in order, so that the whole is one pass. */
#include "nvp.h"

/* The tables, and how far their rows are taken. */
struct reading {
    const struct nvp_image *image;
    uint32_t parts, recorded, answers, writes;
};

/* Whether rows from start on are the next count of table; they are taken. */
static bool take(uint32_t *taken, uint32_t start, uint32_t count, struct nvp_table table)
{
    if (start != *taken || count > table.count - *taken)
        return false;
    *taken += count;
    return true;
}

static bool in_data(const struct nvp_image *image, uint64_t start, uint64_t size)
{
    return start <= image->answer_data.count && size <= image->answer_data.count - start;
}

static const struct nvp_parameter *parameter(const struct nvp_form *form, unsigned int position)
{
    const unsigned int first = nvp_parameters_of[form->function], end = nvp_parameters_of[form->function + 1];
    return position < end - first ? &nvp_parameters[first + position] : NULL;
}

/* The bytes of the struct or number that a parameter points to: by the version word that one of the first parts of the form asks for, where it has one. */
static uint64_t size_of(const struct nvp_image *image, const struct nvp_form *form, uint32_t parts, unsigned int position)
{
    const struct nvp_part *const own = (const struct nvp_part *)nvp_table_of(image, image->parts) + form->parts;
    const struct nvp_parameter *const found = parameter(form, position);
    if (found->is != NVP_IS_WORDED)
        return found->is == NVP_IS_PLACE ? found->size : 0;
    for (uint32_t i = 0; i < parts; i++)
        if (own[i].kind == NVP_PART_WORD && own[i].position == position)
            return own[i].word & 0xffffff;
    return 0;
}

static bool sound_parts(const struct nvp_image *image, const struct nvp_form *form)
{
    const struct nvp_part *const own = (const struct nvp_part *)nvp_table_of(image, image->parts) + form->parts;
    uint64_t width = 0;
    if (form->part_count > NVP_PART_LIMIT)
        return false;
    for (uint32_t i = 0; i < form->part_count; i++) {
        const struct nvp_parameter *const found = parameter(form, own[i].position);
        bool sound = found != NULL && own[i].kind <= NVP_PART_WORD;
        if (sound && own[i].kind == NVP_PART_VALUE)
            sound = found->is == NVP_IS_VALUE && own[i].width <= sizeof(uint64_t);
        else if (sound && own[i].kind == NVP_PART_MEMBER)
            sound = (uint64_t)own[i].offset + own[i].width <= size_of(image, form, i, own[i].position);
        else if (sound && own[i].kind == NVP_PART_TEXT)
            sound = found->is == NVP_IS_READ_TEXT;
        else if (sound)
            sound = found->is == NVP_IS_WORDED && own[i].width == 0;
        width += own[i].width;
        if (!sound || width > NVP_KEY_SIZE)
            return false;
    }
    return width == form->key_size;
}

/* Whether size bytes are rows of the list that the struct of a parameter points to at pointer, as many as count. */
static bool sound_rows(const struct nvp_form *form, const struct nvp_write *write, uint64_t struct_size, uint32_t count)
{
    for (unsigned int i = 0; i < nvp_rows_count; i++)
        if (nvp_rows[i].function == form->function && nvp_rows[i].position == write->position && nvp_rows[i].size == struct_size)
            return nvp_rows[i].pointer == write->offset && (uint64_t)count * nvp_rows[i].row == write->size;
    return false;
}

static bool sound_write(const struct nvp_image *image, const struct nvp_form *form, const struct nvp_answer *answer, const struct nvp_write *write)
{
    const struct nvp_parameter *const found = parameter(form, write->position);
    const bool handle = write->kind == NVP_WRITE_HANDLE;
    const uint64_t end = (uint64_t)write->offset + (handle ? sizeof(nvmlDevice_t) : write->size);
    if (found == NULL || found->read_only || write->kind > NVP_WRITE_ROWS)
        return false;
    if (handle ? write->data >= image->device_count : !in_data(image, write->data, write->size))
        return false;
    if (write->kind == NVP_WRITE_TEXT && found->is == NVP_IS_WORDED)
        return found->beside != NVP_NO_PARAMETER && end < size_of(image, form, form->part_count, write->position);
    if (found->is == NVP_IS_TEXT || write->kind == NVP_WRITE_TEXT)
        return found->is == NVP_IS_TEXT && write->kind == NVP_WRITE_TEXT && write->offset == 0;
    if (write->kind == NVP_WRITE_ROWS)
        return sound_rows(form, write, size_of(image, form, form->part_count, write->position), answer->count);
    if (found->is == NVP_IS_LIST)
        return end <= (uint64_t)answer->count * nvp_entry_size(image, form->function, found->size);
    return found->is == NVP_IS_ARRAY || end <= size_of(image, form, form->part_count, write->position);
}

static bool sound_answers(struct reading *reading, const struct nvp_form *form, const struct nvp_recorded *recorded)
{
    const struct nvp_image *const image = reading->image;
    const struct nvp_answer *const answers = (const struct nvp_answer *)nvp_table_of(image, image->answers) + recorded->steps;
    const struct nvp_write *const writes = nvp_table_of(image, image->writes);
    for (uint32_t i = 0; i < recorded->step_count; i++) {
        if (!take(&reading->writes, answers[i].writes, answers[i].write_count, image->writes))
            return false;
        for (uint32_t k = 0; k < answers[i].write_count; k++)
            if (!sound_write(image, form, &answers[i], &writes[answers[i].writes + k]))
                return false;
    }
    return true;
}

static bool sound_recorded(struct reading *reading, const struct nvp_form *form)
{
    const struct nvp_image *const image = reading->image;
    const struct nvp_recorded *const own = (const struct nvp_recorded *)nvp_table_of(image, image->recorded) + form->recorded;
    const unsigned char *const keys = (const unsigned char *)nvp_table_of(image, image->answer_data) + form->keys;
    if (!in_data(image, form->keys, (uint64_t)form->recorded_count * form->key_size))
        return false;
    for (uint32_t i = 0; i < form->recorded_count; i++) {
        if (own[i].step_count == 0 || !take(&reading->answers, own[i].steps, own[i].step_count, image->answers))
            return false;
        if (own[i].device != NVP_NODE && own[i].device >= image->device_count)
            return false;
        if (!sound_answers(reading, form, &own[i]))
            return false;
        const unsigned char *const key = keys + (size_t)i * form->key_size;
        if (i > 0 && (own[i - 1].device > own[i].device || (own[i - 1].device == own[i].device && memcmp(key - form->key_size, key, form->key_size) >= 0)))
            return false;
    }
    return true;
}

static bool sound_form(struct reading *reading, const struct nvp_form *form)
{
    const struct nvp_image *const image = reading->image;
    return form->function < NVP_FUNCTION_COUNT && take(&reading->parts, form->parts, form->part_count, image->parts) &&
           take(&reading->recorded, form->recorded, form->recorded_count, image->recorded) && sound_parts(image, form) && sound_recorded(reading, form);
}

/* Whether the tables can be used without another look; that each lies within the image is known. */
bool nvp_recorded_sound(const struct nvp_image *image)
{
    const struct nvp_form *const forms = nvp_table_of(image, image->forms);
    struct reading reading = {image, 0, 0, 0, 0};
    for (uint32_t i = 0; i < image->forms.count; i++)
        if (!sound_form(&reading, &forms[i]) || (i > 0 && forms[i - 1].function > forms[i].function))
            return false;
    return true;
}
