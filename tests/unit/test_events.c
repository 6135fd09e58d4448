/* SPDX-License-Identifier: Apache-2.0
 *
 * test_events.c -- names and codes of events lead to each other.
 *
 * Of src/model/events. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/str.h"
#include "model/events.h"

static const struct {
    const char *kind, *type;
    int32_t kind_code, type_code;
} events[] = {
#define EVENT(KIND, TYPE, kind, type, kind_code, type_code)                                        \
    {#kind, #type, FF_EVENT_##KIND, FF_EVENT_##KIND##_##TYPE},
#include "model/events.def"
};

static void test_events__names_and_codes_lead_to_each_other(void **state FF_UNUSED)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(events); i++) {
        const int32_t kind = events[i].kind_code, type = events[i].type_code;

        assert_string_equal(events[i].kind, ff_event_kind_name(kind));
        assert_string_equal(events[i].type, ff_event_type_name(kind, type));
        assert_int_equal(kind, ff_event_kind_of(ff_str_of(events[i].kind)));
    }
}

static void test_events__codes_are_unique_and_positive(void **state FF_UNUSED)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(events); i++) {
        assert_true(events[i].kind_code > 0 && events[i].kind_code < FF_EVENT_KIND_END);
        assert_true(events[i].type_code > 0);
        for (size_t j = 0; j < i; j++)
            assert_false(events[i].kind_code == events[j].kind_code &&
                         (events[i].type_code == events[j].type_code ||
                          !strcmp(events[i].type, events[j].type)));
    }
}

static void test_events__unknown_ones_have_no_name_and_no_code(void **state FF_UNUSED)
{
    assert_null(ff_event_kind_name(0));
    assert_null(ff_event_kind_name(FF_EVENT_KIND_END));
    assert_null(ff_event_type_name(FF_EVENT_LEASE, 99));
    assert_null(ff_event_type_name(99, 1));
    assert_int_equal(0, ff_event_kind_of(FF_STR("leas")));
    assert_int_equal(0, ff_event_kind_of(ff_str_null()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events__names_and_codes_lead_to_each_other),
        cmocka_unit_test(test_events__codes_are_unique_and_positive),
        cmocka_unit_test(test_events__unknown_ones_have_no_name_and_no_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
