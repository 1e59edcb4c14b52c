/* Which GPUs this process sees, in the order of their index: made at its nvmlInit from the marks of every record, and again when it removes or finds
 * one itself (ledger A16, O04, O10).  Slot 1 + i of the device table is GPU i of the image, whether it is seen or not. */
#include "nvp.h"

#include <sys/stat.h>
#include <unistd.h>

static uint16_t order[NVP_SLOTS];
static uint64_t init_generation;
static bool nodes_asked;            /* whether device nodes decide, too */
static unsigned char node[NVP_SLOTS]; /* whether the slot's GPU has one */

/* The device at an index, or NULL past the last. */
const struct nvp_device *nvp_device_at(unsigned int index)
{
    if (index >= __atomic_load_n(&nvp_device_count, __ATOMIC_ACQUIRE))
        return NULL;
    return &nvp_devices[__atomic_load_n(&order[index], __ATOMIC_RELAXED)];
}

static uint32_t marks_of(const struct nvp_device *device)
{
    uint32_t marks;
    NVP_READ_BEGIN(device)
        marks = ((const struct nvp_record *)(const void *)nvp_half)->marks;
    NVP_READ_END(device)
    return marks;
}

/* MOCK_NVML_DEVICE_NODES names the folder (/dev) whose nvidia<minor> nodes a container was given: a GPU without one is not seen, unless none has one. */
static void look_for_nodes(void)
{
    const char *folder = nvp_environment("MOCK_NVML_DEVICE_NODES");
    struct stat status;
    unsigned int found = 0;
    if (folder && (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)))
        nvp_refuse_variable("MOCK_NVML_DEVICE_NODES", folder, "is no folder, as /dev is", "every GPU is seen");
    for (unsigned int slot = 1; folder && slot <= nvp_image->device_count; slot++) {
        char path[NVP_PATH_SIZE];
        uint64_t minor;
        node[slot] = nvp_identity_number(&nvp_devices[slot], NVP_F_minor_number, &minor) &&
                     nvp_format(path, sizeof path, "%s/nvidia%llu", folder, (unsigned long long)minor) && access(path, F_OK) == 0;
        found += node[slot];
    }
    nodes_asked = found > 0;
}

/* Whether the device may come into the table. */
static bool shown(unsigned int slot)
{
    return marks_of(&nvp_devices[slot]) == 0 && (!nodes_asked || node[slot]);
}

static void show(unsigned int slot)
{
    const uint64_t life = nvp_devices[slot].life & 0x3fff;
    const uint64_t handle = NVP_HANDLE_TAG | init_generation << 32 | life << 18 | (uint64_t)slot << NVP_SLOT_SHIFT | NVP_KIND_GPU;
    __atomic_store_n(&nvp_devices[slot].expect, handle, __ATOMIC_RELEASE);
}

static void hide(unsigned int slot)
{
    __atomic_store_n(&nvp_devices[slot].expect, 0, __ATOMIC_RELEASE);
    nvp_devices[slot].life++;
}

/* Indices in the order of the image. */
static void number(void)
{
    unsigned int count = 0;
    for (unsigned int slot = 1; slot <= nvp_image->device_count; slot++) {
        if (__atomic_load_n(&nvp_devices[slot].expect, __ATOMIC_RELAXED) == 0)
            continue;
        __atomic_store_n(&nvp_devices[slot].index, count, __ATOMIC_RELAXED);
        __atomic_store_n(&order[count++], (uint16_t)slot, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&nvp_device_count, count, __ATOMIC_RELEASE);
}

void nvp_devices_begin(uint64_t generation)
{
    init_generation = generation;
    look_for_nodes();
    for (unsigned int slot = 1; slot <= nvp_image->device_count; slot++)
        if (shown(slot))
            show(slot);
    number();
}

void nvp_devices_end(void)
{
    for (unsigned int slot = 1; slot <= nvp_image->device_count; slot++)
        __atomic_store_n(&nvp_devices[slot].expect, 0, __ATOMIC_RELEASE);
}

/* In the process that removed a GPU or found one again: the first is gone at once, with its handles, the other is there; one that is drained or excluded
 * stays until the next nvmlInit (ledger O04).  The lock of init and shutdown is held. */
void nvp_devices_again(void)
{
    for (unsigned int slot = 1; slot <= nvp_image->device_count; slot++) {
        const bool seen = __atomic_load_n(&nvp_devices[slot].expect, __ATOMIC_RELAXED) != 0;
        if (seen && marks_of(&nvp_devices[slot]) & NVP_MARK_REMOVED)
            hide(slot);
        else if (!seen && shown(slot))
            show(slot);
    }
    number();
}
