/* Events, and counts of guarded calls, in the state's file: the newest events in a ring that is written under the lock and read without it, and one
 * count for each device, added to without a lock.  Where there is no state there are no events, and counts are the process's own. */
#include "nvp_state.h"

#define WORDS (sizeof(struct nvp_event) / sizeof(uint64_t))

static const struct nvp_events *ring; /* NULL where there is no state */
static uint64_t *counts;              /* NULL where there is none, or nothing can be written there */
static uint64_t own_counts[NVP_SLOTS];

/* The state that every device reads from now on, or NULL. */
void nvp_ring_bind(const struct nvp_mapped *map)
{
    const struct nvp_state *state = map ? nvp_head_of(map) : NULL;
    __atomic_store_n(&ring, state ? (const void *)(map->bytes + state->events) : NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&counts, map && map->head ? (uint64_t *)(void *)(map->head + state->counters) : NULL, __ATOMIC_RELEASE);
}

/* The sequence of the newest event; 0 where there was none. */
uint64_t nvp_event_newest(void)
{
    const struct nvp_events *events = __atomic_load_n(&ring, __ATOMIC_ACQUIRE);
    return events ? __atomic_load_n(&events->newest, __ATOMIC_ACQUIRE) : 0;
}

/* The event of a sequence; false where it is none of the newest NVP_EVENT_COUNT, or its writer was killed. */
bool nvp_event_read(uint64_t sequence, struct nvp_event *event)
{
    const struct nvp_events *events = __atomic_load_n(&ring, __ATOMIC_ACQUIRE);
    if (events == NULL || sequence == 0)
        return false;
    const struct nvp_event *from = &events->event[sequence % NVP_EVENT_COUNT];
    const uint64_t *words = (const void *)from;
    uint64_t read[WORDS];
    if (__atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE) != sequence)
        return false;
    for (size_t i = 0; i < WORDS; i++)
        read[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    memcpy(event, read, sizeof *event);
    return __atomic_load_n(&from->sequence, __ATOMIC_RELAXED) == sequence;
}

static void append(struct nvp_events *events, struct nvp_event *event)
{
    const uint64_t sequence = events->newest + 1;
    struct nvp_event *to = &events->event[sequence % NVP_EVENT_COUNT];
    uint64_t words[WORDS], *target = (void *)to;
    event->sequence = sequence;
    memcpy(words, event, sizeof words);
    NVP_STORE(&to->sequence, (uint64_t)0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (size_t i = 1; i < WORDS; i++)
        NVP_STORE(&target[i], words[i]);
    NVP_STORE(&to->sequence, sequence);
    NVP_STORE(&events->newest, sequence);
}

/* One more event of a device (NULL: of the node), now; the code of a write that cannot be made. */
nvmlReturn_t nvp_event_add(const struct nvp_device *device, uint64_t type, uint64_t data, uint32_t gpu_instance, uint32_t compute_instance)
{
    struct nvp_event event = {.time_ns = nvp_now_ns(), .type = type, .data = data, .device = device ? device->record - 1 : NVP_NODE,
                              .gpu_instance = gpu_instance, .compute_instance = compute_instance};
    nvmlReturn_t code;
    unsigned char *bytes = nvp_state_open_events(&code);
    if (bytes == NULL)
        return code;
    append((void *)(bytes + ((const struct nvp_state *)(const void *)bytes)->events), &event);
    nvp_state_abandon();
    return NVML_SUCCESS;
}

static uint64_t *count_of(const struct nvp_device *device)
{
    uint64_t *shared = __atomic_load_n(&counts, __ATOMIC_ACQUIRE);
    return (shared ? shared : own_counts) + device->record;
}

/* One guarded call more on a device: how many there were with it, in every process of the state that may write there. */
uint64_t nvp_count_call(const struct nvp_device *device)
{
    return __atomic_add_fetch(count_of(device), 1, __ATOMIC_RELAXED);
}

uint64_t nvp_counted_calls(const struct nvp_device *device)
{
    return __atomic_load_n(count_of(device), __ATOMIC_RELAXED);
}
