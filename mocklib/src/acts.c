/* The steps of setter programs that change the half that is edited.  A record that is edited was checked whole: what its fields name lies within it. */
#include "nvp.h"

#define RECORD(half) ((struct nvp_record *)(void *)(half))

static struct nvp_field *field_at(unsigned char *half, unsigned int id)
{
    return (struct nvp_field *)(void *)(half + sizeof(struct nvp_record)) + id;
}

/* Whether the field is other than the record that a reset goes back to, so that it is known what was set. */
static void mark(unsigned char *half, unsigned int id, bool overridden)
{
    unsigned char *bits = half + RECORD(half)->overridden + id / 8;
    const unsigned int bit = 1U << (id % 8);
    NVP_STORE(bits, (unsigned char)(overridden ? *bits | bit : *bits & ~bit));
}

/* A field takes a value of its own: constant and there. */
void nvp_set_number(unsigned char *half, unsigned int id, uint64_t value)
{
    struct nvp_field *field = field_at(half, id);
    NVP_STORE(&field->value, value);
    NVP_STORE(&field->status, (uint16_t)0);
    NVP_STORE(&field->kind, (uint8_t)NVP_CONSTANT);
    mark(half, id, true);
}

static bool value_of(const struct nvp_run *run, const unsigned char *half, unsigned int id, uint64_t *value)
{
    return id != NVP_NO_FIELD && nvp_field_in(run->device, half, id, value) == NVML_SUCCESS;
}

static bool is_number(const struct nvp_run *run, unsigned int id)
{
    const unsigned int type = run->device == &nvp_node ? nvp_system_types[id] : nvp_device_types[id];
    return type == NVP_T_u64 || type == NVP_T_i64;
}

static void clamp(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t value, bound;
    if (!value_of(run, run->half, step->field, &value))
        return;
    if (value_of(run, run->half, step->low, &bound) && value < bound)
        nvp_set_number(run->half, step->field, bound);
    if (value_of(run, run->half, step->high, &bound) && value > bound)
        nvp_set_number(run->half, step->field, bound);
}

/* The motion that a field has, or that is kept for it (moves in fields.yaml); NULL for any other. */
static struct nvp_motion *motion_of(const struct nvp_run *run, unsigned int id)
{
    const struct nvp_field *field = field_at(run->half, id);
    const struct nvp_record *record = RECORD(run->half);
    const bool kept = run->device == &nvp_node ? nvp_system_moves[id] : nvp_device_moves[id];
    if ((field->kind == NVP_CONSTANT && !kept) || field->extra >= record->motion_count)
        return NULL;
    return (struct nvp_motion *)(void *)(run->half + record->motions) + field->extra;
}

/* A moving field begins again now, from zero. */
static void rebase(const struct nvp_run *run, const struct nvp_step *step)
{
    struct nvp_field *field = field_at(run->half, step->field);
    struct nvp_motion *motion = field->kind == NVP_CONSTANT ? NULL : motion_of(run, step->field);
    if (motion == NULL)
        return;
    NVP_STORE(&field->value, (uint64_t)0);
    NVP_STORE(&motion->start_ns, nvp_now_ns());
}

/* A counter back to zero, and a rising one from there on; one without a value keeps its state. */
static void clear(const struct nvp_run *run, const struct nvp_step *step)
{
    struct nvp_field *field = field_at(run->half, step->field);
    if (field->status == 0 && field->kind == NVP_CONSTANT && field->value != 0) {
        nvp_set_number(run->half, step->field, 0);
    } else if (field->status == 0 && field->kind == NVP_COUNTED) { /* what it counted is taken off, so that it rises from 0 on */
        NVP_STORE(&field->value, 0 - nvp_calls_in(run->device, run->half));
        mark(run->half, step->field, true);
    } else if (field->status == 0) {
        rebase(run, step);
    }
}

/* A field with a motion kept for it rises from its value now on, by the rate of a field, an argument or the step. */
static void set_motion(const struct nvp_run *run, const struct nvp_step *step, uint64_t argument)
{
    struct nvp_motion *motion = motion_of(run, step->field);
    uint64_t value, rate = argument;
    if (motion == NULL || !value_of(run, run->half, step->field, &value))
        return;
    if (step->low != NVP_NO_FIELD && !value_of(run, run->half, step->low, &rate))
        return;
    nvp_set_number(run->half, step->field, value);
    NVP_STORE(&motion->start_ns, nvp_now_ns());
    NVP_STORE(&motion->rate, (int64_t)rate);
    NVP_STORE(&field_at(run->half, step->field)->kind, (uint8_t)NVP_RAMP);
}

/* The bytes of a field that is no number, and how many there are; NULL where it has a status or does not lie within the record. */
static unsigned char *bytes_of(unsigned char *half, unsigned int id, uint64_t *size)
{
    const struct nvp_field *field = field_at(half, id);
    *size = field->extra;
    if (field->status != 0 || field->value > RECORD(half)->size || field->extra > RECORD(half)->size - field->value)
        return NULL;
    return half + field->value;
}

/* The room of a field that can be set to a text, from its place on; 0 where the record has none there. */
static uint64_t room_of(const struct nvp_run *run, unsigned int id)
{
    const uint64_t room = run->device == &nvp_node ? nvp_system_rooms[id] : nvp_device_rooms[id];
    const struct nvp_field *field = field_at(run->half, id);
    return field->value >= sizeof(struct nvp_record) && field->value <= RECORD(run->half)->size && room <= RECORD(run->half)->size - field->value ? room : 0;
}

static void put_bytes(unsigned char *to, const unsigned char *from, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        NVP_STORE(&to[i], from[i]);
}

/* The accounting buffer loses its terminated processes (ledger R07, R08); those that run move up in their order. */
static void drop_terminated(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t size, kept = 0;
    struct nvp_accounted *list = (struct nvp_accounted *)(void *)bytes_of(run->half, step->field, &size);
    for (uint64_t i = 0; list && i < size / sizeof *list; i++) {
        if (!list[i].running)
            continue;
        const struct nvp_accounted one = list[i];
        uint64_t words[sizeof one / sizeof(uint64_t)];
        memcpy(words, &one, sizeof words);
        for (size_t word = 0; word < sizeof words / sizeof *words; word++)
            NVP_STORE((uint64_t *)(void *)&list[kept] + word, words[word]);
        kept++;
    }
    if (list == NULL || kept == size / sizeof *list)
        return;
    NVP_STORE(&field_at(run->half, step->field)->extra, (uint32_t)(kept * sizeof *list));
    mark(run->half, step->field, true);
}

/* What a field is in another record, of the same type. */
static void take_field(const struct nvp_run *run, unsigned int id, const unsigned char *from)
{
    const struct nvp_field *other = NVP_FIELD_AT(from, id);
    const struct nvp_record *record = (const void *)from;
    struct nvp_field *field = field_at(run->half, id);
    if (is_number(run, id)) {
        struct nvp_motion *motion = other->kind == NVP_RAMP ? motion_of(run, id) : NULL;
        const struct nvp_motion *given = (const struct nvp_motion *)(const void *)(from + record->motions) + other->extra;
        if (motion) {
            NVP_STORE(&motion->start_ns, given->start_ns);
            NVP_STORE(&motion->rate, given->rate);
        }
        uint64_t value = other->value;
        if (other->kind == NVP_TRACK) /* its samples stay where they are: the field stands still where they are now */
            (void)nvp_field_in(run->device, from, id, &value);
        NVP_STORE(&field->value, value);
        NVP_STORE(&field->kind, motion ? other->kind : (uint8_t)NVP_CONSTANT);
    } else {
        const uint64_t room = room_of(run, id) ? room_of(run, id) : field->extra;
        if (other->status == 0 && (other->extra > room || (field->status != 0 && room_of(run, id) == 0)))
            return;
        if (other->status == 0) {
            put_bytes(run->half + field->value, from + other->value, other->extra);
            NVP_STORE(&field->extra, other->extra);
        }
    }
    NVP_STORE(&field->status, other->status);
}

/* A field as a reset would have it. */
static void restore(const struct nvp_run *run, const struct nvp_step *step)
{
    take_field(run, step->field, nvp_reset_record(run->device, run->half));
    mark(run->half, step->field, false);
}

/* What the record before the reset says of a field becomes that of this one, and its mode. */
static void adopt(const struct nvp_run *run, const struct nvp_step *step)
{
    struct nvp_record *record = RECORD(run->half);
    uint64_t value, now;
    if (run->old == NULL || !value_of(run, run->old, step->low, &value))
        return;
    if (!value_of(run, run->half, step->field, &now) || now != value)
        nvp_set_number(run->half, step->field, value);
    if (step->mode) {
        NVP_STORE(&record->modes, value ? record->modes | step->mode : record->modes & ~step->mode);
        NVP_STORE(&record->odd, ~(record->modes << 24));
    }
}

static void set_item(const struct nvp_run *run, const struct nvp_step *step, uint64_t argument)
{
    uint64_t size;
    unsigned char *items = bytes_of(run->half, step->field, &size);
    const uint64_t index = step->index < run->count ? run->arguments[step->index].value : 0;
    if (items == NULL || index >= size / sizeof(uint32_t))
        return;
    const uint32_t item = (uint32_t)argument;
    put_bytes(items + index * sizeof item, (const unsigned char *)&item, sizeof item);
    mark(run->half, step->field, true);
}

static void set_text(const struct nvp_run *run, const struct nvp_step *step)
{
    struct nvp_field *field = field_at(run->half, step->field);
    const struct nvp_argument *given = &run->arguments[step->argument];
    if (given->size > room_of(run, step->field))
        return;
    put_bytes(run->half + field->value, given->bytes, given->size);
    NVP_STORE(&field->extra, (uint32_t)given->size);
    NVP_STORE(&field->status, (uint16_t)0);
    mark(run->half, step->field, true);
}

/* A mask's bytes with those given: added, taken away, or instead of them. */
static void set_mask(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t size;
    unsigned char *mask = bytes_of(run->half, step->field, &size);
    if (mask == NULL || step->argument >= run->count || run->arguments[step->argument].bytes == NULL)
        return;
    const struct nvp_argument *given = &run->arguments[step->argument];
    for (uint64_t i = 0; i < size; i++) {
        const unsigned int bits = i < given->size ? ((const unsigned char *)given->bytes)[i] : 0U;
        const unsigned int made = step->op == NVP_STEP_MASK_OR ? mask[i] | bits : step->op == NVP_STEP_MASK_CLEAR ? mask[i] & ~bits : bits;
        NVP_STORE(&mask[i], (unsigned char)made);
    }
    mark(run->half, step->field, true);
}

static void act_on_record(const struct nvp_run *run, const struct nvp_step *step, uint64_t argument)
{
    struct nvp_record *record = RECORD(run->half);
    if (step->op == NVP_STEP_SET_MODE) {
        NVP_STORE(&record->modes, argument ? record->modes | step->mode : record->modes & ~step->mode);
        NVP_STORE(&record->odd, ~(record->modes << 24));
    } else if (step->op == NVP_STEP_SET_MARK) {
        NVP_STORE(&record->marks, argument ? record->marks | step->mode : record->marks & ~step->mode);
    } else {
        NVP_STORE(&record->handle_code, (uint32_t)argument);
        NVP_STORE(&record->reading_code, (uint32_t)argument);
    }
}

static void act_on_bytes(const struct nvp_run *run, const struct nvp_step *step, uint64_t argument)
{
    if (step->op == NVP_STEP_SET_ITEM)
        set_item(run, step, argument);
    else if (step->op == NVP_STEP_SET_TEXT)
        set_text(run, step);
    else if (step->op == NVP_STEP_DROP_TERMINATED)
        drop_terminated(run, step);
    else
        set_mask(run, step);
}

/* Steps that only check do nothing here. */
void nvp_step_act(const struct nvp_run *run, const struct nvp_step *step)
{
    const uint64_t argument = step->argument < run->count ? run->arguments[step->argument].value : step->value;
    uint64_t value;
    if (step->op == NVP_STEP_SET_MODE || step->op == NVP_STEP_SET_MARK || step->op == NVP_STEP_ABSENT)
        act_on_record(run, step, argument);
    if (step->field == NVP_NO_FIELD || step->op < NVP_STEP_SET)
        return;
    switch (step->op) {
    case NVP_STEP_SET:
        nvp_set_number(run->half, step->field, argument);
        break;
    case NVP_STEP_COPY:
        if (value_of(run, run->half, step->low, &value))
            nvp_set_number(run->half, step->field, value);
        break;
    case NVP_STEP_ZERO:
        nvp_set_number(run->half, step->field, 0);
        break;
    case NVP_STEP_CLAMP:
        clamp(run, step);
        break;
    case NVP_STEP_REBASE:
    case NVP_STEP_CLEAR:
        step->op == NVP_STEP_CLEAR ? clear(run, step) : rebase(run, step);
        break;
    case NVP_STEP_RESTORE:
        restore(run, step);
        break;
    case NVP_STEP_SET_MOTION:
        set_motion(run, step, argument);
        break;
    case NVP_STEP_ADOPT:
        adopt(run, step);
        break;
    case NVP_STEP_SET_ITEM:
    case NVP_STEP_SET_TEXT:
    case NVP_STEP_MASK_OR:
    case NVP_STEP_MASK_CLEAR:
    case NVP_STEP_MASK_SET:
    case NVP_STEP_DROP_TERMINATED:
        act_on_bytes(run, step, argument);
        break;
    default:
        (step->op < NVP_STEP_ABSENT ? nvp_step_follow : nvp_step_fail)(run, step);
        break;
    }
}
