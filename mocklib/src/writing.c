/* One change of one record: under the lock, the half in force is copied to the other, that is edited, and the generation moves.  Every store of a
 * change goes through NVP_STORE; nothing of it is in force before the last. */
#include "nvp_state.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_S 1

/* The write in progress; one at a time in a process (nvp_state_mutex), one at a time on the node (the lock). */
static struct {
    int lock;
    int file;
    struct nvp_mapped map;
    struct nvp_state_record *record;
    unsigned char *half;
    const unsigned char *old;
} write_now = {.lock = -1, .file = -1};

#ifdef NVP_KILLPOINTS
#include <signal.h>
#include <stdlib.h>

/* NVPARITY_KILL_AT=N: the process ends before the N-th store of its writes. */
void nvp_kill_point(void)
{
    static long left = -1;
    if (left < 0) {
        const char *asked = getenv("NVPARITY_KILL_AT");
        left = asked ? strtol(asked, NULL, 10) : 0;
    }
    if (left && --left == 0)
        raise(SIGKILL);
}
#endif

static void end_write(void)
{
    if (write_now.map.bytes && !nvp_state_is_own(&write_now.map))
        munmap(write_now.map.bytes, write_now.map.size);
    if (write_now.file >= 0)
        close(write_now.file);
    nvp_state_give_lock(write_now.lock);
    write_now.map.bytes = NULL;
    write_now.record = NULL;
    write_now.lock = write_now.file = -1;
    pthread_mutex_unlock(&nvp_state_mutex);
}

/* The file at the path, open and mapped for writing. */
static enum nvp_found map_for_write(void)
{
    enum nvp_found found;
    if (write_now.file >= 0)
        close(write_now.file);
    write_now.file = nvp_state_open(O_RDWR, &found);
    return write_now.file < 0 ? found : nvp_state_map(write_now.file, PROT_READ | PROT_WRITE, &write_now.map);
}

/* The state mapped for writing and attached, or a code: one that is not there yet is made, and what another process put there is read from now on. */
static nvmlReturn_t open_state(void)
{
    nvmlReturn_t code = NVML_ERROR_NO_PERMISSION;
    errno = 0;
    if (nvp_state_path[0])
        write_now.lock = nvp_state_take_lock(&code);
    if (write_now.lock < 0)
        return code;
    enum nvp_found found = map_for_write();
    if (found == NVP_NOTHING && nvp_state_renew(found) == NVP_SOUND)
        found = map_for_write();
    if (found != NVP_SOUND)
        return NVML_ERROR_NO_PERMISSION;
    const bool other = nvp_attached.bytes == NULL || nvp_attached.device != write_now.map.device || nvp_attached.inode != write_now.map.inode;
    return other && nvp_state_bind() != NVP_SOUND ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS;
}

/* As open_state; a setter that finds nothing to write says why, a failure that trips meanwhile does not. */
static nvmlReturn_t open_for_write(bool setter)
{
    const nvmlReturn_t code = open_state();
    if (code == NVML_ERROR_NO_PERMISSION && setter)
        nvp_state_say_unwritable(errno);
    return code;
}

/* Whether a record in the state is one: this and the reset record behind it lie within the half, and everything they name within them. */
bool nvp_half_sound(const unsigned char *half, uint64_t capacity, bool of_node)
{
    const struct nvp_record *record = (const void *)half, *reset = (const void *)(half + record->reset);
    if (record->size > capacity || !nvp_record_sound(half, record->size, of_node))
        return false;
    if (record->reset == 0)
        return true;
    return record->reset % 64 == 0 && record->reset >= record->size && record->total <= capacity && record->reset <= record->total &&
           record->total - record->reset >= sizeof *reset && reset->size <= record->total - record->reset &&
           nvp_record_sound((const unsigned char *)reset, reset->size, of_node);
}

/* The record's halves; a code where what stands in them cannot be used. */
static nvmlReturn_t take_record(const struct nvp_device *device)
{
    const struct nvp_state *state = nvp_head_of(&write_now.map);
    if (device->record >= state->record_count) /* a handle of an image served before may be of a device that this one lacks */
        return NVML_ERROR_INVALID_ARGUMENT;
    write_now.record = nvp_record_at(write_now.map.bytes, device->record);
    unsigned char *halves = (unsigned char *)(write_now.record + 1);
    write_now.old = halves + (write_now.record->generation & 1) * state->capacity;
    write_now.half = halves + (~write_now.record->generation & 1) * state->capacity;
    if (nvp_half_sound(write_now.old, state->capacity, device->record == 0))
        return NVML_SUCCESS;
    nvp_say("%s: a record in it is not sound; remove the file to start again from the image", nvp_state_path);
    return NVML_ERROR_UNKNOWN;
}

/* size bytes of the half that is edited can be stored into: the file holds them, so that a full disk does not end the process. */
static nvmlReturn_t hold(uint64_t size)
{
    const struct nvp_state *state = nvp_head_of(&write_now.map);
    const off_t place = (off_t)(write_now.half - write_now.map.bytes);
    if (nvp_state_is_own(&write_now.map))
        return size <= state->capacity ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES;
    return size <= state->capacity && posix_fallocate(write_now.file, place, (off_t)size) == 0 ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES;
}

/* Records are whole words: they are made at multiples of 8 bytes. */
void nvp_copy_words(unsigned char *to, const unsigned char *from, uint64_t size)
{
    uint64_t *target = (void *)to;
    const uint64_t *source = (const void *)from;
    for (uint64_t i = 0; i < size / sizeof *target; i++)
        NVP_STORE(&target[i], source[i]);
}

/* The process's turn to write: a second is waited for other threads, as it is for other processes. */
static bool own_turn(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LOCK_WAIT_S;
    return pthread_mutex_timedlock(&nvp_state_mutex, &end) == 0;
}

/* A write of a device's record begun, or a code and none. */
static nvmlReturn_t begin(const struct nvp_device *device, bool or_own)
{
    if (!own_turn())
        return NVML_ERROR_TIMEOUT;
    nvmlReturn_t code = open_for_write(!or_own);
    if (code == NVML_ERROR_NO_PERMISSION && or_own && nvp_state_take_own(&write_now.map))
        code = NVML_SUCCESS;
    if (code == NVML_SUCCESS)
        code = take_record(device);
    if (code != NVML_SUCCESS)
        end_write();
    else
        nvp_ring_settle(write_now.map.bytes);
    return code;
}

static unsigned char *edit(const struct nvp_device *device, bool or_own, nvmlReturn_t *code)
{
    *code = begin(device, or_own);
    if (*code != NVML_SUCCESS)
        return NULL;
    const uint64_t size = (nvp_used((const void *)write_now.old) + 7) & ~7ULL;
    *code = hold(size);
    if (*code != NVML_SUCCESS) {
        end_write();
        return NULL;
    }
    nvp_copy_words(write_now.half, write_now.old, size);
    return write_now.half;
}

/* The half to edit of a device's record, a copy of the one in force; NULL and a code where nothing can be written.  Ends with commit or abandon. */
unsigned char *nvp_state_edit(const struct nvp_device *device, nvmlReturn_t *code)
{
    return edit(device, false, code);
}

/* As nvp_state_edit; where nothing can be written, the half is one of the process's own (own.c). */
unsigned char *nvp_state_edit_or_own(const struct nvp_device *device)
{
    nvmlReturn_t code;
    return edit(device, true, &code);
}

/* The half in force while another is edited. */
const unsigned char *nvp_state_old(void)
{
    return write_now.old;
}

uint64_t nvp_state_capacity(void)
{
    return nvp_head_of(&write_now.map)->capacity;
}

void nvp_state_commit(void)
{
    NVP_STORE(&write_now.record->generation, write_now.record->generation + 1);
    nvp_ring_count(write_now.map.bytes);
    end_write();
}

void nvp_state_abandon(void)
{
    end_write();
}

/* The record that a reset goes back to: the reset record behind the one in force, else the image's. */
const unsigned char *nvp_reset_record(const struct nvp_device *device, const unsigned char *half)
{
    const struct nvp_device_entry *entries = (const void *)((const unsigned char *)nvp_image + nvp_image->devices.offset);
    const struct nvp_record *record = (const void *)half;
    if (record->reset)
        return half + record->reset;
    return (const unsigned char *)nvp_image + (device->record ? entries[device->record - 1].record : nvp_image->node.record);
}

/* The reset record in the place of the one in force, and behind it again where it came from the state. */
static nvmlReturn_t put_reset_record(const struct nvp_device *device)
{
    const unsigned char *from = nvp_reset_record(device, write_now.old);
    const uint64_t size = ((uint64_t)((const struct nvp_record *)(const void *)from)->size + 7) & ~7ULL, next = (size + 63) & ~63ULL;
    const bool again = ((const struct nvp_record *)(const void *)write_now.old)->reset != 0;
    const nvmlReturn_t code = hold(again ? next + size : size);
    if (code != NVML_SUCCESS)
        return code;
    nvp_copy_words(write_now.half, from, size);
    if (!again)
        return NVML_SUCCESS;
    struct nvp_record *record = (void *)write_now.half;
    nvp_copy_words(write_now.half + next, from, size);
    NVP_STORE(&record->reset, (uint32_t)next);
    NVP_STORE(&record->total, (uint32_t)(next + size));
    return NVML_SUCCESS;
}

/* A device as its profile and the overrides of all devices have it, but for what the reset program adopts from before: ledger Y12, Y13.  The code of a
 * write that cannot be made. */
nvmlReturn_t nvp_state_reset(const struct nvp_device *device)
{
    const struct nvp_program *programs = (const void *)((const unsigned char *)nvp_image + nvp_image->programs.offset);
    nvmlReturn_t code = begin(device, false);
    if (code != NVML_SUCCESS)
        return code;
    code = put_reset_record(device);
    if (code == NVML_SUCCESS) {
        const struct nvp_run run = {.device = device, .half = write_now.half, .old = write_now.old, .capacity = nvp_state_capacity()};
        nvp_act_steps(&run, &programs[NVP_P_reset]);
        nvp_state_commit();
    } else {
        end_write();
    }
    return code;
}

/* What hides a device from the next nvmlInit of every process. */
nvmlReturn_t nvp_state_marks(const struct nvp_device *device, uint32_t set, uint32_t clear)
{
    nvmlReturn_t code;
    unsigned char *half = nvp_state_edit(device, &code);
    if (half == NULL)
        return code;
    struct nvp_record *record = (void *)half;
    NVP_STORE(&record->marks, (record->marks & ~clear) | set);
    nvp_state_commit();
    return NVML_SUCCESS;
}

/* The first bytes of the state in which a record is being edited. */
unsigned char *nvp_state_edited(void)
{
    return write_now.map.bytes;
}

/* The state open for an event (ring.c): its first bytes, or NULL and a code.  Ends with nvp_state_abandon. */
unsigned char *nvp_state_open_events(nvmlReturn_t *code)
{
    *code = NVML_ERROR_TIMEOUT;
    if (!own_turn())
        return NULL;
    *code = open_for_write(false);
    if (*code != NVML_SUCCESS) {
        end_write();
        return NULL;
    }
    nvp_ring_settle(write_now.map.bytes);
    return write_now.map.bytes;
}
