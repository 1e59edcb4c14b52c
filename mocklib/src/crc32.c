/* zlib's CRC-32, sixteen bytes at a time: an image is checked whole at every first init, so it has to be quick. */
#include "nvp.h"

enum { SLICES = 16 };

static uint32_t table[SLICES][256];

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
        table[0][i] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (int i = 0; i < 256; i++)
            table[slice][i] = (table[slice - 1][i] >> 8) ^ table[0][table[slice - 1][i] & 0xff];
}

/* What four bytes add, behind which ``after`` more follow. */
static inline uint32_t four(uint32_t word, int after)
{
    return table[after + 3][word & 0xff] ^ table[after + 2][(word >> 8) & 0xff] ^ table[after + 1][(word >> 16) & 0xff] ^ table[after][word >> 24];
}

/* crc is 0 to begin with, else what the call before gave.  Called under the init lock. */
uint32_t nvp_crc32(uint32_t crc, const unsigned char *bytes, size_t size)
{
    if (table[0][1] == 0)
        make_table();
    crc = ~crc;
    for (; size >= SLICES; size -= SLICES, bytes += SLICES) {
        uint32_t word[4];
        memcpy(word, bytes, sizeof word);
        word[0] ^= crc;
        crc = four(word[0], 12) ^ four(word[1], 8) ^ four(word[2], 4) ^ four(word[3], 0);
    }
    for (; size; size--, bytes++)
        crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 0xff];
    return ~crc;
}
