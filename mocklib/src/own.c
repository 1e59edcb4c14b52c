/* A state of the process's own, in its memory: where nothing can be written, a failure that trips is seen by this process alone.  Setters do not use it:
 * they answer NO_PERMISSION there. */
#include "nvp_state.h"

static struct nvp_mapped own;

bool nvp_state_is_own(const struct nvp_mapped *map)
{
    return own.bytes != NULL && map->bytes == own.bytes;
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

static bool make_own(void)
{
    struct nvp_state state;
    if (!nvp_state_lay_out(&state))
        return false;
    void *place = mmap(NULL, state.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return false;
    memcpy(place, &state, sizeof state);
    own = (struct nvp_mapped){place, state.size, 0, 0};
    copy_record(&nvp_node);
    for (unsigned int i = 0; i < nvp_image->device_count; i++) {
        uint64_t *count = (uint64_t *)(void *)(own.bytes + state.counters) + i + 1;
        copy_record(&nvp_devices[i + 1]);
        *count = nvp_counted_calls(&nvp_devices[i + 1]);
    }
    return true;
}

/* Every device reads the own state, which is made where there is none; false where there is no memory for it.  The mutex is held. */
bool nvp_state_take_own(struct nvp_mapped *map)
{
    if (own.bytes == NULL && !make_own())
        return false;
    if (!nvp_state_is_own(&nvp_attached))
        nvp_state_attach_to(&own);
    *map = own;
    return true;
}

/* At an init at which there is no state: what tripped in this process before stays tripped (ledger A18). */
void nvp_state_keep_own(void)
{
    if (own.bytes && nvp_state_fits(&own))
        nvp_state_attach_to(&own);
    else
        nvp_state_drop_own();
}

void nvp_state_drop_own(void)
{
    if (own.bytes)
        munmap(own.bytes, own.size);
    own = (struct nvp_mapped){NULL, 0, 0, 0};
}
