/* What NVLinks count: pure functions of the profile and the clock, from the node's epoch on (ledger S13, S34), so that every process reads the same. */
#include "nvp.h"
#include "nvp_links.h"

#define BYTES_OF_KIB 1024
#define NS_PER_S 1000000000U
#define RATE_UNIT 1000000U /* rates of errors are in millionths a second */

/* rate x time in 128 bits, cut to 64. */
static uint64_t since(uint64_t rate, uint64_t start_ns, uint64_t now_ns, uint64_t unit)
{
    const uint64_t elapsed = now_ns > start_ns ? now_ns - start_ns : 0;
    return (uint64_t)((__extension__(unsigned __int128)rate * elapsed) / ((__extension__(unsigned __int128)NS_PER_S * unit)));
}

/* Bytes that went over an active link in either direction until at_ns; one that is not active moves none (NOT_SUPPORTED). */
nvmlReturn_t nvp_link_bytes(const struct nvp_device *device, unsigned int number, uint64_t at_ns, uint64_t *bytes)
{
    const uint16_t ids[] = {NVP_F_nvlink_bytes_per_second, NVP_F_nvlink_counter_seed};
    uint64_t values[2];
    struct nvp_link link;
    nvmlReturn_t code = nvp_link(device, number, &link);
    if (code == NVML_SUCCESS && link.state == NVML_NVLINK_STATE_INACTIVE)
        code = NVML_ERROR_NOT_SUPPORTED;
    if (code == NVML_SUCCESS)
        code = nvp_resolve(device, ids, 2, values);
    if (code == NVML_SUCCESS)
        *bytes = values[1] * BYTES_OF_KIB + since(values[0], nvp_epoch_ns(), at_ns, 1);
    return code;
}

/* When the errors of a link were last set to zero; 0: never. */
static uint64_t cleared_at(const struct nvp_device *device, unsigned int number)
{
    uint64_t at = 0;
    NVP_READ_BEGIN(device)
        const void *items = NULL;
        uint64_t count = 0;
        at = 0;
        if (nvp_list_in(device, nvp_half, NVP_F_nvlink_error_cleared, sizeof at, &items, &count) == NVML_SUCCESS && number < count)
            memcpy(&at, (const unsigned char *)items + number * sizeof at, sizeof at);
    NVP_READ_END(device)
    return at;
}

/* Errors of an active link: those of every link, and those that are injected into this one (ledger S27, S28). */
static nvmlReturn_t errors_of(const struct nvp_device *device, unsigned int number, uint64_t *errors)
{
    uint64_t rate = 0, injected = 0, links = 0;
    struct nvp_link link;
    nvmlReturn_t code = nvp_link(device, number, &link);
    if (code == NVML_SUCCESS && link.state == NVML_NVLINK_STATE_INACTIVE)
        code = NVML_ERROR_NOT_SUPPORTED;
    if (code == NVML_SUCCESS)
        code = nvp_number(device, NVP_F_nvlink_error_rate, &rate);
    if (code != NVML_SUCCESS)
        return code;
    if (nvp_number(device, NVP_F_nvlink_error_links, &links) == NVML_SUCCESS && number < 64 && links >> number & 1)
        (void)nvp_number_or(device, NVP_F_nvlink_error_injected, 0, &injected);
    const uint64_t epoch = nvp_epoch_ns(), cleared = cleared_at(device, number);
    *errors = since(rate + injected, cleared > epoch ? cleared : epoch, nvp_now_ns(), RATE_UNIT);
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_link_errors(const struct nvp_device *device, unsigned int number, nvmlNvLinkErrorCounter_t counter, unsigned long long *value)
{
    uint64_t errors = 0;
    (void)counter;
    const nvmlReturn_t code = errors_of(device, number, &errors);
    if (code == NVML_SUCCESS)
        *value = errors;
    return code;
}

/* In KiB, as the throughput counters that came after them (nvml.h names no unit; 390 and 418 print them as KBytes). */
nvmlReturn_t nvp_h_link_utilization(const struct nvp_device *device, unsigned int number, unsigned int counter, unsigned long long *received,
                                    unsigned long long *sent)
{
    uint64_t bytes = 0;
    if (counter > 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t code = nvp_link_bytes(device, number, nvp_now_ns(), &bytes);
    if (code == NVML_SUCCESS)
        *received = *sent = bytes / BYTES_OF_KIB;
    return code;
}

/* As many lanes as any nvidia-smi measured asks for. */
#define MOST_LANES 8
/* The count of a correction has 31 bits; the upper one says that it ran over. */
#define CORRECTIONS_OVER 0x80000000U

/* nvidia-smi nvlink -ec: the errors of a link, lane by lane; together they are what the link counts.  An entry has 64 bits; of corrections the lower half
 * is the count. */
nvmlReturn_t nvp_slot_lanes(const struct nvp_device *device, unsigned int number, size_t lanes, void *entries, bool corrections)
{
    uint64_t errors = 0, used = lanes, counts[MOST_LANES] = {0};
    if (lanes == 0 || lanes > MOST_LANES || entries == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t code = errors_of(device, number, &errors);
    if (code != NVML_SUCCESS)
        return code;
    if (nvp_number(device, NVP_F_nvlink_lanes, &used) != NVML_SUCCESS || used == 0 || used > lanes)
        used = lanes;
    for (uint64_t lane = 0; lane < used; lane++) {
        counts[lane] = errors / used + (lane < errors % used);
        if (corrections && counts[lane] >= CORRECTIONS_OVER)
            counts[lane] = UINT32_MAX;
    }
    memcpy(entries, counts, lanes * sizeof counts[0]);
    return NVML_SUCCESS;
}

/* ---- field ids of a link ---- */

static nvmlReturn_t of_one(const struct nvp_device *device, const struct nvp_link_id *row, unsigned int number, uint64_t base, uint64_t *value)
{
    struct nvp_link link;
    nvmlReturn_t code = nvp_link(device, number, &link);
    if (code != NVML_SUCCESS)
        return code;
    const bool up = link.state != NVML_NVLINK_STATE_INACTIVE;
    switch (row->reading) {
    case NVP_LINK_SPEED_OR_ZERO:
        *value = up ? base : 0;
        return NVML_SUCCESS;
    case NVP_LINK_STATE:
        *value = link.state;
        return NVML_SUCCESS;
    case NVP_LINK_VERSION:
        *value = base;
        return NVML_SUCCESS;
    case NVP_LINK_SPEED:
        *value = base;
        return up ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    case NVP_LINK_REMOTE_LINK:
        *value = link.remote_link;
        return up ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    case NVP_LINK_NONE:
        *value = 0;
        return up ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    case NVP_LINK_ERRORS:
        return errors_of(device, number, value);
    default:
        code = nvp_link_bytes(device, number, nvp_now_ns(), value);
        *value /= row->reading == NVP_LINK_KIB ? BYTES_OF_KIB : row->reading == NVP_LINK_PACKETS && base ? base : 1;
        return code;
    }
}

/* The sum over the active links; the code of the first where none is. */
static nvmlReturn_t of_all(const struct nvp_device *device, const struct nvp_link_id *row, uint64_t base, uint64_t *sum)
{
    nvmlReturn_t code = NVML_ERROR_NOT_SUPPORTED, one;
    uint64_t value = 0;
    *sum = 0;
    for (unsigned int i = 0; (one = of_one(device, row, i, base, &value)) != NVML_ERROR_INVALID_ARGUMENT; i++) {
        if (one == NVML_SUCCESS) {
            *sum += value;
            code = NVML_SUCCESS;
        } else if (one != NVML_ERROR_NOT_SUPPORTED || i + 1 >= NVML_NVLINK_MAX_LINKS) {
            return one;
        }
    }
    return code;
}

/* What a field id says of a link; *type 0xff where none is about links. */
nvmlReturn_t nvp_link_field(const struct nvp_device *device, unsigned int id, unsigned int scope, unsigned int *type, uint64_t *value)
{
    const struct nvp_link_id *rows = nvp_table_of(nvp_image, nvp_image->link_ids), *row = rows, *const end = rows + nvp_image->link_ids.count;
    uint64_t base = 0;
    while (row < end && row->id != id)
        row++;
    *type = NVP_NO_TYPE;
    *value = 0;
    if (row == end)
        return NVML_ERROR_NOT_SUPPORTED;
    *type = row->value_type;
    const nvmlReturn_t code = row->reading == NVP_LINK_STATE || row->reading == NVP_LINK_REMOTE_LINK ? NVML_SUCCESS : nvp_number(device, row->field, &base);
    if (code != NVML_SUCCESS)
        return code;
    if (row->link == NVP_ALL_LINKS || (row->link == NVP_SCOPE_LINK && row->reading == NVP_LINK_KIB && scope == NVP_SCOPE_LINK))
        return of_all(device, row, base, value);
    return of_one(device, row, row->link == NVP_SCOPE_LINK ? scope : row->link, base, value);
}
