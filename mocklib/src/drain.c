/* GPUs taken out of service while the driver stays loaded, and those it was told never to manage: all are addressed by where they stand on the bus. */
#include "nvp.h"

static uint32_t marks_of(const struct nvp_device *device)
{
    return nvp_record_of(device)->marks;
}

/* Domain, bus and device of an address; where all three are 0 its text says them (ledger O01).  False where that says none either. */
static bool place_of(const nvmlPciInfo_t *pci, uint64_t place[4])
{
    char text[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE + 1] = {0};
    place[0] = pci->domain;
    place[1] = pci->bus;
    place[2] = pci->device;
    if (pci->domain || pci->bus || pci->device)
        return true;
    memcpy(text, pci->busId, NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE);
    return nvp_parse_bus_id(text, place);
}

static bool stands_at(const struct nvp_device *device, const uint64_t place[4])
{
    static const uint16_t ids[] = {NVP_F_pci_domain, NVP_F_pci_bus, NVP_F_pci_device};
    uint64_t part;
    for (int i = 0; i < 3; i++)
        if (!nvp_identity_number(device, ids[i], &part) || part != place[i])
            return false;
    return true;
}

/* The GPU at an address, whether this process sees it or not, unless one of the marks hides it from this call; NULL where there is none. */
static const struct nvp_device *found(const nvmlPciInfo_t *pci, uint32_t hiding)
{
    uint64_t place[4];
    if (!place_of(pci, place))
        return NULL;
    for (unsigned int i = 1; i <= nvp_image->device_count; i++)
        if (!(marks_of(&nvp_devices[i]) & hiding) && stands_at(&nvp_devices[i], place))
            return &nvp_devices[i];
    return NULL;
}

/* The driver knows neither a GPU that was removed nor one that is excluded. */
static const struct nvp_device *managed(const nvmlPciInfo_t *pci)
{
    return found(pci, NVP_MARK_REMOVED | NVP_MARK_EXCLUDED);
}

nvmlReturn_t nvp_h_modify_drain(nvmlPciInfo_t *pci, nvmlEnableState_t state)
{
    const struct nvp_device *const device = managed(pci);
    return device ? nvp_run_number(device, NVP_P_drain, state) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvp_h_query_drain(nvmlPciInfo_t *pci, nvmlEnableState_t *state)
{
    const struct nvp_device *const device = managed(pci);
    if (device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *state = marks_of(device) & NVP_MARK_DRAINING ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}

/* This process sees the removal at once, others at their next init (ledger O10). */
nvmlReturn_t nvp_h_remove_gpu(nvmlPciInfo_t *pci)
{
    const struct nvp_device *const device = managed(pci);
    const nvmlReturn_t code = device ? nvp_run_number(device, NVP_P_remove_gpu, 1) : NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS)
        nvp_devices_refresh();
    return code;
}

/* Whatever becomes of the GPU in the operating system and of its link, the driver no longer has it. */
nvmlReturn_t nvp_h_remove_gpu_v2(nvmlPciInfo_t *pci, nvmlDetachGpuState_t gpu, nvmlPcieLinkState_t link)
{
    (void)gpu;
    (void)link;
    return nvp_h_remove_gpu(pci);
}

/* A GPU that comes back no longer drains: both marks go in one write (ledger O09). */
static nvmlReturn_t rediscover(const struct nvp_device *device)
{
    const bool removed = device && marks_of(device) & NVP_MARK_REMOVED;
    return removed ? nvp_state_marks(device, 0, NVP_MARK_REMOVED | NVP_MARK_DRAINING) : NVML_SUCCESS;
}

/* All that were removed where the numbers of the address are 0, whatever its text says; else the one there. */
nvmlReturn_t nvp_h_discover_gpus(nvmlPciInfo_t *pci)
{
    const bool all = !pci->domain && !pci->bus && !pci->device;
    const struct nvp_device *one = all ? NULL : found(pci, NVP_MARK_EXCLUDED);
    nvmlReturn_t code = all || one ? rediscover(one) : NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 1; all && code == NVML_SUCCESS && i <= nvp_image->device_count; i++)
        if (!(marks_of(&nvp_devices[i]) & NVP_MARK_EXCLUDED))
            code = rediscover(&nvp_devices[i]);
    nvp_devices_refresh();
    return code;
}

/* Excluded GPUs in the order of the profile; NULL past the last. */
static const struct nvp_device *excluded(unsigned int index)
{
    for (unsigned int i = 1; i <= nvp_image->device_count; i++)
        if (marks_of(&nvp_devices[i]) & NVP_MARK_EXCLUDED && index-- == 0)
            return &nvp_devices[i];
    return NULL;
}

nvmlReturn_t nvp_h_excluded_count(unsigned int *count)
{
    for (*count = 0; excluded(*count); ++*count)
        continue;
    return NVML_SUCCESS;
}

static unsigned int number_or_zero(const struct nvp_device *device, unsigned int id)
{
    uint64_t value;
    return nvp_identity_number(device, id, &value) ? (unsigned int)value : 0;
}

/* What is told of an excluded GPU: where it stands, what it is, and its UUID (ledger O02). */
nvmlReturn_t nvp_h_excluded_info(unsigned int index, nvmlExcludedDeviceInfo_t *info)
{
    const struct nvp_device *const device = excluded(index);
    if (device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    memset(info, 0, sizeof *info);
    info->pciInfo.domain = number_or_zero(device, NVP_F_pci_domain);
    info->pciInfo.bus = number_or_zero(device, NVP_F_pci_bus);
    info->pciInfo.device = number_or_zero(device, NVP_F_pci_device);
    info->pciInfo.pciDeviceId = number_or_zero(device, NVP_F_pci_device_id);
    info->pciInfo.pciSubSystemId = number_or_zero(device, NVP_F_pci_subsystem_id);
    (void)nvp_identity_text(device, NVP_F_pci_bus_id, info->pciInfo.busId, sizeof info->pciInfo.busId);
    (void)nvp_identity_text(device, NVP_F_pci_bus_id_legacy, info->pciInfo.busIdLegacy, sizeof info->pciInfo.busIdLegacy);
    (void)nvp_identity_text(device, NVP_F_uuid, info->uuid, sizeof info->uuid);
    return NVML_SUCCESS;
}
