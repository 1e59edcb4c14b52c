/* What every stub shares: a stand-in for a "real" libnvidia-ml.so.1 of which no line comes from mocklib/src.
 * The exports are made from nvml.h by exports.py, the configuration by building.py; stub.c is the rest. */
#ifndef STUB_H
#define STUB_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <stddef.h>
#include <stdint.h>

/* The configuration: one small file for each stub. */
extern const uint64_t stub_seed;
extern const unsigned int stub_gpus;
extern const char stub_driver[];
extern const char stub_log[];           /* file every call's name is appended to; "" for none */
extern const char stub_hangs[];         /* function that never answers; "" for none */
extern const char stub_crashes[];       /* function that dies of SIGSEGV; "" for none */
extern const char *const stub_moving[]; /* functions whose answer differs from call to call; NULL ends */

/* Every call starts here: logged, hung or dead where the stub is so; the state its answer is drawn from. */
uint64_t stub_begin(const char *name);
int stub_started(void);

/* What the answer hangs on. */
void stub_mix(uint64_t *state, uint64_t value);
void stub_mix_bytes(uint64_t *state, const void *data, size_t size);
void stub_mix_text(uint64_t *state, const char *text);
int stub_device(uint64_t *state, nvmlDevice_t device); /* 0: no handle of ours */

/* What the answer is made of. */
uint64_t stub_next(uint64_t *state);
nvmlReturn_t stub_code(uint64_t *state);
uint64_t stub_number(uint64_t *state);              /* 0, small, large, every bit set */
double stub_fraction(uint64_t *state);              /* finite */
int stub_enum(uint64_t *state, int end);            /* mostly 0 to end, now and then beyond */
unsigned int stub_length(uint64_t *state);          /* of a list: 0 to 9, now and then 70 */
size_t stub_text(uint64_t *state, char *text, size_t room); /* NUL-terminated; its length */
void stub_bytes(uint64_t *state, void *data, size_t size);
nvmlDevice_t stub_any_device(uint64_t *state);

#endif
