/* A profile that has no image, given to the library directly: the compiler is started once, in a process of its own.
 *
 * The host is not ours: it may ignore or reap our child, hold files open, run many threads, or have more rights than its user.  So nothing hangs on
 * the child's exit status: its success is the image under its name.  It gets no signal mask, no file and no more of the environment than it needs,
 * and it is waited for 10 s at most. */
#include "nvp.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000
#define BESIDE "nvparity-compiler"

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void moment(void)
{
    nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static bool runnable(const char *path)
{
    struct stat status;
    return path[0] == '/' && stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* The first line of the file beside the library: a program's path, from the library's folder on where it is not absolute. */
static bool named_beside(char *path)
{
    char real[PATH_MAX], text[NVP_PATH_SIZE];
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)&nvp_compile, &info) || info.dli_fname == NULL || realpath(info.dli_fname, real) == NULL)
        return false;
    char *slash = strrchr(real, '/');
    *slash = '\0';
    if (!nvp_format(path, NVP_PATH_SIZE, "%s/" BESIDE, real))
        return false;
    const int file = open(path, O_RDONLY | NVP_OPEN);
    if (file < 0)
        return false;
    struct stat status;
    const ssize_t length = fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? read(file, text, sizeof text - 1) : -1;
    close(file);
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0' && nvp_format(path, NVP_PATH_SIZE, "%s%s%s", text[0] == '/' ? "" : real, text[0] == '/' ? "" : "/", text);
}

/* NULL and the program in path, else why there is none. */
static const char *compiler(char *path)
{
    const char *named = nvp_environment("NVPARITY_COMPILER");
    if (named)
        return nvp_format(path, NVP_PATH_SIZE, "%s", named) && runnable(path) ? NULL : "NVPARITY_COMPILER names no program by its whole path";
    if (!named_beside(path))
        return "no compiler is named in NVPARITY_COMPILER or beside the library";
    return runnable(path) ? NULL : "the file " BESIDE " beside the library names no program";
}

/* The child: a process group, signal dispositions and mask of its own, nothing on stdin, stdout and stderr in the log, no other file of ours.
 * 0 where it could not be started. */
static pid_t start(char *program, char *profile, char *target, int log)
{
    char *const arguments[] = {program, (char[]){"compile"}, profile, (char[]){"-o"}, target, NULL};
    static const char *const kept[] = {"PATH", "HOME", "LANG"};
    char cut[3][NVP_PATH_SIZE + 8], *environment[4] = {NULL};
    for (unsigned int i = 0, count = 0; i < 3; i++)
        if (nvp_environment(kept[i]) && nvp_format(cut[i], sizeof cut[i], "%s=%s", kept[i], nvp_environment(kept[i])))
            environment[count++] = cut[i];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t settings;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    pid_t child = 0;
    if (posix_spawn_file_actions_init(&files) != 0)
        return 0;
    if (posix_spawnattr_init(&settings) == 0) {
        const bool set = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                         posix_spawn_file_actions_adddup2(&files, log, 1) == 0 && posix_spawn_file_actions_adddup2(&files, log, 2) == 0 &&
                         posix_spawnattr_setsigmask(&settings, &none) == 0 && posix_spawnattr_setsigdefault(&settings, &all) == 0 &&
                         posix_spawnattr_setpgroup(&settings, 0) == 0 &&
                         posix_spawnattr_setflags(&settings, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP) == 0;
        if (!set || posix_spawn(&child, program, &files, &settings, arguments, environment) != 0)
            child = 0;
        posix_spawnattr_destroy(&settings);
    }
    posix_spawn_file_actions_destroy(&files);
    return child;
}

/* Until the child has gone or the time is up; then it and what it started are ended.  A host that reaps children itself, or ignores SIGCHLD, takes
 * ours too, which waitpid tells by an error: it is gone, and its number may be another's, which gets no signal. */
static void wait_for(pid_t child, int64_t until)
{
    while (waitpid(child, NULL, WNOHANG) == 0) {
        if (milliseconds() < until) {
            moment();
            continue;
        }
        kill(-child, SIGKILL);
        for (int patience = 0; patience < 100 && waitpid(child, NULL, WNOHANG) == 0; patience++)
            moment();
        return;
    }
}

/* One compilation under the lock that is held. */
static const char *compile(char *program, const char *profile, const char *target, int log, int64_t until)
{
    char from[NVP_PATH_SIZE], to[NVP_PATH_SIZE];
    /* above the numbers of the child's own files: a copy onto its own number would be closed at exec */
    const int out = fcntl(log, F_DUPFD_CLOEXEC, 10);
    const bool named = nvp_format(from, sizeof from, "%s", profile) && nvp_format(to, sizeof to, "%s", target);
    const pid_t child = out < 0 || !named ? 0 : start(program, from, to, out);
    if (out >= 0)
        close(out);
    if (child > 0)
        wait_for(child, until);
    return child > 0 ? "its compiler made none, see its log beside the image's place" : "its compiler could not be started";
}

/* The log, locked: whoever has it compiles, the others wait for it and find the image. */
static int locked_log(const char *target, int64_t until)
{
    char path[NVP_PATH_SIZE];
    struct stat status;
    if (!nvp_format(path, sizeof path, "%s.log", target))
        return -1;
    const int log = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | NVP_OPEN, 0600);
    if (log >= 0 && fstat(log, &status) == 0 && S_ISREG(status.st_mode)) {
        while (flock(log, LOCK_EX | LOCK_NB) != 0 && milliseconds() < until)
            moment();
        if (milliseconds() < until)
            return log;
    }
    if (log >= 0)
        close(log);
    return -1;
}

/* Have target made from profile.  NULL where ready says that it is there, else why it is not. */
const char *nvp_compile(const char *profile, const char *target, bool (*ready)(void *), void *request)
{
    static bool tried; /* under the init lock */
    char program[NVP_PATH_SIZE], path[NVP_PATH_SIZE];
    if (getauxval(AT_SECURE))
        return "none is compiled for a program with more rights than its user";
    const char *why = compiler(program);
    if (why)
        return why;
    if (target[0] == '\0')
        return "neither its folder nor the cache can be written";
    if (tried)
        return "it was compiled once already by this process";
    tried = true;
    const int64_t until = milliseconds() + PATIENCE_MS;
    const int log = locked_log(target, until);
    if (log < 0)
        return "the log of its compiler cannot be written, or another process compiles without end";
    if (!ready(request)) {
        why = ftruncate(log, 0) == 0 ? compile(program, profile, target, log, until) : "the log of its compiler cannot be written";
        if (ready(request))
            why = NULL;
    }
    /* who waits for this lock finds the image; after a failure the log stays */
    if (why == NULL && nvp_format(path, sizeof path, "%s.log", target))
        unlink(path);
    close(log);
    return why;
}
