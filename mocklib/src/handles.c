/* Handles by index, UUID, serial and PCI address. */
#include "nvp.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define TEXT_SIZE 128

nvmlReturn_t nvp_h_count(unsigned int *count)
{
    *count = __atomic_load_n(&nvp_device_count, __ATOMIC_RELAXED);
    return NVML_SUCCESS;
}

/* A device that is not present may have no handle: a lost one says so at the lookup (ledger V09). */
static nvmlReturn_t give(const struct nvp_device *device, nvmlDevice_t *handle)
{
    const struct nvp_record *const record = nvp_record_of(device);
    if (!(record->modes & NVP_MODE_PRESENT) && record->handle_code != NVML_SUCCESS)
        return (nvmlReturn_t)record->handle_code;
    *handle = nvp_handle_of(device);
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_by_index(unsigned int index, nvmlDevice_t *handle)
{
    const struct nvp_device *const device = nvp_device_at(index);
    return device == NULL ? NVML_ERROR_INVALID_ARGUMENT : give(device, handle);
}

static nvmlReturn_t by_text(unsigned int field, const char *wanted, nvmlDevice_t *handle)
{
    char text[TEXT_SIZE];
    const struct nvp_device *device;
    for (unsigned int i = 0; (device = nvp_device_at(i)) != NULL; i++)
        if (nvp_identity_text(device, field, text, sizeof text) && strcasecmp(text, wanted) == 0)
            return give(device, handle);
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvp_h_by_uuid(const char *uuid, nvmlDevice_t *handle)
{
    return by_text(NVP_F_uuid, uuid, handle);
}

nvmlReturn_t nvp_h_by_serial(const char *serial, nvmlDevice_t *handle)
{
    return by_text(NVP_F_serial, serial, handle);
}

/* The 16 bytes of a UUID as its text without the prefix. */
static void uuid_text(const unsigned char bytes[NVML_DEVICE_UUID_BINARY_LEN], char text[TEXT_SIZE])
{
    int length = snprintf(text, TEXT_SIZE, "GPU-");
    for (int i = 0; i < NVML_DEVICE_UUID_BINARY_LEN; i++)
        length += snprintf(text + length, (size_t)(TEXT_SIZE - length), "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

nvmlReturn_t nvp_h_by_uuid_v(const nvmlUUID_t *uuid, nvmlDevice_t *handle)
{
    char text[TEXT_SIZE] = {0};
    if (uuid->type == NVML_UUID_TYPE_BINARY)
        uuid_text(uuid->value.bytes, text);
    else if (uuid->type == NVML_UUID_TYPE_ASCII)
        memcpy(text, uuid->value.str, sizeof uuid->value.str);
    else
        return NVML_ERROR_INVALID_ARGUMENT;
    return by_text(NVP_F_uuid, text, handle);
}

/* One to most hexadecimal digits; NULL where there are none or more. */
static const char *parse_hex(const char *text, int most, uint64_t *value)
{
    int digits = 0;
    for (*value = 0; isxdigit((unsigned char)*text); text++, digits++) {
        if (digits == most)
            return NULL;
        *value = *value << 4 | (unsigned int)(isdigit((unsigned char)*text) ? *text - '0' : (*text | 0x20) - 'a' + 10);
    }
    return digits ? text : NULL;
}

/* domain:bus:device.function and nothing after it, with a domain of any width; without a domain or a function these are 0. */
bool nvp_parse_bus_id(const char *text, uint64_t place[4])
{
    uint64_t numbers[3] = {0, 0, 0};
    int count = 0;
    do {
        text = parse_hex(text, count ? 2 : 8, &numbers[count]);
        count++;
    } while (text && count < 3 && *text++ == ':');
    if (text && count < 3)
        text--;
    place[3] = 0;
    if (text && *text == '.')
        text = parse_hex(text + 1, 1, &place[3]);
    if (text == NULL || *text || count < 2 || (count == 2 && numbers[0] > 0xff))
        return false;
    place[0] = count == 3 ? numbers[0] : 0;
    place[1] = numbers[count - 2];
    place[2] = numbers[count - 1];
    return true;
}

nvmlReturn_t nvp_h_by_bus_id(const char *bus_id, nvmlDevice_t *handle)
{
    static const uint16_t ids[] = {NVP_F_pci_domain, NVP_F_pci_bus, NVP_F_pci_device, NVP_F_pci_function};
    uint64_t wanted[4], place;
    if (!nvp_parse_bus_id(bus_id, wanted))
        return NVML_ERROR_INVALID_ARGUMENT;
    const struct nvp_device *device;
    for (unsigned int i = 0; (device = nvp_device_at(i)) != NULL; i++) {
        bool same = true;
        for (int part = 0; same && part < 4; part++)
            same = nvp_identity_number(device, ids[part], &place) ? place == wanted[part] : part == 3;
        if (same)
            return give(device, handle);
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvp_h_index(const struct nvp_device *device, unsigned int *index)
{
    *index = __atomic_load_n(&device->index, __ATOMIC_RELAXED);
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_same_board(const struct nvp_device *device, nvmlDevice_t other, int *same)
{
    uint64_t first, second;
    const struct nvp_device *const second_device = nvp_device_of(other);
    if (second_device == NULL)
        return nvp_bad_handle();
    nvmlReturn_t code = nvp_number(device, NVP_F_board_id, &first);
    if (code == NVML_SUCCESS)
        code = nvp_number(second_device, NVP_F_board_id, &second);
    if (code == NVML_SUCCESS)
        *same = first == second;
    return code;
}

/* MIG devices are not served: every handle is that of a whole GPU. */
nvmlReturn_t nvp_h_is_mig(const struct nvp_device *device, unsigned int *is_mig)
{
    (void)device;
    *is_mig = 0;
    return NVML_SUCCESS;
}

/* No index below the maximum has an instance: NOT_FOUND is how the list ends (ledger P30). */
nvmlReturn_t nvp_h_mig_by_index(const struct nvp_device *device, unsigned int index, nvmlDevice_t *handle)
{
    uint64_t mode, most;
    nvmlReturn_t code = nvp_number(device, NVP_F_mig_mode_current, &mode);
    (void)handle;
    if (code != NVML_SUCCESS)
        return code;
    (void)nvp_number_or(device, NVP_F_mig_max_devices, 0, &most);
    return mode && index >= most ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_FOUND;
}

/* A handle of a whole GPU has no parent. */
nvmlReturn_t nvp_h_parent_of_mig(const struct nvp_device *device, nvmlDevice_t *parent)
{
    (void)device;
    (void)parent;
    return NVML_ERROR_INVALID_ARGUMENT;
}
