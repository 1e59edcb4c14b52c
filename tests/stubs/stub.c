/* The part of a stub that is the same for all: hashing, noise, and the few functions that must make sense. */
#include "stub.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 64
#define TABLE_WORDS 512

static char devices[DEVICES];
static int started;
static uint64_t moved;

uint64_t stub_next(uint64_t *state)
{
    uint64_t word = (*state += 0x9e3779b97f4a7c15u);
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

void stub_mix(uint64_t *state, uint64_t value)
{
    *state ^= value;
    *state = stub_next(state);
}

void stub_mix_bytes(uint64_t *state, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        stub_mix(state, bytes[i]);
}

void stub_mix_text(uint64_t *state, const char *text)
{
    stub_mix_bytes(state, text, strlen(text));
}

static void write_log(const char *name)
{
    char line[128];
    int size = snprintf(line, sizeof line, "%s\n", name);
    int file = open(stub_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || write(file, line, (size_t)size) != size)
        raise(SIGABRT); /* a log with a hole would pass a test */
    close(file);
}

uint64_t stub_begin(const char *name)
{
    uint64_t state = stub_seed;
    if (*stub_log)
        write_log(name);
    while (strcmp(name, stub_hangs) == 0)
        pause();
    if (strcmp(name, stub_crashes) == 0)
        raise(SIGSEGV);
    stub_mix_text(&state, name);
    for (const char *const *moving = stub_moving; *moving; moving++)
        if (strcmp(name, *moving) == 0)
            stub_mix(&state, ++moved);
    return state;
}

int stub_started(void)
{
    return started > 0;
}

int stub_device(uint64_t *state, nvmlDevice_t device)
{
    uintptr_t place = (uintptr_t)device - (uintptr_t)devices;
    if (place >= stub_gpus)
        return 0;
    stub_mix(state, place);
    return 1;
}

static nvmlDevice_t handle(unsigned int index)
{
    return (nvmlDevice_t)(void *)&devices[index];
}

nvmlDevice_t stub_any_device(uint64_t *state)
{
    return stub_gpus ? handle((unsigned int)(stub_next(state) % stub_gpus)) : NULL;
}

nvmlReturn_t stub_code(uint64_t *state)
{
    static const int codes[] = {3, 4, 15, 25, 26, 999, 2};
    uint64_t drawn = stub_next(state);
    if (drawn % 3)
        return NVML_SUCCESS;
    return (nvmlReturn_t)codes[(drawn / 3) % (sizeof codes / sizeof *codes)];
}

uint64_t stub_number(uint64_t *state)
{
    uint64_t drawn = stub_next(state), number = stub_next(state);
    switch (drawn % 8) {
    case 0:
        return 0;
    case 1:
        return ~(uint64_t)0;
    case 2:
        return number % 100000;
    case 3:
        return number;
    default:
        return number % 100;
    }
}

double stub_fraction(uint64_t *state)
{
    return ((double)(stub_next(state) % 2000001) - 1000000) / 128;
}

int stub_enum(uint64_t *state, int end)
{
    uint64_t drawn = stub_next(state);
    return drawn % 8 ? (int)(drawn / 8 % (uint64_t)(end + 1)) : end + 1 + (int)(drawn / 8 % 1000);
}

unsigned int stub_length(uint64_t *state)
{
    uint64_t drawn = stub_next(state);
    return drawn % 8 ? (unsigned int)(drawn / 8 % 10) : 70;
}

size_t stub_text(uint64_t *state, char *text, size_t room)
{
    size_t most = room > 64 ? 64 : room, length = most ? stub_next(state) % most : 0;
    int latin = stub_next(state) % 4 == 0; /* bytes that are not UTF-8 */
    for (size_t i = 0; i < length; i++) {
        unsigned int drawn = (unsigned int)(stub_next(state) % 256);
        text[i] = (char)(latin && drawn > 127 ? drawn : 32 + drawn % 95);
    }
    if (most)
        text[length] = 0;
    return length;
}

void stub_bytes(uint64_t *state, void *data, size_t size)
{
    unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)stub_next(state);
}

/* ---------------------------------------------------------------- what must make sense */

static nvmlReturn_t begin(const char *name)
{
    (void)stub_begin(name);
    return started > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

static nvmlReturn_t start(const char *name)
{
    (void)stub_begin(name);
    started++;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit(void)
{
    return start(__func__);
}

nvmlReturn_t nvmlInit_v2(void)
{
    return start(__func__);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return start(__func__);
}

nvmlReturn_t nvmlShutdown(void)
{
    nvmlReturn_t code = begin(__func__);
    started -= code == NVML_SUCCESS;
    return code;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    static char text[32];
    snprintf(text, sizeof text, "Code %d", (int)result);
    return text;
}

static nvmlReturn_t give_count(nvmlReturn_t code, unsigned int *count)
{
    if (code == NVML_SUCCESS && !count)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS)
        *count = stub_gpus;
    return code;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *deviceCount)
{
    return give_count(begin(__func__), deviceCount);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    return give_count(begin(__func__), deviceCount);
}

static nvmlReturn_t give_handle(nvmlReturn_t code, unsigned int index, nvmlDevice_t *device)
{
    if (code == NVML_SUCCESS && (!device || index >= stub_gpus))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS)
        *device = handle(index);
    return code;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return give_handle(begin(__func__), index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return give_handle(begin(__func__), index, device);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    uint64_t unused = 0;
    nvmlReturn_t code = begin(__func__);
    if (code == NVML_SUCCESS && (!index || !stub_device(&unused, device)))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS)
        *index = (unsigned int)((uintptr_t)device - (uintptr_t)devices);
    return code;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    nvmlReturn_t code = begin(__func__);
    if (code == NVML_SUCCESS && !version)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (code == NVML_SUCCESS && length <= strlen(stub_driver))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    if (code == NVML_SUCCESS)
        memcpy(version, stub_driver, strlen(stub_driver) + 1);
    return code;
}

/* A value type within the union's, each entry by its own id and scope. */
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
    uint64_t first = stub_begin(__func__);
    if (!stub_started())
        return NVML_ERROR_UNINITIALIZED;
    if (!stub_device(&first, device) || !values || valuesCount < 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < valuesCount; i++) {
        uint64_t state = first;
        stub_mix(&state, values[i].fieldId);
        stub_mix(&state, values[i].scopeId);
        values[i].nvmlReturn = stub_code(&state);
        values[i].timestamp = (long long)(stub_next(&state) >> 16);
        if (values[i].nvmlReturn != NVML_SUCCESS)
            continue;
        values[i].valueType = (nvmlValueType_t)(stub_next(&state) % 7);
        memset(&values[i].value, 0, sizeof values[i].value);
        if (values[i].valueType == NVML_VALUE_TYPE_DOUBLE)
            values[i].value.dVal = stub_fraction(&state);
        else
            values[i].value.ullVal = stub_number(&state);
    }
    return NVML_SUCCESS;
}

/* A private table whose every slot is one function: that it was called stands in the log, and nothing is written. */
static nvmlReturn_t slot(void)
{
    (void)stub_begin("slot");
    return NVML_ERROR_UNKNOWN;
}

nvmlReturn_t nvmlInternalGetExportTable(void **table, const void *id)
{
    static uintptr_t words[TABLE_WORDS];
    (void)id;
    (void)stub_begin(__func__);
    words[0] = sizeof words;
    for (size_t i = 1; i < TABLE_WORDS; i++)
        words[i] = (uintptr_t)slot;
    *table = words;
    return NVML_SUCCESS;
}
