/* Setters are data of the image: checks, then steps, run on the half that is being edited.  Nothing is published unless all checks hold. */
#include "nvp.h"

static struct nvp_field *field_at(unsigned char *half, unsigned int id)
{
    return (struct nvp_field *)(void *)(half + sizeof(struct nvp_record)) + id;
}

/* A bound that has a code is open (ledger F05); the step's own value is the least that is ever taken. */
static nvmlReturn_t check_range(const struct nvp_device *device, const unsigned char *half, const struct nvp_step *step, uint64_t value)
{
    uint64_t bound;
    if (value < step->value)
        return (nvmlReturn_t)step->code;
    if (step->low < NVP_DEVICE_FIELD_COUNT && nvp_field_in(device, half, step->low, &bound) == NVML_SUCCESS && value < bound)
        return (nvmlReturn_t)step->code;
    if (step->high < NVP_DEVICE_FIELD_COUNT && nvp_field_in(device, half, step->high, &bound) == NVML_SUCCESS && value > bound)
        return (nvmlReturn_t)step->code;
    return NVML_SUCCESS;
}

static nvmlReturn_t check_list(const struct nvp_device *device, const unsigned char *half, const struct nvp_step *step, uint64_t value)
{
    uint64_t place;
    const nvmlReturn_t code = nvp_field_in(device, half, step->field, &place);
    if (code != NVML_SUCCESS)
        return code;
    const struct nvp_field *field = NVP_FIELD_AT(half, step->field);
    const uint32_t *items = nvp_data(device, half, field->value, field->extra);
    for (uint32_t i = 0; items && i < field->extra / sizeof *items; i++)
        if (items[i] == value)
            return NVML_SUCCESS;
    return (nvmlReturn_t)step->code;
}

static nvmlReturn_t check(const struct nvp_device *device, const unsigned char *half, const struct nvp_step *step, uint64_t value)
{
    uint64_t unused;
    switch (step->op) {
    case NVP_STEP_CHECK_STATUS:
        return nvp_field_in(device, half, step->field, &unused);
    case NVP_STEP_CHECK_RANGE:
        return check_range(device, half, step, value);
    case NVP_STEP_CHECK_LIST:
        return check_list(device, half, step, value);
    case NVP_STEP_CHECK_MODE:
        return ((const struct nvp_record *)(const void *)half)->modes & step->mode ? NVML_SUCCESS : (nvmlReturn_t)step->code;
    default:
        return NVML_SUCCESS;
    }
}

/* A field takes a value of its own: constant, there, and marked as overridden so that a reset knows what to put back. */
static void set(unsigned char *half, unsigned int id, uint64_t value)
{
    const struct nvp_record *record = (const struct nvp_record *)(const void *)half;
    struct nvp_field *field = field_at(half, id);
    unsigned char *mark = half + record->overridden + id / 8;
    NVP_STORE(&field->value, value);
    NVP_STORE(&field->status, (uint16_t)0);
    NVP_STORE(&field->kind, (uint8_t)NVP_CONSTANT);
    NVP_STORE(mark, (unsigned char)(*mark | 1U << (id % 8)));
}

static void clamp(const struct nvp_device *device, unsigned char *half, const struct nvp_step *step)
{
    uint64_t value, bound;
    if (nvp_field_in(device, half, step->field, &value) != NVML_SUCCESS)
        return;
    if (step->low < NVP_DEVICE_FIELD_COUNT && nvp_field_in(device, half, step->low, &bound) == NVML_SUCCESS && value < bound)
        set(half, step->field, bound);
    if (step->high < NVP_DEVICE_FIELD_COUNT && nvp_field_in(device, half, step->high, &bound) == NVML_SUCCESS && value > bound)
        set(half, step->field, bound);
}

/* A moving field begins again now, from zero. */
static void rebase(const struct nvp_device *device, unsigned char *half, const struct nvp_step *step)
{
    const struct nvp_record *record = (const struct nvp_record *)(const void *)half;
    struct nvp_field *field = field_at(half, step->field);
    if (field->kind == NVP_CONSTANT || field->extra >= record->motion_count)
        return;
    struct nvp_motion *motion = (void *)(uintptr_t)nvp_data(device, half, record->motions + (uint64_t)field->extra * sizeof *motion, sizeof *motion);
    if (motion == NULL)
        return;
    NVP_STORE(&field->value, (uint64_t)0);
    NVP_STORE(&motion->start_ns, nvp_now_ns());
}

static void act(const struct nvp_device *device, unsigned char *half, const struct nvp_step *step, uint64_t argument)
{
    struct nvp_record *record = (void *)half;
    uint64_t value;
    switch (step->op) {
    case NVP_STEP_SET:
        set(half, step->field, argument);
        break;
    case NVP_STEP_COPY:
        if (step->low < NVP_DEVICE_FIELD_COUNT && nvp_field_in(device, half, step->low, &value) == NVML_SUCCESS)
            set(half, step->field, value);
        break;
    case NVP_STEP_ZERO:
        set(half, step->field, 0);
        break;
    case NVP_STEP_CLAMP:
        clamp(device, half, step);
        break;
    case NVP_STEP_SET_MODE:
        NVP_STORE(&record->modes, argument ? record->modes | step->mode : record->modes & ~step->mode);
        NVP_STORE(&record->odd, ~(record->modes << 24));
        break;
    case NVP_STEP_REBASE:
        rebase(device, half, step);
        break;
    default:
        break;
    }
}

/* The argument a step speaks of: one of the call's, or the step's own value. */
static uint64_t argument_of(const struct nvp_step *step, const uint64_t *arguments, unsigned int count)
{
    return step->argument < count ? arguments[step->argument] : step->value;
}

/* The checks of a program against what is in force now, so that a refusal needs no writable state. */
static nvmlReturn_t check_all(const struct nvp_device *device, const unsigned char *half, const struct nvp_program *program,
                              const uint64_t *arguments, unsigned int count)
{
    const struct nvp_step *steps = (const void *)((const unsigned char *)nvp_image + nvp_image->steps.offset);
    nvmlReturn_t code = NVML_SUCCESS;
    for (uint32_t i = 0; code == NVML_SUCCESS && i < program->count; i++)
        code = check(device, half, &steps[program->first + i], argument_of(&steps[program->first + i], arguments, count));
    return code;
}

nvmlReturn_t nvp_run_program(const struct nvp_device *device, unsigned int number, const uint64_t *arguments, unsigned int count)
{
    const unsigned char *image = (const unsigned char *)nvp_image;
    const struct nvp_program *program = (const struct nvp_program *)(const void *)(image + nvp_image->programs.offset) + number;
    const struct nvp_step *steps = (const void *)(image + nvp_image->steps.offset);
    nvmlReturn_t code;
    if (program->count == 0 || !nvp_present(device))
        return nvp_lacking(device, NVML_ERROR_NOT_SUPPORTED);
    NVP_READ_BEGIN(device)
        code = check_all(device, nvp_half, program, arguments, count);
    NVP_READ_END(device)
    if (code != NVML_SUCCESS)
        return code;
    unsigned char *half = nvp_state_edit(device, &code);
    if (half == NULL)
        return code;
    code = check_all(device, half, program, arguments, count);
    if (code != NVML_SUCCESS) {
        nvp_state_abandon();
        return code;
    }
    for (uint32_t i = 0; i < program->count; i++)
        act(device, half, &steps[program->first + i], argument_of(&steps[program->first + i], arguments, count));
    nvp_state_commit();
    return NVML_SUCCESS;
}
