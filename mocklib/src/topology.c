/* How the GPUs of a node are connected, and which processors are near them: from the root complexes that the profile names (ledger D14 to D17).  A
 * node that names none, and no level, is not known: NOT_SUPPORTED, never a level. */
#include "nvp_slots.h"

#define BUS_ID_SIZE 32
#define WORD_BITS 32

/* Another NUMA node, the same root complex, or another root complex of the node (ledger D16); else the level that the profile has for all pairs. */
static nvmlReturn_t level_between(const struct nvp_device *one, const struct nvp_device *other, nvmlGpuTopologyLevel_t *level)
{
    uint64_t roots[2], nodes[2], given = 0;
    if (one == other) {
        *level = NVML_TOPOLOGY_INTERNAL;
        return NVML_SUCCESS;
    }
    const bool placed = nvp_number(one, NVP_F_topology_root, &roots[0]) == NVML_SUCCESS && nvp_number(other, NVP_F_topology_root, &roots[1]) == NVML_SUCCESS &&
                        nvp_number(one, NVP_F_topology_numa_node, &nodes[0]) == NVML_SUCCESS &&
                        nvp_number(other, NVP_F_topology_numa_node, &nodes[1]) == NVML_SUCCESS;
    if (placed) {
        *level = nodes[0] != nodes[1] ? NVML_TOPOLOGY_SYSTEM : roots[0] == roots[1] ? NVML_TOPOLOGY_SINGLE : NVML_TOPOLOGY_HOSTBRIDGE;
        return NVML_SUCCESS;
    }
    const nvmlReturn_t code = nvp_number(one, NVP_F_topology_default_level, &given);
    if (code == NVML_SUCCESS)
        *level = (nvmlGpuTopologyLevel_t)given;
    return code;
}

nvmlReturn_t nvp_h_topology_common_ancestor(const struct nvp_device *device, nvmlDevice_t other, nvmlGpuTopologyLevel_t *level)
{
    return level_between(device, nvp_device_of(other), level);
}

/* The other GPUs at exactly this level; asked with no room, how many they are. */
nvmlReturn_t nvp_h_topology_nearest(const struct nvp_device *device, nvmlGpuTopologyLevel_t wanted, unsigned int *count, nvmlDevice_t *devices)
{
    const unsigned int capacity = *count;
    unsigned int found = 0;
    const struct nvp_device *other;
    for (unsigned int i = 0; (other = nvp_device_at(i)) != NULL; i++) {
        nvmlGpuTopologyLevel_t level;
        if (other == device)
            continue;
        const nvmlReturn_t code = level_between(device, other, &level);
        if (code != NVML_SUCCESS)
            return code;
        if (level != wanted)
            continue;
        if (found < capacity && devices != NULL)
            devices[found] = nvp_handle_of(other);
        found++;
    }
    *count = capacity && found > capacity ? capacity : found;
    return NVML_SUCCESS;
}

/* The processors near a GPU as bits, 32 a word in the image; what does not fit is left out, what there is not is 0. */
nvmlReturn_t nvp_h_cpu_affinity(const struct nvp_device *device, unsigned int size, unsigned long *set)
{
    const unsigned int words = sizeof *set * 8 / WORD_BITS;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const void *items = NULL;
        uint64_t number = 0;
        code = nvp_list_in(device, nvp_half, NVP_F_topology_cpus, sizeof(uint32_t), &items, &number);
        for (uint64_t i = 0; code == NVML_SUCCESS && i < (uint64_t)size * words; i++) {
            uint32_t word = 0;
            if (i < number)
                memcpy(&word, (const unsigned char *)items + i * sizeof word, sizeof word);
            if (i % words == 0)
                set[i / words] = 0;
            set[i / words] |= (unsigned long)word << (i % words * WORD_BITS);
        }
    NVP_READ_END(device)
    return code;
}

/* The profile says of a NUMA node, not of a socket, which may hold several. */
nvmlReturn_t nvp_h_cpu_affinity_within(const struct nvp_device *device, unsigned int size, unsigned long *set, nvmlAffinityScope_t scope)
{
    return scope == NVML_AFFINITY_SCOPE_NODE ? nvp_h_cpu_affinity(device, size, set) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvp_h_memory_affinity(const struct nvp_device *device, unsigned int size, unsigned long *set, nvmlAffinityScope_t scope)
{
    const unsigned int bits = sizeof *set * 8;
    uint64_t node = 0;
    if (scope != NVML_AFFINITY_SCOPE_NODE)
        return NVML_ERROR_NOT_SUPPORTED;
    const nvmlReturn_t code = nvp_number(device, NVP_F_topology_numa_node, &node);
    if (code != NVML_SUCCESS)
        return code;
    for (unsigned int i = 0; i < size; i++)
        set[i] = node / bits == i ? 1UL << (node % bits) : 0;
    return NVML_SUCCESS;
}

static const struct nvp_device *at_address(const char *address)
{
    char text[BUS_ID_SIZE];
    const struct nvp_device *other;
    for (unsigned int i = 0; (other = nvp_device_at(i)) != NULL; i++)
        if (nvp_identity_text(other, NVP_F_pci_bus_id, text, sizeof text) && strcmp(text, address) == 0)
            return other;
    return NULL;
}

/* The number of a link that `topo -m` prints a word for: PIX, PXB, PHB, NODE, SYS. */
static uint32_t link_of(nvmlGpuTopologyLevel_t level)
{
    switch (level) {
    case NVML_TOPOLOGY_SYSTEM:
        return 4;
    case NVML_TOPOLOGY_NODE:
        return 3;
    case NVML_TOPOLOGY_HOSTBRIDGE:
        return 2;
    case NVML_TOPOLOGY_MULTIPLE:
        return 1;
    default:
        return 0;
    }
}

/* What `topo -m` asks for each pair, by PCI addresses as nvmlPciInfo_t has them.  A link that the profile does not say is the number of none, which
 * nvidia-smi prints as Unknown: on a code it prints no matrix at all, and where nothing is written 450 and newer print the first of their links, older
 * ones what their stack held. */
nvmlReturn_t nvp_slot_topology_pair(const char *one, const char *other, uint32_t *link)
{
    const struct nvp_device *const first = one ? at_address(one) : NULL, *const second = other ? at_address(other) : NULL;
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_INTERNAL;
    if (link == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    const bool known = first && second && level_between(first, second, &level) == NVML_SUCCESS;
    *link = known ? link_of(level) : UINT32_MAX;
    return NVML_SUCCESS;
}

static bool has_cpu(const struct nvp_device *device, unsigned int number, nvmlReturn_t *code)
{
    uint32_t word = 0;
    NVP_READ_BEGIN(device)
        const void *items = NULL;
        uint64_t words = 0;
        *code = nvp_list_in(device, nvp_half, NVP_F_topology_cpus, sizeof word, &items, &words);
        if (*code == NVML_SUCCESS && number / WORD_BITS < words)
            memcpy(&word, (const unsigned char *)items + number / WORD_BITS * sizeof word, sizeof word);
    NVP_READ_END(device)
    return *code == NVML_SUCCESS && (word >> number % WORD_BITS & 1);
}

/* The GPUs that a processor is near to; asked with no room, how many they are. */
nvmlReturn_t nvp_h_topology_gpu_set(unsigned int cpu, unsigned int *count, nvmlDevice_t *devices)
{
    const unsigned int capacity = *count;
    unsigned int found = 0;
    const struct nvp_device *other;
    for (unsigned int i = 0; (other = nvp_device_at(i)) != NULL; i++) {
        nvmlReturn_t code;
        const bool near = has_cpu(other, cpu, &code);
        if (code != NVML_SUCCESS)
            return code;
        if (near && found < capacity && devices != NULL)
            devices[found] = nvp_handle_of(other);
        found += near;
    }
    *count = capacity && found > capacity ? capacity : found;
    return NVML_SUCCESS;
}
