/* Event sets: created, registered with and waited for.  No event is part of a profile yet, so a wait ends by its timeout. */
#include "nvp.h"

#include <time.h>

#define SETS 256

/* What a set handle must be now; 0 is free.  Claimed and freed by compare-and-swap. */
static uint64_t sets[SETS];
static uint32_t set_generation;

nvmlReturn_t nvp_event_set_check(nvmlEventSet_t set)
{
    const uint64_t handle = (uint64_t)(uintptr_t)set;
    const uint64_t slot = NVP_HANDLE_SLOT(handle);
    if (handle == 0 || slot >= SETS || __atomic_load_n(&sets[slot], __ATOMIC_ACQUIRE) != handle)
        return NVML_ERROR_INVALID_ARGUMENT;
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_event_set_create(nvmlEventSet_t *set)
{
    const uint64_t generation = __atomic_add_fetch(&set_generation, 1, __ATOMIC_RELAXED) & 0xffffff;
    for (uint64_t slot = 0; slot < SETS; slot++) {
        uint64_t none = 0;
        const uint64_t handle = NVP_HANDLE_TAG | generation << 32 | slot << NVP_SLOT_SHIFT | NVP_KIND_EVENT_SET;
        if (__atomic_compare_exchange_n(&sets[slot], &none, handle, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            *set = (nvmlEventSet_t)(uintptr_t)handle;
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t nvp_h_event_set_free(nvmlEventSet_t set)
{
    uint64_t handle = (uint64_t)(uintptr_t)set;
    const bool freed = __atomic_compare_exchange_n(&sets[NVP_HANDLE_SLOT(handle)], &handle, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    return freed ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

void nvp_event_sets_end(void)
{
    for (unsigned int i = 0; i < SETS; i++)
        __atomic_store_n(&sets[i], 0, __ATOMIC_RELEASE);
}

/* Xid events are what a mock can be asked for (ledger V13). */
nvmlReturn_t nvp_h_supported_events(const struct nvp_device *device, unsigned long long *types)
{
    (void)device;
    *types = nvmlEventTypeXidCriticalError;
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_register_events(const struct nvp_device *device, unsigned long long types, nvmlEventSet_t set)
{
    (void)device;
    (void)set;
    if (types & ~(unsigned long long)nvmlEventTypeAll)
        return NVML_ERROR_INVALID_ARGUMENT;
    return types & ~(unsigned long long)nvmlEventTypeXidCriticalError ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t nvp_h_event_wait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
    (void)data;
    (void)set;
    const struct timespec whole = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000L};
    struct timespec left = whole;
    while (timeout_ms && nanosleep(&left, &left) != 0)
        continue;
    return NVML_ERROR_TIMEOUT;
}
