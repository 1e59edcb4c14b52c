/* The private table: one trampoline a slot, so that the callee knows which slot was called. */
#ifndef NVP_SLOTS_H
#define NVP_SLOTS_H

#include "nvp.h"

#pragma GCC visibility push(hidden)
extern uintptr_t nvp_slot_table[NVP_SLOT_COUNT];
nvmlReturn_t nvp_slot_call(unsigned int number, void *first, void *second, void *third);
#pragma GCC visibility pop

#endif
