/* SPDX-License-Identifier: Apache-2.0
 *
 * encode.h -- hex and base64, written one way and read strictly.
 *
 * Base64 is RFC 4648 section 4: the plus-slash alphabet, with padding. Decoding refuses white
 * space, missing padding and stray bits, so each value has exactly one text.
 * Tests: tests/unit/test_encode.c. */
#ifndef FF_BASE_ENCODE_H
#define FF_BASE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flowfabric.h"

/* Bytes an encoder writes for `bytes` of data, terminator included. */
#define FF_HEX_TEXT_BYTES(bytes)    (2 * (size_t)(bytes) + 1)
#define FF_BASE64_TEXT_BYTES(bytes) (((size_t)(bytes) + 2) / 3 * 4 + 1)

/* The most a text of `len` characters can decode to. */
#define FF_BASE64_DATA_BYTES_MAX(len) ((size_t)(len) / 4 * 3)

/* Lower case, NUL-terminated; `out` holds FF_HEX_TEXT_BYTES(bytes). */
void ff_hex_encode(const void *data, size_t bytes, char *out);

/* Either case; the text must be exactly 2 * `bytes` long. On false `out` is unspecified. */
FF_MUST_CHECK bool ff_hex_decode(struct ff_str text, uint8_t *out, size_t bytes);

/* The value of one hex digit, or -1. */
int ff_hex_digit(char c);

/* NUL-terminated; `out` holds FF_BASE64_TEXT_BYTES(bytes). */
void ff_base64_encode(const void *data, size_t bytes, char *out);

/* `out` holds at least FF_BASE64_DATA_BYTES_MAX(text.len). On false `out` is unspecified. */
FF_MUST_CHECK bool ff_base64_decode(struct ff_str text, uint8_t *out, size_t *ret_bytes);

#endif
