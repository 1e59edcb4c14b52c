/* Failures that are injected, and events; part of nvp.h. */
#ifndef NVP_FAILURE_H
#define NVP_FAILURE_H

/* Modes of an injector: the numbers of the field failure.mode. */
#define NVP_FAILURE_HEALTHY 0
#define NVP_FAILURE_LOST 1
#define NVP_FAILURE_FALLEN_OFF_BUS 2
#define NVP_FAILURE_ECC_UNCORRECTABLE 3

/* The type of an event that an injected failure is, beside NVML's own bits; its data: mode << 32 | Xid. */
#define NVP_EVENT_FAILURE 0x8000000000000000ULL

/* The instances of an event outside MIG (nvml.h, NVML_GPU_INSTANCE_ID_ANY). */
#define NVP_NO_INSTANCE 0xffffffffU

/* ---- events.c ---- */
nvmlReturn_t nvp_event_set_check(nvmlEventSet_t set);
void nvp_event_sets_end(void);
void nvp_events_before_fork(void);
void nvp_events_after_fork(void);
uint64_t nvp_wait_end(unsigned int timeout_ms);
bool nvp_wait_over(uint64_t end_ns);
void nvp_sleep_until(uint64_t end_ns);

/* ---- system_events.c ---- */
void nvp_system_event_sets_end(void);
void nvp_system_events_before_fork(void);
void nvp_system_events_after_fork(void);

/* ---- own.c: whether what others write into the state is to be taken over ---- */
extern bool nvp_following;
void nvp_own_follow(void);
void nvp_flag_following(void);

/* ---- failing.c: the failure injector of a device ---- */
void nvp_guarded_call(const struct nvp_device *device);
bool nvp_failed(const struct nvp_device *device);
uint64_t nvp_calls_in(const struct nvp_device *device, const unsigned char *half);
void nvp_failures_tell(void);

/* Whether the calls of a device are counted (ledger V12). */
static NVP_INLINE bool nvp_armed(const struct nvp_device *device)
{
    return !(nvp_record_of(device)->modes & NVP_MODE_UNARMED);
}

#endif
