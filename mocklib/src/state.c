/* What changes at run time: a small shared file with two halves of every record.  A writer edits the half that is not current and then moves the
 * generation; a reader takes the half that the generation names and looks again.  A writer may die at any store: nothing needs repair. */
#include "nvp.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 1000

static const uint64_t no_generation;
static char state_path[NVP_PATH_SIZE];
static bool named;

/* The write in progress; one at a time in a process, one at a time on the node. */
static struct {
    pthread_mutex_t mutex;
    int lock;
    unsigned char *bytes;
    uint64_t size;
    struct nvp_state_record *record;
} write_now = {.mutex = PTHREAD_MUTEX_INITIALIZER, .lock = -1};

#ifdef NVP_KILLPOINTS
#include <signal.h>

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

static void bind_one(struct nvp_device *device, uint32_t record, const struct nvp_device_entry *entry)
{
    const unsigned char *bytes = (const unsigned char *)nvp_image + entry->record;
    device->generation = &no_generation;
    device->half[0] = device->half[1] = bytes;
    device->capacity = entry->size;
    device->record = record;
}

/* Every record as the image has it. */
void nvp_bind_records(void)
{
    const struct nvp_device_entry *entries = (const void *)((const unsigned char *)nvp_image + nvp_image->devices.offset);
    bind_one(&nvp_node, 0, &nvp_image->node);
    for (unsigned int i = 0; i < nvp_image->device_count; i++)
        bind_one(&nvp_devices[i + 1], i + 1, &entries[i]);
}

/* Room is left for what is written beside the state: the lock, and the new file before its rename. */
static bool set_path(const char *beside, const char *ending)
{
    return nvp_format(state_path, sizeof state_path - 32, "%s%s", beside, ending);
}

/* MOCK_NVML_STATE, else beside the document of MOCK_NVML_OVERRIDES, else beside the image where its folder can be written, else nowhere. */
static bool find_path(void)
{
    const bool secure = getauxval(AT_SECURE) != 0;
    const char *state = secure ? NULL : getenv("MOCK_NVML_STATE"), *overrides = secure ? NULL : getenv("MOCK_NVML_OVERRIDES");
    char folder[NVP_PATH_SIZE];
    named = state && *state;
    if (named)
        return set_path(state, "");
    if (overrides && *overrides)
        return set_path(overrides, ".nvpstate");
    if (nvp_image_path[0] == '\0')
        return false;
    (void)nvp_format(folder, sizeof folder, "%s", nvp_image_path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    return access(slash ? folder : ".", W_OK) == 0 && set_path(nvp_image_path, ".nvpstate");
}

static bool sound(const struct nvp_state *state, uint64_t size)
{
    const uint64_t least = sizeof(struct nvp_record) + NVP_DEVICE_FIELD_COUNT * sizeof(struct nvp_field);
    return size >= sizeof *state && state->magic == NVP_STATE_MAGIC && state->format == NVP_FORMAT && state->layout == NVP_LAYOUT &&
           state->size == size && state->image_crc == nvp_image->crc && state->image_size == nvp_image->size &&
           state->record_count == nvp_image->device_count + 1 && state->capacity >= least && state->capacity % 64 == 0 &&
           state->stride == sizeof(struct nvp_state_record) + 2 * (uint64_t)state->capacity && state->first % 64 == 0 &&
           state->first >= sizeof *state && state->first <= size && state->record_count <= (size - state->first) / state->stride;
}

/* The file's mapping, or NULL; a file of another image, of no state at all or cut short is none. */
static unsigned char *map_state(int protection, uint64_t *size)
{
    struct stat status;
    unsigned char *bytes = NULL;
    const int file = open(state_path, (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= (off_t)sizeof(struct nvp_state)) {
        *size = (uint64_t)status.st_size;
        void *place = mmap(NULL, *size, protection, MAP_SHARED, file, 0);
        if (place != MAP_FAILED && sound(place, *size))
            bytes = place;
        else if (place != MAP_FAILED)
            munmap(place, *size);
    }
    close(file);
    return bytes;
}

static struct nvp_state_record *record_at(unsigned char *bytes, unsigned int record)
{
    const struct nvp_state *state = (const void *)bytes;
    return (void *)(bytes + state->first + record * state->stride);
}

static void attach_one(struct nvp_device *device, unsigned char *bytes)
{
    const struct nvp_state *state = (const void *)bytes;
    const struct nvp_state_record *record = record_at(bytes, device->record);
    const unsigned char *halves = (const unsigned char *)(record + 1);
    /* a reader between these stores sees a record of image or state, and looks again where the generation differs */
    device->capacity = state->capacity;
    device->half[0] = halves;
    device->half[1] = halves + state->capacity;
    __atomic_store_n(&device->generation, &record->generation, __ATOMIC_RELEASE);
}

static bool attach(void)
{
    uint64_t size;
    unsigned char *bytes = map_state(PROT_READ, &size);
    if (bytes == NULL)
        return false;
    attach_one(&nvp_node, bytes);
    for (unsigned int i = 0; i < nvp_image->device_count; i++)
        attach_one(&nvp_devices[i + 1], bytes);
    return true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool put_record(int file, const struct nvp_state *state, unsigned int record, const struct nvp_device_entry *entry)
{
    const off_t place = (off_t)(state->first + record * state->stride + sizeof(struct nvp_state_record));
    return pwrite(file, (const unsigned char *)nvp_image + entry->record, entry->size, place) == (ssize_t)entry->size;
}

/* A fresh state from the image, written aside and renamed. */
static bool create(void)
{
    char aside[NVP_PATH_SIZE + 32];
    const struct nvp_device_entry *entries = (const void *)((const unsigned char *)nvp_image + nvp_image->devices.offset);
    uint64_t capacity = larger(nvp_image->node.size, sizeof(struct nvp_record) + NVP_DEVICE_FIELD_COUNT * sizeof(struct nvp_field));
    for (unsigned int i = 0; i < nvp_image->device_count; i++)
        capacity = larger(capacity, entries[i].size);
    struct nvp_state state = {.magic = NVP_STATE_MAGIC, .format = NVP_FORMAT, .image_crc = nvp_image->crc, .layout = NVP_LAYOUT,
                              .image_size = nvp_image->size, .record_count = nvp_image->device_count + 1};
    state.capacity = (uint32_t)((capacity + 63) & ~63ULL);
    state.first = (sizeof state + 63) & ~63ULL;
    state.stride = sizeof(struct nvp_state_record) + 2 * (uint64_t)state.capacity;
    state.size = state.first + state.record_count * state.stride;
    (void)nvp_format(aside, sizeof aside, "%s.new.%ld", state_path, (long)getpid());
    const int file = open(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    bool good = ftruncate(file, (off_t)state.size) == 0 && pwrite(file, &state, sizeof state, 0) == sizeof state;
    good = good && put_record(file, &state, 0, &nvp_image->node);
    for (unsigned int i = 0; good && i < nvp_image->device_count; i++)
        good = put_record(file, &state, i + 1, &entries[i]);
    close(file);
    if (good && rename(aside, state_path) == 0)
        return true;
    unlink(aside);
    return false;
}

/* The lock file of the state, held, or -1 and a code: NO_PERMISSION where it cannot be written, TIMEOUT after a second of waiting. */
static int take_lock(nvmlReturn_t *code)
{
    char path[NVP_PATH_SIZE + 8];
    (void)nvp_format(path, sizeof path, "%s.lock", state_path);
    const int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    *code = NVML_ERROR_NO_PERMISSION;
    if (lock < 0)
        return -1;
    for (int waited = 0; flock(lock, LOCK_EX | LOCK_NB) != 0; waited++) {
        const struct timespec moment = {0, 1000000};
        if (waited >= LOCK_WAIT_MS) {
            *code = NVML_ERROR_TIMEOUT;
            close(lock);
            return -1;
        }
        nanosleep(&moment, NULL);
    }
    *code = NVML_SUCCESS;
    return lock;
}

/* At init: the state that is there; one that MOCK_NVML_STATE names is made, so that what another process sets later is seen here. */
void nvp_state_attach(void)
{
    nvmlReturn_t code;
    if (!find_path()) {
        state_path[0] = '\0';
        return;
    }
    if (attach() || !named)
        return;
    const int lock = take_lock(&code);
    if (lock < 0 || (!attach() && (!create() || !attach())))
        nvp_say("%s: cannot be used as state; settings answer NO_PERMISSION", state_path);
    if (lock >= 0)
        close(lock);
}

static void end_write(void)
{
    if (write_now.bytes)
        munmap(write_now.bytes, write_now.size);
    if (write_now.lock >= 0)
        close(write_now.lock);
    write_now.bytes = NULL;
    write_now.record = NULL;
    write_now.lock = -1;
    pthread_mutex_unlock(&write_now.mutex);
}

/* The half to edit of a device's record, a copy of the current one; NULL and a code where nothing can be written.  Ends with commit or abandon. */
unsigned char *nvp_state_edit(const struct nvp_device *device, nvmlReturn_t *code)
{
    pthread_mutex_lock(&write_now.mutex);
    *code = NVML_ERROR_NO_PERMISSION;
    if (state_path[0])
        write_now.lock = take_lock(code);
    if (write_now.lock >= 0) {
        write_now.bytes = map_state(PROT_READ | PROT_WRITE, &write_now.size);
        if (write_now.bytes == NULL && create() && attach())
            write_now.bytes = map_state(PROT_READ | PROT_WRITE, &write_now.size);
        if (write_now.bytes == NULL)
            *code = NVML_ERROR_NO_PERMISSION;
    }
    if (write_now.bytes == NULL) {
        end_write();
        return NULL;
    }
    const uint64_t capacity = ((const struct nvp_state *)(const void *)write_now.bytes)->capacity;
    write_now.record = record_at(write_now.bytes, device->record);
    const uint64_t generation = write_now.record->generation;
    unsigned char *halves = (unsigned char *)(write_now.record + 1);
    const uint64_t *from = (const void *)(halves + (generation & 1) * capacity);
    uint64_t *to = (void *)(halves + (~generation & 1) * capacity);
    for (uint64_t i = 0; i < capacity / sizeof *to; i++)
        NVP_STORE(&to[i], from[i]);
    const struct nvp_record *record = (const void *)to;
    if (record->magic == NVP_RECORD_MAGIC && record->overridden <= capacity - (NVP_DEVICE_FIELD_COUNT + 7) / 8)
        return (unsigned char *)to;
    nvp_say("%s: a record in it is not sound; remove the file to start again from the image", state_path);
    *code = NVML_ERROR_UNKNOWN;
    end_write();
    return NULL;
}

void nvp_state_commit(void)
{
    NVP_STORE(&write_now.record->generation, write_now.record->generation + 1);
    end_write();
}

void nvp_state_abandon(void)
{
    end_write();
}
