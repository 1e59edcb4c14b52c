/* What the library's sources share: the process's device table, reading a field, and the services of each file in src/. */
#ifndef NVP_H
#define NVP_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include "nvml.h"
#include "nvp_older.h"
#include "nvp_image.h"
#include "nvp_steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Everything shared between the sources stays inside the library, so that it is reached without the table of global offsets. */
#pragma GCC visibility push(hidden)

#include "zz_generated_names.h"

#define NVP_EXPORT __attribute__((visibility("default")))
#define NVP_INLINE inline __attribute__((always_inline))
#define NVP_COLD __attribute__((cold, noinline))
#define NVP_LIKELY(x) __builtin_expect(!!(x), 1)
#define NVP_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Flags of a function, one byte each: whatever is set sends the call through its cold copy. */
#define NVP_FLAG_GATE 1
#define NVP_FLAG_TRACE 2
#define NVP_FLAG_RECORDED 4
#define NVP_FLAG_COUNTED 8
#define NVP_FLAG_FOLLOWING 16

/* A handle is a number: kind in bits 0-5, slot in 6-17, slot generation in 18-31, init generation in 32-55, a tag above.  It is never dereferenced.
 * A slot of the device table has 64 bytes, so that the slot's bits are its place in the table as they stand. */
#define NVP_KIND_GPU 1
#define NVP_KIND_EVENT_SET 5
#define NVP_KIND_GPM_SAMPLE 6
#define NVP_SLOT_BITS 12
#define NVP_SLOTS (1 << NVP_SLOT_BITS)
#define NVP_SLOT_SHIFT 6
#define NVP_SLOT_MASK ((uintptr_t)(NVP_SLOTS - 1) << NVP_SLOT_SHIFT)
#define NVP_HANDLE_SLOT(handle) (((uintptr_t)(handle) & NVP_SLOT_MASK) >> NVP_SLOT_SHIFT)
#define NVP_HANDLE_TAG ((uint64_t)0x4e << 56)

/* One slot of the process's device table.  expect is the only handle that is valid for the slot now; 0 means none (slot 0 is never given out). */
struct nvp_device {
    uint64_t expect;
    const uint64_t *generation;
    const unsigned char *half[2];
    uint64_t capacity;
    uint32_t index;
    uint32_t record;
    uint32_t life; /* how often it came back after it was removed in this process */
    uint32_t reserved[3];
};

_Static_assert(sizeof(struct nvp_device) == 1 << NVP_SLOT_SHIFT, "the slot bits of a handle are a place in the table");

extern struct nvp_device nvp_devices[NVP_SLOTS];
extern struct nvp_device nvp_node;
extern unsigned char nvp_flag[NVP_FUNCTION_COUNT];

/* A byte is read whole on every machine; an atomic load would be an instruction of its own in every call, so that only the thread sanitizer gets one. */
#ifdef __SANITIZE_THREAD__
#define NVP_FLAGS(function) __atomic_load_n(&nvp_flag[function], __ATOMIC_RELAXED)
#else
#define NVP_FLAGS(function) nvp_flag[function]
#endif
extern unsigned int nvp_device_count; /* of those that this process sees */
extern unsigned int nvp_init_count;
extern const struct nvp_image *nvp_image;

/* ---- handles ---- */

static NVP_INLINE const struct nvp_device *nvp_device_of(nvmlDevice_t handle)
{
    const unsigned char *const table = (const unsigned char *)nvp_devices;
    const struct nvp_device *device = (const void *)(table + ((uintptr_t)handle & NVP_SLOT_MASK));
    return NVP_LIKELY(__atomic_load_n(&device->expect, __ATOMIC_ACQUIRE) == (uint64_t)(uintptr_t)handle) ? device : NULL;
}

static NVP_INLINE bool nvp_initialised(void)
{
    return __atomic_load_n(&nvp_init_count, __ATOMIC_ACQUIRE) != 0;
}

/* The record in force. */
static NVP_INLINE const struct nvp_record *nvp_record_of(const struct nvp_device *device)
{
    return (const void *)device->half[__atomic_load_n(device->generation, __ATOMIC_ACQUIRE) & 1];
}

/* Whether a device answers at all; one that does not has a code for its handle and one for everything else (a lost one: ledger V09). */
static NVP_INLINE bool nvp_present(const struct nvp_device *device)
{
    return (nvp_record_of(device)->modes & NVP_MODE_PRESENT) != 0;
}

/* The code of a call for something that a device does not have: absent where the device is present, else that of a device that is not. */
static NVP_INLINE nvmlReturn_t nvp_lacking(const struct nvp_device *device, nvmlReturn_t absent)
{
    const struct nvp_record *const record = nvp_record_of(device);
    return record->modes & NVP_MODE_PRESENT ? absent : (nvmlReturn_t)record->reading_code;
}

/* The code for a handle that is none: UNINITIALIZED before nvmlInit, else INVALID_ARGUMENT. */
static NVP_INLINE nvmlReturn_t nvp_bad_handle(void)
{
    return nvp_initialised() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
}

nvmlDevice_t nvp_handle_of(const struct nvp_device *device);
bool nvp_parse_bus_id(const char *text, uint64_t place[4]);

/* ---- visible.c: which GPUs this process sees; nvp_devices[1 + i] is GPU i of the image, seen or not ---- */
const struct nvp_device *nvp_device_at(unsigned int index);
void nvp_devices_begin(uint64_t init_generation);
void nvp_devices_end(void);
void nvp_devices_again(void);
void nvp_devices_refresh(void);

/* ---- reading a record: the half that the generation names, read again when the generation moved meanwhile ---- */

#define NVP_READ_BEGIN(device)                                                                                   \
    for (;;) {                                                                                                   \
        const uint64_t nvp_generation = __atomic_load_n((device)->generation, __ATOMIC_ACQUIRE);                 \
        const unsigned char *const nvp_half = (device)->half[nvp_generation & 1];
#define NVP_READ_END(device)                                                                                     \
    __atomic_thread_fence(__ATOMIC_ACQUIRE);                                                                     \
    if (NVP_LIKELY(__atomic_load_n((device)->generation, __ATOMIC_RELAXED) == nvp_generation))                   \
        break;                                                                                                   \
    }

#define NVP_FIELD_AT(half, id) ((const struct nvp_field *)(const void *)((half) + sizeof(struct nvp_record)) + (id))

/* Tables of fields chosen by an argument hold the field's place in the record, 0 for none. */
#define NVP_PLACE(id) (sizeof(struct nvp_record) + (id) * sizeof(struct nvp_field))
#define NVP_ID_OF(place) ((uint16_t)(((place) - sizeof(struct nvp_record)) / sizeof(struct nvp_field)))
#define NVP_FIELD_IN(half, place) ((const struct nvp_field *)(const void *)((half) + (place)))

/* Status, kind and need of a field as one word: status in the low half, need in the top byte. */
static NVP_INLINE uint32_t nvp_meta(const struct nvp_field *field)
{
    uint32_t meta;
    memcpy(&meta, &field->status, sizeof meta);
    return meta;
}

/* Whether fields with these metas together are constants that are there: no status, no motion, and the modes they need hold. */
static NVP_INLINE bool nvp_plain(uint32_t meta, const unsigned char *half)
{
    return NVP_LIKELY((meta & ((const struct nvp_record *)(const void *)half)->odd) == 0);
}

/* The value of one field that is plain; false: ask nvp_number. */
static NVP_INLINE bool nvp_load(const struct nvp_device *device, unsigned int id, uint64_t *value)
{
    bool plain;
    NVP_READ_BEGIN(device)
        const struct nvp_field *field = NVP_FIELD_AT(nvp_half, id);
        *value = field->value;
        plain = nvp_plain(nvp_meta(field), nvp_half);
    NVP_READ_END(device)
    return plain;
}

/* field.c: the general way to read fields: need, status and motion of each, the first code that is not SUCCESS. */
nvmlReturn_t nvp_resolve(const struct nvp_device *device, const uint16_t *ids, unsigned int count, uint64_t *values);
nvmlReturn_t nvp_settle(const struct nvp_device *device, const uint16_t *ids, unsigned int count, uint64_t *values);
bool nvp_guard(const struct nvp_device *device, const uint16_t *ids, unsigned int count);
nvmlReturn_t nvp_number_at(const struct nvp_device *device, unsigned int id, uint64_t at_ns, uint64_t *value);
nvmlReturn_t nvp_string(const struct nvp_device *device, unsigned int id, char *buffer, size_t size);
bool nvp_identity_text(const struct nvp_device *device, unsigned int id, char *buffer, size_t size);
bool nvp_identity_number(const struct nvp_device *device, unsigned int id, uint64_t *value);
nvmlReturn_t nvp_array(const struct nvp_device *device, unsigned int id, void *buffer, size_t size);
nvmlReturn_t nvp_field_in(const struct nvp_device *device, const unsigned char *half, unsigned int id, uint64_t *value);
const void *nvp_data(const struct nvp_device *device, const unsigned char *half, uint64_t offset, uint64_t size);
nvmlReturn_t nvp_list_in(const struct nvp_device *device, const unsigned char *half, unsigned int id, size_t size, const void **items, uint64_t *number);
nvmlReturn_t nvp_retired_count(const struct nvp_device *device, nvmlPageRetirementCause_t cause, uint64_t *number);

/* One field as a number: its code, and *value where that is SUCCESS. */
static NVP_INLINE nvmlReturn_t nvp_number(const struct nvp_device *device, unsigned int id, uint64_t *value)
{
    if (NVP_LIKELY(nvp_load(device, id, value)))
        return NVML_SUCCESS;
    const uint16_t ids[] = {(uint16_t)id};
    return nvp_resolve(device, ids, 1, value);
}

/* As nvp_number, with absent in *value where the field has a code. */
static NVP_INLINE nvmlReturn_t nvp_number_or(const struct nvp_device *device, unsigned int id, uint64_t absent, uint64_t *value)
{
    const nvmlReturn_t code = nvp_number(device, id, value);
    if (code != NVML_SUCCESS)
        *value = absent;
    return code;
}

/* Copy variable data of a field into size bytes; text is cut to fit and ended with NUL, bytes are filled up with zeros. */
void nvp_copy_text(const struct nvp_device *device, const unsigned char *half, unsigned int id, void *buffer, size_t size);
void nvp_copy_part(const struct nvp_device *device, const unsigned char *half, unsigned int id, void *buffer, size_t size);

static NVP_INLINE void nvp_copy_bytes(const struct nvp_device *device, const unsigned char *half, unsigned int id, void *buffer, size_t size)
{
    const struct nvp_field *field = NVP_FIELD_AT(half, id);
    const uint64_t offset = field->value;
    if (NVP_LIKELY(field->extra == size && offset <= device->capacity && size <= device->capacity - offset))
        memcpy(buffer, half + offset, size);
    else
        nvp_copy_part(device, half, id, buffer, size);
}

/* ---- clock.c ---- */
uint64_t nvp_now_ns(void);
uint64_t nvp_real_ns(void);
uint64_t nvp_epoch_ns(void);
uint64_t nvp_motion_start(const struct nvp_motion *motion);
void nvp_epoch_begin(void);
uint64_t nvp_now_in(const unsigned char *node_half);

/* ---- lists.c ---- */
nvmlReturn_t nvp_room(unsigned int *count, const void *items, uint64_t number);

/* ---- processes.c ---- */
uint64_t nvp_entry_size(const struct nvp_image *image, unsigned int function, uint64_t usual);

/* ---- trace.c ---- */
bool nvp_gated(unsigned int function, nvmlReturn_t *code);
nvmlReturn_t nvp_traced(unsigned int function, nvmlReturn_t code);
void nvp_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void nvp_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool nvp_format(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void nvp_set_flags(void);
extern bool nvp_tracing;

/* ---- recorded.c: what the image says was answered to exactly these arguments ---- */

/* What a parameter is to a recorded answer.  beside: the parameter that holds a list's count, a text's length (also of the text in
 * a struct) or an array's size. */
#define NVP_IS_VALUE 0
#define NVP_IS_PLACE 1
#define NVP_IS_WORDED 2 /* a struct whose first word says its version and size */
#define NVP_IS_TEXT 3
#define NVP_IS_LIST 4
#define NVP_IS_COUNT 5
#define NVP_IS_ARRAY 6
#define NVP_IS_READ_TEXT 7
#define NVP_NO_PARAMETER 0xff

struct nvp_parameter {
    uint8_t is;
    uint8_t beside;
    uint8_t read_only;
    uint8_t reserved;
    uint32_t size; /* of the place, of one item of a list, of one unit of an array, of a text that no parameter says the size of */
};

/* zz_generated_parameters.c: the parameters of function i are those from nvp_parameters_of[i] to nvp_parameters_of[i + 1]. */
extern const struct nvp_parameter nvp_parameters[];
extern const uint16_t nvp_parameters_of[NVP_FUNCTION_COUNT + 1];

/* A list that a struct of size bytes points to: where the pointer and its count stand in it, and how long one row is. */
struct nvp_rows {
    uint16_t function;
    uint16_t position;
    uint32_t size;
    uint32_t pointer;
    uint32_t count;
    uint32_t row;
};

extern const struct nvp_rows nvp_rows[];
extern const unsigned int nvp_rows_count;

bool nvp_recorded(unsigned int function, uint32_t device, const uint64_t *given, nvmlReturn_t *code);
void nvp_flag_recorded(void);
bool nvp_recorded_sound(const struct nvp_image *image);
nvmlReturn_t nvp_field_values_slow(const struct nvp_device *device, int count, nvmlFieldValue_t *values);

static inline const void *nvp_table_of(const struct nvp_image *image, struct nvp_table table)
{
    return (const unsigned char *)image + table.offset;
}

/* ---- unanswered.c: calls that nothing known answers, counted where NVPARITY_UNANSWERED names a file ---- */
extern bool nvp_counting, nvp_strict;
extern const unsigned char nvp_countable[NVP_FUNCTION_COUNT];
nvmlReturn_t nvp_without_data(unsigned int function, nvmlReturn_t code);
void nvp_unanswered_begin(void);
void nvp_unanswered_forget(void);
void nvp_unanswered_write(void);

#include "nvp_environment.h"
#include "nvp_failure.h"

/* ---- gpm.c ---- */
nvmlReturn_t nvp_gpm_sample_check(nvmlGpmSample_t sample);
void nvp_gpm_samples_end(void);

/* ---- fieldvalues.c ---- */
nvmlReturn_t nvp_field_value(const struct nvp_device *device, unsigned int id, unsigned int scope, uint64_t *value);

/* ---- programs.c, steps.c ---- */

/* What a setter was given: a number, or size bytes (a text, a mask). */
struct nvp_argument {
    uint64_t value;
    const void *bytes;
    size_t size;
};

/* A program being run: the half that it reads and edits, and the one in force that is left as it is (NULL while only checks are run). */
struct nvp_run {
    const struct nvp_device *device;
    unsigned char *half;
    const unsigned char *old;
    uint64_t capacity;
    const struct nvp_argument *arguments;
    unsigned int count;
};

nvmlReturn_t nvp_run_program(const struct nvp_device *device, unsigned int program, const struct nvp_argument *arguments, unsigned int count);
nvmlReturn_t nvp_run_number(const struct nvp_device *device, unsigned int program, uint64_t argument);
nvmlReturn_t nvp_check_steps(const struct nvp_run *run, const struct nvp_program *program);
void nvp_act_steps(const struct nvp_run *run, const struct nvp_program *program);
nvmlReturn_t nvp_step_check(const struct nvp_run *run, const struct nvp_step *step);
void nvp_step_act(const struct nvp_run *run, const struct nvp_step *step);
void nvp_step_follow(const struct nvp_run *run, const struct nvp_step *step);
void nvp_set_number(unsigned char *half, unsigned int id, uint64_t value);
void nvp_step_fail(const struct nvp_run *run, const struct nvp_step *step);
bool nvp_step_holds(const struct nvp_run *run, const struct nvp_step *step);
extern const uint16_t nvp_device_rooms[NVP_DEVICE_FIELD_COUNT];
extern const uint16_t nvp_system_rooms[NVP_SYSTEM_FIELD_COUNT];
extern const bool nvp_device_moves[NVP_DEVICE_FIELD_COUNT];
extern const bool nvp_system_moves[NVP_SYSTEM_FIELD_COUNT];

/* ---- search.c, compiling.c, image.c, default.c, state.c ---- */
#define NVP_PATH_SIZE 4096
/* Files are opened so that a pipe or a terminal under the name of one neither blocks nor becomes ours. */
#define NVP_OPEN (O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

nvmlReturn_t nvp_image_ensure(void);
const struct nvp_image *nvp_image_open(const char *path, bool quiet);
const struct nvp_image *nvp_image_default(void);
const struct nvp_image *nvp_find_image(void);
const char *nvp_image_fault(const unsigned char *bytes, uint64_t size);
bool nvp_record_sound(const unsigned char *bytes, uint64_t size, bool of_node);
uint32_t nvp_image_crc(const unsigned char *bytes, uint64_t size);
bool nvp_sha256_file(const char *path, uint8_t digest[32]);
const char *nvp_compile(const char *profile, const char *target, bool (*ready)(void *), void *request);
extern char nvp_image_path[NVP_PATH_SIZE];
void nvp_bind_records(void);
void nvp_state_attach(void);
void nvp_state_before_fork(void);
void nvp_state_after_fork(void);
void nvp_state_release(void);
void nvp_image_release(void);

/* ---- writing.c: one change of one record at a time, under the lock of the state ---- */
unsigned char *nvp_state_edit(const struct nvp_device *device, nvmlReturn_t *code);
unsigned char *nvp_state_edit_or_own(const struct nvp_device *device);
const unsigned char *nvp_state_old(void);
uint64_t nvp_state_capacity(void);
const unsigned char *nvp_reset_record(const struct nvp_device *device, const unsigned char *half);
void nvp_state_commit(void);
void nvp_state_abandon(void);
nvmlReturn_t nvp_state_reset(const struct nvp_device *device);
nvmlReturn_t nvp_state_marks(const struct nvp_device *device, uint32_t set, uint32_t clear);

/* ---- ring.c: events and counts of guarded calls, in the state's file ---- */
nvmlReturn_t nvp_event_add(const struct nvp_device *device, uint64_t type, uint64_t data, uint32_t gpu_instance, uint32_t compute_instance);
void nvp_event_put(const struct nvp_device *device, uint64_t type, uint64_t data);
uint64_t nvp_event_newest(void);
bool nvp_event_read(uint64_t sequence, struct nvp_event *event);
uint64_t nvp_count_call(const struct nvp_device *device);
uint64_t nvp_counted_calls(const struct nvp_device *device);

/* ---- privilege.c ---- */
bool nvp_unprivileged(void);
void nvp_privilege_begin(void);

/* Stores of a writer go through here, so that the killpoints flavour can end the process before any one of them. */
#ifdef NVP_KILLPOINTS
void nvp_kill_point(void);
#define NVP_STORE(place, item)                                                                                   \
    do {                                                                                                         \
        nvp_kill_point();                                                                                        \
        __atomic_store_n((place), (item), __ATOMIC_RELEASE);                                                     \
    } while (0)
#else
#define NVP_STORE(place, item) __atomic_store_n((place), (item), __ATOMIC_RELEASE)
#endif

#include "zz_generated_handlers.h"

#pragma GCC visibility pop

#endif
