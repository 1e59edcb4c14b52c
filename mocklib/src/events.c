/* Event sets: what each is told of which GPU, and where in the node's events it stands.  A set reads the events for itself, so that each hears of each
 * once, whoever else waits. */
#include "nvp.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define SETS 256
#define POLL_NS 5000000 /* how long a wait sleeps before it looks again */

/* What is recorded of one GPU; since: the newest event there was when that began (nvml.h: what occurred before is not recorded). */
struct registration {
    uint64_t types;
    uint64_t since;
};

/* One set.  handle: what its handle must be now, 0 is free; claimed and freed by compare-and-swap, all else under the mutex.  seen: the last event looked at.
 * told: nvmlEventSetWait_v3 has returned an event. */
struct event_set {
    uint64_t handle;
    uint64_t seen;
    struct registration *devices;
    unsigned int device_count;
    bool told;
};

static struct event_set sets[SETS];
static uint32_t set_generation;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct event_set *set_of(nvmlEventSet_t set)
{
    return &sets[NVP_HANDLE_SLOT(set) % SETS];
}

nvmlReturn_t nvp_event_set_check(nvmlEventSet_t set)
{
    const uint64_t handle = (uint64_t)(uintptr_t)set;
    const uint64_t slot = NVP_HANDLE_SLOT(handle);
    if (handle == 0 || slot >= SETS || __atomic_load_n(&sets[slot].handle, __ATOMIC_ACQUIRE) != handle)
        return NVML_ERROR_INVALID_ARGUMENT;
    return NVML_SUCCESS;
}

/* Whether the set is still that of the handle; the mutex is held. */
static bool alive(nvmlEventSet_t set)
{
    return nvp_event_set_check(set) == NVML_SUCCESS;
}

void nvp_events_before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

void nvp_events_after_fork(void)
{
    pthread_mutex_unlock(&mutex);
}

nvmlReturn_t nvp_h_event_set_create(nvmlEventSet_t *set)
{
    const uint64_t generation = __atomic_add_fetch(&set_generation, 1, __ATOMIC_RELAXED) & 0xffffff;
    nvmlReturn_t code = NVML_ERROR_INSUFFICIENT_RESOURCES;
    pthread_mutex_lock(&mutex);
    for (uint64_t slot = 0; slot < SETS && code != NVML_SUCCESS; slot++) {
        const uint64_t handle = NVP_HANDLE_TAG | generation << 32 | slot << NVP_SLOT_SHIFT | NVP_KIND_EVENT_SET;
        if (sets[slot].handle != 0)
            continue;
        sets[slot].seen = nvp_event_newest();
        __atomic_store_n(&sets[slot].handle, handle, __ATOMIC_RELEASE);
        *set = (nvmlEventSet_t)(uintptr_t)handle;
        code = NVML_SUCCESS;
    }
    pthread_mutex_unlock(&mutex);
    return code;
}

static void end_set(struct event_set *set)
{
    __atomic_store_n(&set->handle, 0, __ATOMIC_RELEASE);
    free(set->devices);
    *set = (struct event_set){0};
}

nvmlReturn_t nvp_h_event_set_free(nvmlEventSet_t set)
{
    pthread_mutex_lock(&mutex);
    const bool freed = alive(set);
    if (freed)
        end_set(set_of(set));
    pthread_mutex_unlock(&mutex);
    return freed ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

void nvp_event_sets_end(void)
{
    pthread_mutex_lock(&mutex);
    for (unsigned int i = 0; i < SETS; i++)
        if (sets[i].handle)
            end_set(&sets[i]);
    pthread_mutex_unlock(&mutex);
}

/* Xid events are what a mock can be asked for (ledger V13). */
nvmlReturn_t nvp_h_supported_events(const struct nvp_device *device, unsigned long long *types)
{
    (void)device;
    *types = nvmlEventTypeXidCriticalError;
    return NVML_SUCCESS;
}

static nvmlReturn_t record_events(struct event_set *set, const struct nvp_device *device, uint64_t types)
{
    if (set->devices == NULL) {
        set->devices = calloc(nvp_image->device_count, sizeof *set->devices);
        set->device_count = set->devices ? nvp_image->device_count : 0;
    }
    if (device->record > set->device_count)
        return NVML_ERROR_MEMORY;
    struct registration *const one = &set->devices[device->record - 1];
    if (one->types == 0)
        one->since = nvp_event_newest();
    one->types |= types;
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_register_events(const struct nvp_device *device, unsigned long long types, nvmlEventSet_t set)
{
    nvmlReturn_t code = NVML_ERROR_INVALID_ARGUMENT;
    if (types & ~(unsigned long long)nvmlEventTypeAll)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (types & ~(unsigned long long)nvmlEventTypeXidCriticalError)
        return NVML_ERROR_NOT_SUPPORTED;
    pthread_mutex_lock(&mutex);
    if (alive(set))
        code = record_events(set_of(set), device, types);
    pthread_mutex_unlock(&mutex);
    return code;
}

/* The handle under which the process has the GPU of an event; NULL for one that it does not see. */
static nvmlDevice_t handle_of(uint32_t device)
{
    return device < nvp_image->device_count ? nvp_handle_of(&nvp_devices[device + 1]) : NULL;
}

static bool wanted(const struct event_set *set, const struct nvp_event *event)
{
    const uint32_t device = event->device;
    return device < set->device_count && (set->devices[device].types & event->type) != 0 && event->sequence > set->devices[device].since &&
           handle_of(device) != NULL;
}

/* Another state is served, whose events are all new. */
static void start_over(struct event_set *set)
{
    set->seen = 0;
    for (unsigned int i = 0; i < set->device_count; i++)
        set->devices[i].since = 0;
}

/* The next event that the set is to be told of; those that were written over since are gone. */
static bool next_event(struct event_set *set, struct nvp_event *event)
{
    const uint64_t newest = nvp_event_newest();
    if (newest < set->seen)
        start_over(set);
    if (newest - set->seen > NVP_EVENT_COUNT)
        set->seen = newest > NVP_EVENT_COUNT ? newest - NVP_EVENT_COUNT : 0;
    while (set->seen < newest)
        if (nvp_event_read(++set->seen, event) && wanted(set, event))
            return true;
    return false;
}

static uint64_t steady_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

void nvp_sleep_until(uint64_t end_ns)
{
    const uint64_t now = steady_ns(), left = end_ns > now ? end_ns - now : 0;
    const struct timespec moment = {0, (long)(left < POLL_NS ? left : POLL_NS)};
    nanosleep(&moment, NULL);
}

uint64_t nvp_wait_end(unsigned int timeout_ms)
{
    return steady_ns() + timeout_ms * 1000000ULL;
}

bool nvp_wait_over(uint64_t end_ns)
{
    return steady_ns() >= end_ns;
}

/* The next event of a set, waited for at most timeout_ms (0: looked for once). */
static nvmlReturn_t wait_for(nvmlEventSet_t set, unsigned int timeout_ms, bool third, struct nvp_event *event)
{
    const uint64_t end = nvp_wait_end(timeout_ms);
    for (;;) {
        if (__atomic_load_n(&nvp_following, __ATOMIC_RELAXED))
            nvp_own_follow();
        pthread_mutex_lock(&mutex);
        const bool there = alive(set);
        const bool found = there && next_event(set_of(set), event);
        if (found && third)
            set_of(set)->told = true;
        pthread_mutex_unlock(&mutex);
        if (found)
            return NVML_SUCCESS;
        if (!there)
            return nvp_initialised() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
        if (nvp_wait_over(end))
            return NVML_ERROR_TIMEOUT;
        nvp_sleep_until(end);
    }
}

/* The data of an event: the Xid, 0 of any other (nvml.h). */
static unsigned long long data_of(const struct nvp_event *event)
{
    return event->type == nvmlEventTypeXidCriticalError ? event->data : 0;
}

/* The first wait's struct ends before the instances. */
nvmlReturn_t nvp_h_event_wait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
    struct nvp_event event;
    const nvmlReturn_t code = wait_for(set, timeout_ms, false, &event);
    if (code != NVML_SUCCESS)
        return code;
    data->device = handle_of(event.device);
    data->eventType = event.type;
    data->eventData = data_of(&event);
    return NVML_SUCCESS;
}

nvmlReturn_t nvp_h_event_wait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
    struct nvp_event event;
    const nvmlReturn_t code = wait_for(set, timeout_ms, false, &event);
    if (code != NVML_SUCCESS)
        return code;
    *data = (nvmlEventData_t){handle_of(event.device), event.type, data_of(&event), event.gpu_instance, event.compute_instance};
    return NVML_SUCCESS;
}

/* An event bit in the wider struct: what only structured events have is 0 or empty (nvml.h). */
nvmlReturn_t nvp_h_event_wait_v3(nvmlEventSet_t set, nvmlEventSetWait_v3_t *params)
{
    struct nvp_event event;
    const nvmlReturn_t code = wait_for(set, params->timeoutMs, true, &event);
    if (code != NVML_SUCCESS)
        return code;
    *params = (nvmlEventSetWait_v3_t){.timeoutMs = params->timeoutMs, .dataType = NVML_EVENT_DATA_TYPE_NVML_EVENT, .eventType = event.type,
                                      .eventData = data_of(&event), .timestampUsec = event.time_ns / 1000, .gpuInstanceId = event.gpu_instance,
                                      .computeInstanceId = event.compute_instance};
    (void)nvp_identity_text(&nvp_devices[event.device + 1], NVP_F_uuid, params->uuid, sizeof params->uuid);
    return NVML_SUCCESS;
}

/* An event bit has no context records (nvml.h): none is found before the first event, and after it no index is in range. */
static nvmlReturn_t context(nvmlEventSet_t set, nvmlReturn_t of_none)
{
    pthread_mutex_lock(&mutex);
    const bool told = alive(set) && set_of(set)->told;
    pthread_mutex_unlock(&mutex);
    return told ? of_none : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvp_h_event_context_count(nvmlEventSet_t set, nvmlEventSetGetContextCount_v1_t *params)
{
    const nvmlReturn_t code = context(set, NVML_SUCCESS);
    if (code == NVML_SUCCESS)
        params->count = 0;
    return code;
}

nvmlReturn_t nvp_h_event_context_info(nvmlEventSet_t set, nvmlEventSetGetContextInfo_v1_t *params)
{
    (void)params;
    return context(set, NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t nvp_h_event_context_data(nvmlEventSet_t set, nvmlEventSetGetContextData_v1_t *params)
{
    (void)params;
    return context(set, NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t nvp_h_event_context_xid(nvmlEventSet_t set, nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1_t *params)
{
    (void)params;
    return context(set, NVML_ERROR_INVALID_ARGUMENT);
}
