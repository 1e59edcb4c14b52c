/* What the library says: one line on stderr for what a user must know, a trace of calls and codes under MOCK_NVML_DEBUG.  And the gates. */
#include "nvp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool nvp_tracing;
unsigned char nvp_flag[NVP_FUNCTION_COUNT];

#define SAID 64 /* lines that are kept in mind */

/* Whether the process says this line for the first time: a program that calls nvmlInit again and again is not told again and again. */
static bool first_time(const char *line, size_t length)
{
    static uint64_t said[SAID];
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)line[i]) * 0x100000001b3ULL;
    hash |= 1; /* 0: nothing is said there yet */
    for (unsigned int i = 0; i < SAID; i++) {
        uint64_t there = 0;
        if (__atomic_compare_exchange_n(&said[i], &there, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
        if (there == hash)
            return false;
    }
    return true;
}

static void say(const char *format, va_list items, bool once)
{
    char line[2 * NVP_PATH_SIZE + 512]; /* a file and the command that mends it */
    int length = snprintf(line, sizeof line, "nvparity: ");
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, items);
    if (length >= (int)sizeof line - 1)
        length = (int)sizeof line - 2;
    for (int i = 0; i < length; i++) /* of a variable or a file's name, say: it stays one line, and no terminal obeys it */
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
    if (once && !first_time(line, (size_t)length))
        return;
    line[length++] = '\n';
    /* one write, so that lines of several threads stay whole */
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
}

/* A line that a user must know, once in a process. */
void nvp_say(const char *format, ...)
{
    va_list items;
    va_start(items, format);
    say(format, items, true);
    va_end(items);
}

void nvp_debug(const char *format, ...)
{
    va_list items;
    if (!nvp_tracing)
        return;
    va_start(items, format);
    say(format, items, false);
    va_end(items);
}

/* Text into a buffer; false where it did not fit. */
bool nvp_format(char *buffer, size_t size, const char *format, ...)
{
    va_list items;
    va_start(items, format);
    const int length = vsnprintf(buffer, size, format, items);
    va_end(items);
    return length >= 0 && (size_t)length < size;
}

/* The flags of all functions: traced or counted when asked for, gated where the image names a code, recorded where it has answers. */
void nvp_set_flags(void)
{
    const uint16_t *gates = nvp_image ? (const uint16_t *)(const void *)((const unsigned char *)nvp_image + nvp_image->gates.offset) : NULL;
    for (unsigned int i = 0; i < NVP_FUNCTION_COUNT; i++) {
        const unsigned int gated = nvp_initialised() && gates && gates[i] ? NVP_FLAG_GATE : 0;
        const unsigned int counted = (nvp_counting || nvp_strict) && nvp_countable[i] ? NVP_FLAG_COUNTED : 0;
        __atomic_store_n(&nvp_flag[i], (unsigned char)(gated | counted | (nvp_tracing ? NVP_FLAG_TRACE : 0)), __ATOMIC_RELAXED);
    }
    if (nvp_initialised())
        nvp_flag_recorded();
    if (nvp_initialised() && __atomic_load_n(&nvp_following, __ATOMIC_RELAXED))
        nvp_flag_following();
}

/* Every call takes over first what others wrote (own.c). */
void nvp_flag_following(void)
{
    for (unsigned int i = 0; i < NVP_FUNCTION_COUNT; i++)
        __atomic_fetch_or(&nvp_flag[i], NVP_FLAG_FOLLOWING, __ATOMIC_RELAXED);
}

/* Whether a call has a gate, and its code.  Every cold call comes by here before it reads. */
bool nvp_gated(unsigned int function, nvmlReturn_t *code)
{
    if (NVP_FLAGS(function) & NVP_FLAG_FOLLOWING)
        nvp_own_follow();
    if (!(NVP_FLAGS(function) & NVP_FLAG_GATE))
        return false;
    const uint16_t *gates = (const uint16_t *)(const void *)((const unsigned char *)nvp_image + nvp_image->gates.offset);
    *code = (nvmlReturn_t)gates[function];
    return true;
}

nvmlReturn_t nvp_traced(unsigned int function, nvmlReturn_t code)
{
    if (nvp_tracing)
        nvp_debug("%s -> %d", nvp_function_names[function], (int)code);
    return code;
}

/* Before any call: the trace switch, and slot 0, which no handle may ever match. */
__attribute__((constructor)) static void begin(void)
{
    const char *asked = nvp_environment("MOCK_NVML_DEBUG");
    nvp_tracing = asked != NULL;
    nvp_devices[0].expect = ~(uint64_t)0;
    if (nvp_tracing)
        nvp_set_flags();
}
