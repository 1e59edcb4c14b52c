/* nvmlSystemGetCPER_v1: one error record in UEFI's Common Platform Error Record format for each failure that was injected (ledger V20 to V23).
 *
 * A record is a header, one section descriptor and one section (UEFI specification 2.10, appendix N.2); all of it is little-endian. */
#include "nvp.h"

#include <time.h>

#define KEPT 128 /* the newest records that are handed out (ledger V20) */

#define HEADER_SIZE 128
#define DESCRIPTOR_SIZE 72
#define MEMORY_SECTION_SIZE 80
#define LOST_SECTION_SIZE 64
#define SECTION_AT (HEADER_SIZE + DESCRIPTOR_SIZE)
#define LARGEST (SECTION_AT + MEMORY_SECTION_SIZE)

#define SEVERITY_FATAL 1
#define TIMESTAMP_VALID 2  /* validation bit of the header */
#define FRU_TEXT_VALID 2   /* validation bit of a descriptor */
#define PRIMARY 1          /* flag of a descriptor */
#define SIMULATED 4        /* flag of a record */
#define ERROR_TYPE_VALID (1ULL << 14)
#define MULTI_BIT_ECC 3

/* Identities of our own begin with "MOCK"; the memory error section is UEFI's (N.2.5). */
static const unsigned char creator[16] = {0x4b, 0x43, 0x4f, 0x4d, 0x01, 0x00, 0x00, 0x40, 0x80, 0x00, 'n', 'v', 'p', 'a', 'r', 0};
static const unsigned char notification[16] = {0x4b, 0x43, 0x4f, 0x4d, 0x02, 0x00, 0x00, 0x40, 0x80, 0x00, 'n', 'v', 'p', 'a', 'r', 0};
static const unsigned char lost_section[16] = {0x4b, 0x43, 0x4f, 0x4d, 0x03, 0x00, 0x00, 0x40, 0x80, 0x00, 'n', 'v', 'p', 'a', 'r', 0};
static const unsigned char memory_section[16] = {0x14, 0x11, 0xbc, 0xa5, 0x64, 0x6f, 0xde, 0x4e, 0xb8, 0x63, 0x3e, 0x83, 0xed, 0x7c, 0x83, 0xb1};

/* A number of size bytes at its offset, whatever its alignment. */
static void put(unsigned char *record, unsigned int offset, unsigned int size, uint64_t value)
{
    for (unsigned int i = 0; i < size; i++)
        record[offset + i] = (unsigned char)(value >> (8 * i));
}

static unsigned int decimal(int value)
{
    return (unsigned int)(value / 10 % 10 * 16 + value % 10);
}

/* Seconds, minutes, hours, a flag that says whether the time is precise, day, month, year, century; binary coded decimal, UTC. */
static uint64_t timestamp(uint64_t time_ns)
{
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm at;
    if (gmtime_r(&seconds, &at) == NULL)
        return 0;
    const unsigned int parts[] = {decimal(at.tm_sec), decimal(at.tm_min), decimal(at.tm_hour), 1, decimal(at.tm_mday), decimal(at.tm_mon + 1),
                                  decimal(at.tm_year % 100), decimal((at.tm_year + 1900) / 100)};
    uint64_t packed = 0;
    for (unsigned int i = 0; i < 8; i++)
        packed |= (uint64_t)parts[i] << (8 * i);
    return packed;
}

static void put_lost(unsigned char *section, const struct nvp_device *device, const struct nvp_event *event)
{
    uint64_t board = 0;
    (void)nvp_identity_number(device, NVP_F_board_id, &board);
    put(section, 0, 4, event->data & 0xffffffff);
    put(section, 4, 4, board);
    put(section, 8, 4, event->data >> 32);
    (void)nvp_identity_text(device, NVP_F_uuid, (char *)section + 16, LOST_SECTION_SIZE - 16);
}

/* One record, its size. */
static uint32_t write_record(unsigned char *record, const struct nvp_device *device, const struct nvp_event *event)
{
    const bool memory = (event->data >> 32) == NVP_FAILURE_ECC_UNCORRECTABLE;
    const uint32_t section = memory ? MEMORY_SECTION_SIZE : LOST_SECTION_SIZE, size = SECTION_AT + section;
    char address[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE] = "";
    memset(record, 0, size);
    memcpy(record, "CPER", 4);
    put(record, 4, 2, 0x0101);
    put(record, 6, 4, 0xffffffff);
    put(record, 10, 2, 1);
    put(record, 12, 4, SEVERITY_FATAL);
    put(record, 16, 4, TIMESTAMP_VALID);
    put(record, 20, 4, size);
    put(record, 24, 8, timestamp(event->time_ns));
    memcpy(record + 64, creator, sizeof creator);
    memcpy(record + 80, notification, sizeof notification);
    put(record, 96, 8, event->sequence);
    put(record, 104, 4, SIMULATED);
    unsigned char *const descriptor = record + HEADER_SIZE;
    put(descriptor, 0, 4, SECTION_AT);
    put(descriptor, 4, 4, section);
    put(descriptor, 8, 2, 0x0100);
    put(descriptor, 12, 4, PRIMARY);
    memcpy(descriptor + 16, memory ? memory_section : lost_section, 16);
    put(descriptor, 48, 4, SEVERITY_FATAL);
    if (nvp_identity_text(device, NVP_F_pci_bus_id_legacy, address, sizeof address) && strlen(address) < 20) {
        put(descriptor, 10, 1, FRU_TEXT_VALID);
        memcpy(descriptor + 52, address, strlen(address));
    }
    if (memory) {
        put(record, SECTION_AT, 8, ERROR_TYPE_VALID);
        put(record, SECTION_AT + 72, 1, MULTI_BIT_ECC);
    } else {
        put_lost(record + SECTION_AT, device, event);
    }
    return size;
}

/* Whether an event is a record that the caller asks for, and of which device. */
static const struct nvp_device *device_of(const struct nvp_event *event, const char *uuid)
{
    char own[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    if (event->type != NVP_EVENT_FAILURE || event->device >= nvp_image->device_count)
        return NULL;
    const struct nvp_device *const device = &nvp_devices[event->device + 1];
    if (uuid[0] && !(nvp_identity_text(device, NVP_F_uuid, own, sizeof own) && strcmp(own, uuid) == 0))
        return NULL;
    return device;
}

/* Where the newest KEPT records begin. */
static uint64_t oldest_kept(uint64_t newest)
{
    struct nvp_event event;
    uint64_t sequence = newest;
    for (unsigned int kept = 0; sequence && newest - sequence < NVP_EVENT_COUNT; sequence--)
        if (nvp_event_read(sequence, &event) && event.type == NVP_EVENT_FAILURE && ++kept > KEPT)
            break;
    return sequence;
}

/* Records from the cursor on: whole ones into the buffer while they fit.  *needed: the bytes of all of them; *used: of those that were written. */
static void read_records(nvmlGetCPER_v1_t *cper, const char *uuid, uint64_t *needed, uint64_t *used)
{
    const uint64_t newest = nvp_event_newest(), kept = oldest_kept(newest);
    struct nvp_event event;
    unsigned char record[LARGEST];
    bool full = false;
    for (uint64_t sequence = cper->cursor.handle > kept ? cper->cursor.handle : kept; sequence < newest;) {
        if (!nvp_event_read(++sequence, &event))
            continue;
        const struct nvp_device *const device = device_of(&event, uuid);
        if (device == NULL)
            continue;
        const uint32_t size = write_record(record, device, &event);
        *needed += size;
        full = full || cper->buffer == NULL || size > cper->bufferSize - *used;
        if (full)
            continue;
        memcpy(cper->buffer + *used, record, size);
        *used += size;
        cper->cursor.handle = sequence;
    }
}

nvmlReturn_t nvp_h_get_cper(nvmlGetCPER_v1_t *cper)
{
    char uuid[NVML_DEVICE_UUID_BUFFER_SIZE + 1];
    uint64_t needed = 0, used = 0;
    if (cper->buffer == NULL && cper->bufferSize != 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    memcpy(uuid, cper->cursor.uuid, sizeof cper->cursor.uuid);
    uuid[sizeof cper->cursor.uuid] = '\0';
    if (cper->cursor.cperTypeMask & NVML_CPER_ACCESS_TYPE_GPU) {
        nvp_failures_tell();
        read_records(cper, uuid, &needed, &used);
    }
    cper->bufferSize = (unsigned int)(used ? used : needed);
    return used == 0 && needed ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}
