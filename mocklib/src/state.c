/* What changes at run time: a small shared file with two halves of every record.  A writer edits the half that is not current and then moves the
 * generation; a reader takes the half that the generation names and looks again.  A writer may die at any store: nothing needs repair. */
#include "nvp.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 1000

/* A state that is mapped: which file it is, so that the same one is not mapped again. */
struct mapped {
    unsigned char *bytes;
    uint64_t size;
    dev_t device;
    ino_t inode;
};

/* What lies at the state's path. */
enum found { SOUND, NOTHING, FOREIGN };

static const uint64_t no_generation;
static char state_path[NVP_PATH_SIZE];
static bool named;
static struct mapped attached;

/* The write in progress; one at a time in a process, one at a time on the node.  The mutex also guards the path and what is attached. */
static struct {
    pthread_mutex_t mutex;
    int lock;
    struct mapped map;
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

/* Room is left for what is written beside the state: the lock, and the new file before its rename.  A relative name is that of this moment, wherever
 * the process goes later. */
static bool set_path(const char *beside, const char *ending)
{
    char folder[NVP_PATH_SIZE];
    const bool relative = beside[0] != '/' && getcwd(folder, sizeof folder) != NULL;
    if (nvp_format(state_path, sizeof state_path - 32, "%s%s%s%s", relative ? folder : "", relative ? "/" : "", beside, ending))
        return true;
    nvp_say("a name of %zu characters is too long for the state; settings answer NO_PERMISSION", strlen(beside));
    return false;
}

/* MOCK_NVML_STATE, else beside the document of MOCK_NVML_OVERRIDES, else beside the image where its folder can be written, else nowhere. */
static bool find_path(void)
{
    const char *state = nvp_environment("MOCK_NVML_STATE"), *overrides = nvp_environment("MOCK_NVML_OVERRIDES");
    char folder[NVP_PATH_SIZE];
    named = state != NULL;
    if (named)
        return set_path(state, "");
    if (overrides)
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

/* Whether an open file that holds no state we can use may be replaced by one: it is empty, or a state of another image or version.  Anything else
 * is somebody's file under a name that was meant for the state. */
static enum found replaceable(int file, const struct stat *status)
{
    uint64_t magic;
    const bool ours = pread(file, &magic, sizeof magic, 0) == sizeof magic && magic == NVP_STATE_MAGIC;
    return status->st_size == 0 || ours ? NOTHING : FOREIGN;
}

static enum found map_open(int file, int protection, struct mapped *map)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return FOREIGN;
    if (status.st_size < (off_t)sizeof(struct nvp_state))
        return replaceable(file, &status);
    const uint64_t size = (uint64_t)status.st_size;
    if (protection == PROT_READ && attached.bytes && attached.size == size && attached.device == status.st_dev && attached.inode == status.st_ino &&
        sound((const void *)attached.bytes, size)) {
        *map = attached;
        return SOUND;
    }
    void *place = mmap(NULL, size, protection, MAP_SHARED, file, 0);
    if (place == MAP_FAILED)
        return FOREIGN;
    if (sound(place, size)) {
        *map = (struct mapped){place, size, status.st_dev, status.st_ino};
        return SOUND;
    }
    munmap(place, size);
    return replaceable(file, &status);
}

/* The file's mapping where it is a sound state of this image. */
static enum found map_state(int protection, struct mapped *map)
{
    const int file = open(state_path, (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | NVP_OPEN);
    if (file < 0)
        return errno == ENOENT ? NOTHING : FOREIGN;
    const enum found found = map_open(file, protection, map);
    close(file);
    return found;
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

/* Every device reads the state that lies at the path, where one does.  What was attached before stays mapped: a reader may be in it. */
static enum found attach(void)
{
    struct mapped map;
    const enum found found = map_state(PROT_READ, &map);
    if (found != SOUND)
        return found;
    attached = map;
    attach_one(&nvp_node, map.bytes);
    for (unsigned int i = 0; i < nvp_image->device_count; i++)
        attach_one(&nvp_devices[i + 1], map.bytes);
    return SOUND;
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
    unlink(aside); /* the lock is held: what lies there is left from a writer that was killed */
    const int file = open(aside, O_RDWR | O_CREAT | O_EXCL | NVP_OPEN, 0666);
    if (file < 0)
        return false;
    /* every block now: on a full disk a store into a hole would end the process */
    bool good = posix_fallocate(file, 0, (off_t)state.size) == 0 && pwrite(file, &state, sizeof state, 0) == sizeof state;
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
    const int lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | NVP_OPEN, 0666);
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

/* Unlocked by hand: a child that another thread forks meanwhile holds a copy of the descriptor, and closing ours would leave the lock to it. */
static void give_lock(int lock)
{
    if (lock < 0)
        return;
    flock(lock, LOCK_UN);
    close(lock);
}

/* A fresh state where none lies, and every device reading it; the lock is held. */
static enum found renew(enum found found)
{
    return found == NOTHING && create() ? attach() : found;
}

/* At init: the state that is there; one that MOCK_NVML_STATE names is made, so that what another process sets later is seen here. */
static void attach_or_create(void)
{
    nvmlReturn_t code;
    enum found found = attach();
    if (found == NOTHING && named) {
        const int lock = take_lock(&code);
        if (lock >= 0)
            found = renew(attach());
        give_lock(lock);
    }
    if (found == FOREIGN || (named && found != SOUND))
        nvp_say("%s: cannot be used as state%s; settings answer NO_PERMISSION", state_path, found == FOREIGN ? " and is left as it is" : "");
}

void nvp_state_attach(void)
{
    pthread_mutex_lock(&write_now.mutex);
    if (find_path())
        attach_or_create();
    else
        state_path[0] = '\0';
    pthread_mutex_unlock(&write_now.mutex);
}

/* A fork waits for the write in progress, so that a child starts with the mutex free and without a copy of the lock. */
void nvp_state_before_fork(void)
{
    pthread_mutex_lock(&write_now.mutex);
}

void nvp_state_after_fork(void)
{
    pthread_mutex_unlock(&write_now.mutex);
}

/* When the library is unloaded and nobody uses it. */
void nvp_state_release(void)
{
    if (attached.bytes)
        munmap(attached.bytes, attached.size);
    attached.bytes = NULL;
}

static void end_write(void)
{
    if (write_now.map.bytes)
        munmap(write_now.map.bytes, write_now.map.size);
    give_lock(write_now.lock);
    write_now.map.bytes = NULL;
    write_now.record = NULL;
    write_now.lock = -1;
    pthread_mutex_unlock(&write_now.mutex);
}

/* The state mapped for writing and attached, or a code: one that is not there yet is made, and what another process put there is read from now on. */
static nvmlReturn_t open_for_write(const struct nvp_device *device)
{
    nvmlReturn_t code = NVML_ERROR_NO_PERMISSION;
    if (state_path[0])
        write_now.lock = take_lock(&code);
    if (write_now.lock < 0)
        return code;
    enum found found = map_state(PROT_READ | PROT_WRITE, &write_now.map);
    if (found == NOTHING && renew(found) == SOUND)
        found = map_state(PROT_READ | PROT_WRITE, &write_now.map);
    if (found != SOUND)
        return NVML_ERROR_NO_PERMISSION;
    const bool other = attached.bytes == NULL || attached.device != write_now.map.device || attached.inode != write_now.map.inode;
    if (other && attach() != SOUND)
        return NVML_ERROR_NO_PERMISSION;
    /* a handle of an image served before may be of a device that this one lacks */
    return device->record < ((const struct nvp_state *)(const void *)write_now.map.bytes)->record_count ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* The half to edit of a device's record, a copy of the current one; NULL and a code where nothing can be written.  Ends with commit or abandon. */
unsigned char *nvp_state_edit(const struct nvp_device *device, nvmlReturn_t *code)
{
    pthread_mutex_lock(&write_now.mutex);
    *code = open_for_write(device);
    if (*code != NVML_SUCCESS) {
        end_write();
        return NULL;
    }
    const uint64_t capacity = ((const struct nvp_state *)(const void *)write_now.map.bytes)->capacity;
    write_now.record = record_at(write_now.map.bytes, device->record);
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
