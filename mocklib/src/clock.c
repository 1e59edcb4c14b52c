/* Time is one function, from the node's record: real, frozen, or scaled.  Nanoseconds since 1970. */
#include "nvp.h"

#include <stdio.h>
#include <time.h>

uint64_t nvp_real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* scaled: at + (real - start) x scale, scale in millionths. */
uint64_t nvp_now_in(const unsigned char *node_half)
{
    const struct nvp_record *record = (const struct nvp_record *)(const void *)node_half;
    if (record->clock_mode == NVP_CLOCK_FROZEN)
        return record->clock_at_ns;
    const uint64_t real = nvp_real_ns();
    if (record->clock_mode != NVP_CLOCK_SCALED)
        return real;
    const uint64_t elapsed = real > record->clock_start_ns ? real - record->clock_start_ns : 0;
    return record->clock_at_ns + (uint64_t)((__extension__(unsigned __int128)elapsed * record->clock_scale_ppm) / 1000000);
}

uint64_t nvp_now_ns(void)
{
    uint64_t now;
    NVP_READ_BEGIN(&nvp_node)
        now = nvp_now_in(nvp_half);
    NVP_READ_END(&nvp_node)
    return now;
}

/* Nanoseconds since 1970 in a text of whole seconds; 0 where it is none. */
static uint64_t parse_seconds(const char *text)
{
    uint64_t seconds = 0;
    for (; text && *text >= '0' && *text <= '9' && seconds < 10000000000ULL; text++)
        seconds = seconds * 10 + (uint64_t)(*text - '0');
    return text && (*text == '\0' || *text == '\n') && seconds < 10000000000ULL ? seconds * 1000000000ULL : 0;
}

/* When the host was started, of /proc/stat; 0 where it does not say. */
static uint64_t boot_ns(void)
{
    char line[256];
    uint64_t found = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file && found == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "btime ", 6) == 0)
            found = parse_seconds(line + 6);
    if (file)
        fclose(file);
    return found;
}

/* Where the node's record names no epoch: MOCK_NVML_EPOCH, else the start of the host, else that of the process (ledger A09).  The kernel makes all of
 * /proc/stat for a reader, which takes as long as half an nvmlInit: it is read when the first reading asks, and is the same whenever that is. */
static uint64_t epoch_here, process_ns;

/* At the first nvmlInit. */
void nvp_epoch_begin(void)
{
    const char *const named = nvp_environment("MOCK_NVML_EPOCH");
    const uint64_t asked = named && strchr(named, '\n') == NULL ? parse_seconds(named) : 0;
    if (named != NULL && asked == 0)
        nvp_refuse_variable("MOCK_NVML_EPOCH", named, "is no number of whole seconds since 1970, 1 to 9999999999", "what adds up began when this host started");
    if (asked)
        __atomic_store_n(&epoch_here, asked, __ATOMIC_RELAXED);
    if (__atomic_load_n(&process_ns, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&process_ns, nvp_real_ns(), __ATOMIC_RELAXED);
}

/* The epoch of this process; the first thread that asks decides it. */
static uint64_t own_epoch_ns(void)
{
    uint64_t known = __atomic_load_n(&epoch_here, __ATOMIC_RELAXED);
    if (known != 0)
        return known;
    const uint64_t booted = boot_ns(), epoch = booted ? booted : __atomic_load_n(&process_ns, __ATOMIC_RELAXED);
    return __atomic_compare_exchange_n(&epoch_here, &known, epoch, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ? epoch : known;
}

/* The instant from which on counters, energy and traffic add up, the same in every process of a state. */
uint64_t nvp_epoch_ns(void)
{
    uint64_t epoch;
    NVP_READ_BEGIN(&nvp_node)
        epoch = ((const struct nvp_record *)(const void *)nvp_half)->epoch_ns;
    NVP_READ_END(&nvp_node)
    return epoch ? epoch : own_epoch_ns();
}

uint64_t nvp_motion_start(const struct nvp_motion *motion)
{
    return motion->start_ns ? motion->start_ns : nvp_epoch_ns();
}
