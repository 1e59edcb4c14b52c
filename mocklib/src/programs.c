/* Setters are data of the image: checks, then steps, run on the half that is being edited.  Nothing is published unless all checks hold. */
#include "nvp.h"

static const struct nvp_step *steps_of(const struct nvp_program *program)
{
    return (const struct nvp_step *)(const void *)((const unsigned char *)nvp_image + nvp_image->steps.offset) + program->first;
}

/* The first code of the program's checks that do not hold. */
nvmlReturn_t nvp_check_steps(const struct nvp_run *run, const struct nvp_program *program)
{
    nvmlReturn_t code = NVML_SUCCESS;
    for (uint32_t i = 0; code == NVML_SUCCESS && i < program->count; i++)
        if (nvp_step_holds(run, &steps_of(program)[i]))
            code = nvp_step_check(run, &steps_of(program)[i]);
    return code;
}

void nvp_act_steps(const struct nvp_run *run, const struct nvp_program *program)
{
    for (uint32_t i = 0; i < program->count; i++)
        if (nvp_step_holds(run, &steps_of(program)[i]))
            nvp_step_act(run, &steps_of(program)[i]);
}

/* The checks of a program against what is in force now, so that a refusal needs no writable state. */
static nvmlReturn_t check_now(struct nvp_run run, const struct nvp_program *program)
{
    const struct nvp_device *const device = run.device;
    nvmlReturn_t code;
    run.capacity = device->capacity;
    NVP_READ_BEGIN(device)
        run.half = (unsigned char *)(uintptr_t)nvp_half;
        code = nvp_check_steps(&run, program);
    NVP_READ_END(device)
    return code;
}

nvmlReturn_t nvp_run_program(const struct nvp_device *device, unsigned int number, const struct nvp_argument *arguments, unsigned int count)
{
    const unsigned char *image = (const unsigned char *)nvp_image;
    const struct nvp_program *program = (const struct nvp_program *)(const void *)(image + nvp_image->programs.offset) + number;
    struct nvp_run run = {.device = device, .arguments = arguments, .count = count};
    if (nvp_armed(device) && device != &nvp_node)
        nvp_guarded_call(device);
    if (program->count == 0 || !nvp_present(device))
        return nvp_lacking(device, NVML_ERROR_NOT_SUPPORTED);
    if ((program->scope == NVP_NODE) != (device == &nvp_node))
        return NVML_ERROR_UNKNOWN;
    nvmlReturn_t code = check_now(run, program);
    if (code != NVML_SUCCESS)
        return code;
    run.half = nvp_state_edit(device, &code);
    if (run.half == NULL)
        return code;
    run.old = nvp_state_old();
    run.capacity = nvp_state_capacity();
    code = nvp_check_steps(&run, program);
    if (code != NVML_SUCCESS) {
        nvp_state_abandon();
        return code;
    }
    nvp_act_steps(&run, program);
    nvp_state_commit();
    return NVML_SUCCESS;
}

/* A program of one number, for a handler written in C. */
nvmlReturn_t nvp_run_number(const struct nvp_device *device, unsigned int number, uint64_t argument)
{
    const struct nvp_argument arguments[] = {{.value = argument}};
    return nvp_run_program(device, number, arguments, 1);
}
