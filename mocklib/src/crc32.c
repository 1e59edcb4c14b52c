/* zlib's CRC-32, sixteen bytes at a time: an image is checked whole at every first init, so it has to be quick. */
#include "nvp_crc.h"

#include <string.h>

/* What four bytes add, behind which ``after`` more follow. */
static inline uint32_t four(uint32_t word, int after)
{
    const uint32_t(*const table)[256] = &nvp_crc_table[after];
    return table[3][word & 0xff] ^ table[2][(word >> 8) & 0xff] ^ table[1][(word >> 16) & 0xff] ^ table[0][word >> 24];
}

/* crc is 0 to begin with, else what the call before gave. */
uint32_t nvp_crc32(uint32_t crc, const unsigned char *bytes, size_t size)
{
    crc = ~crc;
    for (; size >= NVP_CRC_SLICES; size -= NVP_CRC_SLICES, bytes += NVP_CRC_SLICES) {
        uint32_t word[4];
        memcpy(word, bytes, sizeof word);
        word[0] ^= crc;
        crc = four(word[0], 12) ^ four(word[1], 8) ^ four(word[2], 4) ^ four(word[3], 0);
    }
    for (; size; size--, bytes++)
        crc = (crc >> 8) ^ nvp_crc_table[0][(crc ^ *bytes) & 0xff];
    return ~crc;
}
