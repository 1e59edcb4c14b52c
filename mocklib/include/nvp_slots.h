/* The private table: one trampoline a slot, so that the callee knows which slot was called. */
#ifndef NVP_SLOTS_H
#define NVP_SLOTS_H

#include "nvp.h"

/* As many arguments as any slot takes that is known. */
#define NVP_SLOT_ARGUMENTS 5

#pragma GCC visibility push(hidden)
extern uintptr_t nvp_slot_table[NVP_SLOT_COUNT];
nvmlReturn_t nvp_slot_call(unsigned int number, void *const given[NVP_SLOT_ARGUMENTS]);
#pragma GCC visibility pop

#endif
