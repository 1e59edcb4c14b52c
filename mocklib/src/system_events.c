/* System event sets: GPUs whose driver is unbound or bound.  A lost GPU is an unbound one, a recovered one is bound again; which is which is looked
 * at when a set is registered and while it is waited for (ledger V19). */
#include "nvp.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS 64
#define QUEUE 64 /* the newest events that a set keeps */
#define KIND_SYSTEM_SET 6
#define TYPES (nvmlSystemEventTypeGpuDriverUnbind | nvmlSystemEventTypeGpuDriverBind)

/* One set.  bound: which GPUs were there when they were last looked at, NULL before that.  The queue holds count events from first on, in a circle. */
struct system_set {
    uint64_t handle;
    uint64_t types;
    unsigned char *bound;
    unsigned int first;
    unsigned int count;
    nvmlSystemEventData_v1_t queue[QUEUE];
};

static struct system_set sets[SETS];
static uint32_t set_generation;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void nvp_system_events_before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

void nvp_system_events_after_fork(void)
{
    pthread_mutex_unlock(&mutex);
}

/* The set of a handle, NULL for none; the mutex is held. */
static struct system_set *set_of(nvmlSystemEventSet_t given)
{
    const uint64_t handle = (uint64_t)(uintptr_t)given;
    struct system_set *const set = &sets[NVP_HANDLE_SLOT(handle) % SETS];
    return handle != 0 && set->handle == handle ? set : NULL;
}

static void end_set(struct system_set *set)
{
    free(set->bound);
    memset(set, 0, sizeof *set);
}

void nvp_system_event_sets_end(void)
{
    pthread_mutex_lock(&mutex);
    for (unsigned int i = 0; i < SETS; i++)
        end_set(&sets[i]);
    pthread_mutex_unlock(&mutex);
}

nvmlReturn_t nvp_h_system_set_create(nvmlSystemEventSetCreateRequest_t *request)
{
    nvmlReturn_t code = NVML_ERROR_INSUFFICIENT_RESOURCES;
    pthread_mutex_lock(&mutex);
    const uint64_t generation = ++set_generation & 0xffffff;
    for (uint64_t slot = 0; slot < SETS && code != NVML_SUCCESS; slot++) {
        if (sets[slot].handle != 0)
            continue;
        sets[slot].handle = NVP_HANDLE_TAG | generation << 32 | slot << NVP_SLOT_SHIFT | KIND_SYSTEM_SET;
        request->set = (nvmlSystemEventSet_t)(uintptr_t)sets[slot].handle;
        code = NVML_SUCCESS;
    }
    pthread_mutex_unlock(&mutex);
    return code;
}

nvmlReturn_t nvp_h_system_set_free(nvmlSystemEventSetFreeRequest_t *request)
{
    pthread_mutex_lock(&mutex);
    struct system_set *const set = set_of(request->set);
    if (set)
        end_set(set);
    pthread_mutex_unlock(&mutex);
    return set ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* The oldest event of a full queue makes room. */
static void append(struct system_set *set, uint64_t type, uint64_t gpu)
{
    if (!(set->types & type))
        return;
    if (set->count == QUEUE) {
        set->first = (set->first + 1) % QUEUE;
        set->count--;
    }
    set->queue[(set->first + set->count++) % QUEUE] = (nvmlSystemEventData_v1_t){.eventType = type, .gpuId = (unsigned int)gpu};
}

/* A GPU's number in the form of a PCI address, which is its board id. */
static uint64_t gpu_id(const struct nvp_device *device)
{
    uint64_t number = 0;
    (void)nvp_identity_number(device, NVP_F_board_id, &number);
    return number;
}

/* Look at every GPU; the first look says what there is and tells nothing. */
static void look(struct system_set *set)
{
    const bool first = set->bound == NULL;
    if (first)
        set->bound = calloc(nvp_image->device_count + 1, 1);
    for (unsigned int i = 0; set->bound && i < nvp_image->device_count; i++) {
        const struct nvp_device *const device = &nvp_devices[i + 1];
        const unsigned char bound = !nvp_failed(device);
        if (!first && bound != set->bound[i])
            append(set, bound ? nvmlSystemEventTypeGpuDriverBind : nvmlSystemEventTypeGpuDriverUnbind, gpu_id(device));
        set->bound[i] = bound;
    }
}

nvmlReturn_t nvp_h_system_register(nvmlSystemRegisterEventRequest_t *request)
{
    if (request->eventTypes == 0 || request->eventTypes & ~(unsigned long long)TYPES)
        return NVML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&mutex);
    struct system_set *const set = set_of(request->set);
    if (set) {
        look(set);
        set->types |= request->eventTypes;
    }
    pthread_mutex_unlock(&mutex);
    return set ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* What the queue has, oldest first, as much as the caller takes; false for no set. */
static bool take(nvmlSystemEventSetWaitRequest_t *request)
{
    pthread_mutex_lock(&mutex);
    struct system_set *const set = set_of(request->set);
    if (set)
        look(set);
    while (set && set->count && request->numEvent < request->dataSize) {
        request->data[request->numEvent++] = set->queue[set->first];
        set->first = (set->first + 1) % QUEUE;
        set->count--;
    }
    pthread_mutex_unlock(&mutex);
    return set != NULL;
}

nvmlReturn_t nvp_h_system_wait(nvmlSystemEventSetWaitRequest_t *request)
{
    const uint64_t end = nvp_wait_end(request->timeoutms);
    if (request->data == NULL || request->dataSize == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    request->numEvent = 0;
    for (;;) {
        if (__atomic_load_n(&nvp_following, __ATOMIC_RELAXED))
            nvp_own_follow();
        if (!take(request))
            return nvp_initialised() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
        if (request->numEvent)
            return NVML_SUCCESS;
        if (nvp_wait_over(end))
            return NVML_ERROR_TIMEOUT;
        nvp_sleep_until(end);
    }
}
