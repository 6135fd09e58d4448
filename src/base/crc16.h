/* SPDX-License-Identifier: Apache-2.0
 *
 * crc16.h -- CRC-16/XMODEM (polynomial 0x1021, start 0, not reflected).
 *
 * Stored ids depend on it: it must never change.
 * Tests: tests/unit/test_crc16.c. */
#ifndef FF_BASE_CRC16_H
#define FF_BASE_CRC16_H

#include <stddef.h>
#include <stdint.h>

uint16_t ff_crc16_xmodem(const void *data, size_t bytes);

#endif
