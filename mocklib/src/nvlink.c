/* NVLinks of a GPU: each link's state and remote end.  A GPU without NVLink is NOT_SUPPORTED.  A link beyond the board's last is there and down, up to as
 * many as the driver's nvml.h has (NVML_NVLINK_MAX_LINKS): nvidia-smi from 418 on asks each of them and prints no `topo -m` where one is refused (ledger
 * S33, measured).  Beyond those it is INVALID_ARGUMENT. */
#include "nvp.h"
#include "nvp_links.h"

/* An end that has no PCI address of its own: an NVSwitch (ledger S09). */
#define NO_DOMAIN 0xffffffffU
#define NO_ADDRESS 0xffffU

/* The link of one half, once: a state may change under the reader. */
nvmlReturn_t nvp_link_in(const struct nvp_device *device, const unsigned char *half, unsigned int number, struct nvp_link *link)
{
    const void *items = NULL;
    uint64_t links = 0;
    const nvmlReturn_t code = nvp_list_in(device, half, NVP_F_nvlink_links, sizeof *link, &items, &links);
    if (code != NVML_SUCCESS)
        return code;
    if (number >= links) {
        uint64_t most = 0;
        (void)nvp_number_or(&nvp_node, NVP_S_nvlink_most_links, 0, &most);
        memset(link, 0, sizeof *link);
        return links == 0 ? NVML_ERROR_NOT_SUPPORTED : number < most ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
    }
    memcpy(link, (const unsigned char *)items + number * sizeof *link, sizeof *link);
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_link(const struct nvp_device *device, unsigned int number, struct nvp_link *link)
{
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        code = nvp_link_in(device, nvp_half, number, link);
    NVP_READ_END(device)
    return code;
}

/* Whether the profile says which links the GPU has, if any. */
static bool links_known(const struct nvp_device *device)
{
    uint64_t unused;
    return nvp_number(device, NVP_F_nvlink_links, &unused) == NVML_SUCCESS;
}

nvmlReturn_t nvp_h_link_state(const struct nvp_device *device, unsigned int number, nvmlEnableState_t *active)
{
    struct nvp_link link;
    const nvmlReturn_t code = nvp_link(device, number, &link);
    if (code == NVML_SUCCESS)
        *active = link.state == NVML_NVLINK_STATE_INACTIVE ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    return code;
}

nvmlReturn_t nvp_h_link_version(const struct nvp_device *device, unsigned int number, unsigned int *version)
{
    struct nvp_link link;
    uint64_t value = 0;
    nvmlReturn_t code = nvp_link(device, number, &link);
    if (code == NVML_SUCCESS)
        code = nvp_number(device, NVP_F_nvlink_version, &value);
    if (code == NVML_SUCCESS)
        *version = (unsigned int)value;
    return code;
}

/* A link to a processor reaches its memory and nothing else; any other can do all there is (ledger S10).  One that is down is a link all the same. */
nvmlReturn_t nvp_h_link_capability(const struct nvp_device *device, unsigned int number, nvmlNvLinkCapability_t capability, unsigned int *able)
{
    struct nvp_link link;
    const nvmlReturn_t code = nvp_link(device, number, &link);
    if (code != NVML_SUCCESS)
        return code;
    const bool up = link.state != NVML_NVLINK_STATE_INACTIVE;
    const bool whole = up && link.kind != NVML_NVLINK_DEVICE_TYPE_IBMNPU;
    *able = capability == NVML_NVLINK_CAP_VALID || (capability == NVML_NVLINK_CAP_SYSMEM_ACCESS ? up : whole);
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_link_remote_type(const struct nvp_device *device, unsigned int number, nvmlIntNvLinkDeviceType_t *kind)
{
    struct nvp_link link;
    const nvmlReturn_t code = nvp_link(device, number, &link);
    if (code != NVML_SUCCESS)
        return code;
    if (link.state == NVML_NVLINK_STATE_INACTIVE)
        return NVML_ERROR_NOT_SUPPORTED;
    *kind = (nvmlIntNvLinkDeviceType_t)link.kind;
    return NVML_SUCCESS;
}

/* The remote end of an active link whose address is known; an NVSwitch is FFFFFFFF:FF:FF.0 (ledger S09). */
static nvmlReturn_t remote_of(const struct nvp_device *device, unsigned int number, struct nvp_link *link)
{
    const nvmlReturn_t code = nvp_link(device, number, link);
    if (code != NVML_SUCCESS)
        return code;
    const bool known = link->domain != NO_DOMAIN || link->address != NO_ADDRESS || link->kind == NVML_NVLINK_DEVICE_TYPE_SWITCH;
    return link->state != NVML_NVLINK_STATE_INACTIVE && known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* The struct as it was before it had the wide address: that of the function without a suffix, which ends before it. */
nvmlReturn_t nvp_h_link_remote_pci_v1(const struct nvp_device *device, unsigned int number, nvmlPciInfo_t *pci)
{
    struct nvp_link link;
    const nvmlReturn_t code = remote_of(device, number, &link);
    if (code != NVML_SUCCESS)
        return code;
    const unsigned int slot = link.address == NO_ADDRESS ? 0xff : link.address >> 3 & 0x1f, function = link.address == NO_ADDRESS ? 0 : link.address & 7;
    (void)nvp_format(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.%X", link.domain & 0xffff, link.address >> 8 & 0xff, slot, function);
    pci->domain = link.domain;
    pci->bus = link.address >> 8 & 0xff;
    pci->device = slot;
    pci->pciDeviceId = link.device_id;
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_link_remote_pci(const struct nvp_device *device, unsigned int number, nvmlPciInfo_t *pci)
{
    struct nvp_link link;
    nvmlReturn_t code = remote_of(device, number, &link);
    if (code == NVML_SUCCESS)
        code = nvp_h_link_remote_pci_v1(device, number, pci);
    if (code == NVML_SUCCESS)
        (void)nvp_format(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.%X", pci->domain, pci->bus, pci->device,
                         link.address == NO_ADDRESS ? 0 : link.address & 7);
    return code;
}

/* ---- what a node's GPUs are to each other ---- */

static bool same_end(const struct nvp_link *link, const struct nvp_device *other)
{
    uint64_t domain, bus, place, function;
    return nvp_identity_number(other, NVP_F_pci_domain, &domain) && nvp_identity_number(other, NVP_F_pci_bus, &bus) &&
           nvp_identity_number(other, NVP_F_pci_device, &place) && nvp_identity_number(other, NVP_F_pci_function, &function) &&
           link->domain == domain && link->address == (bus << 8 | place << 3 | function);
}

/* How many links lead from one GPU to the other: those that end at it, and the fewer of those of the two that end at an NVSwitch. */
unsigned int nvp_links_between(const struct nvp_device *one, const struct nvp_device *other)
{
    unsigned int direct = 0, fabric[2] = {0, 0};
    struct nvp_link link;
    const struct nvp_device *const ends[] = {one, other};
    for (unsigned int end = 0; end < 2; end++)
        for (unsigned int i = 0; nvp_link(ends[end], i, &link) == NVML_SUCCESS; i++) {
            if (link.state == NVML_NVLINK_STATE_INACTIVE)
                continue;
            fabric[end] += link.kind == NVML_NVLINK_DEVICE_TYPE_SWITCH;
            direct += end == 0 && link.kind == NVML_NVLINK_DEVICE_TYPE_GPU && same_end(&link, other);
        }
    return direct + (fabric[0] < fabric[1] ? fabric[0] : fabric[1]);
}

/* Peers reach each other over NVLink or not at all, as far as a profile says (ledger D18); nothing is known where it names no link. */
nvmlReturn_t nvp_h_p2p_status(const struct nvp_device *device, nvmlDevice_t peer, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *status)
{
    const struct nvp_device *const other = nvp_device_of(peer);
    (void)index;
    if (other == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (other == device || nvp_links_between(device, other) > 0) {
        *status = NVML_P2P_STATUS_OK;
        return NVML_SUCCESS;
    }
    if (!links_known(device) && !links_known(other))
        return NVML_ERROR_NOT_SUPPORTED;
    *status = NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}
