/* The one performance state that is modelled, the board's own: the clocks it spans, and NVML's texts of them (ledger I11, I20). */
#include "nvp.h"

/* Whether the board is in pstate; the code where it is not, or does not say. */
static nvmlReturn_t state_check(const struct nvp_device *device, nvmlPstates_t pstate)
{
    uint64_t state;
    if ((unsigned int)pstate > NVML_PSTATE_15)
        return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t code = nvp_number(device, NVP_F_performance_state, &state);
    if (code != NVML_SUCCESS)
        return code;
    return state == (uint64_t)pstate ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvp_h_clocks_of_state(const struct nvp_device *device, nvmlClockType_t type, nvmlPstates_t pstate, unsigned int *least, unsigned int *most)
{
    static const uint16_t graphics[] = {NVP_F_clocks_envelope_graphics_min_mhz, NVP_F_clocks_envelope_graphics_max_mhz};
    static const uint16_t memory[] = {NVP_F_clocks_envelope_memory_min_mhz, NVP_F_clocks_envelope_memory_max_mhz};
    uint64_t ends[2];
    nvmlReturn_t code = state_check(device, pstate);
    if (code == NVML_SUCCESS && type == NVML_CLOCK_VIDEO)
        code = NVML_ERROR_NOT_SUPPORTED;
    if (code == NVML_SUCCESS)
        code = nvp_resolve(device, type == NVML_CLOCK_MEM ? memory : graphics, 2, ends);
    if (code != NVML_SUCCESS)
        return code;
    *least = (unsigned int)ends[0];
    *most = (unsigned int)ends[1];
    return NVML_SUCCESS;
}

/* The list is filled up with PSTATE_UNKNOWN; size counts bytes. */
nvmlReturn_t nvp_h_performance_states(const struct nvp_device *device, nvmlPstates_t *pstates, unsigned int size)
{
    uint64_t state;
    const nvmlReturn_t code = nvp_number(device, NVP_F_performance_state, &state);
    if (code != NVML_SUCCESS)
        return code;
    if (size < sizeof *pstates)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < size / sizeof *pstates && i < NVML_MAX_GPU_PERF_PSTATES; i++)
        pstates[i] = i ? NVML_PSTATE_UNKNOWN : (nvmlPstates_t)state;
    return NVML_SUCCESS;
}

struct domain {
    uint64_t now, least, most;
    unsigned int editable;
};

static nvmlReturn_t domains(const struct nvp_device *device, struct domain *graphics, struct domain *memory)
{
    static const uint16_t ids[] = {NVP_F_clocks_graphics_current, NVP_F_clocks_envelope_graphics_min_mhz, NVP_F_clocks_envelope_graphics_max_mhz,
                                   NVP_F_clocks_memory_current, NVP_F_clocks_envelope_memory_min_mhz, NVP_F_clocks_envelope_memory_max_mhz};
    uint64_t values[6], unused;
    const nvmlReturn_t code = nvp_resolve(device, ids, 6, values);
    if (code != NVML_SUCCESS)
        return code;
    *graphics = (struct domain){values[0], values[1], values[2], nvp_number(device, NVP_F_clocks_offsets_graphics_set_mhz, &unused) == NVML_SUCCESS};
    *memory = (struct domain){values[3], values[4], values[5], nvp_number(device, NVP_F_clocks_offsets_memory_set_mhz, &unused) == NVML_SUCCESS};
    return NVML_SUCCESS;
}

/* The clocks of both domains as tokens; front: what stands before them.  Memory transfers are two a clock. */
static nvmlReturn_t tokens(char *text, size_t size, const char *front, const struct domain *graphics, const struct domain *memory)
{
    const unsigned long long g[] = {graphics->now, graphics->least, graphics->most}, m[] = {memory->now, memory->least, memory->most};
    const bool whole = nvp_format(text, size,
                                  "%snvclock=%llu, nvclockmin=%llu, nvclockmax=%llu, nvclockeditable=%u, memclock=%llu, memclockmin=%llu, memclockmax=%llu, "
                                  "memclockeditable=%u, memtransferrate=%llu, memtransferratemin=%llu, memtransferratemax=%llu, memtransferrateeditable=%u ;",
                                  front, g[0], g[1], g[2], graphics->editable, m[0], m[1], m[2], memory->editable, 2 * m[0], 2 * m[1], 2 * m[2],
                                  memory->editable);
    return whole ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

/* One mode, the lowest level of those there are (nvml.h counts them up from the least); its clocks are the least of its range. */
nvmlReturn_t nvp_h_performance_modes(const struct nvp_device *device, nvmlDevicePerfModes_t *modes)
{
    struct domain graphics, memory;
    const nvmlReturn_t code = domains(device, &graphics, &memory);
    if (code != NVML_SUCCESS)
        return code;
    graphics.now = graphics.least;
    memory.now = memory.least;
    return tokens(modes->str, sizeof modes->str, "perf=0, ", &graphics, &memory);
}

nvmlReturn_t nvp_h_clock_freqs(const struct nvp_device *device, nvmlDeviceCurrentClockFreqs_t *freqs)
{
    struct domain graphics, memory;
    const nvmlReturn_t code = domains(device, &graphics, &memory);
    return code == NVML_SUCCESS ? tokens(freqs->str, sizeof freqs->str, "perf=0, ", &graphics, &memory) : code;
}
