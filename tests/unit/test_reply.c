/* SPDX-License-Identifier: Apache-2.0
 *
 * test_reply.c -- stored answers: found again, refused to others, gone when their time is over. */
#include "support/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "ops/reply.h"

static int setup(void **state)
{
    static struct world world;

    world_init(&world);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    world_done(*state);
    return 0;
}

static struct ff_reply_keep_in given(uint8_t hash, int32_t status, struct ff_str body)
{
    struct ff_reply_keep_in in = {
        .reply = {.scope = FF_STR("t/n/r"), .key = FF_STR("key"), .keep_ms = 1000},
        .status = status,
        .body = body};

    memset(in.reply.hash, hash, sizeof in.reply.hash);
    return in;
}

static void test_reply__what_was_said_is_said_again(void **state)
{
    struct world *const world = *state;
    struct ff_reply_keep_in in = given(1, 201, FF_STR("{\"a\":1}"));
    struct ff_reply_keep_in again = given(1, 200, FF_STR("other"));
    struct ff_reply_keep_out out;

    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &in, &out));
    assert_false(out.reply.found);
    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &again, &out));
    assert_true(out.reply.found);
    assert_int_equal(201, out.reply.status);
    assert_true(ff_str_eq(FF_STR("{\"a\":1}"), out.reply.body));
}

static void test_reply__another_request_is_refused(void **state)
{
    struct world *const world = *state;
    struct ff_reply_keep_in in = given(1, 200, FF_STR("{}"));
    struct ff_reply_keep_in other = given(2, 200, FF_STR("{}"));
    struct ff_reply_keep_out out;

    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &in, &out));
    assert_int_equal(FF_KEY_REUSED, world_run(world, FF_OP_REPLY_KEEP, &other, &out));
    assert_string_equal("Idempotency-Key", world->error.field);
}

static void test_reply__a_key_is_free_when_its_time_is_over(void **state)
{
    struct world *const world = *state;
    struct ff_reply_keep_in in = given(1, 200, FF_STR("{}"));
    struct ff_reply_keep_in other = given(2, 201, FF_STR("[]"));
    struct ff_reply_keep_out out;

    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &in, &out));
    world->now_ms += 1000;
    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &other, &out));
    assert_false(out.reply.found);
    other.status = 0;
    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &other, &out));
    assert_int_equal(201, out.reply.status);
}

static void test_reply__a_call_begins_once(void **state)
{
    struct world *const world = *state;
    struct ff_reply_keep_in in = given(1, 0, ff_str_null());
    struct ff_reply_keep_in end = given(1, 200, FF_STR("{}"));
    struct ff_reply_keep_out out;
    const int64_t begun_ms = world->now_ms;

    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &in, &out));
    assert_int_equal(begun_ms, out.begun_at_ms);
    world->now_ms += 500;
    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &in, &out));
    assert_int_equal(begun_ms, out.begun_at_ms);
    assert_int_equal(0, out.reply.status);
    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &end, &out));
    assert_int_equal(FF_OK, world_run(world, FF_OP_REPLY_KEEP, &in, &out));
    assert_int_equal(200, out.reply.status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_reply__what_was_said_is_said_again),
        TEST(test_reply__another_request_is_refused),
        TEST(test_reply__a_key_is_free_when_its_time_is_over),
        TEST(test_reply__a_call_begins_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
