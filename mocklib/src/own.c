/* A state of the process's own, in its memory: where nothing can be written, a failure that trips is seen by this process alone.  Setters do not use it:
 * they answer NO_PERMISSION there.  What others write into the state that this one stands for is taken over at every call and look of a wait: the flag
 * NVP_FLAG_FOLLOWING sends calls here, so that a process without one pays nothing. */
#include "nvp_state.h"

static struct nvp_mapped own;

/* The state that the own one stands for (bytes NULL: there is none), and how far it was taken over: of each record the generation, of each device the
 * guarded calls, the newest event.  again: the generation with which another process made the trip that this one had made, 0 for none. */
static struct {
    struct nvp_mapped of;
    uint64_t generation[NVP_SLOTS];
    uint64_t calls[NVP_SLOTS];
    uint32_t again[NVP_SLOTS];
    uint64_t event;
} followed;

bool nvp_following;

bool nvp_state_is_own(const struct nvp_mapped *map)
{
    return own.bytes != NULL && map->bytes == own.bytes;
}

/* The state that the own one stands for; its bytes are NULL where there is none. */
const struct nvp_mapped *nvp_state_followed(void)
{
    return &followed.of;
}

static uint64_t *calls_in(unsigned char *bytes)
{
    return (void *)(bytes + ((const struct nvp_state *)(const void *)bytes)->counters);
}

/* The record in force of what is followed, into a half of the own state; false where it is none that can be used. */
static bool copy_followed(const struct nvp_device *device, unsigned char *half, uint64_t generation)
{
    const struct nvp_state *const state = nvp_head_of(&own);
    const struct nvp_state_record *const record = nvp_record_at(followed.of.bytes, device->record);
    const uint64_t capacity = nvp_head_of(&followed.of)->capacity;
    const unsigned char *const from = (const unsigned char *)(record + 1) + (generation & 1) * capacity;
    const uint64_t size = nvp_used((const void *)from);
    if (size > capacity || size > state->capacity)
        return false;
    nvp_copy_words(half, from, (size + 7) & ~7ULL);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&record->generation, __ATOMIC_RELAXED) == generation && nvp_half_sound(half, state->capacity, device == &nvp_node);
}

/* One record taken over where it moved.  One that moves again meanwhile is taken over the next time. */
static void follow_record(const struct nvp_device *device)
{
    struct nvp_state_record *const record = nvp_record_at(own.bytes, device->record);
    const struct nvp_state *const state = nvp_head_of(&own);
    const uint64_t generation = __atomic_load_n(&nvp_record_at(followed.of.bytes, device->record)->generation, __ATOMIC_ACQUIRE);
    unsigned char *const halves = (unsigned char *)(record + 1);
    unsigned char *const half = halves + (~record->generation & 1) * state->capacity;
    const unsigned char *const old = halves + (record->generation & 1) * state->capacity;
    if (generation == followed.generation[device->record] || !copy_followed(device, half, generation))
        return;
    if (device != &nvp_node && nvp_trip_again(device, half, old, state->capacity))
        followed.again[device->record] = (uint32_t)generation;
    followed.generation[device->record] = generation;
    __atomic_store_n(&record->generation, record->generation + 1, __ATOMIC_RELEASE);
}

/* What the calls of other processes add to the counts. */
static void follow_calls(uint32_t record)
{
    const uint64_t calls = __atomic_load_n(&calls_in(followed.of.bytes)[record], __ATOMIC_RELAXED);
    __atomic_add_fetch(&calls_in(own.bytes)[record], calls - followed.calls[record], __ATOMIC_RELAXED);
    followed.calls[record] = calls;
}

/* Events up to the newest that there was before the records were looked at: none comes before its change. */
static void follow(void)
{
    const uint64_t newest = nvp_ring_newest(followed.of.bytes);
    follow_record(&nvp_node);
    for (unsigned int i = 0; i < nvp_image->device_count; i++) {
        follow_record(&nvp_devices[i + 1]);
        follow_calls(i + 1);
    }
    while (followed.event < newest)
        nvp_ring_take(own.bytes, followed.of.bytes, ++followed.event, followed.again);
}

/* At a call of a process that has an own state. */
NVP_COLD void nvp_own_follow(void)
{
    pthread_mutex_lock(&nvp_state_mutex);
    if (followed.of.bytes && nvp_state_is_own(&nvp_attached))
        follow();
    pthread_mutex_unlock(&nvp_state_mutex);
}

/* What a record is now, as the first half of the own state. */
static void copy_record(const struct nvp_device *device)
{
    const struct nvp_state *state = nvp_head_of(&own);
    unsigned char *half = (unsigned char *)(nvp_record_at(own.bytes, device->record) + 1);
    NVP_READ_BEGIN(device)
        const uint64_t size = nvp_used((const void *)nvp_half);
        if (size <= device->capacity && size <= state->capacity)
            memcpy(half, nvp_half, size);
    NVP_READ_END(device)
}

/* The state that is read, from its beginning: events keep their sequences, so that who waits goes on. */
static void begin_following(void)
{
    followed.of = *nvp_state_bound();
    for (unsigned int i = 0; i <= nvp_image->device_count; i++) {
        followed.generation[i] = ~(uint64_t)0;
        followed.calls[i] = followed.of.bytes ? calls_in(followed.of.bytes)[i] : 0;
        followed.again[i] = 0;
    }
    followed.event = followed.of.bytes ? nvp_ring_begin(own.bytes, followed.of.bytes) : 0;
}

static bool make_own(void)
{
    struct nvp_state state;
    const struct nvp_mapped *const bound = nvp_state_bound();
    if (!nvp_state_lay_out(&state, bound->bytes ? nvp_head_of(bound)->capacity : 0))
        return false;
    void *place = mmap(NULL, state.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return false;
    memcpy(place, &state, sizeof state);
    own = (struct nvp_mapped){place, state.size, 0, 0};
    copy_record(&nvp_node);
    for (unsigned int i = 0; i < nvp_image->device_count; i++) {
        copy_record(&nvp_devices[i + 1]);
        calls_in(own.bytes)[i + 1] = nvp_counted_calls(&nvp_devices[i + 1]);
    }
    begin_following();
    return true;
}

/* Calls go by nvp_own_follow from now on where there is something to follow; nvp_set_flags takes that back. */
static void attach_own(void)
{
    nvp_state_attach_to(&own);
    if (followed.of.bytes) {
        __atomic_store_n(&nvp_following, true, __ATOMIC_RELAXED);
        follow();
        nvp_flag_following();
    }
}

/* Every device reads the own state, which is made where there is none; false where there is no memory for it.  The mutex is held. */
bool nvp_state_take_own(struct nvp_mapped *map)
{
    const bool attached = nvp_state_is_own(&nvp_attached);
    if (own.bytes == NULL && !make_own())
        return false;
    if (!attached && nvp_state_bound()->bytes != followed.of.bytes)
        begin_following();
    if (!attached)
        attach_own();
    *map = own;
    return true;
}

/* At an init, when what lies at the path is read, if anything does: what tripped in this process before stays tripped (ledger A18). */
void nvp_state_keep_own(void)
{
    __atomic_store_n(&nvp_following, false, __ATOMIC_RELAXED);
    if (own.bytes && nvp_state_fits(&own) && followed.of.bytes == nvp_state_bound()->bytes)
        attach_own();
    else
        nvp_state_drop_own();
}

void nvp_state_drop_own(void)
{
    if (nvp_state_is_own(&nvp_attached))
        nvp_attached = (struct nvp_mapped){NULL, 0, 0, 0};
    if (own.bytes)
        munmap(own.bytes, own.size);
    own = followed.of = (struct nvp_mapped){NULL, 0, 0, 0};
}
