/* Calls functions of an NVML library in tight loops, found as a client finds them: dlopen of the file, dlsym of the name.
 *
 *   loop time LIBRARY EMPTY CALLS REPEATS < cases    one line a case: NAME CODE PICOSECONDS PICOSECONDS-OF-EMPTY (each the least of REPEATS loops)
 *   loop count LIBRARY EMPTY CALLS < cases           one line a case: NAME CODE; run under callgrind, which counts what counted_calls() calls
 *   loop init LIBRARY TIMES                          one line a child process: NANOSECONDS of dlopen, dlsym and nvmlInit_v2
 *
 * A case is one line: NAME FUNCTION and up to six arguments, each
 *   device          the handle of device 0
 *   NUMBER          an integer
 *   mem:SIZE:HEX    SIZE bytes that start with HEX, the rest zeros
 *   count:N         an unsigned int that is N again before each call
 * The time and count modes end with one line for each mapping of the files that NVPARITY_IMAGE and MOCK_NVML_STATE name: mapping PERMISSIONS PATH.
 * Exit status: 0, or 1 with one line on stderr.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS 6
#define LINE_SIZE (1 << 16)
#define WARM_CALLS 3

/* Every argument of NVML's functions is an integer or a pointer, so all of them, and the empty one, are called through one type: the loops are the
 * same machine code for every case. */
typedef int (*function_t)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

struct call {
    function_t function;
    uintptr_t argument[ARGUMENTS];
    unsigned int *count;
    unsigned int count_before;
};

int warm_calls(const struct call *call, unsigned long calls);
int counted_calls(const struct call *call, unsigned long calls);

static void stop(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("loop: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        stop("%s", dlerror());
    return library;
}

static function_t find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    function_t function;
    if (symbol == NULL)
        stop("no function %s", name);
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* The loop that is measured.  The code of the last call is the answer; the count is set each time because a call may lower it. */
static inline int calls_of(const struct call *call, unsigned long calls)
{
    const struct call c = *call;
    int code = 0;
    for (unsigned long i = 0; i < calls; i++) {
        *c.count = c.count_before;
        code = c.function(c.argument[0], c.argument[1], c.argument[2], c.argument[3], c.argument[4], c.argument[5]);
    }
    return code;
}

/* Two copies under names that callgrind sees: the first calls resolve symbols and touch pages and are not counted. */
__attribute__((noinline)) int warm_calls(const struct call *call, unsigned long calls)
{
    return calls_of(call, calls);
}

__attribute__((noinline)) int counted_calls(const struct call *call, unsigned long calls)
{
    return calls_of(call, calls);
}

static uint64_t timed(const struct call *call, unsigned long calls)
{
    const uint64_t start = now_ns();
    counted_calls(call, calls);
    return now_ns() - start;
}

static uintptr_t memory(const char *token)
{
    char *rest;
    const unsigned long size = strtoul(token, &rest, 0);
    unsigned char *bytes = calloc(1, size + 64);
    if (*rest != ':' || size == 0 || bytes == NULL)
        stop("bad memory argument mem:%s", token);
    rest++;
    for (unsigned long i = 0; rest[2 * i] != '\0' && rest[2 * i + 1] != '\0' && i < size; i++) {
        const char digits[3] = {rest[2 * i], rest[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return (uintptr_t)bytes;
}

static uintptr_t argument(const char *token, uintptr_t device, struct call *call)
{
    char *rest;
    if (strcmp(token, "device") == 0)
        return device;
    if (strncmp(token, "mem:", 4) == 0)
        return memory(token + 4);
    if (strncmp(token, "count:", 6) == 0) {
        call->count = (unsigned int *)memory("4:");
        call->count_before = (unsigned int)strtoul(token + 6, NULL, 0);
        return (uintptr_t)call->count;
    }
    const uintptr_t number = (uintptr_t)strtoull(token, &rest, 0);
    if (*rest != '\0')
        stop("unknown argument %s", token);
    return number;
}

/* One line of cases as a call; its name is in line.  False at the end of the input. */
static int read_case(char *line, void *library, uintptr_t device, struct call *call)
{
    static unsigned int unused;
    char *position = NULL;
    if (fgets(line, LINE_SIZE, stdin) == NULL)
        return 0;
    if (strchr(line, '\n') == NULL)
        stop("a line of cases is too long");
    memset(call, 0, sizeof *call);
    call->count = &unused;
    if (strtok_r(line, " \n", &position) == NULL)
        stop("an empty line among the cases");
    const char *function = strtok_r(NULL, " \n", &position);
    if (function == NULL)
        stop("case %s names no function", line);
    call->function = find(library, function);
    const char *token = strtok_r(NULL, " \n", &position);
    for (int i = 0; token != NULL; token = strtok_r(NULL, " \n", &position)) {
        if (i == ARGUMENTS)
            stop("case %s has more than %d arguments", line, ARGUMENTS);
        call->argument[i++] = argument(token, device, call);
    }
    return 1;
}

static void print_mappings(void)
{
    const char *image = getenv("NVPARITY_IMAGE");
    const char *state = getenv("MOCK_NVML_STATE");
    char line[LINE_SIZE / 8];
    char permissions[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        const char *path = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        if (path == NULL || sscanf(line, "%*s %7s", permissions) != 1)
            continue;
        if ((image != NULL && strcmp(path, image) == 0) || (state != NULL && strcmp(path, state) == 0))
            printf("mapping %s %s\n", permissions, path);
    }
    if (maps != NULL)
        fclose(maps);
}

static uintptr_t first_device(void *library)
{
    uintptr_t device = 0;
    int code = find(library, "nvmlInit_v2")(0, 0, 0, 0, 0, 0);
    if (code == 0)
        code = find(library, "nvmlDeviceGetHandleByIndex_v2")(0, (uintptr_t)&device, 0, 0, 0, 0);
    if (code != 0)
        stop("no device 0: nvmlReturn_t %d", code);
    return device;
}

static void measure(const struct call *call, const struct call *empty, const char *name, unsigned long calls, unsigned long repeats)
{
    uint64_t least = UINT64_MAX;
    uint64_t least_empty = UINT64_MAX;
    const int code = warm_calls(call, WARM_CALLS);
    for (unsigned long i = 0; i < repeats; i++) {
        const uint64_t took = timed(call, calls);
        const uint64_t took_empty = timed(empty, calls);
        least = took < least ? took : least;
        least_empty = took_empty < least_empty ? took_empty : least_empty;
    }
    printf("%s %d %lu %lu\n", name, code, (unsigned long)(least * 1000 / calls), (unsigned long)(least_empty * 1000 / calls));
}

/* The cases of stdin: timed with repeats, counted without (under callgrind each is called in the same way). */
static void run_cases(const char *library_path, const char *empty_path, unsigned long calls, unsigned long repeats)
{
    static char line[LINE_SIZE];
    static unsigned int unused;
    void *library = open_library(library_path);
    const struct call empty = {find(open_library(empty_path), "nvparity_empty"), {0}, &unused, 0};
    const uintptr_t device = first_device(library);
    struct call call;
    if (calls == 0)
        stop("the number of calls must be above zero");
    if (repeats == 0)
        counted_calls(&empty, calls);
    while (read_case(line, library, device, &call)) {
        if (repeats > 0) {
            measure(&call, &empty, line, calls, repeats);
            continue;
        }
        printf("%s %d\n", line, warm_calls(&call, WARM_CALLS));
        counted_calls(&call, calls);
    }
    print_mappings();
}

/* What a client pays before its first question, in a process that has not opened the library yet. */
static uint64_t start(const char *path)
{
    const uint64_t begin = now_ns();
    const int code = find(open_library(path), "nvmlInit_v2")(0, 0, 0, 0, 0, 0);
    const uint64_t took = now_ns() - begin;
    if (code != 0)
        stop("nvmlInit_v2: nvmlReturn_t %d", code);
    return took;
}

static void time_starts(const char *path, unsigned long times)
{
    for (unsigned long i = 0; i < times; i++) {
        uint64_t took = 0;
        int status = 0;
        int ends[2];
        if (pipe(ends) != 0)
            stop("no pipe");
        fflush(stdout); /* a sanitizer's runtime writes what is held back at _exit, too */
        const pid_t child = fork();
        if (child == 0) {
            took = start(path);
            _exit(write(ends[1], &took, sizeof took) == (ssize_t)sizeof took ? 0 : 1);
        }
        close(ends[1]);
        if (child < 0 || read(ends[0], &took, sizeof took) != (ssize_t)sizeof took || waitpid(child, &status, 0) != child || status != 0)
            stop("a child process did not start the library");
        close(ends[0]);
        printf("%lu\n", (unsigned long)took);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "time") == 0 && argc == 6 && strtoul(argv[5], NULL, 0) > 0)
        run_cases(argv[2], argv[3], strtoul(argv[4], NULL, 0), strtoul(argv[5], NULL, 0));
    else if (strcmp(mode, "count") == 0 && argc == 5)
        run_cases(argv[2], argv[3], strtoul(argv[4], NULL, 0), 0);
    else if (strcmp(mode, "init") == 0 && argc == 4)
        time_starts(argv[2], strtoul(argv[3], NULL, 0));
    else
        stop("usage: loop time LIBRARY EMPTY CALLS REPEATS | loop count LIBRARY EMPTY CALLS | loop init LIBRARY TIMES");
    return 0;
}
