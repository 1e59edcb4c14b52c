/* The environment, as hostile as any other input: which variables there are, and one line for a value or a name that cannot be used.  What is served
 * then is each reader's to say; docs/environment.md has them all. */
#include "nvp.h"

#include <stdlib.h>
#include <sys/auxv.h>

#define NAME_SIZE 40 /* longer names are not compared */
#define CLOSE 3      /* letters by which a name may differ from the one that was meant */

extern char **environ;

static const char prefix[] = "MOCK_NVML_";
static const char *const known[] = {"MOCK_NVML_CONFIG", "MOCK_NVML_DEBUG", "MOCK_NVML_DEVICE_NODES", "MOCK_NVML_DRIVER_VERSION", "MOCK_NVML_EPOCH",
                                    "MOCK_NVML_NUM_DEVICES", "MOCK_NVML_OVERRIDES", "MOCK_NVML_PRIVILEGE", "MOCK_NVML_STATE", "MOCK_NVML_STRICT"};

/* Variables of the reference that nothing here follows, and why. */
static const char *const inert[][2] = {
    {"MOCK_NVML_OVERRIDES_TTL", "a change is seen at once"},
    {"MOCK_NVML_KMSG", "no kernel log is written"},
    {"MOCK_MIG_PROFILES_CONFIG", "no MIG device is served"},
    {"MOCK_TOPOLOGY_CONFIG", "no topology document is read"},
    {"MOCK_FABRICMANAGER_STATE_DIR", "no fabric manager is followed"},
};

/* An environment variable with a value; none for a set-user-id program. */
const char *nvp_environment(const char *name)
{
    const char *value = getauxval(AT_SECURE) ? NULL : getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* One line about the value of a variable: what is wrong with it, and what holds instead.  A long value is cut. */
void nvp_refuse_variable(const char *name, const char *value, const char *fault, const char *instead)
{
    nvp_say("%s=%.64s%s: %s; %s", name, value, strlen(value) > 64 ? "..." : "", fault, instead);
}

static unsigned int least(unsigned int a, unsigned int b)
{
    return a < b ? a : b;
}

/* In how many letters two words differ: put in, left out or another. */
static unsigned int distance(const char *a, size_t length, const char *b)
{
    unsigned int row[NAME_SIZE + 1];
    const size_t width = strlen(b);
    for (unsigned int j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; i < length; i++) {
        unsigned int corner = row[0]++;
        for (size_t j = 0; j < width; j++) {
            const unsigned int other = corner + (a[i] != b[j]);
            corner = row[j + 1];
            row[j + 1] = least(other, least(corner, row[j]) + 1);
        }
    }
    return row[width];
}

/* The word of a list that is closest to one of length letters; NULL where none is close. */
const char *nvp_nearest(const char *word, size_t length, const char *const *words, unsigned int count)
{
    const char *found = NULL;
    unsigned int best = CLOSE + 1;
    for (unsigned int i = 0; length <= NAME_SIZE && i < count; i++) {
        const unsigned int apart = distance(word, length, words[i]);
        if (apart < best && 2 * apart <= length) {
            best = apart;
            found = words[i];
        }
    }
    return found;
}

static bool names(const char *entry, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(entry, name, length) == 0;
}

/* One variable of the environment, NAME=VALUE, whose name ends after length letters. */
static void look_at(const char *entry, size_t length)
{
    for (unsigned int i = 0; i < sizeof inert / sizeof inert[0]; i++)
        if (names(entry, length, inert[i][0])) {
            nvp_say("%s: has no effect here: %s", inert[i][0], inert[i][1]);
            return;
        }
    if (strncmp(entry, prefix, sizeof prefix - 1) != 0)
        return;
    for (unsigned int i = 0; i < sizeof known / sizeof known[0]; i++)
        if (names(entry, length, known[i]))
            return;
    const char *meant = nvp_nearest(entry, length, known, sizeof known / sizeof known[0]);
    nvp_say("%.*s%s: is no variable of this library, and has no effect%s%s%s", (int)(length < 64 ? length : 64), entry, length > 64 ? "..." : "",
            meant ? " (did you mean " : "", meant ? meant : "", meant ? "?)" : "");
}

/* At a first nvmlInit: names that were meant for this library and are none of its variables. */
void nvp_environment_begin(void)
{
    for (char **entry = getauxval(AT_SECURE) ? NULL : environ; entry && *entry; entry++) {
        const char *end = strchr(*entry, '=');
        if (end && end[1] != '\0' && strncmp(*entry, "MOCK_", 5) == 0)
            look_at(*entry, (size_t)(end - *entry));
    }
}
