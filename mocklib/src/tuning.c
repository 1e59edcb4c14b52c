/* What can be tuned beside numbers that a program sets by itself: clock offsets and locks, power smoothing presets, workload power profiles. */
#include "nvp.h"

/* Offsets of the graphics and memory clocks, in the one P-state that is modelled (ledger I11, I17). */
nvmlReturn_t nvp_h_clock_offsets(const struct nvp_device *device, nvmlClockOffset_t *info)
{
    static const uint16_t graphics[] = {NVP_F_performance_state, NVP_F_clocks_offsets_graphics_set_mhz, NVP_F_clocks_offsets_graphics_min_mhz,
                                        NVP_F_clocks_offsets_graphics_max_mhz};
    static const uint16_t memory[] = {NVP_F_performance_state, NVP_F_clocks_offsets_memory_set_mhz, NVP_F_clocks_offsets_memory_min_mhz,
                                      NVP_F_clocks_offsets_memory_max_mhz};
    uint64_t values[4];
    if ((unsigned int)info->type >= NVML_CLOCK_COUNT || ((unsigned int)info->pstate > NVML_PSTATE_15 && info->pstate != NVML_PSTATE_UNKNOWN))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (info->type != NVML_CLOCK_GRAPHICS && info->type != NVML_CLOCK_MEM)
        return NVML_ERROR_NOT_SUPPORTED;
    const nvmlReturn_t code = nvp_resolve(device, info->type == NVML_CLOCK_MEM ? memory : graphics, 4, values);
    if (code != NVML_SUCCESS)
        return code;
    if ((uint64_t)info->pstate != values[0])
        return NVML_ERROR_NOT_SUPPORTED;
    info->clockOffsetMHz = (int)values[1];
    info->minClockOffsetMHz = (int)values[2];
    info->maxClockOffsetMHz = (int)values[3];
    return NVML_SUCCESS;
}

/* The range of one clock's offset in the performance state that is modelled (ledger I17). */
nvmlReturn_t nvp_h_set_clock_offsets(const struct nvp_device *device, nvmlClockOffset_t *info)
{
    nvmlClockOffset_t now = *info;
    const nvmlReturn_t code = nvp_h_clock_offsets(device, &now);
    if (code != NVML_SUCCESS)
        return code;
    return nvp_run_number(device, info->type == NVML_CLOCK_MEM ? NVP_P_memory_offset : NVP_P_graphics_offset, (uint64_t)(int64_t)info->clockOffsetMHz);
}

static bool symbolic(unsigned int limit)
{
    return limit >= (unsigned int)NVML_CLOCK_LIMIT_ID_RANGE_START;
}

/* Two clocks, or two limits by name: unlimited on both ends unlocks; a bound of the thermal design power is not modelled (ledger I14, I16). */
static nvmlReturn_t lock(const struct nvp_device *device, unsigned int least, unsigned int most, unsigned int locking, unsigned int unlocking)
{
    const struct nvp_argument arguments[] = {{.value = least}, {.value = most}};
    if (symbolic(least) != symbolic(most) || least == (unsigned int)NVML_CLOCK_LIMIT_ID_RANGE_START || most == (unsigned int)NVML_CLOCK_LIMIT_ID_RANGE_START)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!symbolic(least))
        return least > most ? NVML_ERROR_INVALID_ARGUMENT : nvp_run_program(device, locking, arguments, 2);
    if (least > (unsigned int)NVML_CLOCK_LIMIT_ID_UNLIMITED || most > (unsigned int)NVML_CLOCK_LIMIT_ID_UNLIMITED)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (least == (unsigned int)NVML_CLOCK_LIMIT_ID_TDP || most == (unsigned int)NVML_CLOCK_LIMIT_ID_TDP)
        return NVML_ERROR_NOT_SUPPORTED;
    return nvp_run_program(device, unlocking, NULL, 0);
}

nvmlReturn_t nvp_h_lock_graphics(const struct nvp_device *device, unsigned int least, unsigned int most)
{
    return lock(device, least, most, NVP_P_lock_graphics, NVP_P_unlock_graphics);
}

nvmlReturn_t nvp_h_lock_memory(const struct nvp_device *device, unsigned int least, unsigned int most)
{
    return lock(device, least, most, NVP_P_lock_memory, NVP_P_unlock_memory);
}

/* A parameter of a preset as the image holds it; false where it is outside what it may be (ledger F23 to F25): NaN is in no range. */
static bool preset_value(unsigned int parameter, double given, uint64_t *value)
{
    const bool floor = parameter == NVML_POWER_SMOOTHING_PROFILE_PARAM_PERCENT_TMP_FLOOR;
    if (!(given >= 0 && given <= (floor ? 100.0 : 4294967295.0)))
        return false;
    *value = floor ? (uint64_t)(given * 1000 + 0.5) : (uint64_t)given;
    return parameter != NVML_POWER_SMOOTHING_PROFILE_PARAM_RAMP_DOWN_HYSTERESIS || (double)*value == given;
}

/* Parameters of newer drivers are not modelled. */
nvmlReturn_t nvp_h_smoothing_parameter(const struct nvp_device *device, nvmlPowerSmoothingProfile_t *profile)
{
    static const unsigned int programs[] = {NVP_P_smoothing_floor, NVP_P_smoothing_ramp_up, NVP_P_smoothing_ramp_down, NVP_P_smoothing_hysteresis};
    struct nvp_argument arguments[] = {{.value = profile->profileId}, {0}};
    uint64_t unused;
    const nvmlReturn_t code = nvp_number(device, NVP_F_power_smoothing_enabled, &unused);
    if (code != NVML_SUCCESS)
        return code;
    if (profile->paramId >= NVML_POWER_SMOOTHING_NUM_PROFILE_PARAMS)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (profile->paramId >= sizeof programs / sizeof programs[0])
        return NVML_ERROR_NOT_SUPPORTED;
    if (!preset_value(profile->paramId, profile->value, &arguments[1].value))
        return NVML_ERROR_INVALID_ARGUMENT;
    return nvp_run_program(device, programs[profile->paramId], arguments, 2);
}

/* Masks of 8 words each.  A board that says what it asked for and not what it offers leaves that mask as the caller had it. */
nvmlReturn_t nvp_h_workload_profiles(const struct nvp_device *device, nvmlWorkloadPowerProfileCurrentProfiles_t *profiles)
{
    nvmlMask255_t supported, requested, enforced;
    nvmlReturn_t code = nvp_array(device, NVP_F_power_workload_profiles_requested, &requested, sizeof requested);
    if (code == NVML_SUCCESS)
        code = nvp_array(device, NVP_F_power_workload_profiles_enforced, &enforced, sizeof enforced);
    if (code != NVML_SUCCESS)
        return code;
    if (nvp_array(device, NVP_F_power_workload_profiles_supported, &supported, sizeof supported) == NVML_SUCCESS)
        profiles->perfProfilesMask = supported;
    profiles->requestedProfilesMask = requested;
    profiles->enforcedProfilesMask = enforced;
    return NVML_SUCCESS;
}

/* The profiles that a board offers, each at the place of its id, which is its bit in the masks (ledger F12 to F15). */
nvmlReturn_t nvp_h_workload_infos(const struct nvp_device *device, nvmlWorkloadPowerProfileProfilesInfo_t *profiles)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const void *rows = NULL;
        uint64_t number = 0;
        code = nvp_list_in(device, nvp_half, NVP_F_power_workload_profiles_offered, sizeof(struct nvp_workload), &rows, &number);
        memset(&profiles->perfProfilesMask, 0, sizeof *profiles - offsetof(nvmlWorkloadPowerProfileProfilesInfo_t, perfProfilesMask));
        for (uint64_t i = 0; code == NVML_SUCCESS && i < number; i++) {
            struct nvp_workload row;
            memcpy(&row, (const unsigned char *)rows + i * sizeof row, sizeof row);
            if (row.id >= NVML_WORKLOAD_POWER_MAX_PROFILES)
                continue;
            nvmlWorkloadPowerProfileInfo_t *info = &profiles->perfProfile[row.id];
            info->version = nvmlWorkloadPowerProfileInfo_v1;
            info->profileId = row.id;
            info->priority = row.priority;
            memcpy(&info->conflictingMask, row.conflicts, sizeof info->conflictingMask);
            profiles->perfProfilesMask.mask[row.id / 32] |= 1U << row.id % 32;
        }
    NVP_READ_END(device)
    return code;
}
