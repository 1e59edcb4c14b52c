/* Recorded answers: a call of exactly the recorded arguments is answered as the recording says, before anything else of it is looked at.  Reached
 * from the cold copy of a function alone, whose handles and pointers are sound by then. */
#include "nvp.h"

/* The parameter at position, as an address. */
static void *place(const uint64_t *given, unsigned int position)
{
    return (void *)(uintptr_t)given[position];
}

static const struct nvp_parameter *parameters(unsigned int function, unsigned int *number)
{
    *number = (unsigned int)(nvp_parameters_of[function + 1] - nvp_parameters_of[function]);
    return &nvp_parameters[nvp_parameters_of[function]];
}

void nvp_flag_recorded(void)
{
    const struct nvp_form *const forms = nvp_table_of(nvp_image, nvp_image->forms);
    for (unsigned int i = 0; i < nvp_image->forms.count; i++)
        __atomic_or_fetch(&nvp_flag[forms[i].function], NVP_FLAG_RECORDED, __ATOMIC_RELAXED);
}

/* The number of the first form of a function, or of the first behind where it would stand. */
static unsigned int first_form(const struct nvp_form *forms, unsigned int count, unsigned int function)
{
    unsigned int low = 0, high = count;
    while (low < high) {
        const unsigned int middle = low + (high - low) / 2;
        if (forms[middle].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The key that the arguments make in a form; false where their struct is another one than the form's, or a text is longer than any recorded. */
static bool make_key(const struct nvp_form *form, const uint64_t *given, unsigned char key[NVP_KEY_SIZE])
{
    const struct nvp_part *const parts = (const struct nvp_part *)nvp_table_of(nvp_image, nvp_image->parts) + form->parts;
    for (unsigned int i = 0; i < form->part_count; i++) {
        const struct nvp_part part = parts[i];
        const unsigned char *const there = place(given, part.position);
        uint32_t word;
        size_t length = part.width;
        if (part.kind == NVP_PART_VALUE) {
            memcpy(key, &given[part.position], part.width);
        } else if (there == NULL) {
            return false;
        } else if (part.kind == NVP_PART_WORD) {
            memcpy(&word, there, sizeof word);
            if (word != part.word)
                return false;
        } else if (part.kind == NVP_PART_MEMBER) {
            memcpy(key, there + part.offset, part.width);
        } else {
            length = strnlen((const char *)there, part.width);
            if (length == part.width)
                return false;
            memcpy(key, there, length);
            memset(key + length, 0, part.width - length);
        }
        key += part.width;
    }
    return true;
}

/* The recorded call of a device and key in a form, or NULL. */
static const struct nvp_recorded *find(const struct nvp_form *form, uint32_t device, const unsigned char *key)
{
    const struct nvp_recorded *const rows = (const struct nvp_recorded *)nvp_table_of(nvp_image, nvp_image->recorded) + form->recorded;
    const unsigned char *const keys = (const unsigned char *)nvp_table_of(nvp_image, nvp_image->answer_data) + form->keys;
    unsigned int low = 0, high = form->recorded_count;
    while (low < high) {
        const unsigned int middle = low + (high - low) / 2;
        int order = rows[middle].device < device ? -1 : rows[middle].device > device;
        if (order == 0)
            order = memcmp(keys + (size_t)middle * form->key_size, key, form->key_size);
        if (order == 0)
            return &rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The answer that a recorded call stands at now. */
static const struct nvp_answer *answer_now(const struct nvp_recorded *recorded)
{
    const struct nvp_answer *const answers = (const struct nvp_answer *)nvp_table_of(nvp_image, nvp_image->answers) + recorded->steps;
    if (recorded->step_count == 1 || recorded->period_ns == 0)
        return answers;
    const uint64_t now = nvp_now_ns();
    uint64_t step = now > recorded->start_ns ? (now - recorded->start_ns) / recorded->period_ns : 0;
    if (step >= recorded->step_count)
        step = recorded->loop ? step % recorded->step_count : recorded->step_count - 1;
    return &answers[step];
}

/* The bytes that a caller has behind a text or an array. */
static uint64_t room(const struct nvp_parameter *all, unsigned int position, const uint64_t *given)
{
    const struct nvp_parameter *const own = &all[position];
    if (own->beside == NVP_NO_PARAMETER)
        return own->size;
    if (all[own->beside].is == NVP_IS_COUNT)
        return *(const unsigned int *)place(given, own->beside);
    return (uint64_t)(uint32_t)given[own->beside] * own->size;
}

/* The list that a struct points to, by the struct's size, which its version word says; an image with rows for another struct was refused. */
static const struct nvp_rows *rows_of(unsigned int function, const struct nvp_write *write, const unsigned char *there)
{
    unsigned int i = 0;
    uint32_t word;
    memcpy(&word, there, sizeof word);
    while (i + 1 < nvp_rows_count && (nvp_rows[i].function != function || nvp_rows[i].position != write->position || nvp_rows[i].size != (word & 0xffffff)))
        i++;
    return &nvp_rows[i];
}

static const struct nvp_write *writes_of(const struct nvp_answer *answer)
{
    return (const struct nvp_write *)nvp_table_of(nvp_image, nvp_image->writes) + answer->writes;
}

/* Whether the rows of an answer fit where the caller's struct points to; where they do not, the struct says how many there are. */
static bool rows_fit(const struct nvp_rows *rows, unsigned char *there, uint32_t pointer, uint32_t number)
{
    const void *list;
    uint32_t room;
    memcpy(&list, there + pointer, sizeof list);
    memcpy(&room, there + rows->count, sizeof room);
    if (number == 0 || (list != NULL && room >= number))
        return true;
    memcpy(there + rows->count, &number, sizeof number);
    return false;
}

/* Whether the caller has room for what a write brings: rows, a text, an array; *needed is the length of a text with its NUL. */
static bool fits(unsigned int function, const struct nvp_parameter *all, const struct nvp_answer *answer, const struct nvp_write *write,
                 const uint64_t *given, uint32_t *needed)
{
    const unsigned int is = all[write->position].is;
    unsigned char *const there = place(given, write->position);
    const uint64_t end = (uint64_t)write->offset + (write->kind == NVP_WRITE_HANDLE ? sizeof(nvmlDevice_t) : write->size);
    if (write->kind == NVP_WRITE_ROWS)
        return rows_fit(rows_of(function, write, there), there, write->offset, answer->count);
    if (is == NVP_IS_ARRAY)
        return end <= room(all, write->position, given);
    *needed = write->size + 1;
    if (is == NVP_IS_WORDED && write->kind == NVP_WRITE_TEXT)
        return write->size < (uint32_t)given[all[write->position].beside];
    return is != NVP_IS_TEXT || (there != NULL && write->size < room(all, write->position, given));
}

static void put(const struct nvp_write *write, unsigned char *there)
{
    const unsigned char *const data = nvp_table_of(nvp_image, nvp_image->answer_data);
    if (write->kind == NVP_WRITE_HANDLE) {
        const nvmlDevice_t handle = write->data < nvp_image->device_count ? nvp_handle_of(&nvp_devices[write->data + 1]) : NULL;
        memcpy(there + write->offset, &handle, sizeof handle);
    } else if (write->kind == NVP_WRITE_ROWS) {
        void *list;
        memcpy(&list, there + write->offset, sizeof list);
        if (write->size)
            memcpy(list, data + write->data, write->size);
    } else {
        memcpy(there + write->offset, data + write->data, write->size);
        if (write->kind == NVP_WRITE_TEXT)
            there[write->offset + write->size] = '\0';
    }
}

/* SUCCESS and everything written, or INSUFFICIENT_SIZE and nothing but how much room is needed. */
static nvmlReturn_t put_all(unsigned int function, const struct nvp_parameter *all, const struct nvp_answer *answer, const uint64_t *given,
                            unsigned int *count)
{
    const struct nvp_write *const writes = writes_of(answer);
    uint32_t needed = 0;
    for (unsigned int i = 0; i < answer->write_count; i++) {
        if (fits(function, all, answer, &writes[i], given, &needed))
            continue;
        if (count)
            *count = needed;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    /* rows first: the pointer to them is the caller's as long as nothing of the struct was written */
    for (unsigned int i = 0; i < answer->write_count; i++)
        if (writes[i].kind == NVP_WRITE_ROWS)
            put(&writes[i], place(given, writes[i].position));
    for (unsigned int i = 0; i < answer->write_count; i++)
        if (writes[i].kind != NVP_WRITE_ROWS && place(given, writes[i].position) != NULL) /* one of two pointers of which the caller wants the other */
            put(&writes[i], place(given, writes[i].position));
    if (count && answer->flags & NVP_ANSWER_COUNTED)
        *count = answer->count;
    return NVML_SUCCESS;
}

/* Give an answer: its code, and what it writes where that is SUCCESS and the caller has room; false where the recording does not know the items of a
 * list that the caller has room for. */
static bool give(unsigned int function, const struct nvp_answer *answer, const uint64_t *given, nvmlReturn_t *code)
{
    unsigned int number, *count = NULL;
    const struct nvp_parameter *const all = parameters(function, &number);
    bool wanting = false;
    for (unsigned int i = 0; i < number; i++)
        if (all[i].is == NVP_IS_COUNT)
            count = place(given, i);
    for (unsigned int i = 0; count && i < number; i++)
        wanting |= all[i].is == NVP_IS_LIST && answer->count && (place(given, i) == NULL || *count < answer->count);
    if (answer->code == NVML_SUCCESS && !wanting) {
        if (answer->flags & NVP_ANSWER_LENGTH_ALONE)
            return false;
        *code = put_all(function, all, answer, given, count);
        return true;
    }
    *code = wanting && answer->code == NVML_SUCCESS ? NVML_ERROR_INSUFFICIENT_SIZE : (nvmlReturn_t)answer->code;
    if (count && answer->flags & NVP_ANSWER_COUNTED)
        *count = answer->count;
    return true;
}

/* Whether these arguments of a function were recorded, and then its code; what was recorded is written.  device: the index of the first device
 * parameter; given: every parameter, device handles as their index. */
bool nvp_recorded(unsigned int function, uint32_t device, const uint64_t *given, nvmlReturn_t *code)
{
    const struct nvp_form *const forms = nvp_table_of(nvp_image, nvp_image->forms);
    unsigned char key[NVP_KEY_SIZE];
    for (unsigned int i = first_form(forms, nvp_image->forms.count, function); i < nvp_image->forms.count && forms[i].function == function; i++) {
        if (!make_key(&forms[i], given, key))
            continue;
        const struct nvp_recorded *const recorded = find(&forms[i], device, key);
        if (recorded != NULL && give(function, answer_now(recorded), given, code))
            return true;
    }
    return false;
}
