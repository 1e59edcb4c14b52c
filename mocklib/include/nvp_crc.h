/* zlib's CRC-32, and the table it goes by, which mocklib/gen/crc.py makes. */
#ifndef NVP_CRC_H
#define NVP_CRC_H

#include <stddef.h>
#include <stdint.h>

enum { NVP_CRC_SLICES = 16 };

extern const uint32_t nvp_crc_table[NVP_CRC_SLICES][256];
uint32_t nvp_crc32(uint32_t crc, const unsigned char *bytes, size_t size);

#endif
