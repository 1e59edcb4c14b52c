/* Profiling metrics (GPM): samples that the caller allocates, and what two of them of one device amount to (ledger U10 to U13).
 *
 * A sample is what the device read at one instant.  Activity is that of the later sample, a fixed part of its utilization; throughput of links is the
 * difference of their counters by the time between the two, so that the order in which they are given says nothing. */
#include "nvp.h"

#define SAMPLES 1024
#define LINKS NVML_NVLINK_MAX_LINKS
/* A reading that has a code instead of a value, the code in its low bits. */
#define REFUSED (1ULL << 63)

/* A word of a sample.  Words are stored one by one, so that a sample that is read while another thread fills it is stale, never undefined. */
enum word { DEVICE, TIME_NS, GPU, MEMORY, PCIE_TX, PCIE_RX, LINK_RX, LINK_TX = LINK_RX + LINKS, WORDS = LINK_TX + LINKS };

/* DEVICE is the device's record, 0 until the sample is filled. */
struct sample {
    uint64_t words[WORDS];
};

/* Samples, and of each the only handle that is valid for it now, 0 while it is free.  used: how many were ever given out. */
static struct sample samples[SAMPLES];
static uint64_t handles[SAMPLES];
static uint64_t used;
static uint32_t generation;

static struct sample *sample_of(nvmlGpmSample_t handle)
{
    const uint64_t given = (uint64_t)(uintptr_t)handle;
    const uint64_t slot = NVP_HANDLE_SLOT(given);
    if (given == 0 || slot >= SAMPLES || __atomic_load_n(&handles[slot], __ATOMIC_ACQUIRE) != given)
        return NULL;
    return &samples[slot];
}

static uint64_t word(const struct sample *sample, unsigned int at)
{
    return __atomic_load_n(&sample->words[at], __ATOMIC_RELAXED);
}

static void put(struct sample *sample, unsigned int at, uint64_t value)
{
    __atomic_store_n(&sample->words[at], value, __ATOMIC_RELAXED);
}

nvmlReturn_t nvp_gpm_sample_check(nvmlGpmSample_t handle)
{
    return sample_of(handle) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvp_h_gpm_sample_alloc(nvmlGpmSample_t *sample)
{
    const uint64_t number = __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED) & 0xffffff;
    for (uint64_t slot = 0; slot < SAMPLES; slot++) {
        uint64_t none = 0;
        const uint64_t handle = NVP_HANDLE_TAG | number << 32 | slot << NVP_SLOT_SHIFT | NVP_KIND_GPM_SAMPLE;
        if (__atomic_compare_exchange_n(&handles[slot], &none, handle, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            put(&samples[slot], DEVICE, 0);
            if (__atomic_load_n(&used, __ATOMIC_RELAXED) <= slot)
                __atomic_store_n(&used, slot + 1, __ATOMIC_RELEASE);
            *sample = (nvmlGpmSample_t)(uintptr_t)handle;
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_MEMORY;
}

nvmlReturn_t nvp_h_gpm_sample_free(nvmlGpmSample_t sample)
{
    uint64_t handle = (uint64_t)(uintptr_t)sample;
    uint64_t *const place = &handles[NVP_HANDLE_SLOT(handle)];
    return __atomic_compare_exchange_n(place, &handle, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* The last shutdown ends every sample. */
void nvp_gpm_samples_end(void)
{
    for (uint64_t i = 0; i < __atomic_load_n(&used, __ATOMIC_ACQUIRE); i++)
        __atomic_store_n(&handles[i], 0, __ATOMIC_RELEASE);
}

/* One of the readings of a sample, which is one guarded call, counted before. */
static uint64_t reading(const struct nvp_device *device, uint16_t id)
{
    uint64_t value;
    const nvmlReturn_t code = nvp_settle(device, &id, 1, &value);
    return code == NVML_SUCCESS ? value & ~REFUSED : REFUSED | code;
}

/* What went through a link in KiB: the field id of the header, whose scope is the link; a metric of a link that no board has is not supported (U13). */
static uint64_t link_kib(const struct nvp_device *device, unsigned int id, unsigned int link)
{
    uint64_t value;
    const nvmlReturn_t code = nvp_field_value(device, id, link, &value);
    return code == NVML_SUCCESS ? value & ~REFUSED : REFUSED | (code == NVML_ERROR_INVALID_ARGUMENT ? NVML_ERROR_NOT_SUPPORTED : code);
}

nvmlReturn_t nvp_h_gpm_sample_get(const struct nvp_device *device, nvmlGpmSample_t handle)
{
    static const uint16_t guarded[] = {NVP_F_utilization_gpu, NVP_F_utilization_memory};
    struct sample *const sample = sample_of(handle);
    uint64_t supported;
    const nvmlReturn_t code = nvp_number(device, NVP_F_gpm_supported, &supported);
    if (code != NVML_SUCCESS || !supported)
        return code != NVML_SUCCESS ? code : NVML_ERROR_NOT_SUPPORTED;
    if (sample == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    (void)nvp_guard(device, guarded, 2);
    put(sample, TIME_NS, nvp_now_ns());
    put(sample, GPU, reading(device, NVP_F_utilization_gpu));
    put(sample, MEMORY, reading(device, NVP_F_utilization_memory));
    put(sample, PCIE_TX, reading(device, NVP_F_gpm_pcie_tx_mib_per_sec));
    put(sample, PCIE_RX, reading(device, NVP_F_gpm_pcie_rx_mib_per_sec));
    for (unsigned int link = 0; link < LINKS; link++) {
        put(sample, LINK_RX + link, link_kib(device, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, link));
        put(sample, LINK_TX + link, link_kib(device, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, link));
    }
    put(sample, DEVICE, device->record);
    return NVML_SUCCESS;
}

/* Parts of a GPU's utilization, in hundredths (ledger U11). */
static const uint8_t parts[] = {
    [NVML_GPM_METRIC_GRAPHICS_UTIL] = 100, [NVML_GPM_METRIC_SM_UTIL] = 100, [NVML_GPM_METRIC_SM_OCCUPANCY] = 75,
    [NVML_GPM_METRIC_INTEGER_UTIL] = 10, [NVML_GPM_METRIC_ANY_TENSOR_UTIL] = 50, [NVML_GPM_METRIC_DFMA_TENSOR_UTIL] = 2,
    [NVML_GPM_METRIC_HMMA_TENSOR_UTIL] = 40, [NVML_GPM_METRIC_DMMA_TENSOR_UTIL] = 5, [NVML_GPM_METRIC_IMMA_TENSOR_UTIL] = 5,
    [NVML_GPM_METRIC_FP64_UTIL] = 5, [NVML_GPM_METRIC_FP32_UTIL] = 25, [NVML_GPM_METRIC_FP16_UTIL] = 35,
};

/* hundredths x of of a reading. */
static nvmlReturn_t part(uint64_t of, uint64_t hundredths, double *value)
{
    if ((of | hundredths) & REFUSED)
        return (nvmlReturn_t)(uint32_t)(of & REFUSED ? of : hundredths);
    *value = (double)of * (double)hundredths / 100.0;
    return NVML_SUCCESS;
}

/* MiB a second through links first to last, of those that count; the code of the first where none does.  Between samples of one instant nothing went through. */
static nvmlReturn_t links(const struct sample *earlier, const struct sample *later, unsigned int counter, unsigned int first, unsigned int last,
                          double *value)
{
    const uint64_t start = word(earlier, TIME_NS), end = word(later, TIME_NS);
    bool counted = false;
    double kib = 0;
    for (unsigned int link = first; link <= last; link++) {
        const uint64_t before = word(earlier, counter + link), after = word(later, counter + link);
        if ((before | after) & REFUSED)
            continue;
        counted = true;
        kib += after > before ? (double)(after - before) : 0;
    }
    if (!counted)
        return (nvmlReturn_t)(uint32_t)word(word(later, counter + first) & REFUSED ? later : earlier, counter + first);
    *value = end > start ? kib / 1024.0 * 1e9 / (double)(end - start) : 0;
    return NVML_SUCCESS;
}

/* The metrics of one link: those of links 0 to 17, and of the links that later headers know, stand in pairs, read before written. */
static nvmlReturn_t link_metric(const struct sample *earlier, const struct sample *later, unsigned int id, double *value)
{
    static const struct {
        unsigned int first, last, link;
    } runs[] = {{NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC, NVML_GPM_METRIC_NVLINK_L17_TX_PER_SEC, 0},
                {NVML_GPM_METRIC_NVLINK_L18_RX_PER_SEC, NVML_GPM_METRIC_NVLINK_L35_TX_PER_SEC, 18}};
    for (unsigned int i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        if (id < runs[i].first || id > runs[i].last)
            continue;
        const unsigned int place = id - runs[i].first, link = runs[i].link + place / 2;
        return links(earlier, later, place % 2 ? LINK_TX : LINK_RX, link, link, value);
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t metric(const struct sample *earlier, const struct sample *later, unsigned int id, double *value)
{
    switch (id) {
    case NVML_GPM_METRIC_DRAM_BW_UTIL:
        return part(word(later, MEMORY), 100, value);
    case NVML_GPM_METRIC_PCIE_TX_PER_SEC:
        return part(word(later, PCIE_TX), word(later, GPU), value);
    case NVML_GPM_METRIC_PCIE_RX_PER_SEC:
        return part(word(later, PCIE_RX), word(later, GPU), value);
    case NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC:
        return links(earlier, later, LINK_RX, 0, LINKS - 1, value);
    case NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC:
        return links(earlier, later, LINK_TX, 0, LINKS - 1, value);
    default:
        if (id < sizeof parts && parts[id])
            return part(word(later, GPU), parts[id], value);
        return link_metric(earlier, later, id, value);
    }
}

nvmlReturn_t nvp_h_gpm_metrics_get(nvmlGpmMetricsGet_t *wanted)
{
    const struct sample *earlier = sample_of(wanted->sample1), *later = sample_of(wanted->sample2);
    if (earlier == NULL || later == NULL || wanted->numMetrics > NVML_GPM_METRIC_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (word(earlier, DEVICE) == 0 || word(earlier, DEVICE) != word(later, DEVICE))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (word(earlier, TIME_NS) > word(later, TIME_NS)) {
        const struct sample *const first = later;
        later = earlier;
        earlier = first;
    }
    for (unsigned int i = 0; i < wanted->numMetrics; i++) {
        nvmlGpmMetric_t *const one = &wanted->metrics[i];
        one->value = 0;
        one->nvmlReturn = metric(earlier, later, one->metricId, &one->value);
        memset(&one->metricInfo, 0, sizeof one->metricInfo); /* nvml.h: NULL where name and unit are not defined */
    }
    return NVML_SUCCESS;
}
