/* SPDX-License-Identifier: Apache-2.0
 *
 * uuid.h -- the 16 bytes of a UUID and its 36 characters of text.
 *
 * Pure: time and randomness come from the caller. What the bytes mean to an execution is decided
 * above this folder. Layout: RFC 9562.
 * Tests: tests/unit/test_uuid.c. */
#ifndef FF_BASE_UUID_H
#define FF_BASE_UUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flowfabric.h"

#define FF_UUID_TEXT_LEN        36
#define FF_UUID_TEXT_BYTES      (FF_UUID_TEXT_LEN + 1)
#define FF_UUID_V7_UNIX_MS_MAX  ((UINT64_C(1) << 48) - 1)
#define FF_UUID_V7_RANDOM_BYTES 10

struct ff_uuid {
    uint8_t b[16];
};

/* The 8-4-4-4-12 form in either case, any version and variant; nothing around it. */
FF_MUST_CHECK bool ff_uuid_parse(struct ff_str text, struct ff_uuid *ret_uuid);

/* Lower case, NUL-terminated. Returns `out`. */
char *ff_uuid_format(struct ff_uuid uuid, char out[FF_UUID_TEXT_BYTES]);

/* Byte order, which is also the order of the lower-case texts; < 0, 0, > 0. */
int ff_uuid_cmp(struct ff_uuid a, struct ff_uuid b);
bool ff_uuid_eq(struct ff_uuid a, struct ff_uuid b);
bool ff_uuid_is_zero(struct ff_uuid uuid);

/* Time-ordered: 48 bits of `unix_ms` (larger values are a bug), then 74 of the random bits. */
struct ff_uuid ff_uuid_v7(uint64_t unix_ms, const uint8_t random[FF_UUID_V7_RANDOM_BYTES]);
/* What stands where a version 7 has its time, whatever the version. */
int64_t ff_uuid_time_ms(struct ff_uuid uuid);
/* The lowest uuid of that millisecond; times beyond what a uuid can say are brought back into it.
 */
struct ff_uuid ff_uuid_first_of(int64_t unix_ms);
struct ff_uuid ff_uuid_last_of(int64_t unix_ms); /* the highest */
struct ff_uuid ff_uuid_v4(const uint8_t random[16]);

/* 4 for v4, 7 for v7; whatever the version nibble says. */
unsigned ff_uuid_version(struct ff_uuid uuid);

/* Bytes 14 and 15, big-endian; they hold no version or variant bits. */
void ff_uuid_set_tail(struct ff_uuid *uuid, uint16_t tail);
uint16_t ff_uuid_tail(struct ff_uuid uuid);

#endif
