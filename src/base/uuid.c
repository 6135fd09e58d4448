/* SPDX-License-Identifier: Apache-2.0
 *
 * uuid.c -- the 16 bytes of a UUID and its 36 characters of text.
 *
 * Pure: time and randomness come from the caller.
 * Tests: tests/unit/test_uuid.c. */
#include "base/uuid.h"

#include <assert.h>
#include <string.h>

#include "base/codec.h"
#include "base/encode.h"
#include "base/macros.h"

#include "base/banned.h"

/* In the 8-4-4-4-12 form a hyphen stands before these bytes. */
static bool hyphen_before(size_t byte_index)
{
    return byte_index == 4 || byte_index == 6 || byte_index == 8 || byte_index == 10;
}

bool ff_uuid_parse(struct ff_str text, struct ff_uuid *ret_uuid)
{
    struct ff_uuid uuid;
    size_t at = 0;

    if (text.len != FF_UUID_TEXT_LEN)
        return false;
    for (size_t i = 0; i < sizeof uuid.b; i++) {
        if (hyphen_before(i) && text.ptr[at++] != '-')
            return false;

        const int high = ff_hex_digit(text.ptr[at]);
        const int low = ff_hex_digit(text.ptr[at + 1]);

        if (high < 0 || low < 0)
            return false;
        uuid.b[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    *ret_uuid = uuid;
    return true;
}

char *ff_uuid_format(struct ff_uuid uuid, char out[FF_UUID_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;

    for (size_t i = 0; i < sizeof uuid.b; i++) {
        if (hyphen_before(i))
            out[at++] = '-';
        out[at++] = digits[uuid.b[i] >> 4];
        out[at++] = digits[uuid.b[i] & 0x0f];
    }
    out[at] = '\0';
    return out;
}

int ff_uuid_cmp(struct ff_uuid a, struct ff_uuid b)
{
    return memcmp(a.b, b.b, sizeof a.b);
}

bool ff_uuid_eq(struct ff_uuid a, struct ff_uuid b)
{
    return ff_uuid_cmp(a, b) == 0;
}

bool ff_uuid_is_zero(struct ff_uuid uuid)
{
    return ff_uuid_eq(uuid, (struct ff_uuid){.b = {0}});
}

static void set_version(struct ff_uuid *uuid, unsigned version)
{
    uuid->b[6] = (uint8_t)(version << 4 | (uuid->b[6] & 0x0fU));
    uuid->b[8] = (uint8_t)(0x80U | (uuid->b[8] & 0x3fU)); /* the RFC's variant, binary 10 */
}

struct ff_uuid ff_uuid_v7(uint64_t unix_ms, const uint8_t random[FF_UUID_V7_RANDOM_BYTES])
{
    struct ff_uuid uuid;

    assert(unix_ms <= FF_UUID_V7_UNIX_MS_MAX);
    ff_put_be(uuid.b, unix_ms, 6);
    memcpy(uuid.b + 6, random, FF_UUID_V7_RANDOM_BYTES);
    set_version(&uuid, 7);
    return uuid;
}

int64_t ff_uuid_time_ms(struct ff_uuid uuid)
{
    return (int64_t)(ff_get_be64(uuid.b) >> 16);
}

static struct ff_uuid filled(int64_t unix_ms, int filling)
{
    const int64_t at_ms = ff_min_i64(ff_max_i64(unix_ms, 0), (int64_t)FF_UUID_V7_UNIX_MS_MAX);
    struct ff_uuid uuid;

    memset(uuid.b, filling, sizeof uuid.b);
    ff_put_be(uuid.b, (uint64_t)at_ms, 6);
    return uuid;
}

struct ff_uuid ff_uuid_first_of(int64_t unix_ms)
{
    return filled(unix_ms, 0);
}

struct ff_uuid ff_uuid_last_of(int64_t unix_ms)
{
    return filled(unix_ms, 0xff);
}

struct ff_uuid ff_uuid_v4(const uint8_t random[16])
{
    struct ff_uuid uuid;

    memcpy(uuid.b, random, sizeof uuid.b);
    set_version(&uuid, 4);
    return uuid;
}

unsigned ff_uuid_version(struct ff_uuid uuid)
{
    return uuid.b[6] >> 4;
}

void ff_uuid_set_tail(struct ff_uuid *uuid, uint16_t tail)
{
    ff_put_be16(uuid->b + 14, tail);
}

uint16_t ff_uuid_tail(struct ff_uuid uuid)
{
    return ff_get_be16(uuid.b + 14);
}
