/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ids.c -- ids, their partitions, and what the parser refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/codec.h"
#include "base/crc16.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/ids.h"

static const uint8_t random_bits[10] = {0xde, 0xad, 0xbe, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab};

/* The time that a v7 UUID begins with. */
static uint64_t unix_ms_of(struct ff_uuid uuid)
{
    return ff_get_be(uuid.b, 6);
}

static void test_ids__a_minted_id_carries_its_partition(void **state)
{
    int32_t seen[FF_PARTITIONS] = {0};

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t bits[10] = {(uint8_t)(i >> 8), (uint8_t)i};
        const struct ff_exec_id id = ff_exec_id_mint(1700000000000 + i, bits);

        assert_int_equal(ff_uuid_version(id.uuid), 7);
        assert_int_equal(unix_ms_of(id.uuid), 1700000000000 + i);
        assert_int_equal(id.partition, ff_crc16_xmodem(id.uuid.b, 14) % 256);
        assert_int_equal(ff_uuid_tail(id.uuid), id.partition);
        seen[id.partition]++;
    }
    for (int n = 0; n < FF_PARTITIONS; n++)
        assert_in_range(seen[n], 30, 150); /* 78 on average */
}

static void test_ids__times_out_of_range_are_cut(void **state)
{
    (void)state;
    assert_int_equal(unix_ms_of(ff_exec_id_mint(-5, random_bits).uuid), 0);
    assert_int_equal(unix_ms_of(ff_exec_id_mint(INT64_MAX, random_bits).uuid),
                     FF_UUID_V7_UNIX_MS_MAX);
}

static void test_ids__members_live_with_their_flow(void **state)
{
    const struct ff_uuid flow = ff_flow_id_mint(1700000000000, random_bits);
    struct ff_exec_id a;
    struct ff_exec_id b;
    struct ff_exec_id again;

    (void)state;
    assert_int_equal(ff_member_id(flow, FF_STR("build"), &a, NULL), FF_OK);
    assert_int_equal(ff_member_id(flow, FF_STR("test"), &b, NULL), FF_OK);
    assert_int_equal(ff_member_id(flow, FF_STR("build"), &again, NULL), FF_OK);
    assert_true(ff_exec_id_eq(a, again));
    assert_false(ff_exec_id_eq(a, b));
    assert_int_equal(a.partition, ff_crc16_xmodem(flow.b, 16) % 256);
    assert_int_equal(b.partition, a.partition);
    assert_int_equal(ff_uuid_tail(a.uuid), a.partition);
    assert_int_equal(ff_uuid_version(a.uuid), 7);
    assert_memory_equal(a.uuid.b, flow.b, 6);
}

/* Stored ids depend on these: a change of the rules must fail here. */
static void test_ids__the_rules_never_change(void **state)
{
    struct ff_uuid flow;
    struct ff_exec_id id = ff_exec_id_mint(1700000000000, random_bits);
    char text[FF_ID_TEXT_BYTES];

    (void)state;
    ff_exec_id_text(id, text);
    assert_string_equal(text, "{fp:211}:018bcfe5-6800-7ead-beef-0123456700d3");
    assert_int_equal(ff_flow_id_parse(FF_STR("018bcfe5-6800-7ead-beef-0123456789ab"), &flow, NULL),
                     FF_OK);
    assert_int_equal(ff_member_id(flow, FF_STR("build"), &id, NULL), FF_OK);
    ff_exec_id_path(id, text);
    assert_string_equal(text, "fp:79:018bcfe5-6800-7884-a3b5-9872647d004f");
}

static void test_ids__every_form_reads_back(void **state)
{
    const struct ff_exec_id id = ff_exec_id_mint(1700000000000, random_bits);
    char uuid[FF_UUID_TEXT_BYTES];
    char text[FF_ID_TEXT_BYTES];
    struct ff_exec_id back;

    (void)state;
    ff_exec_id_text(id, text);
    assert_int_equal(ff_exec_id_parse(ff_str_of(text), &back, NULL), FF_OK);
    assert_true(ff_exec_id_eq(id, back));
    ff_exec_id_path(id, text);
    assert_int_equal(ff_exec_id_parse(ff_str_of(text), &back, NULL), FF_OK);
    assert_true(ff_exec_id_eq(id, back));
    assert_int_equal(ff_exec_id_parse(ff_str_of(ff_uuid_format(id.uuid, uuid)), &back, NULL),
                     FF_OK);
    assert_true(ff_exec_id_eq(id, back));
    /* The caller's own: any partition, any version. */
    assert_int_equal(
        ff_exec_id_parse(FF_STR("{fp:255}:3F2504E0-4f89-41d3-9a0c-0305e82c3301"), &back, NULL),
        FF_OK);
    assert_int_equal(back.partition, 255);
    ff_exec_id_text(back, text);
    assert_string_equal(text, "{fp:255}:3f2504e0-4f89-41d3-9a0c-0305e82c3301");
}

static void test_ids__the_parser_is_strict(void **state)
{
#define UUID "018bcfe5-6800-7ead-beef-0123456700b9"
    static const char *const bad[] = {
        "",
        "{fp:1}",
        "{fp:1}:",
        "{fp:1}" UUID,
        "{fp:1} :" UUID,
        " {fp:1}:" UUID,
        "{fp:1}:" UUID " ",
        "{fp:1}:" UUID "0",
        "{fp:-1}:" UUID,
        "{fp:256}:" UUID,
        "{fp:01}:" UUID,
        "{fp:+1}:" UUID,
        "{fp:x}:" UUID,
        "{fp:}:" UUID,
        "{fp:99999999999999999999}:" UUID,
        "{b:1}:" UUID,
        "{FP:1}:" UUID,
        "fp:1:not-a-uuid",
        "fp:256:" UUID,
        "fp::" UUID,
        "fp:1",
        "{fp:1}:00000000-0000-0000-0000-000000000000",
        "{fp:1}:018bcfe568007eadbeef0123456700b9",
        /* bare, but not one of ours: a v4, and a v7 whose tail is no partition */
        "3f2504e0-4f89-41d3-9a0c-0305e82c0001",
        "018bcfe5-6800-7ead-beef-0123456789ab",
    };
    struct ff_exec_id id = {.partition = 77};
    struct ff_error error;

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++) {
        memset(&error, 0, sizeof error);
        if (ff_exec_id_parse(ff_str_of(bad[i]), &id, &error) != FF_INVALID)
            fail_msg("accepted '%s'", bad[i]);
        assert_string_equal(error.field, "execution_id");
        assert_int_equal(id.partition, 77); /* written only on success */
    }
    assert_int_equal(ff_exec_id_parse((struct ff_str){"{fp:1}:" UUID "\0x", 45}, &id, NULL),
                     FF_INVALID);
}

static void test_ids__a_flow_id_is_a_uuid(void **state)
{
    struct ff_uuid flow;

    (void)state;
    assert_int_equal(ff_flow_id_parse(FF_STR(UUID), &flow, NULL), FF_OK);
    assert_int_equal(ff_flow_id_parse(FF_STR("{fp:1}:" UUID), &flow, NULL), FF_INVALID);
    assert_int_equal(ff_flow_id_parse(FF_STR("00000000-0000-0000-0000-000000000000"), &flow, NULL),
                     FF_INVALID);
    assert_int_equal(ff_flow_id_parse(FF_STR(""), &flow, NULL), FF_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids__a_minted_id_carries_its_partition),
        cmocka_unit_test(test_ids__times_out_of_range_are_cut),
        cmocka_unit_test(test_ids__members_live_with_their_flow),
        cmocka_unit_test(test_ids__the_rules_never_change),
        cmocka_unit_test(test_ids__every_form_reads_back),
        cmocka_unit_test(test_ids__the_parser_is_strict),
        cmocka_unit_test(test_ids__a_flow_id_is_a_uuid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
