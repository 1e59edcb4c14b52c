/* A host of the library: init, the name of device 0, again after a shutdown.  Arguments: the library, then what kind of host it is. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap(int number)
{
    const int kept = errno; /* of whatever the handler came into */
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    errno = kept;
}

int main(int count, char **arguments)
{
    const char *kind = count > 2 ? arguments[2] : "";
    if (strcmp(kind, "ignores") == 0)
        signal(SIGCHLD, SIG_IGN);
    if (strcmp(kind, "reaps") == 0)
        signal(SIGCHLD, reap);
    if (strcmp(kind, "blocks") == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
    }
    if (strcmp(kind, "bare") == 0)
        for (int file = 0; file < 3; file++)
            if (file != 1)
                close(file);
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*init)(void) = (int (*)(void))dlsym(library, "nvmlInit_v2"), (*end)(void) = (int (*)(void))dlsym(library, "nvmlShutdown");
    int (*handle)(unsigned int, void **) = (int (*)(unsigned int, void **))dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    int (*name)(void *, char *, unsigned int) = (int (*)(void *, char *, unsigned int))dlsym(library, "nvmlDeviceGetName");
    for (int turn = 0; turn < 2; turn++) {
        char text[96] = "";
        void *device = NULL;
        if (init() == 0 && handle(0, &device) == 0)
            name(device, text, sizeof text);
        puts(text);
        fflush(stdout);
        end();
        setenv("MOCK_NVML_NUM_DEVICES", "3", 1); /* another request: the profile is looked for again */
    }
    return waitpid(-1, NULL, WNOHANG) > 0; /* a child of ours is left */
}
