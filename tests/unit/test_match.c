/* SPDX-License-Identifier: Apache-2.0
 *
 * test_match.c -- filters of followers: what they want, and that a missing value is no value. */
#include "model/match.h"

#include "base/macros.h"
#include "model/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct ff_event an_event(void)
{
    struct ff_event event;

    ff_row_init(FF_TABLE_EVENT, &event);
    event.kind = FF_EVENT_LEASE;
    event.partition_key = 7;
    event.namespace = FF_STR("shop");
    event.instance_tag = FF_STR("blue");
    event.execution_id = (struct ff_uuid){.b = {1}};
    event.flow_id = (struct ff_uuid){.b = {2}};
    return event;
}

static const struct ff_event_match everything = {.partition_from = -1, .partition_to = -1};

static void test_match__no_filter_takes_everything(void **state)
{
    struct ff_event bare;

    (void)state;
    ff_row_init(FF_TABLE_EVENT, &bare);
    bare.kind = FF_EVENT_WORKER;
    assert_true(ff_event_matches(&everything, &bare));
}

static void test_match__every_part_of_a_filter_counts(void **state)
{
    const struct ff_event event = an_event();
    const struct ff_event_match fits[] = {
        {.kinds = 1u << FF_EVENT_LEASE | 1u << FF_EVENT_FLOW,
         .partition_from = -1,
         .partition_to = -1},
        {.namespace = FF_STR_INIT("shop"), .partition_from = 7, .partition_to = 7},
        {.instance_tag = FF_STR_INIT("blue"), .partition_from = 0, .partition_to = 255},
        {.execution_id = {.b = {1}},
         .flow_id = {.b = {2}},
         .partition_from = 3,
         .partition_to = -1},
    };
    const struct ff_event_match misses[] = {
        {.kinds = 1u << FF_EVENT_FLOW, .partition_from = -1, .partition_to = -1},
        {.namespace = FF_STR_INIT("shop2"), .partition_from = -1, .partition_to = -1},
        {.instance_tag = FF_STR_INIT("green"), .partition_from = -1, .partition_to = -1},
        {.partition_from = 8, .partition_to = 255},
        {.partition_from = 0, .partition_to = 6},
        {.execution_id = {.b = {2}}, .partition_from = -1, .partition_to = -1},
        {.flow_id = {.b = {1}}, .partition_from = -1, .partition_to = -1},
    };

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(fits); i++)
        assert_true(ff_event_matches(&fits[i], &event));
    for (size_t i = 0; i < FF_ARRAY_LEN(misses); i++)
        assert_false(ff_event_matches(&misses[i], &event));
}

static void test_match__a_missing_value_never_matches(void **state)
{
    struct ff_event bare;
    const struct ff_event_match asks[] = {
        {.namespace = FF_STR_INIT(""), .partition_from = -1, .partition_to = -1},
        {.instance_tag = FF_STR_INIT(""), .partition_from = -1, .partition_to = -1},
        {.partition_from = 0, .partition_to = -1},
        {.partition_from = -1, .partition_to = 255},
        {.execution_id = {.b = {1}}, .partition_from = -1, .partition_to = -1},
        {.flow_id = {.b = {1}}, .partition_from = -1, .partition_to = -1},
    };

    (void)state;
    ff_row_init(FF_TABLE_EVENT, &bare);
    bare.kind = FF_EVENT_WORKER;
    for (size_t i = 0; i < FF_ARRAY_LEN(asks); i++)
        assert_false(ff_event_matches(&asks[i], &bare));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match__no_filter_takes_everything),
        cmocka_unit_test(test_match__every_part_of_a_filter_counts),
        cmocka_unit_test(test_match__a_missing_value_never_matches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
