/* Sessions of the encoder and of frame buffer capture, as the profile lists them (ledger K07). */
#include "nvp.h"

/* One session of a field: its numbers in the order of mocklib/tables/fields.yaml. */
struct encoder_session {
    uint32_t id, pid, codec, width, height, fps, latency_us;
};

struct fbc_session {
    uint32_t id, pid, display, type, flags, max_width, max_height, width, height, fps, latency_us;
};

typedef void writer(void *sessions, uint64_t at, const void *from);

/* No guest of a vGPU host has sessions here, so that the instance is zero, as nvml.h says of any other. */
static void write_encoder(void *sessions, uint64_t at, const void *from)
{
    struct encoder_session session;
    memcpy(&session, from, sizeof session); /* once: a state may change under the reader */
    nvmlEncoderSessionInfo_t *info = (nvmlEncoderSessionInfo_t *)sessions + at;
    *info = (nvmlEncoderSessionInfo_t){.sessionId = session.id, .pid = session.pid, .codecType = (nvmlEncoderType_t)session.codec,
                                       .hResolution = session.width, .vResolution = session.height, .averageFps = session.fps,
                                       .averageLatency = session.latency_us};
}

static void write_fbc(void *sessions, uint64_t at, const void *from)
{
    struct fbc_session session;
    memcpy(&session, from, sizeof session); /* once, too */
    nvmlFBCSessionInfo_t *info = (nvmlFBCSessionInfo_t *)sessions + at;
    *info = (nvmlFBCSessionInfo_t){.sessionId = session.id, .pid = session.pid, .displayOrdinal = session.display,
                                   .sessionType = (nvmlFBCSessionType_t)session.type, .sessionFlags = session.flags,
                                   .hMaxResolution = session.max_width, .vMaxResolution = session.max_height, .hResolution = session.width,
                                   .vResolution = session.height, .averageFPS = session.fps, .averageLatency = session.latency_us};
}

/* The list of field id, entries of size bytes: all of it where there is room, else INSUFFICIENT_SIZE and the count. */
static nvmlReturn_t listed(const struct nvp_device *device, unsigned int id, size_t size, unsigned int *count, void *sessions, writer *write)
{
    const unsigned int capacity = *count;
    nvmlReturn_t code;
    NVP_READ_BEGIN(device)
        const void *items = NULL;
        uint64_t number = 0;
        code = nvp_list_in(device, nvp_half, id, size, &items, &number);
        if (code == NVML_SUCCESS && number && (sessions == NULL || capacity < number))
            code = NVML_ERROR_INSUFFICIENT_SIZE;
        for (uint64_t i = 0; code == NVML_SUCCESS && i < number; i++)
            write(sessions, i, (const unsigned char *)items + i * size);
        *count = code == NVML_SUCCESS || code == NVML_ERROR_INSUFFICIENT_SIZE ? (unsigned int)number : capacity;
    NVP_READ_END(device)
    return code;
}

nvmlReturn_t nvp_h_encoder_sessions(const struct nvp_device *device, unsigned int *count, nvmlEncoderSessionInfo_t *sessions)
{
    return listed(device, NVP_F_encoder_stats_sessions, sizeof(struct encoder_session), count, sessions, write_encoder);
}

nvmlReturn_t nvp_h_fbc_sessions(const struct nvp_device *device, unsigned int *count, nvmlFBCSessionInfo_t *sessions)
{
    return listed(device, NVP_F_fbc_stats_sessions, sizeof(struct fbc_session), count, sessions, write_fbc);
}
