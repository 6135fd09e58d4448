/* SPDX-License-Identifier: Apache-2.0
 *
 * encode.c -- hex and base64, written one way and read strictly.
 *
 * Our own loops and not libcrypto's: its decoder skips white space, ignores stray bits and counts
 * in int, so every text would have to be checked here character by character anyway.
 * Tests: tests/unit/test_encode.c. */
#include "base/encode.h"

#include "base/banned.h"

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int ff_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

void ff_hex_encode(const void *data, size_t bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *const in = data;

    for (size_t i = 0; i < bytes; i++) {
        out[2 * i] = digits[in[i] >> 4];
        out[2 * i + 1] = digits[in[i] & 0x0f];
    }
    out[2 * bytes] = '\0';
}

bool ff_hex_decode(struct ff_str text, uint8_t *out, size_t bytes)
{
    if (text.len / 2 != bytes || text.len % 2 != 0)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        const int high = ff_hex_digit(text.ptr[2 * i]);
        const int low = ff_hex_digit(text.ptr[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void ff_base64_encode(const void *data, size_t bytes, char *out)
{
    const uint8_t *const in = data;
    size_t at = 0;

    for (size_t i = 0; i < bytes; i += 3) {
        const size_t left = bytes - i;
        const uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)in[i + 2] : 0);

        out[at++] = base64_digits[group >> 18];
        out[at++] = base64_digits[group >> 12 & 63];
        out[at++] = left > 1 ? base64_digits[group >> 6 & 63] : '=';
        out[at++] = left > 2 ? base64_digits[group & 63] : '=';
    }
    out[at] = '\0';
}

/* The value of one digit, or -1; the padding character is not a digit. */
static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* Reads the first `digit_count` (2 to 4) digits of a group; the rest is padding. Returns the bytes
 * written, one less than digits, or 0 when the group is not what the encoder would write. */
static size_t base64_group(const char *text, size_t digit_count, uint8_t *out)
{
    uint32_t group = 0;

    for (size_t i = 0; i < 4; i++) {
        const int digit = i < digit_count ? base64_digit(text[i]) : 0;

        if (digit < 0)
            return 0;
        group = group << 6 | (uint32_t)digit;
    }
    if (digit_count == 2 && (group & 0xffff) != 0)
        return 0;
    if (digit_count == 3 && (group & 0xff) != 0)
        return 0;
    for (size_t i = 0; i + 1 < digit_count; i++)
        out[i] = (uint8_t)(group >> (16 - 8 * i));
    return digit_count - 1;
}

bool ff_base64_decode(struct ff_str text, uint8_t *out, size_t *ret_bytes)
{
    size_t bytes = 0;

    if (text.len % 4 != 0)
        return false;
    for (size_t at = 0; at < text.len; at += 4) {
        size_t digit_count = 4;

        if (at + 4 == text.len && text.ptr[at + 3] == '=')
            digit_count = text.ptr[at + 2] == '=' ? 2 : 3;

        const size_t step = base64_group(text.ptr + at, digit_count, out + bytes);

        if (step == 0)
            return false;
        bytes += step;
    }
    *ret_bytes = bytes;
    return true;
}
