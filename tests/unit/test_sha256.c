/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sha256.c -- published digests, whole and in pieces.
 *
 * Of src/base/sha256. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/encode.h"
#include "base/macros.h"
#include "base/sha256.h"

static void check_digest(const char *hex, const uint8_t digest[FF_SHA256_BYTES])
{
    char text[FF_HEX_TEXT_BYTES(FF_SHA256_BYTES)];

    ff_hex_encode(digest, FF_SHA256_BYTES, text);
    assert_string_equal(hex, text);
}

static const char abc_hex[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char empty_hex[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static void test_sha256__published_digests(void **state FF_UNUSED)
{
    uint8_t digest[FF_SHA256_BYTES];

    assert_int_equal(FF_OK, ff_sha256_of("abc", 3, digest, NULL));
    check_digest(abc_hex, digest);
    assert_int_equal(FF_OK, ff_sha256_of(NULL, 0, digest, NULL));
    check_digest(empty_hex, digest);
}

static void test_sha256__pieces_give_the_same(void **state FF_UNUSED)
{
    struct ff_sha256 sha;
    uint8_t digest[FF_SHA256_BYTES];

    assert_int_equal(FF_OK, ff_sha256_init(&sha, NULL));
    ff_sha256_add(&sha, "a", 1);
    ff_sha256_add(&sha, NULL, 0);
    ff_sha256_add(&sha, "bc", 2);
    assert_int_equal(FF_OK, ff_sha256_finish(&sha, digest, NULL));
    check_digest(abc_hex, digest);
    ff_sha256_done(&sha);
    ff_sha256_done(&sha);
    ff_sha256_done(NULL);
}

static void test_sha256__finishing_twice_gives_no_digest(void **state FF_UNUSED)
{
    struct ff_sha256 sha;
    struct ff_error error;
    uint8_t digest[FF_SHA256_BYTES];

    assert_int_equal(FF_OK, ff_sha256_init(&sha, &error));
    assert_int_equal(FF_OK, ff_sha256_finish(&sha, digest, &error));
    check_digest(empty_hex, digest);
    assert_int_equal(FF_INTERNAL, ff_sha256_finish(&sha, digest, &error));
    check_digest(empty_hex, digest);
    ff_sha256_done(&sha);
}

static void test_sha256__secrets_compare_by_content(void **state FF_UNUSED)
{
    assert_true(ff_secret_eq("abc", "abc", 3));
    assert_false(ff_secret_eq("abc", "abd", 3));
    assert_false(ff_secret_eq("bbc", "abc", 3));
    assert_true(ff_secret_eq(NULL, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256__published_digests),
        cmocka_unit_test(test_sha256__pieces_give_the_same),
        cmocka_unit_test(test_sha256__finishing_twice_gives_no_digest),
        cmocka_unit_test(test_sha256__secrets_compare_by_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
