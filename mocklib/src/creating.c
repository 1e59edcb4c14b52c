/* A fresh state of the image: written aside and renamed, under the lock that every writer of a state takes. */
#include "nvp_state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 1000
#define PAGE 4096ULL
#define FEW 64 /* devices whose records get the larger room */
#define LARGER_ROOM (1ULL << 18)
#define SMALLER_ROOM (1ULL << 16)

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t rounded(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

/* Room in a half for the record, the reset record, and what overrides add to both.  Only what is in use takes space on the disk. */
static uint64_t capacity_for(uint64_t largest, uint64_t records)
{
    return rounded(records <= FEW + 1 ? larger(LARGER_ROOM, 4 * largest) : 3 * largest + SMALLER_ROOM, PAGE);
}

/* The head of a fresh state of the image, with at least so much room in a half; false where its records are too large for one. */
bool nvp_state_lay_out(struct nvp_state *state, uint64_t least)
{
    const struct nvp_device_entry *entries = (const void *)((const unsigned char *)nvp_image + nvp_image->devices.offset);
    uint64_t largest = larger(nvp_image->node.size, sizeof(struct nvp_record) + NVP_DEVICE_FIELD_COUNT * sizeof(struct nvp_field));
    for (unsigned int i = 0; i < nvp_image->device_count; i++)
        largest = larger(largest, entries[i].size);
    const uint64_t capacity = larger(least, capacity_for(largest, nvp_image->device_count + 1ULL));
    *state = (struct nvp_state){.magic = NVP_STATE_MAGIC, .format = NVP_FORMAT, .image_crc = nvp_image->crc, .layout = NVP_LAYOUT,
                                .image_size = nvp_image->size, .record_count = nvp_image->device_count + 1};
    if (capacity > UINT32_MAX)
        return false;
    state->capacity = (uint32_t)capacity;
    state->events = rounded(sizeof *state, 64);
    state->counters = rounded(state->events + sizeof(struct nvp_events), 64);
    state->first = rounded(state->counters + state->record_count * sizeof(uint64_t), PAGE);
    state->stride = sizeof(struct nvp_state_record) + 2 * capacity;
    state->size = state->first + state->record_count * state->stride;
    return true;
}

/* Every block of it now: on a full disk a store into a hole would end the process. */
static bool filled(int file, uint64_t place, uint64_t size)
{
    errno = posix_fallocate(file, (off_t)place, (off_t)size);
    return errno == 0;
}

static bool put_record(int file, const struct nvp_state *state, unsigned int record, const struct nvp_device_entry *entry)
{
    const uint64_t place = state->first + record * state->stride, first = place + sizeof(struct nvp_state_record);
    return filled(file, place, sizeof(struct nvp_state_record) + entry->size) && filled(file, first + state->capacity, entry->size) &&
           pwrite(file, (const unsigned char *)nvp_image + entry->record, entry->size, (off_t)first) == (ssize_t)entry->size;
}

/* A file that is longer than the process may write would end it. */
static bool allowed(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/* The new file under its name, or false and errno. */
bool nvp_state_create(void)
{
    char aside[NVP_PATH_SIZE + 32];
    const struct nvp_device_entry *entries = (const void *)((const unsigned char *)nvp_image + nvp_image->devices.offset);
    struct nvp_state state;
    errno = EFBIG;
    if (!nvp_state_lay_out(&state, 0) || !allowed(state.size))
        return false;
    (void)nvp_format(aside, sizeof aside, "%s.new.%ld", nvp_state_path, (long)getpid());
    unlink(aside); /* the lock is held: what lies there is left from a writer that was killed */
    const int file = open(aside, O_RDWR | O_CREAT | O_EXCL | NVP_OPEN, 0666);
    if (file < 0)
        return false;
    bool good = ftruncate(file, (off_t)state.size) == 0 && filled(file, 0, state.first) &&
                pwrite(file, &state, sizeof state, 0) == sizeof state && put_record(file, &state, 0, &nvp_image->node);
    for (unsigned int i = 0; good && i < nvp_image->device_count; i++)
        good = put_record(file, &state, i + 1, &entries[i]);
    close(file);
    if (good && rename(aside, nvp_state_path) == 0)
        return true;
    const int error = errno;
    unlink(aside);
    errno = error;
    return false;
}

/* A fresh state where none lies, and every device reading it; the lock is held. */
enum nvp_found nvp_state_renew(enum nvp_found found)
{
    return found == NVP_NOTHING && nvp_state_create() ? nvp_state_bind() : found;
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The lock file of the state, held, or -1 and a code: NO_PERMISSION where it cannot be written, TIMEOUT after a second of waiting. */
int nvp_state_take_lock(nvmlReturn_t *code)
{
    char path[NVP_PATH_SIZE + 8];
    (void)nvp_format(path, sizeof path, "%s.lock", nvp_state_path);
    const int lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | NVP_OPEN, 0666);
    *code = NVML_ERROR_NO_PERMISSION;
    if (lock < 0)
        return -1;
    for (const long end = now_ms() + LOCK_WAIT_MS; flock(lock, LOCK_EX | LOCK_NB) != 0;) { /* by the clock: on a busy machine a moment is long */
        const struct timespec moment = {0, 1000000};
        if (now_ms() >= end) {
            *code = NVML_ERROR_TIMEOUT;
            close(lock);
            return -1;
        }
        nanosleep(&moment, NULL);
    }
    *code = NVML_SUCCESS;
    return lock;
}

/* Unlocked by hand: a child that another thread forks meanwhile holds a copy of the descriptor, and closing ours would leave the lock to it. */
void nvp_state_give_lock(int lock)
{
    if (lock < 0)
        return;
    flock(lock, LOCK_UN);
    close(lock);
}
