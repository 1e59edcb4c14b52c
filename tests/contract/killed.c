/* Sets the power limit of device 0 once for each limit given, in a child that may be killed at the store named in NVPARITY_KILL_AT, and reads the
 * limit from this process before and after: the reader must answer at once, with the old or the new record.
 *   killed LIBRARY LIMIT [FIRST LAST STEP]   prints: N code value microseconds ended */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef int (*no_arguments)(void);
typedef int (*by_index)(unsigned int, void **);
typedef int (*get_limit)(void *, unsigned int *);
typedef int (*set_limit)(void *, unsigned int);

static long elapsed_us(struct timespec from)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000;
}

int main(int count, char **words)
{
    void *library = count == 6 ? dlopen(words[1], RTLD_NOW) : NULL;
    void *device = NULL;
    if (library == NULL)
        return 2;
    no_arguments init = (no_arguments)dlsym(library, "nvmlInit_v2");
    by_index handle = (by_index)dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    get_limit get = (get_limit)dlsym(library, "nvmlDeviceGetEnforcedPowerLimit");
    set_limit set = (set_limit)dlsym(library, "nvmlDeviceSetPowerManagementLimit");
    if (init() != 0 || handle(0, &device) != 0)
        return 3;
    const unsigned int limit = (unsigned int)atoi(words[2]);
    for (int store = atoi(words[3]); store <= atoi(words[4]); store += atoi(words[5])) {
        char number[16];
        int status = 0;
        unsigned int value = 0;
        struct timespec start;
        snprintf(number, sizeof number, "%d", store);
        fflush(stdout); /* the thread sanitizer's _exit prints what stands in the child's copy of it, too */
        const pid_t child = fork();
        if (child == 0) {
            setenv("NVPARITY_KILL_AT", number, 1);
            _exit(set(device, limit));
        }
        waitpid(child, &status, 0);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        const int code = get(device, &value);
        const long took = elapsed_us(start);
        printf("%d %d %u %ld %s\n", store, code, value, took, WIFSIGNALED(status) ? "killed" : WEXITSTATUS(status) ? "refused" : "done");
    }
    return 0;
}
