/* First of what every process of a whole sanitized run loads (tests/sanitized/__main__.py): the runtimes' options, which an emptied environment
   cannot take away, and a line in LOADED for each NVML library that a process opens.

   OPTIONS, UBSAN_OPTIONS and LOADED are texts given by the compiler's -D; TSAN is defined for the thread sanitizer. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN const char *__asan_default_options(void) { return OPTIONS; }
SHOWN const char *__tsan_default_options(void) { return OPTIONS; }
SHOWN const char *__ubsan_default_options(void) { return UBSAN_OPTIONS; }

/* The sanitizer's runtime that the library asks for: "asan", "tsan", or "none". */
static const char *runtime(const struct link_map *map)
{
    const char *strings = NULL, *found = "none";
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB)
            strings = (const char *)entry->d_un.d_ptr;
    for (const ElfW(Dyn) *entry = map->l_ld; strings && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag != DT_NEEDED)
            continue;
        if (!strncmp(strings + entry->d_un.d_val, "libasan.", 8))
            found = "asan";
        else if (!strncmp(strings + entry->d_un.d_val, "libtsan.", 8))
            found = "tsan";
    }
    return found;
}

SHOWN void *dlopen(const char *name, int flags)
{
    static void *(*next)(const char *, int);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    void *opened = next(name, flags);
    struct link_map *map = NULL;
    if (!opened || !name || !strstr(name, "nvidia-ml") || dlinfo(opened, RTLD_DI_LINKMAP, &map) || !map)
        return opened;
    char line[1024];
    int length = snprintf(line, sizeof line, "%ld %s %s %s\n", (long)getpid(), runtime(map), program_invocation_short_name, map->l_name);
    int file = open(LOADED, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0 && length > 0 && (size_t)length < sizeof line)
        (void)!write(file, line, (size_t)length);
    if (file >= 0)
        close(file);
    return opened;
}

#if defined(TSAN) && defined(__x86_64__)
/* libtsan's setjmp jumps to 0 in a program that was not built with it, a shell for one.  Those of the C library are taken; our library has none. */
#define JUMP(name)                                                                                                                                \
    __attribute__((used)) static void *real_##name;                                                                                               \
    __asm__(".globl " #name "\n.type " #name ",@function\n" #name ":\n\tjmp *real_" #name "(%rip)\n.size " #name ", .-" #name "\n")
JUMP(setjmp);
JUMP(_setjmp);
JUMP(__sigsetjmp);
JUMP(longjmp);
JUMP(_longjmp);
JUMP(siglongjmp);
JUMP(__longjmp_chk);

__attribute__((constructor)) static void find_jumps(void)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    real_setjmp = dlsym(libc, "setjmp");
    real__setjmp = dlsym(libc, "_setjmp");
    real___sigsetjmp = dlsym(libc, "__sigsetjmp");
    real_longjmp = dlsym(libc, "longjmp");
    real__longjmp = dlsym(libc, "_longjmp");
    real_siglongjmp = dlsym(libc, "siglongjmp");
    real___longjmp_chk = dlsym(libc, "__longjmp_chk");
}
#endif
