/* Many readers and writers of one state.  Device 0's setter of the power limit sets both ends of its constraints to what it is given, as one change, so
 * that a reader of the two sees a torn or lost change at once; what is set is a number in the high half and its check in the low one.
 *   herd storm LIBRARY THREADS SECONDS ROUNDS SEED   so many threads get and set: for SECONDS, or ROUNDS calls each where that is not 0
 *   herd write LIBRARY FILE                          sets 1, 2, ... until FILE is there
 *   herd read LIBRARY COUNT                          reads so often; no number may be other than set, nor smaller than the one before
 *   herd kill LIBRARY COUNT SEED                     so many writers, each killed at a random instant while it sets
 * Prints one line: name value name value ...; ends with status 1 where a reading was wrong. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int (*init)(void), (*stop)(void), (*by_index)(unsigned, void **), (*set)(void *, unsigned), (*get)(void *, unsigned *, unsigned *);
static long reads, writes, timeouts, torn, refused, slowest_us;
static struct timespec end;
static int rounds;

static unsigned sealed(unsigned number)
{
    return (number & 0x7fff) << 16 | ((number & 0x7fff) * 40503U & 0xffff);
}

static long now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void count(long *what, long by)
{
    __atomic_add_fetch(what, by, __ATOMIC_RELAXED);
}

/* One reading of both ends; the number that was set, or -1. */
static long look(void *device)
{
    unsigned low = 1, high = 2;
    const int code = get(device, &low, &high);
    count(&reads, 1);
    if (code == 0 && low == high && sealed(low >> 16) == low)
        return (long)(low >> 16);
    count(code ? &refused : &torn, 1);
    return -1;
}

static void change(void *device, unsigned number)
{
    const long start = now_us();
    const int code = set(device, sealed(number));
    const long took = now_us() - start;
    long seen = __atomic_load_n(&slowest_us, __ATOMIC_RELAXED);
    while (took > seen && !__atomic_compare_exchange_n(&slowest_us, &seen, took, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    count(code == 0 ? &writes : code == 10 ? &timeouts : &refused, 1);
}

static int over(int done)
{
    struct timespec now;
    if (rounds)
        return done >= rounds;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec >= end.tv_sec;
}

static void *storm(void *number)
{
    unsigned seed = (unsigned)(long)number;
    void *device;
    for (int done = 0; !over(done); done++) {
        if (init() != 0 || by_index(0, &device) != 0) {
            count(&refused, 1);
            continue;
        }
        for (int i = 0; i < 50; i++)
            (void)look(device);
        if (rand_r(&seed) % 8 == 0)
            change(device, (unsigned)rand_r(&seed));
        stop();
    }
    return NULL;
}

static long resident_kib(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2)
        resident = -1;
    if (file)
        fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static long entries(const char *folder)
{
    long found = 0;
    DIR *listing = opendir(folder);
    while (listing && readdir(listing))
        found++;
    if (listing)
        closedir(listing);
    return found;
}

static long mappings(void)
{
    long lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    for (int c; file && (c = getc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

/* Memory, descriptors and mappings a tenth into the run, when every thread has run, and at its end, with the threads still there. */
static int run_storm(char **words)
{
    static pthread_t threads[512];
    const int number = atoi(words[3]), seconds = atoi(words[4]);
    rounds = atoi(words[5]);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    if (number > 512)
        return 3;
    for (long i = 0; i < number; i++)
        pthread_create(&threads[i], NULL, storm, (void *)(i + atol(words[6]) * 1000));
    if (!rounds)
        sleep((unsigned)seconds / 10 + 1);
    const long memory = resident_kib(), files = entries("/proc/self/fd"), maps = mappings();
    if (!rounds && seconds > 2)
        sleep((unsigned)(seconds - seconds / 10 - 2));
    const long memory_end = resident_kib(), maps_end = mappings();
    for (int i = 0; i < number; i++)
        pthread_join(threads[i], NULL);
    printf("reads %ld writes %ld timeouts %ld torn %ld refused %ld slowest_us %ld memory_kib %ld memory_end_kib %ld files %ld files_end %ld maps %ld "
           "maps_end %ld\n", reads, writes, timeouts, torn, refused, slowest_us, memory, memory_end, files, entries("/proc/self/fd"), maps, maps_end);
    return torn || refused;
}

static int run_write(void *device, const char *file)
{
    unsigned number = 0;
    while (access(file, F_OK) != 0 && number < 0x7fff)
        change(device, ++number);
    printf("writes %ld timeouts %ld refused %ld slowest_us %ld\n", writes, timeouts, refused, slowest_us);
    return refused != 0;
}

static int run_read(void *device, long wanted)
{
    long before = -1, distinct = 0, backwards = 0;
    while (reads < wanted) {
        const long seen = look(device);
        distinct += seen != before;
        backwards += seen < before;
        before = seen;
        sched_yield(); /* so that it lasts for many writes */
    }
    printf("reads %ld distinct %ld backwards %ld torn %ld refused %ld\n", reads, distinct, backwards, torn, refused);
    return torn || refused || backwards;
}

static void keep_setting(void *device, unsigned from, int begun)
{
    if (write(begun, "", 1) != 1)
        _exit(1);
    for (unsigned number = from;; number++)
        if (set(device, sealed(number)) != 0)
            _exit(1);
}

/* Each writer sets its own run of numbers and is killed at some instant after it has begun (a fork takes its time under a sanitizer); what is read then
 * is one of them or what was there before, and the next one can write. */
static int run_kill(void *device, int wanted, unsigned seed)
{
    long stuck = 0, moved = 0, strange = 0;
    for (int i = 0; i < wanted; i++) {
        int status, ends[2];
        char begun;
        const long before = look(device), from = 1 + rand_r(&seed) % 0x4000;
        const pid_t child = pipe(ends) == 0 ? fork() : -1;
        if (child < 0)
            return 4; /* never kill(-1) */
        if (child == 0)
            keep_setting(device, (unsigned)from, ends[1]);
        close(ends[1]);
        stuck += read(ends[0], &begun, 1) != 1;
        close(ends[0]);
        const struct timespec moment = {0, rand_r(&seed) % 1000000};
        nanosleep(&moment, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        stuck += !WIFSIGNALED(status);
        const long after = look(device);
        moved += after != before;
        strange += after != before && after < from;
        if (i % 16 == 0)
            change(device, (unsigned)rand_r(&seed));
    }
    printf("kills %d moved %ld strange %ld stuck %ld reads %ld writes %ld timeouts %ld torn %ld refused %ld slowest_us %ld\n", wanted, moved, strange, stuck,
           reads, writes, timeouts, torn, refused, slowest_us);
    return torn || refused || timeouts || stuck || strange;
}

int main(int number, char **words)
{
    void *library = number >= 4 ? dlopen(words[2], RTLD_NOW) : NULL, *device;
    if (library == NULL)
        return 2;
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&stop = dlsym(library, "nvmlShutdown");
    *(void **)&by_index = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&set = dlsym(library, "nvmlDeviceSetPowerManagementLimit");
    *(void **)&get = dlsym(library, "nvmlDeviceGetPowerManagementLimitConstraints");
    if (strcmp(words[1], "storm") == 0 && number == 7)
        return run_storm(words);
    if (init() != 0 || by_index(0, &device) != 0)
        return 3;
    if (strcmp(words[1], "write") == 0)
        return run_write(device, words[3]);
    if (strcmp(words[1], "read") == 0)
        return run_read(device, atol(words[3]));
    return strcmp(words[1], "kill") == 0 && number == 5 ? run_kill(device, atoi(words[3]), (unsigned)atoi(words[4])) : 2;
}
