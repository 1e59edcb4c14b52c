/* Lists by the count-probe protocol: the count on entry is the capacity; a NULL array or too small a capacity answers INSUFFICIENT_SIZE and the
 * count; an empty list is SUCCESS and 0. */
#include "nvp.h"

/* SUCCESS where there is room for all items; *count becomes their number. */
nvmlReturn_t nvp_room(unsigned int *count, const void *items, uint64_t number)
{
    const unsigned int capacity = *count;
    *count = (unsigned int)number;
    if (number == 0)
        return NVML_SUCCESS;
    return items == NULL || capacity < number ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

/* The clock table of one half, as bounded memory clocks; the code where there is none. */
static nvmlReturn_t clock_table(const struct nvp_device *device, const unsigned char *half, const struct nvp_memory_clock **clocks, uint64_t *number)
{
    const void *items = NULL;
    const nvmlReturn_t code = nvp_list_in(device, half, NVP_F_clocks_supported, sizeof **clocks, &items, number);
    *clocks = items;
    return code;
}

nvmlReturn_t nvp_h_supported_memory_clocks(const struct nvp_device *device, unsigned int *count, unsigned int *clocks_mhz)
{
    const struct nvp_memory_clock *clocks;
    const unsigned int capacity = *count;
    uint64_t number;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        *count = capacity;
        code = clock_table(device, nvp_half, &clocks, &number);
        if (code == NVML_SUCCESS)
            code = nvp_room(count, clocks_mhz, number);
        for (uint64_t i = 0; code == NVML_SUCCESS && i < number; i++)
            clocks_mhz[i] = clocks[i].mhz;
    NVP_READ_END(device)
    return code;
}

/* A memory clock that the board does not offer is NOT_FOUND (ledger I10). */
static nvmlReturn_t graphics_of(const struct nvp_device *device, const unsigned char *half, unsigned int memory_mhz, unsigned int *count,
                                unsigned int *clocks_mhz)
{
    const struct nvp_memory_clock *clocks;
    uint64_t number;
    nvmlReturn_t code = clock_table(device, half, &clocks, &number);
    if (code != NVML_SUCCESS)
        return code;
    for (uint64_t i = 0; i < number; i++) {
        const struct nvp_memory_clock clock = clocks[i]; /* once: a state may change under the reader */
        const uint64_t bytes = (uint64_t)clock.graphics_count * sizeof *clocks_mhz;
        if (clock.mhz != memory_mhz)
            continue;
        const void *graphics = nvp_data(device, half, clock.graphics, bytes);
        if (graphics == NULL)
            return NVML_ERROR_UNKNOWN;
        code = nvp_room(count, clocks_mhz, clock.graphics_count);
        if (code == NVML_SUCCESS && bytes)
            memcpy(clocks_mhz, graphics, bytes);
        return code;
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvp_h_supported_graphics_clocks(const struct nvp_device *device, unsigned int memory_mhz, unsigned int *count, unsigned int *clocks_mhz)
{
    const unsigned int capacity = *count;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        *count = capacity;
        code = graphics_of(device, nvp_half, memory_mhz, count, clocks_mhz);
    NVP_READ_END(device)
    return code;
}

/* times: NULL for the call without them. */
static nvmlReturn_t pages(const struct nvp_device *device, const unsigned char *half, nvmlPageRetirementCause_t cause, unsigned int *count,
                          unsigned long long *addresses, unsigned long long *times)
{
    const unsigned int id = cause == NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS ? NVP_F_retired_pages_single_bit
                                                                                               : NVP_F_retired_pages_double_bit;
    struct nvp_field field;
    uint64_t place;
    nvmlReturn_t code = nvp_field_in(device, half, id, &place);
    if (code != NVML_SUCCESS)
        return code;
    memcpy(&field, NVP_FIELD_AT(half, id), sizeof field);
    const struct nvp_pages *list = nvp_data(device, half, field.value, field.extra);
    if (list == NULL || field.value % 8 || field.extra < sizeof *list)
        return NVML_ERROR_UNKNOWN;
    const struct nvp_pages head = *list; /* once: a state may change under the reader */
    const uint64_t words = (field.extra - sizeof head) / sizeof *addresses;
    if (head.known > words || head.dated > words - head.known)
        return NVML_ERROR_UNKNOWN;
    code = nvp_room(count, addresses, head.count);
    if (code != NVML_SUCCESS || head.count == 0)
        return code;
    /* a count that was seen without its addresses: the count answers, the addresses do not */
    if (head.known < head.count)
        return NVML_ERROR_NOT_SUPPORTED;
    const unsigned long long *const first = (const void *)(list + 1);
    memcpy(addresses, first, head.count * sizeof *addresses);
    for (uint64_t i = 0; times != NULL && i < head.count; i++) /* 0 where it is not known: nvidia-smi prints no time then */
        times[i] = i < head.dated ? first[head.known + i] : 0;
    return NVML_SUCCESS;
}

static nvmlReturn_t retired(const struct nvp_device *device, nvmlPageRetirementCause_t cause, unsigned int *count, unsigned long long *addresses,
                            unsigned long long *times)
{
    const unsigned int capacity = *count;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        *count = capacity;
        code = pages(device, nvp_half, cause, count, addresses, times);
    NVP_READ_END(device)
    return code;
}

/* How many pages a cause retired, without their addresses. */
nvmlReturn_t nvp_retired_count(const struct nvp_device *device, nvmlPageRetirementCause_t cause, uint64_t *number)
{
    unsigned int count = 0;
    const nvmlReturn_t code = retired(device, cause, &count, NULL, NULL);
    *number = count;
    return code == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : code;
}

nvmlReturn_t nvp_h_retired_pages(const struct nvp_device *device, nvmlPageRetirementCause_t cause, unsigned int *count, unsigned long long *addresses)
{
    return retired(device, cause, count, addresses, NULL);
}

/* As above, with the times; a list without a place for them is too small. */
nvmlReturn_t nvp_h_retired_pages_v2(const struct nvp_device *device, nvmlPageRetirementCause_t cause, unsigned int *count,
                                    unsigned long long *addresses, unsigned long long *timestamps)
{
    return retired(device, cause, count, timestamps == NULL ? NULL : addresses, timestamps);
}

/* No unit is part of a profile: an empty set is SUCCESS and 0 (ledger H14). */
nvmlReturn_t nvp_h_none(unsigned int *count)
{
    *count = 0;
    return NVML_SUCCESS;
}

/* The host interface cards of the node; a profile that names none has an empty set: SUCCESS and 0 (ledger B07). */
nvmlReturn_t nvp_h_host_cards(unsigned int *count, nvmlHwbcEntry_t *entries)
{
    const unsigned int capacity = *count;
    nvmlReturn_t code;
    NVP_READ_BEGIN(&nvp_node)
        const void *cards = NULL;
        uint64_t number = 0;
        *count = capacity;
        code = nvp_list_in(&nvp_node, nvp_half, NVP_S_system_hic, sizeof *entries, &cards, &number);
        if (code == NVML_ERROR_NOT_SUPPORTED)
            number = 0;
        if (code == NVML_SUCCESS || code == NVML_ERROR_NOT_SUPPORTED)
            code = nvp_room(count, entries, number);
        for (uint64_t i = 0; code == NVML_SUCCESS && i < number; i++) {
            memcpy(&entries[i], (const unsigned char *)cards + i * sizeof *entries, sizeof *entries);
            entries[i].firmwareVersion[sizeof entries[i].firmwareVersion - 1] = '\0';
        }
    NVP_READ_END(&nvp_node)
    return code;
}

nvmlReturn_t nvp_h_no_unit(unsigned int index, nvmlUnit_t *unit)
{
    (void)index;
    (void)unit;
    return NVML_ERROR_INVALID_ARGUMENT;
}
