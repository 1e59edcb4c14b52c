/* The steps of setter programs, a closed set: checks against the half that is given, and changes of the half that is edited (acts.c). */
#include "nvp.h"

/* The argument a step speaks of: one of the call's, or the step's own value. */
static uint64_t argument_of(const struct nvp_run *run, const struct nvp_step *step)
{
    return step->argument < run->count ? run->arguments[step->argument].value : step->value;
}

/* The value of a field in the half of the run; false where it has none, or none is named. */
static bool value_of(const struct nvp_run *run, unsigned int id, uint64_t *value)
{
    return id != NVP_NO_FIELD && nvp_field_in(run->device, run->half, id, value) == NVML_SUCCESS;
}

/* The same for numbers with a sign. */
static bool in_signed_range(const struct nvp_run *run, const struct nvp_step *step)
{
    const int64_t value = (int64_t)argument_of(run, step);
    uint64_t bound;
    if (value_of(run, step->low, &bound) && value < (int64_t)bound)
        return false;
    return !value_of(run, step->high, &bound) || value <= (int64_t)bound;
}

/* A bound that has a code is open (ledger F05); the step's own value is the least that is ever taken. */
static bool in_range(const struct nvp_run *run, const struct nvp_step *step)
{
    const uint64_t value = argument_of(run, step);
    uint64_t bound;
    if (run->device != &nvp_node && step->low != NVP_NO_FIELD && nvp_device_types[step->low] == NVP_T_i64)
        return in_signed_range(run, step);
    if (value < step->value || (value_of(run, step->low, &bound) && value < bound))
        return false;
    return !value_of(run, step->high, &bound) || value <= bound;
}

static bool in_list(const struct nvp_run *run, const struct nvp_step *step)
{
    const struct nvp_field *field = NVP_FIELD_AT(run->half, step->field);
    const unsigned char *items = nvp_data(run->device, run->half, field->value, field->extra);
    for (uint32_t i = 0; items && i < field->extra / sizeof(uint32_t); i++) {
        uint32_t item;
        memcpy(&item, items + i * sizeof item, sizeof item);
        if (item == argument_of(run, step))
            return true;
    }
    return false;
}

/* The argument is a memory clock of the clock table, and that of index one of its graphics clocks. */
static bool in_pairs(const struct nvp_run *run, const struct nvp_step *step)
{
    const struct nvp_field *field = NVP_FIELD_AT(run->half, step->field);
    const unsigned char *rows = nvp_data(run->device, run->half, field->value, field->extra);
    const uint64_t graphics = step->index < run->count ? run->arguments[step->index].value : 0;
    for (uint32_t i = 0; rows && i < field->extra / sizeof(struct nvp_memory_clock); i++) {
        struct nvp_memory_clock row;
        memcpy(&row, rows + i * sizeof row, sizeof row);
        const unsigned char *clocks = nvp_data(run->device, run->half, row.graphics, (uint64_t)row.graphics_count * sizeof(uint32_t));
        for (uint32_t k = 0; clocks && row.mhz == argument_of(run, step) && k < row.graphics_count; k++) {
            uint32_t mhz;
            memcpy(&mhz, clocks + k * sizeof mhz, sizeof mhz);
            if (mhz == graphics)
                return true;
        }
    }
    return false;
}

/* Every bit of a mask that was given stands in the field's. */
static bool within_mask(const struct nvp_run *run, const struct nvp_step *step)
{
    const struct nvp_field *field = NVP_FIELD_AT(run->half, step->field);
    const unsigned char *allowed = nvp_data(run->device, run->half, field->value, field->extra);
    if (step->argument >= run->count || allowed == NULL)
        return false;
    const struct nvp_argument *given = &run->arguments[step->argument];
    const unsigned char *bytes = given->bytes;
    for (size_t i = 0; i < given->size; i++)
        if (bytes[i] & ~(i < field->extra ? allowed[i] : 0))
            return false;
    return true;
}

/* The field, or without one the argument, against the step's value; a field without a value equals nothing. */
static bool equal(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t value;
    if (step->field == NVP_NO_FIELD)
        return step->argument < run->count && run->arguments[step->argument].value == step->value;
    return value_of(run, step->field, &value) && value == step->value;
}

/* A text that is set fits the room its field has. */
static bool fits(const struct nvp_run *run, const struct nvp_step *step)
{
    const uint16_t *rooms = run->device == &nvp_node ? nvp_system_rooms : nvp_device_rooms;
    return step->argument < run->count && run->arguments[step->argument].bytes != NULL && run->arguments[step->argument].size <= rooms[step->field];
}

/* A list without items; a field with a status has none either. */
static bool empty(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t unused;
    return step->field == NVP_NO_FIELD || !value_of(run, step->field, &unused) || NVP_FIELD_AT(run->half, step->field)->extra == 0;
}

/* The name of a host, or none (ledger B14): letters, digits, dots and hyphens, the last two at neither end. */
static bool is_hostname(const struct nvp_run *run, const struct nvp_step *step)
{
    const struct nvp_argument *given = step->argument < run->count ? &run->arguments[step->argument] : NULL;
    const char *text = given ? given->bytes : NULL;
    if (text == NULL || given->size >= NVML_DEVICE_HOSTNAME_BUFFER_SIZE)
        return false;
    for (size_t i = 0; i < given->size; i++) {
        const bool letter = (text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z';
        const bool inside = i > 0 && i + 1 < given->size && (text[i] == '.' || text[i] == '-');
        if (!letter && !inside && (text[i] < '0' || text[i] > '9'))
            return false;
    }
    return true;
}

/* Checks of what a field holds answer the field's own code first. */
static nvmlReturn_t check_field(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t value;
    const nvmlReturn_t code = nvp_field_in(run->device, run->half, step->field, &value);
    bool holds = true;
    if (code != NVML_SUCCESS)
        return code;
    if (step->op == NVP_STEP_CHECK_LIST)
        holds = in_list(run, step);
    else if (step->op == NVP_STEP_CHECK_WITHIN)
        holds = within_mask(run, step);
    else if (step->op == NVP_STEP_CHECK_PAIR)
        holds = in_pairs(run, step);
    else if (step->op == NVP_STEP_CHECK_INDEX)
        holds = argument_of(run, step) < NVP_FIELD_AT(run->half, step->field)->extra / sizeof(uint32_t);
    return holds ? NVML_SUCCESS : (nvmlReturn_t)step->code;
}

/* What a step answers where it does not hold; changes always hold, but for a text without room. */
nvmlReturn_t nvp_step_check(const struct nvp_run *run, const struct nvp_step *step)
{
    bool holds = true;
    switch (step->op) {
    case NVP_STEP_CHECK_STATUS:
    case NVP_STEP_CHECK_LIST:
    case NVP_STEP_CHECK_WITHIN:
    case NVP_STEP_CHECK_INDEX:
    case NVP_STEP_CHECK_PAIR:
        return step->field == NVP_NO_FIELD ? NVML_ERROR_UNKNOWN : check_field(run, step);
    case NVP_STEP_CHECK_RANGE:
        holds = in_range(run, step);
        break;
    case NVP_STEP_CHECK_BELOW:
        holds = argument_of(run, step) < step->value;
        break;
    case NVP_STEP_CHECK_MODE:
        holds = (((const struct nvp_record *)(const void *)run->half)->modes & step->mode) != 0;
        break;
    case NVP_STEP_CHECK_EQUALS:
        holds = equal(run, step);
        break;
    case NVP_STEP_CHECK_DIFFERS:
        holds = !equal(run, step);
        break;
    case NVP_STEP_CHECK_EMPTY:
        holds = empty(run, step);
        break;
    case NVP_STEP_CHECK_HOSTNAME:
        holds = is_hostname(run, step);
        break;
    case NVP_STEP_SET_TEXT:
        holds = step->field != NVP_NO_FIELD && fits(run, step);
        break;
    default:
        break;
    }
    return holds ? NVML_SUCCESS : (nvmlReturn_t)step->code;
}

/* Whether a step is done at all. */
bool nvp_step_holds(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t value;
    if (step->when_argument != NVP_NO_ARGUMENT && (step->when_argument >= run->count || run->arguments[step->when_argument].value != step->when_value))
        return false;
    return step->when_field == NVP_NO_FIELD || (value_of(run, step->when_field, &value) && value == step->when_value);
}
