/* SPDX-License-Identifier: Apache-2.0
 *
 * crc16.c -- CRC-16/XMODEM.
 *
 * Bit by bit: our inputs are the 14 or 16 bytes of an id, for which a table would cost more cache
 * than it saves.
 * Tests: tests/unit/test_crc16.c. */
#include "base/crc16.h"

#include "base/banned.h"

uint16_t ff_crc16_xmodem(const void *data, size_t bytes)
{
    const uint8_t *const in = data;
    uint32_t crc = 0;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= (uint32_t)in[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc <<= 1;
            if (crc & 0x10000)
                crc ^= 0x11021; /* the polynomial and the bit it shifts out */
        }
    }
    return (uint16_t)crc;
}
