/* What changes at run time: a small shared file with two halves of every record.  A writer edits the half that is not current and then moves the
 * generation (writing.c); a reader takes the half that the generation names and looks again.  A writer may die at any store: nothing needs repair. */
#include "nvp_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t no_generation;
static bool named;

char nvp_state_path[NVP_PATH_SIZE];
struct nvp_mapped nvp_attached;
pthread_mutex_t nvp_state_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The state that is read; its bytes are NULL where the image is. */
const struct nvp_mapped *nvp_state_bound(void)
{
    static const struct nvp_mapped nothing;
    return nvp_node.generation == &no_generation ? &nothing : &nvp_attached;
}

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
    nvp_ring_bind(NULL);
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
    if (nvp_format(nvp_state_path, sizeof nvp_state_path - 32, "%s%s%s%s", relative ? folder : "", relative ? "/" : "", beside, ending))
        return true;
    nvp_say("a name of %zu characters is too long for the state; settings answer NO_PERMISSION", strlen(beside));
    return false;
}

static void folder_of_image(char folder[NVP_PATH_SIZE])
{
    (void)nvp_format(folder, NVP_PATH_SIZE, "%s", nvp_image_path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    else
        (void)nvp_format(folder, NVP_PATH_SIZE, ".");
}

static bool unusable_told; /* of the path that the last init found */

/* MOCK_NVML_STATE, else beside the document of MOCK_NVML_OVERRIDES, else beside the image where its folder can be written, else nowhere. */
static bool find_path(void)
{
    const char *state = nvp_environment("MOCK_NVML_STATE"), *overrides = nvp_environment("MOCK_NVML_OVERRIDES");
    char folder[NVP_PATH_SIZE];
    named = state != NULL;
    __atomic_store_n(&unusable_told, false, __ATOMIC_RELAXED);
    if (named)
        return set_path(state, "");
    if (overrides)
        return set_path(overrides, ".nvpstate");
    if (nvp_image_path[0] == '\0')
        return false;
    folder_of_image(folder);
    return access(folder, W_OK | X_OK) == 0 && set_path(nvp_image_path, ".nvpstate");
}

/* By the error of the last call; 0 where what lies at the path is what is wrong.  Once a path: a setter does not find another word for it. */
static void say_unusable(int error)
{
    if (__atomic_exchange_n(&unusable_told, true, __ATOMIC_RELAXED))
        return;
    nvp_say("%s: cannot be used as state: %s; settings answer NO_PERMISSION", nvp_state_path,
            error ? strerror(error) : "what lies there is no state, and is left as it is");
}

/* What a setter that finds no state to write says: why there is none, and what to do. */
void nvp_state_say_unwritable(int error)
{
    char folder[NVP_PATH_SIZE];
    folder_of_image(folder);
    if (nvp_state_path[0])
        say_unusable(error);
    else if (nvp_image_path[0] == '\0')
        nvp_say("the built-in default lies in no folder, so it has no state; settings answer NO_PERMISSION; name a file for one in MOCK_NVML_STATE");
    else if (access(folder, W_OK | X_OK) != 0)
        nvp_say("%s: %s, so there is no state beside the image; settings answer NO_PERMISSION; name a file for one in MOCK_NVML_STATE", folder,
                strerror(errno));
}

/* The parts stand one behind the other, each within the file: head, events, counters, records. */
static bool sound_places(const struct nvp_state *state)
{
    return state->events % 64 == 0 && state->events >= sizeof *state && state->events <= state->size && state->counters % 64 == 0 &&
           state->counters <= state->size && state->counters >= state->events + sizeof(struct nvp_events) && state->first % 64 == 0 &&
           state->first <= state->size && state->first >= state->counters + state->record_count * sizeof(uint64_t) &&
           state->record_count <= (state->size - state->first) / state->stride;
}

static bool sound(const struct nvp_state *state, uint64_t size)
{
    const uint64_t least = sizeof(struct nvp_record) + NVP_DEVICE_FIELD_COUNT * sizeof(struct nvp_field);
    return size >= sizeof *state && state->magic == NVP_STATE_MAGIC && state->format == NVP_FORMAT && state->layout == NVP_LAYOUT &&
           state->size == size && state->image_crc == nvp_image->crc && state->image_size == nvp_image->size &&
           state->record_count == nvp_image->device_count + 1 && state->capacity >= least && state->capacity % 64 == 0 &&
           state->stride == sizeof(struct nvp_state_record) + 2 * (uint64_t)state->capacity && sound_places(state);
}

/* Whether what is mapped is a sound state of the image that is served. */
bool nvp_state_fits(const struct nvp_mapped *map)
{
    return sound(nvp_head_of(map), map->size);
}

/* Whether an open file that holds no state we can use may be replaced by one: it is empty, or a state of another image or version.  Anything else
 * is somebody's file under a name that was meant for the state. */
static enum nvp_found replaceable(int file, const struct stat *status)
{
    uint64_t magic;
    const bool ours = pread(file, &magic, sizeof magic, 0) == sizeof magic && magic == NVP_STATE_MAGIC;
    errno = 0; /* what lies there is what is wrong */
    return status->st_size == 0 || ours ? NVP_NOTHING : NVP_FOREIGN;
}

/* Whether what is mapped is that file, and sound. */
static bool is_of(const struct nvp_mapped *map, const struct stat *status)
{
    return map->bytes && map->size == (uint64_t)status->st_size && map->device == status->st_dev && map->inode == status->st_ino &&
           sound((const void *)map->bytes, map->size);
}

/* The mapping of an open file where it is a sound state of this image; one that is attached already is not mapped again for reading. */
enum nvp_found nvp_state_map(int file, int protection, struct nvp_mapped *map)
{
    struct stat status;
    errno = 0;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return NVP_FOREIGN;
    if (status.st_size < (off_t)sizeof(struct nvp_state))
        return replaceable(file, &status);
    const uint64_t size = (uint64_t)status.st_size;
    const struct nvp_mapped *const known = is_of(&nvp_attached, &status) ? &nvp_attached : nvp_state_followed();
    if (protection == PROT_READ && is_of(known, &status)) {
        *map = *known;
        return NVP_SOUND;
    }
    void *place = mmap(NULL, size, protection, MAP_SHARED, file, 0);
    if (place == MAP_FAILED)
        return NVP_FOREIGN;
    if (sound(place, size)) {
        *map = (struct nvp_mapped){place, size, status.st_dev, status.st_ino};
        return NVP_SOUND;
    }
    munmap(place, size);
    return replaceable(file, &status);
}

/* The state's file, open, or -1 and what that says of it. */
int nvp_state_open(int flags, enum nvp_found *found)
{
    const int file = open(nvp_state_path, flags | NVP_OPEN);
    if (file < 0)
        *found = errno == ENOENT ? NVP_NOTHING : NVP_FOREIGN;
    return file;
}

static void attach_one(struct nvp_device *device, unsigned char *bytes)
{
    const struct nvp_state *state = (const void *)bytes;
    const struct nvp_state_record *record = nvp_record_at(bytes, device->record);
    const unsigned char *halves = (const unsigned char *)(record + 1);
    /* a reader between these stores sees a record of image or state, and looks again where the generation differs */
    __atomic_store_n(&device->capacity, state->capacity, __ATOMIC_RELAXED);
    __atomic_store_n(&device->half[0], halves, __ATOMIC_RELAXED);
    __atomic_store_n(&device->half[1], halves + state->capacity, __ATOMIC_RELAXED);
    __atomic_store_n(&device->generation, &record->generation, __ATOMIC_RELEASE);
}

/* Every device reads this state from now on; a reader may be in the one before. */
void nvp_state_attach_to(const struct nvp_mapped *map)
{
    nvp_attached = *map;
    nvp_ring_bind(map);
    attach_one(&nvp_node, map->bytes);
    for (unsigned int i = 0; i < nvp_image->device_count; i++)
        attach_one(&nvp_devices[i + 1], map->bytes);
}

/* Every device reads the state that lies at the path, where one does.  What was attached before stays mapped: a reader may be in it. */
enum nvp_found nvp_state_bind(void)
{
    struct nvp_mapped map;
    enum nvp_found found;
    const int file = nvp_state_open(O_RDONLY, &found);
    if (file < 0)
        return found;
    found = nvp_state_map(file, PROT_READ, &map);
    close(file);
    if (found != NVP_SOUND)
        return found;
    nvp_state_attach_to(&map);
    return NVP_SOUND;
}

/* At init: the state that is there; one that MOCK_NVML_STATE names is made, so that what another process sets later is seen here. */
static void attach_or_create(void)
{
    nvmlReturn_t code;
    enum nvp_found found = nvp_state_bind();
    if (found == NVP_NOTHING && named) {
        const int lock = nvp_state_take_lock(&code);
        if (lock >= 0)
            found = nvp_state_renew(nvp_state_bind());
        nvp_state_give_lock(lock);
    }
    if (found == NVP_FOREIGN || (named && found != NVP_SOUND))
        say_unusable(errno);
}

void nvp_state_attach(void)
{
    pthread_mutex_lock(&nvp_state_mutex);
    if (find_path())
        attach_or_create();
    else
        nvp_state_path[0] = '\0';
    nvp_state_keep_own();
    pthread_mutex_unlock(&nvp_state_mutex);
}

/* A fork waits for the write in progress, so that a child starts with the mutex free and without a copy of the lock. */
void nvp_state_before_fork(void)
{
    pthread_mutex_lock(&nvp_state_mutex);
    nvp_ring_before_fork();
}

void nvp_state_after_fork(void)
{
    nvp_ring_after_fork();
    pthread_mutex_unlock(&nvp_state_mutex);
}

/* When the library is unloaded and nobody uses it. */
void nvp_state_release(void)
{
    nvp_ring_release();
    if (nvp_state_is_own(&nvp_attached))
        nvp_attached = *nvp_state_followed();
    nvp_state_drop_own();
    if (nvp_attached.bytes)
        munmap(nvp_attached.bytes, nvp_attached.size);
    nvp_attached = (struct nvp_mapped){NULL, 0, 0, 0};
}
