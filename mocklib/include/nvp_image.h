/* The image and state files, byte for byte: read by the C library and, through cffi, by the Python that packs them.
 *
 * Fixed-width integers only, no pointers.  Offsets count bytes from the start of the file (image, state) or of the record (record).  An image
 * belongs to one machine type: integers are in its byte order.  Any change here, in the field tables or in the list of functions changes the
 * layout word, and a library refuses an image with another one.
 */
#ifndef NVP_IMAGE_H
#define NVP_IMAGE_H

#include <stdint.h>

#include "nvp_recorded.h"

#define NVP_IMAGE_MAGIC 0x31474d4950564e00ULL
#define NVP_STATE_MAGIC 0x3154415450564e00ULL
#define NVP_RECORD_MAGIC 0x4350564eU
#define NVP_FORMAT 2
#define NVP_NO_FIELD 0xffff
#define NVP_SLOT_COUNT 512
#define NVP_MAX_DEVICES 4000

#define NVP_CONSTANT 0
#define NVP_RAMP 1
#define NVP_TRACK 2
#define NVP_COUNTED 3

#define NVP_MODE_PRESENT 1
#define NVP_MODE_ECC 2
#define NVP_MODE_UNARMED 4 /* no failure injector counts calls */
#define NVP_MARK_REMOVED 1
#define NVP_MARK_DRAINING 2
#define NVP_MARK_EXCLUDED 4

#define NVP_ROOT 0
#define NVP_USER 1

#define NVP_EVENT_COUNT 256
#define NVP_CLOCK_REAL 0
#define NVP_CLOCK_FROZEN 1
#define NVP_CLOCK_SCALED 2

#define NVP_SHAPE_U32 0
#define NVP_SHAPE_I32 1
#define NVP_SHAPE_STRING 2
#define NVP_SHAPE_PROCESSES 3
#define NVP_SHAPE_FIELD_VALUES 4
#define NVP_SHAPE_PROCESSES_UNPROTECTED 5
#define NVP_SHAPE_PROCESS_SAMPLES 6
#define NVP_SHAPE_PROCESS_SAMPLES_FOUR 7
#define NVP_SHAPE_LANE_ERRORS 8
#define NVP_SHAPE_LANE_CORRECTIONS 9
#define NVP_SHAPE_HANDLE 10 /* from here on a slot has no field */
#define NVP_SHAPE_OK 11
#define NVP_SHAPE_PCI_ADDRESS 12
#define NVP_SHAPE_TOPOLOGY_PAIR 13
#define NVP_SHAPE_ZERO_FIRST 14
#define NVP_SHAPE_ZERO_SECOND 15
#define NVP_SHAPE_ZERO_THIRD 16
#define NVP_SHAPE_RESET 17
#define NVP_SHAPE_RESET_LIST 18
#define NVP_SHAPE_PERSISTENCE 19
#define NVP_SHAPE_COUNT 20

#define NVP_ENTRY_V1 0
#define NVP_ENTRY_V2 1
#define NVP_ENTRY_DETAIL 2

#define NVP_LINK_SPEED 0 /* of an active link; any other has none */
#define NVP_LINK_SPEED_OR_ZERO 1
#define NVP_LINK_STATE 2
#define NVP_LINK_VERSION 3
#define NVP_LINK_REMOTE_LINK 4
#define NVP_LINK_KIB 5
#define NVP_LINK_BYTES 6
#define NVP_LINK_PACKETS 7
#define NVP_LINK_ERRORS 8
#define NVP_LINK_NONE 9 /* a count that stays 0 while the link is up */
#define NVP_LINK_READINGS 10
#define NVP_SCOPE_LINK 0xffffffff
#define NVP_ALL_LINKS 0xfffffffe

#define NVP_NODE 0xffffffff

#define NVP_NO_ARGUMENT 0xff

/* One field: a value, or the nvmlReturn_t answered instead (status), how it moves (kind) and the mode bits that must hold (need).
 * value: the number; for variable data its offset in the record.  extra: bytes of variable data; for a moving field its motion. */
struct nvp_field {
    uint64_t value;
    uint16_t status;
    uint8_t kind;
    uint8_t need;
    uint32_t extra;
};

/* How a moving field moves (NVP_RAMP, NVP_TRACK; NVP_COUNTED rises with every guarded call since the injector was made and has none of this), from start on (0: from the node's epoch).  ramp: base + rate x (now - start), rate per second.  track: samples[(now - start) / period], held or looped. */
struct nvp_motion {
    uint64_t start_ns;
    int64_t rate;
    uint64_t period_ns;
    uint32_t samples;
    uint32_t sample_count;
    uint32_t loop;
    uint32_t reserved;
};

/* One record: what a device (or the node) answers.  odd: the bits of a field's status, kind and need that make its answer other than its value, which
 * are all but the need bits whose modes hold: ~(modes << 24).  marks: what hides a device from an nvmlInit.  handle_code and reading_code: what a lookup and every other call answer for a device
 * that is not present (a lost one both GPU_IS_LOST; a handle_code of 0 gives the handle all the same).  Followed by field_count fields, then motions, overridden bits and
 * variable data, together size bytes.  text, all_text: the override document's part of this device and of all, as JSON, within these; 0 for none.
 *
 * reset: where the reset record stands behind this one, which a reset puts in its place; 0: the image's record.  total: the bytes of both.  Of the
 * node: privilege, epoch_ns (where what counts in time began; 0: as nvp_epoch_ns says) and seed. */
struct nvp_record {
    uint32_t magic;
    uint32_t size;
    uint32_t field_count;
    uint32_t motions;
    uint32_t motion_count;
    uint32_t overridden;
    uint32_t data;
    uint32_t clock_mode;
    uint32_t modes;
    uint32_t odd;
    uint64_t clock_at_ns;
    uint64_t clock_start_ns;
    uint64_t clock_scale_ppm;
    uint32_t handle_code;
    uint32_t reading_code;
    uint32_t marks;
    uint32_t privilege;
    uint64_t epoch_ns;
    uint64_t seed;
    uint32_t total;
    uint32_t reset;
    uint32_t text;
    uint32_t text_size;
    uint32_t all_text;
    uint32_t all_text_size;
    uint64_t reserved;
};

struct nvp_process {
    uint32_t pid;
    uint32_t gpu_instance;
    uint32_t compute_instance;
    uint32_t name;
    uint64_t used_bytes;
    uint64_t protected_bytes;
    uint32_t name_size;
    uint32_t reserved;
};

/* One process of the accounting buffer, in the units of nvmlAccountingStats_t: percent, bytes, milliseconds. */
struct nvp_accounted {
    uint32_t pid;
    uint32_t running;
    uint32_t gpu_utilization;
    uint32_t memory_utilization;
    uint64_t max_memory;
    uint64_t time_ms;
};

/* One memory clock of a clock table; graphics: offset of its graphics clocks in the record. */
struct nvp_memory_clock {
    uint32_t mhz;
    uint32_t graphics;
    uint32_t graphics_count;
    uint32_t reserved;
};

/* Retired pages: the count, then the addresses that are known, then the times of retirement that are known, in seconds since 1970. */
struct nvp_pages {
    uint64_t count;
    uint64_t known;
    uint64_t dated;
};

/* One NVLink of a GPU, in the list nvlink.links: NVML_NVLINK_STATE_*, nvmlIntNvLinkDeviceType_t, and the PCI address and link of the other end; address:
 * bus << 8 | device << 3 | function.  A domain of 0xffffffff with an address of 0xffff: none is known. */
struct nvp_link {
    uint32_t state;
    uint32_t kind;
    uint32_t domain;
    uint32_t address;
    uint32_t remote_link;
    uint32_t device_id;
};

struct nvp_device_entry {
    uint32_t record;
    uint32_t size;
};

/* One answer of nvmlDeviceGetFieldValues.  per: a double is the field's number / per.  Sorted by id, then scope. */
struct nvp_field_id {
    uint32_t id;
    uint32_t scope;
    uint16_t field;
    uint8_t value_type;
    uint8_t reserved;
    uint32_t per;
};

/* One workload power profile that a board offers; a row of the field power.workload_profiles.offered.  conflicts: its mask of 255 bits. */
struct nvp_workload {
    uint32_t id;
    uint32_t priority;
    uint32_t conflicts[8];
};

/* One answer of nvmlDeviceGetFieldValues about a link.  link: its number, or NVP_SCOPE_LINK where the call's scope is it; what the reading (NVP_LINK_*)
 * of it is made from is in field, whose code it answers.  Sorted by id. */
struct nvp_link_id {
    uint32_t id;
    uint32_t link;
    uint16_t field;
    uint8_t value_type;
    uint8_t reading;
    uint32_t reserved;
};

/* One row of the private table.  key: the id of an entry of a list of field values.  Sorted by number, then key. */
struct nvp_slot {
    uint16_t number;
    uint8_t shape;
    uint8_t reserved;
    uint16_t field;
    uint16_t reserved2;
    uint32_t key;
};

/* A function whose list has other entries on this driver than nvml.h says today: of which struct (NVP_ENTRY_V1 nvmlProcessInfo_v1_t, V2
 * nvmlProcessInfo_v2_t, DETAIL nvmlProcessDetail_v1_t). */
struct nvp_entry {
    uint16_t function;
    uint8_t shape;
    uint8_t reserved;
};

/* A setter program: its steps; scope NVP_NODE: they are of the node's record. */
struct nvp_program {
    uint32_t first;
    uint32_t count;
    uint32_t scope;
    uint32_t reserved;
};

/* One step of a setter program; a failed check answers code.  Done only where when_field, or the argument when_argument, is when_value; index: the
 * argument that says which item.  Of NVP_STEP_SHARE, code is the first field of those that may be chosen among, index how many there are, and mode
 * the field that chooses. */
struct nvp_step {
    uint8_t op;
    uint8_t argument;
    uint16_t field;
    uint16_t low;
    uint16_t high;
    uint32_t code;
    uint32_t mode;
    uint64_t value;
    uint16_t when_field;
    uint8_t when_argument;
    uint8_t index;
    uint32_t reserved;
    uint64_t when_value;
};

/* The profile an image was compiled from; the path follows. */
struct nvp_source {
    uint64_t size;
    int64_t mtime_ns;
    uint64_t inode;
    uint8_t sha256[32];
    uint32_t path_size;
    uint32_t present;
};

struct nvp_table {
    uint32_t offset;
    uint32_t count;
};

/* The head of an image.  crc: zlib's CRC-32 of the whole file with this word zero. */
struct nvp_image {
    uint64_t magic;
    uint32_t format;
    uint32_t crc;
    uint64_t size;
    uint64_t layout;
    uint32_t device_count;
    uint32_t field_id_limit;
    struct nvp_device_entry node;
    struct nvp_table devices;
    struct nvp_table gates;
    struct nvp_table field_ids;
    struct nvp_table field_index;
    struct nvp_table link_ids;
    struct nvp_table slots;
    struct nvp_table entries;
    struct nvp_table programs;
    struct nvp_table steps;
    struct nvp_table source;
    struct nvp_table forms;
    struct nvp_table parts;
    struct nvp_table recorded;
    struct nvp_table answers;
    struct nvp_table writes;
    struct nvp_table answer_data;
};

/* One event.  sequence: 1, 2, ...; 0 while it is being written.  commit: it is of a change of its device's record, and there once the record's
 * generation (its low half) has come so far; 0: it is there by itself. */
struct nvp_event {
    uint64_t sequence;
    uint64_t time_ns;
    uint64_t type;
    uint64_t data;
    uint32_t device;
    uint32_t gpu_instance;
    uint32_t compute_instance;
    uint32_t commit;
};

/* The newest events; that with sequence n stands at n % NVP_EVENT_COUNT.  newest: the sequence of the last one, but for those behind it that a writer
 * made, and was killed before it said so: of these the next writer takes away what is not there. */
struct nvp_events {
    uint64_t newest;
    struct nvp_event event[NVP_EVENT_COUNT];
};

/* The head of a state.  events: one struct nvp_events.  counters: one 64-bit count of guarded calls for each device, added to by whoever can write,
 * without the lock.  record i (0 the node, then the devices) starts at first + i x stride: a generation, then two halves of capacity bytes, of which
 * the file need hold only those in use. */
struct nvp_state {
    uint64_t magic;
    uint32_t format;
    uint32_t image_crc;
    uint64_t size;
    uint64_t layout;
    uint64_t image_size;
    uint32_t record_count;
    uint32_t capacity;
    uint64_t first;
    uint64_t stride;
    uint64_t events;
    uint64_t counters;
};

struct nvp_state_record {
    uint64_t generation;
    uint64_t reserved[7];
};

#endif
