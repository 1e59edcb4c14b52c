/* Calls without data: NOT_SUPPORTED because nothing is known of what was asked, as against a recorded or captured NOT_SUPPORTED.  Counted by function
 * where NVPARITY_UNANSWERED names a file; `count name` lines are appended to it at the last shutdown and at the process's end. */
#include "nvp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool nvp_counting, nvp_strict;
static char path[NVP_PATH_SIZE];
static uint32_t counts[NVP_FUNCTION_COUNT];

/* The code as it was, of a call that nothing known answers; counted where it is NOT_SUPPORTED, the end of the process where it is asked to be
 * strict (ledger A12). */
nvmlReturn_t nvp_without_data(unsigned int function, nvmlReturn_t code)
{
    if (code != NVML_ERROR_NOT_SUPPORTED)
        return code;
    if (nvp_strict && function != NVP_FN_nvmlDeviceGetFieldValues) { /* of that one the entries lack data, not the call */
        nvp_say("%s: nothing of this image or library answers it, and MOCK_NVML_STRICT is set", nvp_function_names[function]);
        abort();
    }
    if (nvp_counting)
        __atomic_add_fetch(&counts[function], 1, __ATOMIC_RELAXED);
    return code;
}

/* At a first init, under its lock; a relative name is one of the folder of that moment. */
void nvp_unanswered_begin(void)
{
    char folder[NVP_PATH_SIZE];
    const char *const named = nvp_environment("NVPARITY_UNANSWERED");
    nvp_counting = false;
    nvp_strict = nvp_environment("MOCK_NVML_STRICT") != NULL;
    if (named == NULL)
        return;
    const bool relative = named[0] != '/';
    if ((!relative || getcwd(folder, sizeof folder)) && nvp_format(path, sizeof path, "%s%s%s", relative ? folder : "", relative ? "/" : "", named))
        nvp_counting = true;
    else
        nvp_say("NVPARITY_UNANSWERED: its %zu characters are too long for a file's name; no call is counted", strlen(named));
}

/* A child of fork counts its own calls alone. */
void nvp_unanswered_forget(void)
{
    for (unsigned int i = 0; nvp_counting && i < NVP_FUNCTION_COUNT; i++)
        counts[i] = 0;
}

/* One write, so that lines of several processes stay whole. */
static void append(const char *text, size_t size)
{
    struct stat status;
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | NVP_OPEN, 0600);
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || write(file, text, size) != (ssize_t)size)
        nvp_say("NVPARITY_UNANSWERED: %s: cannot be written: %s", path, file < 0 ? strerror(errno) : "it is no regular file, or it is full");
    if (file >= 0)
        close(file);
}

void nvp_unanswered_write(void)
{
    static char text[NVP_FUNCTION_COUNT * (sizeof nvp_function_names[0] + sizeof "4294967295 \n")];
    static bool busy; /* an exit while another thread shuts down: that one writes */
    size_t size = 0;
    if (!nvp_counting || __atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE))
        return;
    for (unsigned int i = 0; i < NVP_FUNCTION_COUNT; i++) {
        const uint32_t count = __atomic_exchange_n(&counts[i], 0, __ATOMIC_RELAXED);
        if (count)
            size += (size_t)snprintf(text + size, sizeof text - size, "%u %s\n", count, nvp_function_names[i]);
    }
    if (size)
        append(text, size);
    __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}
