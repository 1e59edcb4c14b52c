/* Events, and counts of guarded calls, in the state's file: the newest events in a ring that is written under the lock and read without it, and one
 * count for each device, added to without a lock.  Where there is no state there are no events, and counts are the process's own. */
#include "nvp_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS (sizeof(struct nvp_event) / sizeof(uint64_t))

static const struct nvp_events *ring; /* NULL where there is no state */
static uint64_t *counts;              /* the state's, once this process counted and may write there; else NULL */
static uint64_t own_counts[NVP_SLOTS];
static uint64_t put; /* events of the write in progress (nvp_state_mutex) */

/* The state that counts.  Its bytes before the records are mapped for writing at the first count, so that a process that counts nothing has nothing
 * mapped for writing, and whatever a getter does it cannot touch a record. */
static struct {
    pthread_mutex_t mutex;
    char path[NVP_PATH_SIZE];
    struct nvp_mapped state;
    struct nvp_mapped head; /* what is mapped for writing, of which file */
    bool tried;
} counting = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The state that every device reads from now on, or NULL. */
void nvp_ring_bind(const struct nvp_mapped *map)
{
    const struct nvp_state *state = map ? nvp_head_of(map) : NULL;
    pthread_mutex_lock(&counting.mutex);
    __atomic_store_n(&ring, state ? (const void *)(map->bytes + state->events) : NULL, __ATOMIC_RELEASE);
    const bool own = map && nvp_state_is_own(map);
    const bool again = own || (map && counting.head.bytes && counting.head.device == map->device && counting.head.inode == map->inode);
    unsigned char *head = own ? map->bytes : counting.head.bytes;
    __atomic_store_n(&counts, again ? (uint64_t *)(void *)(head + state->counters) : NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&counting.tried, map == NULL || again, __ATOMIC_RELEASE);
    if (map) {
        counting.state = *map;
        (void)nvp_format(counting.path, sizeof counting.path, "%s", nvp_state_path);
    }
    pthread_mutex_unlock(&counting.mutex);
}

void nvp_ring_before_fork(void)
{
    pthread_mutex_lock(&counting.mutex);
}

void nvp_ring_after_fork(void)
{
    pthread_mutex_unlock(&counting.mutex);
}

/* When the library is unloaded and nobody uses it. */
void nvp_ring_release(void)
{
    nvp_ring_bind(NULL);
    if (counting.head.bytes)
        munmap(counting.head.bytes, counting.head.size);
    counting.head.bytes = NULL;
}

/* The counts of the state that is attached, where its file still lies at its path and may be written. */
static void map_counts(void)
{
    const struct nvp_state *state = nvp_head_of(&counting.state);
    const int file = open(counting.path, O_RDWR | NVP_OPEN);
    struct stat status;
    if (file < 0)
        return;
    const bool same = fstat(file, &status) == 0 && status.st_dev == counting.state.device && status.st_ino == counting.state.inode;
    void *place = same ? mmap(NULL, state->first, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    if (place == MAP_FAILED)
        return;
    /* one mapped before stays: somebody may be counting there */
    counting.head = (struct nvp_mapped){place, state->first, status.st_dev, status.st_ino};
    __atomic_store_n(&counts, (uint64_t *)(void *)(counting.head.bytes + state->counters), __ATOMIC_RELEASE);
}

static void count_in_state(void)
{
    pthread_mutex_lock(&counting.mutex);
    if (!counting.tried)
        map_counts();
    __atomic_store_n(&counting.tried, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&counting.mutex);
}

static struct nvp_events *events_in(unsigned char *bytes)
{
    return (void *)(bytes + ((const struct nvp_state *)(const void *)bytes)->events);
}

static bool read_event(const struct nvp_events *events, uint64_t sequence, struct nvp_event *event)
{
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

/* Whether the change that an event is of is in force, where its device's record is of this generation. */
static bool committed(const struct nvp_event *event, uint64_t generation)
{
    return event->commit == 0 || (int32_t)((uint32_t)generation - event->commit) >= 0;
}

/* The generation of the record that a process reads of a device. */
static uint64_t generation_of(uint32_t device)
{
    if (device >= nvp_image->device_count)
        return 0;
    return __atomic_load_n(__atomic_load_n(&nvp_devices[device + 1].generation, __ATOMIC_ACQUIRE), __ATOMIC_ACQUIRE);
}

/* That in a state. */
static uint64_t generation_in(unsigned char *bytes, uint32_t device)
{
    const bool known = device < ((const struct nvp_state *)(const void *)bytes)->record_count - 1;
    return known ? __atomic_load_n(&nvp_record_at(bytes, device + 1)->generation, __ATOMIC_ACQUIRE) : 0;
}

/* The newest event of those in a state (NULL: the one that is read).  One that is there, and whose writer has not said so yet, is one. */
static uint64_t newest_of(const struct nvp_events *events, unsigned char *bytes)
{
    uint64_t newest = __atomic_load_n(&events->newest, __ATOMIC_ACQUIRE);
    struct nvp_event next;
    while (read_event(events, newest + 1, &next) && committed(&next, bytes ? generation_in(bytes, next.device) : generation_of(next.device)) &&
           read_event(events, newest + 1, &next)) /* again: a writer takes away what is not there before it commits what would make it look so */
        newest++;
    return newest;
}

/* The sequence of the newest event; 0 where there was none. */
uint64_t nvp_event_newest(void)
{
    const struct nvp_events *events = __atomic_load_n(&ring, __ATOMIC_ACQUIRE);
    return events ? newest_of(events, NULL) : 0;
}

uint64_t nvp_ring_newest(unsigned char *bytes)
{
    return newest_of(events_in(bytes), bytes);
}

/* The event of a sequence; false where it is none of the newest NVP_EVENT_COUNT, or its writer was killed. */
bool nvp_event_read(uint64_t sequence, struct nvp_event *event)
{
    const struct nvp_events *events = __atomic_load_n(&ring, __ATOMIC_ACQUIRE);
    return events && sequence && read_event(events, sequence, event);
}

/* Before a write: what a killed writer made and did not count is counted where its change is in force; else it goes, the last first, before another
 * change could make it look as if it was. */
void nvp_ring_settle(unsigned char *bytes)
{
    struct nvp_events *events = events_in(bytes);
    const uint64_t newest = nvp_ring_newest(bytes);
    struct nvp_event next;
    uint64_t last = newest;
    while (last - newest < NVP_EVENT_COUNT && read_event(events, last + 1, &next))
        last++;
    if (newest != events->newest)
        NVP_STORE(&events->newest, newest);
    for (; last > newest; last--)
        NVP_STORE(&events->event[last % NVP_EVENT_COUNT].sequence, (uint64_t)0);
}

/* After a write: its events are counted. */
void nvp_ring_count(unsigned char *bytes)
{
    struct nvp_events *events = events_in(bytes);
    if (put)
        NVP_STORE(&events->newest, events->newest + put);
    put = 0;
}

static void append(struct nvp_events *events, struct nvp_event *event)
{
    const uint64_t sequence = events->newest + ++put;
    struct nvp_event *to = &events->event[sequence % NVP_EVENT_COUNT];
    uint64_t words[WORDS], *target = (void *)to;
    event->sequence = sequence;
    memcpy(words, event, sizeof words);
    NVP_STORE(&to->sequence, (uint64_t)0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (size_t i = 1; i < WORDS; i++)
        NVP_STORE(&target[i], words[i]);
    NVP_STORE(&to->sequence, sequence);
}

/* One more event of a device whose record is being edited, there from the edit's commit on. */
void nvp_event_put(const struct nvp_device *device, uint64_t type, uint64_t data)
{
    struct nvp_event event = {.time_ns = nvp_now_ns(), .type = type, .data = data, .device = device->record - 1,
                              .gpu_instance = NVP_NO_INSTANCE, .compute_instance = NVP_NO_INSTANCE};
    unsigned char *bytes = nvp_state_edited();
    event.commit = (uint32_t)(nvp_record_at(bytes, device->record)->generation + 1);
    append(events_in(bytes), &event);
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
    append(events_in(bytes), &event);
    nvp_ring_count(bytes);
    nvp_state_abandon();
    return NVML_SUCCESS;
}

/* The events of a state as those of another, under their sequences; the newest of them. */
uint64_t nvp_ring_begin(unsigned char *bytes, unsigned char *from)
{
    const uint64_t newest = nvp_ring_newest(from), first = newest > NVP_EVENT_COUNT ? newest - NVP_EVENT_COUNT : 0;
    events_in(bytes)->newest = first;
    for (uint64_t sequence = first; sequence < newest;)
        nvp_ring_take(bytes, from, ++sequence, NULL);
    return newest;
}

/* An event of one state as the next of another, unless it is of a change (again: up to which generation of the record) that is known there. */
void nvp_ring_take(unsigned char *bytes, unsigned char *from, uint64_t sequence, const uint32_t *again)
{
    struct nvp_event event;
    const bool there = read_event(events_in(from), sequence, &event);
    const bool known = there && again && event.device < nvp_image->device_count && event.commit && again[event.device + 1] &&
                       committed(&event, again[event.device + 1]);
    if (known || (!there && again))
        return;
    if (!there) /* one that was written over: its sequence stays empty */
        event = (struct nvp_event){.device = NVP_NODE};
    event.commit = 0;
    append(events_in(bytes), &event);
    nvp_ring_count(bytes);
}

static uint64_t *count_of(const struct nvp_device *device)
{
    if (!__atomic_load_n(&counting.tried, __ATOMIC_ACQUIRE))
        count_in_state();
    uint64_t *shared = __atomic_load_n(&counts, __ATOMIC_ACQUIRE);
    return (shared ? shared : own_counts) + device->record;
}

/* What others counted in a state that this process may not write. */
static uint64_t beside(const struct nvp_device *device)
{
    const struct nvp_events *events = __atomic_load_n(&ring, __ATOMIC_ACQUIRE);
    if (events == NULL || __atomic_load_n(&counts, __ATOMIC_ACQUIRE) != NULL)
        return 0;
    const struct nvp_state *state = nvp_head_of(&nvp_attached);
    const uint64_t *shared = (const void *)(nvp_attached.bytes + state->counters);
    return __atomic_load_n(&shared[device->record], __ATOMIC_RELAXED);
}

/* One guarded call more on a device: how many there were with it, in every process of the state that may write there. */
uint64_t nvp_count_call(const struct nvp_device *device)
{
    return __atomic_add_fetch(count_of(device), 1, __ATOMIC_RELAXED) + beside(device);
}

uint64_t nvp_counted_calls(const struct nvp_device *device)
{
    return __atomic_load_n(count_of(device), __ATOMIC_RELAXED) + beside(device);
}
