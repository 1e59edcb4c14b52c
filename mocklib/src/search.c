/* Which image is served: NVPARITY_IMAGE, else the image of the profile in MOCK_NVML_CONFIG or the reference's search order, else the default. */
#include "nvp.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const struct nvp_image *nvp_image;
char nvp_image_path[NVP_PATH_SIZE];

/* An environment variable with a value; none for a set-user-id program. */
const char *nvp_environment(const char *name)
{
    const char *value = getauxval(AT_SECURE) ? NULL : getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

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

static const struct nvp_image *candidate(const char *profile, const struct stat *status, const char *path, bool *stale)
{
    if (access(path, F_OK) != 0)
        return NULL;
    const struct nvp_image *image = nvp_image_open(path, true);
    if (image != NULL && made_from(image, profile, status)) {
        (void)nvp_format(nvp_image_path, sizeof nvp_image_path, "%s", path);
        return image;
    }
    *stale = true;
    return NULL;
}

/* profile.yaml -> profile.nvpimg beside it, then in the cache folder under the same name. */
static const struct nvp_image *image_of_profile(const char *profile)
{
    char path[NVP_PATH_SIZE];
    struct stat status;
    bool stale = false;
    errno = 0;
    const char *name = strrchr(profile, '/') ? strrchr(profile, '/') + 1 : profile;
    const char *dot = strrchr(name, '.');
    const int stem = dot ? (int)(dot - profile) : (int)strlen(profile);
    const int stem_of_name = stem - (int)(name - profile);
    if (strlen(profile) >= NVP_PATH_SIZE || stat(profile, &status) != 0 || !S_ISREG(status.st_mode)) {
        const char *why = strlen(profile) >= NVP_PATH_SIZE ? "its name is too long" : errno ? strerror(errno) : "it is no regular file";
        nvp_say("%.*s: cannot be read as a profile: %s; serving the built-in default", strlen(profile) < NVP_PATH_SIZE ? NVP_PATH_SIZE : 64, profile, why);
        return NULL;
    }
    const struct nvp_image *image = NULL;
    if (nvp_format(path, sizeof path, "%.*s.nvpimg", stem, profile))
        image = candidate(profile, &status, path, &stale);
    const char *cache = nvp_environment("XDG_CACHE_HOME"), *home = nvp_environment("HOME");
    if (image == NULL && (cache || home) &&
        nvp_format(path, sizeof path, "%s%s/nvparity/%.*s.nvpimg", cache ? cache : home, cache ? "" : "/.cache", stem_of_name, name))
        image = candidate(profile, &status, path, &stale);
    if (image == NULL)
        nvp_say("%s: %s; serving the built-in default. Run: nvparity compile %s", profile,
                stale ? "its image is out of date" : "it has no image", profile);
    return image;
}

/* The driver root's config (two folders above the library), then the two places of the reference (ledger A02). */
static const struct nvp_image *searched(void)
{
    char path[NVP_PATH_SIZE], real[PATH_MAX];
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&nvp_find_image, &info) && info.dli_fname && realpath(info.dli_fname, real)) {
        for (int up = 0; up < 3; up++) {
            char *slash = strrchr(real, '/');
            if (slash)
                *slash = '\0';
        }
        if (nvp_format(path, sizeof path, "%s/config/config.yaml", real) && access(path, R_OK) == 0)
            return image_of_profile(path);
    }
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
