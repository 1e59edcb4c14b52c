/* Time is one function, from the node's record: real, frozen, or scaled.  Nanoseconds since 1970. */
#include "nvp.h"

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

/* The instant the image's clock begins at: when its driver was loaded (ledger R04); 0 under the real clock, whose image names none. */
uint64_t nvp_clock_start_ns(void)
{
    uint64_t start;
    NVP_READ_BEGIN(&nvp_node)
        start = ((const struct nvp_record *)(const void *)nvp_half)->clock_at_ns;
    NVP_READ_END(&nvp_node)
    return start;
}
