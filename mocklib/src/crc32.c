/* zlib's CRC-32, eight bytes at a time: an image is checked whole at every first init, so it has to be quick. */
#include "nvp.h"

static uint32_t table[8][256];

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
        table[0][i] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int i = 0; i < 256; i++)
            table[slice][i] = (table[slice - 1][i] >> 8) ^ table[0][table[slice - 1][i] & 0xff];
}

/* crc is 0 to begin with, else what the call before gave.  Called under the init lock. */
uint32_t nvp_crc32(uint32_t crc, const unsigned char *bytes, size_t size)
{
    if (table[0][1] == 0)
        make_table();
    crc = ~crc;
    for (; size >= 8; size -= 8, bytes += 8) {
        uint32_t low, high;
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + 4, 4);
        low ^= crc;
        crc = table[7][low & 0xff] ^ table[6][(low >> 8) & 0xff] ^ table[5][(low >> 16) & 0xff] ^ table[4][low >> 24] ^ table[3][high & 0xff] ^
              table[2][(high >> 8) & 0xff] ^ table[1][(high >> 16) & 0xff] ^ table[0][high >> 24];
    }
    for (; size; size--, bytes++)
        crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 0xff];
    return ~crc;
}
