/* Steps after which readings follow what was set: a field that is as another, one of several, a share of a limit, profiles that were arbitrated. */
#include "nvp.h"

static bool value_of(const struct nvp_run *run, uint64_t id, uint64_t *value)
{
    return id < NVP_DEVICE_FIELD_COUNT && nvp_field_in(run->device, run->half, (unsigned int)id, value) == NVML_SUCCESS;
}

/* A number is what another is now: its value, its status, its motion.  That it was set is not marked: whatever it follows was. */
static void follow(const struct nvp_run *run, const struct nvp_step *step)
{
    if (step->low == NVP_NO_FIELD)
        return;
    const struct nvp_field *from = NVP_FIELD_AT(run->half, step->low);
    struct nvp_field *to = (struct nvp_field *)(uintptr_t)NVP_FIELD_AT(run->half, step->field);
    NVP_STORE(&to->value, from->value);
    NVP_STORE(&to->extra, from->extra);
    NVP_STORE(&to->kind, from->kind);
    NVP_STORE(&to->status, from->status);
}

/* The field so many places after the step's as an argument counts. */
static void set_among(const struct nvp_run *run, const struct nvp_step *step)
{
    if (step->index >= run->count || step->argument >= run->count)
        return;
    const uint64_t chosen = run->arguments[step->index].value;
    if (chosen < step->value && step->value <= NVP_DEVICE_FIELD_COUNT && step->field + chosen < NVP_DEVICE_FIELD_COUNT)
        nvp_set_number(run->half, (unsigned int)(step->field + chosen), run->arguments[step->argument].value);
}

/* of x among[by] x times / per; nothing where one of them has no value.  Limits and shares are 32 bits wide, times is 0 or 1. */
static void share(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t whole, times, chosen, part;
    if (step->value == 0 || !value_of(run, step->low, &whole) || !value_of(run, step->high, &times) || !value_of(run, step->mode, &chosen))
        return;
    if (chosen < step->index && value_of(run, step->code + chosen, &part))
        nvp_set_number(run->half, step->field, whole * part * times / step->value);
}

/* The bytes of a field within the record; NULL where it has none. */
static unsigned char *bytes_of(const struct nvp_run *run, unsigned int id, uint64_t *size)
{
    const struct nvp_field *field = NVP_FIELD_AT(run->half, id);
    const struct nvp_record *record = (const void *)run->half;
    *size = field->extra;
    if (field->status != 0 || field->value > record->size || field->extra > record->size - field->value)
        return NULL;
    return run->half + field->value;
}

static bool has(const void *mask, uint64_t size, uint32_t bit)
{
    return bit / 8 < size && ((const unsigned char *)mask)[bit / 8] >> bit % 8 & 1;
}

/* Whether a profile that is asked for is beaten: one of better priority, a lower number, is asked for, too, and one of the two names the other. */
static bool beaten(const struct nvp_workload *own, const unsigned char *rows, uint64_t count, const unsigned char *asked, uint64_t size)
{
    for (uint64_t i = 0; i < count; i++) {
        struct nvp_workload other;
        memcpy(&other, rows + i * sizeof other, sizeof other);
        if (other.priority < own->priority && has(asked, size, other.id) &&
            (has(other.conflicts, sizeof other.conflicts, own->id) || has(own->conflicts, sizeof own->conflicts, other.id)))
            return true;
    }
    return false;
}

/* The profiles enforced: those asked for and offered that none of better priority beats (ledger F17). */
static void arbitrate(const struct nvp_run *run, const struct nvp_step *step)
{
    uint64_t size, asked_size, offered_size;
    if (step->low == NVP_NO_FIELD || step->high == NVP_NO_FIELD)
        return;
    unsigned char *enforced = bytes_of(run, step->field, &size);
    const unsigned char *asked = bytes_of(run, step->low, &asked_size), *rows = bytes_of(run, step->high, &offered_size);
    if (enforced == NULL || asked == NULL || rows == NULL)
        return;
    for (uint64_t i = 0; i < size; i++)
        NVP_STORE(&enforced[i], (unsigned char)0);
    const uint64_t count = offered_size / sizeof(struct nvp_workload);
    for (uint64_t i = 0; i < count; i++) {
        struct nvp_workload own;
        memcpy(&own, rows + i * sizeof own, sizeof own);
        if (own.id / 8 < size && has(asked, asked_size, own.id) && !beaten(&own, rows, count, asked, asked_size))
            NVP_STORE(&enforced[own.id / 8], (unsigned char)(enforced[own.id / 8] | 1U << own.id % 8));
    }
}

void nvp_step_follow(const struct nvp_run *run, const struct nvp_step *step)
{
    if (run->device == &nvp_node)
        return;
    switch (step->op) {
    case NVP_STEP_FOLLOW:
        follow(run, step);
        break;
    case NVP_STEP_SET_AMONG:
        set_among(run, step);
        break;
    case NVP_STEP_SHARE:
        share(run, step);
        break;
    default:
        arbitrate(run, step);
        break;
    }
}
