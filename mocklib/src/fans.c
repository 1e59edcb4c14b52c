/* Fans, each under the driver's curve or held at a duty cycle of its own (ledger H01 to H11). */
#include "nvp.h"

#define NO_DUTY 0xffffffffU

/* A fan past the board's count is no fan. */
static nvmlReturn_t fan_check(const struct nvp_device *device, const unsigned char *half, unsigned int fan)
{
    uint64_t count;
    const nvmlReturn_t code = nvp_field_in(device, half, NVP_F_fan_count, &count);
    if (code != NVML_SUCCESS)
        return code;
    if (count == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    return fan < count ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* What the list of field id says of a fan; the field's code, or NOT_SUPPORTED for a fan that the list does not reach. */
static nvmlReturn_t item_of(const struct nvp_device *device, const unsigned char *half, unsigned int id, unsigned int fan, uint32_t *item)
{
    const void *items = NULL;
    uint64_t number = 0;
    const nvmlReturn_t code = nvp_list_in(device, half, id, sizeof *item, &items, &number);
    if (code != NVML_SUCCESS)
        return code;
    if (fan >= number)
        return NVML_ERROR_NOT_SUPPORTED;
    memcpy(item, (const unsigned char *)items + fan * sizeof *item, sizeof *item);
    return NVML_SUCCESS;
}

/* The duty cycle that a fan is held at, NO_DUTY for one that follows the curve. */
static uint32_t duty_of(const struct nvp_device *device, const unsigned char *half, unsigned int fan)
{
    uint32_t duty;
    return item_of(device, half, NVP_F_fan_duties, fan, &duty) == NVML_SUCCESS ? duty : NO_DUTY;
}

/* A fan's figure: its duty, in units of which most are 100 %, else what the field of the curve says. */
static nvmlReturn_t figure(const struct nvp_device *device, unsigned int fan, unsigned int curve, unsigned int most_of, unsigned int *number)
{
    uint64_t value, most = 100;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        code = fan_check(device, nvp_half, fan);
        const uint32_t duty = code == NVML_SUCCESS ? duty_of(device, nvp_half, fan) : NO_DUTY;
        if (code == NVML_SUCCESS && duty == NO_DUTY)
            code = nvp_field_in(device, nvp_half, curve, &value);
        else if (code == NVML_SUCCESS && most_of != NVP_NO_FIELD)
            code = nvp_field_in(device, nvp_half, most_of, &most);
        if (duty != NO_DUTY)
            value = most * duty / 100;
    NVP_READ_END(device)
    if (code == NVML_SUCCESS)
        *number = (unsigned int)value;
    return code;
}

nvmlReturn_t nvp_h_fan_speed_v2(const struct nvp_device *device, unsigned int fan, unsigned int *speed)
{
    return figure(device, fan, NVP_F_fan_curve_percent, NVP_NO_FIELD, speed);
}

/* A fan that is held aims for where it is held. */
nvmlReturn_t nvp_h_target_fan_speed(const struct nvp_device *device, unsigned int fan, unsigned int *target)
{
    return figure(device, fan, NVP_F_fan_target_speed_percent, NVP_NO_FIELD, target);
}

nvmlReturn_t nvp_h_fan_speed_rpm(const struct nvp_device *device, nvmlFanSpeedInfo_t *fan_speed)
{
    return figure(device, fan_speed->fan, NVP_F_fan_speed_rpm, NVP_F_fan_max_speed_rpm, &fan_speed->speed);
}

nvmlReturn_t nvp_h_fan_policy(const struct nvp_device *device, unsigned int fan, nvmlFanControlPolicy_t *policy)
{
    uint32_t item = 0;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        code = fan_check(device, nvp_half, fan);
        if (code == NVML_SUCCESS)
            code = item_of(device, nvp_half, NVP_F_fan_policies, fan, &item);
    NVP_READ_END(device)
    if (code == NVML_SUCCESS)
        *policy = item;
    return code;
}

/* Back under the curve, or manual at the speed it has (ledger H10). */
nvmlReturn_t nvp_h_set_fan_policy(const struct nvp_device *device, unsigned int fan, nvmlFanControlPolicy_t policy)
{
    uint64_t unused;
    const nvmlReturn_t code = nvp_number(device, NVP_F_fan_duties, &unused);
    if (code != NVML_SUCCESS)
        return code;
    if (policy > NVML_FAN_POLICY_MANUAL)
        return NVML_ERROR_INVALID_ARGUMENT;
    return nvp_run_number(device, policy == NVML_FAN_POLICY_MANUAL ? NVP_P_fan_manual : NVP_P_fan_curve, fan);
}
