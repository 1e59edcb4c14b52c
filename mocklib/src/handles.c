/* Handles by index, UUID, serial and PCI address. */
#include "nvp.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define TEXT_SIZE 128

nvmlReturn_t nvp_h_count(unsigned int *count)
{
    *count = nvp_device_count;
    return NVML_SUCCESS;
}

/* A device that is not present is lost: the lookup says so (ledger V09). */
static nvmlReturn_t give(const struct nvp_device *device, nvmlDevice_t *handle)
{
    uint32_t modes;
    NVP_READ_BEGIN(device)
        modes = ((const struct nvp_record *)(const void *)nvp_half)->modes;
    NVP_READ_END(device)
    if (!(modes & NVP_MODE_PRESENT))
        return NVML_ERROR_GPU_IS_LOST;
    *handle = nvp_handle_of(device);
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_by_index(unsigned int index, nvmlDevice_t *handle)
{
    if (index >= nvp_device_count)
        return NVML_ERROR_INVALID_ARGUMENT;
    return give(&nvp_devices[index + 1], handle);
}

static nvmlReturn_t by_text(unsigned int field, const char *wanted, nvmlDevice_t *handle)
{
    char text[TEXT_SIZE];
    for (unsigned int i = 1; i <= nvp_device_count; i++)
        if (nvp_string(&nvp_devices[i], field, text, sizeof text) == NVML_SUCCESS && strcasecmp(text, wanted) == 0)
            return give(&nvp_devices[i], handle);
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

/* domain:bus:device.function with a domain of any width; without a domain it is 0. */
static bool parse_bus_id(const char *text, uint64_t place[4])
{
    unsigned int domain = 0, bus, slot, function = 0;
    int used = 0;
    if (strnlen(text, TEXT_SIZE) >= TEXT_SIZE)
        return false;
    if (sscanf(text, "%8x:%2x:%2x%n", &domain, &bus, &slot, &used) != 3) {
        domain = 0;
        used = 0;
        if (sscanf(text, "%2x:%2x%n", &bus, &slot, &used) != 2)
            return false;
    }
    if (text[used] == '.' && sscanf(text + used, ".%1x", &function) != 1)
        return false;
    place[0] = domain;
    place[1] = bus;
    place[2] = slot;
    place[3] = function;
    return true;
}

nvmlReturn_t nvp_h_by_bus_id(const char *bus_id, nvmlDevice_t *handle)
{
    static const uint16_t ids[] = {NVP_F_pci_domain, NVP_F_pci_bus, NVP_F_pci_device, NVP_F_pci_function};
    uint64_t wanted[4], place[4];
    if (!parse_bus_id(bus_id, wanted))
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 1; i <= nvp_device_count; i++) {
        nvmlReturn_t code = nvp_resolve(&nvp_devices[i], ids, 3, place);
        if (nvp_number_or(&nvp_devices[i], ids[3], 0, &place[3]) == NVML_SUCCESS && place[3] != wanted[3])
            continue;
        if (code == NVML_SUCCESS && memcmp(place, wanted, 3 * sizeof place[0]) == 0)
            return give(&nvp_devices[i], handle);
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvp_h_index(const struct nvp_device *device, unsigned int *index)
{
    *index = device->index;
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
