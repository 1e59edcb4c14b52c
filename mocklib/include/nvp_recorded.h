/* The recorded answers of an image: part of nvp_image.h, and read as it is. */
#ifndef NVP_RECORDED_H
#define NVP_RECORDED_H

#include <stdint.h>

#define NVP_PART_LIMIT 64
#define NVP_PART_VALUE 0
#define NVP_PART_MEMBER 1
#define NVP_PART_TEXT 2
#define NVP_PART_WORD 3

#define NVP_WRITE_BYTES 0
#define NVP_WRITE_HANDLE 1
#define NVP_WRITE_TEXT 2
#define NVP_WRITE_ROWS 3

#define NVP_ANSWER_COUNTED 1
#define NVP_ANSWER_LENGTH_ALONE 2

#define NVP_KEY_SIZE 512

/* Recorded answers, in five tables and their data.  Every row of a table belongs to one row of the table before it, in the same order, so that a reader
 * can check all of them in one pass.
 *
 * A form is one way in which a function was asked: the parts of its arguments that make the key.  Forms are sorted by function.  keys: offset in the
 * data of one key of key_size bytes for each of its recorded calls, which are sorted by device (NVP_NODE: a call of the node), then key. */
struct nvp_form {
    uint32_t function;
    uint32_t parts;
    uint32_t part_count;
    uint32_t key_size;
    uint32_t recorded;
    uint32_t recorded_count;
    uint32_t keys;
    uint32_t reserved;
};

/* One part of a key: the low width bytes of the parameter at position; width bytes from offset on of what it points to; a text, filled up with zeros to
 * width, which is more than any has.  NVP_PART_WORD is no part of the key: the version word that the struct must have, from which its size follows. */
struct nvp_part {
    uint8_t position;
    uint8_t kind;
    uint16_t reserved;
    uint32_t offset;
    uint32_t width;
    uint32_t word;
};

/* One recorded call: its answer, or those it steps through, one each period from start on; the last is held, or they loop. */
struct nvp_recorded {
    uint32_t device;
    uint32_t steps;
    uint32_t step_count;
    uint32_t loop;
    uint64_t period_ns;
    uint64_t start_ns;
};

/* One answer.  count: how long its list is; the function's count says so, where the answer is NVP_ANSWER_COUNTED.  NVP_ANSWER_LENGTH_ALONE: how long the list is is known,
 * and nothing of its items. */
struct nvp_answer {
    uint32_t code;
    uint32_t count;
    uint32_t writes;
    uint32_t write_count;
    uint32_t flags;
    uint32_t reserved;
};

/* What an answer writes through the parameter at position: size bytes of the data at offset; the handle of device number data at offset; a text; the
 * rows of a list that a struct points to at offset, as many as the answer's count. */
struct nvp_write {
    uint8_t position;
    uint8_t kind;
    uint16_t reserved;
    uint32_t offset;
    uint32_t size;
    uint32_t data;
};

#endif
