/* Failure injection: a device whose profile or override says so counts guarded calls, and at one of them it trips.  The trip is a program over its
 * record, so that every process sees it; it stays until the injector is replaced (ledger V01 to V12, V18). */
#include "nvp_state.h"

/* What a record says of its injector.  probability: of 2^53.  from: the count of calls when the injector was made. */
struct injector {
    uint64_t mode;
    uint64_t after;
    uint64_t probability;
    uint64_t seed;
    uint64_t xid;
    uint64_t from;
    uint64_t tripped;
    uint64_t told;
};

static uint64_t kept(const unsigned char *half, unsigned int id)
{
    const struct nvp_field *field = NVP_FIELD_AT(half, id);
    return field->status == 0 ? field->value : 0;
}

static struct injector injector_in(const unsigned char *half)
{
    return (struct injector){kept(half, NVP_F_failure_mode),        kept(half, NVP_F_failure_after_calls), kept(half, NVP_F_failure_probability),
                             kept(half, NVP_F_failure_seed),        kept(half, NVP_F_failure_xid_code),    kept(half, NVP_F_failure_counted_from),
                             kept(half, NVP_F_failure_tripped),     kept(half, NVP_F_failure_told)};
}

static struct injector injector_of(const struct nvp_device *device)
{
    struct injector injector;
    NVP_READ_BEGIN(device)
        injector = injector_in(nvp_half);
    NVP_READ_END(device)
    return injector;
}

/* 64 well mixed bits of a number (Steele, Lea and Flood: the finalizer of SplitMix64). */
static uint64_t mixed(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ULL;
    number = (number ^ number >> 27) * 0x94d049bb133111ebULL;
    return number ^ number >> 31;
}

/* The roll of one call: the same again for the same seed; a seed of 0 takes the time for one (ledger V06). */
static bool rolled(const struct injector *injector, uint64_t call)
{
    const uint64_t seed = injector->seed ? injector->seed : nvp_now_ns();
    return mixed(seed + call * 0x9e3779b97f4a7c15ULL) >> 11 < injector->probability;
}

/* Whether it fails at its first guarded call, nothing else being said (ledger V04). */
static bool at_once(const struct injector *injector)
{
    return injector->after == 0 && injector->probability == 0;
}

/* Whether it trips at a call, of which there were calls since the counts began. */
static bool due(const struct injector *injector, uint64_t calls)
{
    const uint64_t call = calls > injector->from ? calls - injector->from : 0;
    if (injector->mode == NVP_FAILURE_HEALTHY || injector->mode > NVP_FAILURE_ECC_UNCORRECTABLE || injector->tripped)
        return false; /* a mode that is none is healthy (ledger V01) */
    return at_once(injector) || (injector->after && call >= injector->after) || rolled(injector, call);
}

static void keep(unsigned char *half, unsigned int id, uint64_t value)
{
    struct nvp_field *field = (struct nvp_field *)(void *)(half + sizeof(struct nvp_record)) + id;
    NVP_STORE(&field->value, value);
    NVP_STORE(&field->status, (uint16_t)0);
}

static unsigned int program_of(uint64_t mode)
{
    if (mode == NVP_FAILURE_ECC_UNCORRECTABLE)
        return NVP_P_failure_ecc_uncorrectable;
    return mode == NVP_FAILURE_LOST ? NVP_P_failure_lost : NVP_P_failure_fallen_off_bus;
}

/* The trip in a half that is being edited; its Xid and its error record go to the events, and are there once the half is in force. */
static void trip_in(const struct nvp_device *device, unsigned char *half, const struct injector *injector)
{
    const struct nvp_program *programs = (const void *)((const unsigned char *)nvp_image + nvp_image->programs.offset);
    const struct nvp_run run = {.device = device, .half = half, .old = nvp_state_old(), .capacity = nvp_state_capacity()};
    nvp_act_steps(&run, &programs[program_of(injector->mode)]);
    keep(half, NVP_F_failure_tripped, 1);
    keep(half, NVP_F_failure_told, 1);
    if (!injector->told)
        nvp_event_put(device, NVP_EVENT_FAILURE, injector->mode << 32 | (uint32_t)injector->xid);
    if (injector->xid)
        nvp_event_put(device, nvmlEventTypeXidCriticalError, injector->xid);
}

/* The injector may have been replaced, or another process may have tripped it, before the record was ours. */
static void trip(const struct nvp_device *device, uint64_t calls)
{
    unsigned char *half = nvp_state_edit_or_own(device);
    if (half == NULL)
        return;
    const struct injector injector = injector_in(half);
    if (!due(&injector, calls)) {
        nvp_state_abandon();
        return;
    }
    trip_in(device, half, &injector);
    nvp_state_commit();
}

static bool same_injector(const struct injector *one, const struct injector *other)
{
    return one->mode == other->mode && one->after == other->after && one->probability == other->probability && one->seed == other->seed &&
           one->xid == other->xid && one->from == other->from;
}

/* The trip of an own state (own.c) in a half that another process wrote, where the injector is the one that tripped; its events were told.  Whether it
 * has tripped in that half, too. */
bool nvp_trip_again(const struct nvp_device *device, unsigned char *half, const unsigned char *old, uint64_t capacity)
{
    const struct injector before = injector_in(old), now = injector_in(half);
    const struct nvp_program *programs = (const void *)((const unsigned char *)nvp_image + nvp_image->programs.offset);
    const struct nvp_run run = {.device = device, .half = half, .old = old, .capacity = capacity};
    if (!before.tripped || !same_injector(&before, &now))
        return false;
    if (now.tripped)
        return true;
    nvp_act_steps(&run, &programs[program_of(now.mode)]);
    keep(half, NVP_F_failure_tripped, 1);
    keep(half, NVP_F_failure_told, 1);
    return false;
}

/* One guarded call on a device that is armed. */
NVP_COLD void nvp_guarded_call(const struct nvp_device *device)
{
    const uint64_t calls = nvp_count_call(device);
    const struct injector injector = injector_of(device);
    if (due(&injector, calls))
        trip(device, calls);
}

/* The guarded calls since the injector of a record was made. */
uint64_t nvp_calls_in(const struct nvp_device *device, const unsigned char *half)
{
    const uint64_t calls = nvp_counted_calls(device), from = kept(half, NVP_F_failure_counted_from);
    return calls > from ? calls - from : 0;
}

static bool loses(const struct injector *injector)
{
    return injector->mode == NVP_FAILURE_LOST || injector->mode == NVP_FAILURE_FALLEN_OFF_BUS;
}

/* Whether a device is lost, or is said to be from its first guarded call on (ledger V23). */
bool nvp_failed(const struct nvp_device *device)
{
    const struct injector injector = injector_of(device);
    return !nvp_present(device) || (loses(&injector) && at_once(&injector));
}

/* An error record of what is said to be lost from its first guarded call on, which nobody has made yet (ledger V23). */
static void tell(const struct nvp_device *device)
{
    unsigned char *half = nvp_state_edit_or_own(device);
    if (half == NULL)
        return;
    const struct injector injector = injector_in(half);
    if (injector.told || !loses(&injector) || !at_once(&injector)) {
        nvp_state_abandon();
        return;
    }
    keep(half, NVP_F_failure_told, 1);
    nvp_event_put(device, NVP_EVENT_FAILURE, injector.mode << 32 | (uint32_t)injector.xid);
    nvp_state_commit();
}

void nvp_failures_tell(void)
{
    for (unsigned int i = 0; i < nvp_image->device_count; i++) {
        const struct injector injector = injector_of(&nvp_devices[i + 1]);
        if (!injector.told && loses(&injector) && at_once(&injector))
            tell(&nvp_devices[i + 1]);
    }
}

static void set_kept(const struct nvp_run *run, unsigned int id, uint64_t value)
{
    struct nvp_field *field = (struct nvp_field *)(void *)(run->half + sizeof(struct nvp_record)) + id;
    NVP_STORE(&field->value, value);
    NVP_STORE(&field->kind, (uint8_t)NVP_CONSTANT);
}

/* The steps of a trip, which change what a field has and no field that has a status; nothing is marked: an override says the injector, not its effect. */
void nvp_step_fail(const struct nvp_run *run, const struct nvp_step *step)
{
    struct nvp_field *field = (struct nvp_field *)(void *)(run->half + sizeof(struct nvp_record)) + step->field;
    uint64_t value;
    if (nvp_field_in(run->device, run->half, step->field, &value) != NVML_SUCCESS)
        return;
    if (step->op == NVP_STEP_ADD)
        set_kept(run, step->field, value + step->value);
    else if (step->op == NVP_STEP_RAISE)
        set_kept(run, step->field, step->value);
    else if (step->op == NVP_STEP_TAKE_COUNT)
        set_kept(run, step->field, nvp_counted_calls(run->device));
    else if (step->op == NVP_STEP_COUNTED) {
        NVP_STORE(&field->value, value);
        NVP_STORE(&field->kind, (uint8_t)NVP_COUNTED);
    }
}
