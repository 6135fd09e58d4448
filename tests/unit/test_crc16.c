/* SPDX-License-Identifier: Apache-2.0
 *
 * test_crc16.c -- the published check value; stored ids depend on it.
 *
 * Of src/base/crc16. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crc16.h"
#include "base/macros.h"

static void test_crc16__matches_the_check_value(void **state FF_UNUSED)
{
    assert_int_equal(0x31c3, ff_crc16_xmodem("123456789", 9));
}

static void test_crc16__edges(void **state FF_UNUSED)
{
    assert_int_equal(0, ff_crc16_xmodem(NULL, 0));
    assert_int_equal(0, ff_crc16_xmodem("\0\0\0", 3));
    assert_int_equal(0x58e5, ff_crc16_xmodem("A", 1));
    assert_int_equal(0x1ef0, ff_crc16_xmodem("\xff", 1));
    /* Appending the checksum itself leaves nothing. */
    assert_int_equal(0, ff_crc16_xmodem("123456789\x31\xc3", 11));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc16__matches_the_check_value),
        cmocka_unit_test(test_crc16__edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
