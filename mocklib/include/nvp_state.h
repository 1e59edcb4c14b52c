/* What the sources of the state share: the file that is mapped, and what lies at its path. */
#ifndef NVP_STATE_H
#define NVP_STATE_H

#include "nvp.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* A state that is mapped: which file it is, so that the same one is not mapped again. */
struct nvp_mapped {
    unsigned char *bytes;
    uint64_t size;
    dev_t device;
    ino_t inode;
};

/* What lies at the state's path. */
enum nvp_found { NVP_SOUND, NVP_NOTHING, NVP_FOREIGN };

extern char nvp_state_path[NVP_PATH_SIZE];
extern struct nvp_mapped nvp_attached;
extern pthread_mutex_t nvp_state_mutex; /* one write at a time in a process; also guards the path and what is attached */

static inline const struct nvp_state *nvp_head_of(const struct nvp_mapped *map)
{
    return (const void *)map->bytes;
}

static inline struct nvp_state_record *nvp_record_at(unsigned char *bytes, unsigned int record)
{
    const struct nvp_state *state = (const void *)bytes;
    return (void *)(bytes + state->first + record * state->stride);
}

/* The bytes of a half that are in use: the record, and the reset record behind it. */
static inline uint64_t nvp_used(const struct nvp_record *record)
{
    return record->reset ? record->total : record->size;
}

void nvp_ring_bind(const struct nvp_mapped *map);
void nvp_ring_release(void);
void nvp_ring_settle(unsigned char *bytes);
void nvp_ring_count(unsigned char *bytes);
uint64_t nvp_ring_newest(unsigned char *bytes);
uint64_t nvp_ring_begin(unsigned char *bytes, unsigned char *from);
void nvp_ring_take(unsigned char *bytes, unsigned char *from, uint64_t sequence, const uint32_t *again);
void nvp_copy_words(unsigned char *to, const unsigned char *from, uint64_t size);
bool nvp_half_sound(const unsigned char *half, uint64_t capacity, bool of_node);
bool nvp_trip_again(const struct nvp_device *device, unsigned char *half, const unsigned char *old, uint64_t capacity);
void nvp_ring_before_fork(void);
void nvp_ring_after_fork(void);
unsigned char *nvp_state_open_events(nvmlReturn_t *code);
unsigned char *nvp_state_edited(void);
int nvp_state_open(int flags, enum nvp_found *found);
enum nvp_found nvp_state_map(int file, int protection, struct nvp_mapped *map);
enum nvp_found nvp_state_bind(void);
void nvp_state_say_unwritable(int error);
const struct nvp_mapped *nvp_state_bound(void);
bool nvp_state_create(void);
bool nvp_state_lay_out(struct nvp_state *state, uint64_t least);
bool nvp_state_fits(const struct nvp_mapped *map);
void nvp_state_attach_to(const struct nvp_mapped *map);
int nvp_state_take_lock(nvmlReturn_t *code);
void nvp_state_give_lock(int lock);
enum nvp_found nvp_state_renew(enum nvp_found found);

/* ---- own.c ---- */
bool nvp_state_is_own(const struct nvp_mapped *map);
bool nvp_state_take_own(struct nvp_mapped *map);
void nvp_state_keep_own(void);
const struct nvp_mapped *nvp_state_followed(void);
void nvp_state_drop_own(void);

#pragma GCC visibility pop

#endif
