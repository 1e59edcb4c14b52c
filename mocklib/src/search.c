/* Which image is served: NVPARITY_IMAGE, else the image of the profile in MOCK_NVML_CONFIG or the reference's search order (compiled on first use,
 * compiling.c), else the default. */
#include "nvp.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const struct nvp_image *nvp_image;
char nvp_image_path[NVP_PATH_SIZE];

static const struct nvp_source *source_of(const struct nvp_image *image)
{
    const struct nvp_source *source = (const void *)((const unsigned char *)image + image->source.offset);
    return source->present ? source : NULL;
}

/* Whether an image was compiled from this profile: size, time and inode, else its SHA-256. */
static bool made_from(const struct nvp_image *image, const char *profile, const struct stat *status)
{
    const struct nvp_source *source = source_of(image);
    uint8_t digest[32];
    if (source == NULL)
        return false;
    const int64_t mtime_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
    if (source->size == (uint64_t)status->st_size && source->mtime_ns == mtime_ns && source->inode == (uint64_t)status->st_ino)
        return true;
    return source->size == (uint64_t)status->st_size && nvp_sha256_file(profile, digest) && memcmp(digest, source->sha256, sizeof digest) == 0;
}

/* A profile whose image is wanted, and the places where it may lie: beside it, and in the cache under the same name. */
struct wanted {
    const char *profile;
    struct stat status;
    char beside[NVP_PATH_SIZE], cached[NVP_PATH_SIZE]; /* empty: there is no such place */
    const struct nvp_image *image;
    bool stale;
};

static bool candidate(struct wanted *wanted, const char *path)
{
    if (path[0] == '\0' || access(path, F_OK) != 0)
        return false;
    const struct nvp_image *image = nvp_image_open(path, true);
    if (image == NULL || !made_from(image, wanted->profile, &wanted->status)) {
        wanted->stale = true;
        return false;
    }
    (void)nvp_format(nvp_image_path, sizeof nvp_image_path, "%s", path);
    wanted->image = image;
    return true;
}

/* Whether the image is there now; nvp_compile asks it as well. */
static bool found(void *request)
{
    struct wanted *wanted = request;
    return wanted->image != NULL || candidate(wanted, wanted->beside) || candidate(wanted, wanted->cached);
}

static void places_of(struct wanted *wanted)
{
    const char *profile = wanted->profile;
    const char *name = strrchr(profile, '/') ? strrchr(profile, '/') + 1 : profile;
    const char *dot = strrchr(name, '.');
    const int stem = dot ? (int)(dot - profile) : (int)strlen(profile);
    const char *cache = nvp_environment("XDG_CACHE_HOME"), *home = nvp_environment("HOME");
    if (!nvp_format(wanted->beside, sizeof wanted->beside, "%.*s.nvpimg", stem, profile))
        wanted->beside[0] = '\0';
    if (!(cache || home) || !nvp_format(wanted->cached, sizeof wanted->cached, "%s%s/nvparity/%.*s.nvpimg", cache ? cache : home,
                                        cache ? "" : "/.cache", stem - (int)(name - profile), name))
        wanted->cached[0] = '\0';
}

/* Whether the folder of a file can be written; with make, it and those above it are made. */
static bool writable(const char *file, bool make)
{
    char folder[NVP_PATH_SIZE] = ".";
    const char *slash = strrchr(file, '/');
    if (file[0] == '\0' || (slash && !nvp_format(folder, sizeof folder, "%.*s", slash == file ? 1 : (int)(slash - file), file)))
        return false;
    for (char *part = folder + 1; make && (part = strchr(part, '/')) != NULL; part++) {
        *part = '\0';
        (void)mkdir(folder, 0700);
        *part = '/';
    }
    if (make)
        (void)mkdir(folder, 0700);
    return access(folder, W_OK | X_OK) == 0;
}

/* A word as a shell takes it. */
static const char *quoted(const char *word, char *room, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    size_t length = 0;
    if (word[strspn(word, plain)] == '\0' || 4 * strlen(word) + 3 > size)
        return word;
    room[length++] = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            length += (size_t)snprintf(room + length, size - length, "'\\'");
        room[length++] = *word;
    }
    room[length++] = '\'';
    room[length] = '\0';
    return room;
}

/* The image beside the profile, else that in the cache, else what the compiler makes of it; NULL after one line that says why not. */
static const struct nvp_image *image_of_profile(const char *profile)
{
    struct wanted wanted = {.profile = profile};
    char room[NVP_PATH_SIZE], other[NVP_PATH_SIZE];
    errno = 0;
    if (strlen(profile) >= NVP_PATH_SIZE || stat(profile, &wanted.status) != 0 || !S_ISREG(wanted.status.st_mode)) {
        const char *why = strlen(profile) >= NVP_PATH_SIZE ? "its name is too long" : errno ? strerror(errno) : "it is no regular file";
        nvp_say("%.*s: cannot be read as a profile: %s; serving the built-in default", strlen(profile) < NVP_PATH_SIZE ? NVP_PATH_SIZE : 64, profile, why);
        return NULL;
    }
    places_of(&wanted);
    if (found(&wanted))
        return wanted.image;
    const char *target = writable(wanted.beside, false) ? wanted.beside : writable(wanted.cached, true) ? wanted.cached : "";
    const char *why = nvp_compile(profile, target, found, &wanted);
    if (why == NULL)
        return wanted.image;
    nvp_say("%s: %s, and %s; serving the built-in default. Run: nvparity compile %s%s%s", profile,
            wanted.stale ? "its image is out of date" : "it has no image", why, quoted(profile, room, sizeof room),
            target == wanted.beside ? "" : target[0] ? " -o " : " -o FILE.nvpimg, and name that in NVPARITY_IMAGE",
            target == wanted.beside ? "" : quoted(target, other, sizeof other));
    return NULL;
}

/* The folder two above the library's, also where an update has taken its file away meanwhile; false where there is none. */
static bool driver_root(char root[PATH_MAX])
{
    char folder[NVP_PATH_SIZE];
    Dl_info info;
    int up = 3;
    if (!dladdr((const void *)(uintptr_t)&nvp_find_image, &info) || info.dli_fname == NULL)
        return false;
    if (realpath(info.dli_fname, root) == NULL) {
        const char *slash = strrchr(info.dli_fname, '/');
        if (slash == NULL || !nvp_format(folder, sizeof folder, "%.*s", (int)(slash - info.dli_fname), info.dli_fname) || realpath(folder, root) == NULL)
            return false;
        up = 2;
    }
    for (; up > 0; up--) {
        char *slash = strrchr(root, '/');
        if (slash)
            *slash = '\0';
    }
    return true;
}

/* The driver root's config, then the two places of the reference (ledger A02). */
static const struct nvp_image *searched(void)
{
    char path[NVP_PATH_SIZE], root[PATH_MAX];
    if (driver_root(root) && nvp_format(path, sizeof path, "%s/config/config.yaml", root) && access(path, R_OK) == 0)
        return image_of_profile(path);
    static const char *const places[] = {"/etc/nvml-mock/config.yaml", "/opt/nvml-mock/driver/config/config.yaml"};
    for (unsigned int i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], R_OK) == 0)
            return image_of_profile(places[i]);
    return NULL;
}

/* When the library is unloaded and nobody uses it. */
void nvp_image_release(void)
{
    if (nvp_image)
        munmap((void *)(uintptr_t)nvp_image, nvp_image->size);
    nvp_image = NULL;
}

/* NULL means: an image was asked for by name and cannot be served. */
const struct nvp_image *nvp_find_image(void)
{
    const char *named = nvp_environment("NVPARITY_IMAGE"), *profile = nvp_environment("MOCK_NVML_CONFIG");
    nvp_image_path[0] = '\0';
    if (named) {
        if (nvp_format(nvp_image_path, sizeof nvp_image_path, "%s", named))
            return nvp_image_open(named, false);
        nvp_say("NVPARITY_IMAGE: its %zu characters are too long for a file's name", strlen(named));
        return NULL;
    }
    const struct nvp_image *image = profile ? image_of_profile(profile) : searched();
    return image ? image : nvp_image_default();
}

/* Whether path is still the very file that is mapped. */
static bool unchanged(const char *path, const struct stat *before)
{
    struct stat now;
    return stat(path, &now) == 0 && now.st_ino == before->st_ino && now.st_dev == before->st_dev && now.st_size == before->st_size &&
           now.st_mtim.tv_sec == before->st_mtim.tv_sec && now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* FNV-1a over a variable's text and its end. */
static uint64_t mixed(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
    return (hash ^ 0xff) * 0x100000001b3ULL;
}

/* The image served from now on; called under the init lock, at a first init or before one.  An image that cannot be served answers
 * DRIVER_NOT_LOADED, as a node whose kernel module gives the library nothing to read: that is what a caller of a real node would see. */
nvmlReturn_t nvp_image_ensure(void)
{
    static uint64_t asked;
    static struct stat mapped;
    static const char *const names[] = {"NVPARITY_IMAGE", "MOCK_NVML_CONFIG", "MOCK_NVML_NUM_DEVICES", "MOCK_NVML_DRIVER_VERSION"};
    uint64_t asking = 0xcbf29ce484222325ULL;
    for (unsigned int i = 0; i < sizeof names / sizeof names[0]; i++)
        asking = mixed(asking, nvp_environment(names[i]));
    /* the same request again keeps the mapping, unless the file was replaced */
    if (nvp_image && asking == asked && (nvp_image_path[0] == '\0' || unchanged(nvp_image_path, &mapped)))
        return NVML_SUCCESS;
    const struct nvp_image *found = nvp_find_image();
    if (found == NULL)
        return NVML_ERROR_DRIVER_NOT_LOADED;
    nvp_image = found;
    asked = nvp_image_path[0] == '\0' || stat(nvp_image_path, &mapped) == 0 ? asking : 0;
    return NVML_SUCCESS;
}
