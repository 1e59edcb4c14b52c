/* storm LIBRARY IMAGE IMAGE: threads that init, read, set and shut down while the image in the environment changes, and one that forks children which
 * do the same under an alarm.  Prints the codes seen; a child that does not end by itself is said on stderr. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*init)(void), (*stop)(void), (*by_index)(unsigned, void **), (*name_of)(void *, char *, unsigned), (*set)(void *, unsigned);
static const char *images[2];
static int seen[1000];

static void note(int code)
{
    __atomic_store_n(&seen[(unsigned)code < 1000 ? code : 999], 1, __ATOMIC_RELAXED);
}

static void *storm(void *number)
{
    unsigned seed = (unsigned)(long)number;
    for (int i = 0; i < 1500; i++) {
        void *handle;
        char name[96];
        if (rand_r(&seed) % 8 == 0)
            setenv("NVPARITY_IMAGE", images[rand_r(&seed) % 2], 1);
        note(init());
        const int code = by_index(rand_r(&seed) % 3, &handle);
        note(code);
        if (code == 0) {
            note(name_of(handle, name, sizeof name));
            if (rand_r(&seed) % 4 == 0)
                note(set(handle, 100000 + rand_r(&seed) % 1000));
        }
        note(stop());
    }
    return NULL;
}

static int child(void)
{
    void *handle;
    alarm(20);
    if (init() != 0)
        return 1;
    if (by_index(0, &handle) != 0)
        return 2;
    return set(handle, 150000) == 0 && stop() == 0 ? 0 : 3;
}

static void *forks(void *unused)
{
    for (int i = 0; i < 60; i++) {
        const pid_t pid = fork();
        int status = 0;
        if (pid == 0)
            _exit(child());
        if (waitpid(pid, &status, 0) == pid && status)
            fprintf(stderr, "a child ended with status %#x\n", status);
    }
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[5];
    void *library = count == 4 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (library == NULL)
        return 1;
    images[0] = arguments[2];
    images[1] = arguments[3];
    setenv("NVPARITY_IMAGE", images[0], 1);
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&stop = dlsym(library, "nvmlShutdown");
    *(void **)&by_index = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&name_of = dlsym(library, "nvmlDeviceGetName");
    *(void **)&set = dlsym(library, "nvmlDeviceSetPowerManagementLimit");
    for (long i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, i < 4 ? storm : forks, (void *)(i + 1));
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 1000; i++)
        if (seen[i])
            printf("%d\n", i);
    return 0;
}
