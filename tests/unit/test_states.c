/* SPDX-License-Identifier: Apache-2.0
 *
 * test_states.c -- which state vectors there are, and which may follow which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macros.h"
#include "model/rows.h"
#include "model/states.h"

/* Written from the design, not from states.c: "from: to to to". */
// clang-format off
static const struct {
    const char *from, *to;
} legal[] = {
    {"",               "READY_FIRST DELAYED_FIRST BLOCKED_FIRST"},
    {"READY_FIRST",    "ACTIVE BLOCKED_FIRST CANCELLED EXPIRED"},
    {"READY_RETRY",    "ACTIVE CANCELLED EXPIRED"},
    {"READY_REPLAY",   "ACTIVE BLOCKED_REPLAY CANCELLED EXPIRED"},
    {"READY_RESUMED",  "ACTIVE CANCELLED EXPIRED"},
    {"DELAYED_FIRST",  "READY_FIRST BLOCKED_FIRST CANCELLED EXPIRED"},
    {"DELAYED_RETRY",  "READY_RETRY CANCELLED EXPIRED"},
    {"DELAYED_WORKER", "READY_RESUMED CANCELLED EXPIRED"},
    {"BLOCKED_FIRST",  "READY_FIRST DELAYED_FIRST SKIPPED CANCELLED EXPIRED"},
    {"BLOCKED_REPLAY", "READY_REPLAY DELAYED_FIRST SKIPPED CANCELLED EXPIRED"},
    {"ACTIVE",         "RECLAIMABLE READY_RETRY READY_RESUMED DELAYED_RETRY DELAYED_WORKER "
                       "SUCCESS FAILED CANCELLED EXPIRED"},
    {"RECLAIMABLE",    "ACTIVE READY_RETRY READY_RESUMED DELAYED_RETRY DELAYED_WORKER "
                       "SUCCESS FAILED CANCELLED EXPIRED"},
    {"SUCCESS",        "READY_REPLAY BLOCKED_REPLAY"},
    {"FAILED",         "READY_REPLAY BLOCKED_REPLAY"},
    {"CANCELLED",      "READY_REPLAY BLOCKED_REPLAY"},
    {"EXPIRED",        "READY_REPLAY BLOCKED_REPLAY"},
    {"SKIPPED",        "READY_REPLAY BLOCKED_REPLAY DELAYED_FIRST"},
};
// clang-format on

static bool has_word(const char *text, const char *word)
{
    const size_t len = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static bool expected(const char *from, const char *to)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(legal); i++)
        if (!strcmp(legal[i].from, from))
            return has_word(legal[i].to, to);
    fail_msg("no expectation for %s", from);
    return false;
}

static void test_states__every_pair_is_as_expected(void **state)
{
    (void)state;
    for (size_t f = 0; f < FF_STATE_COUNT; f++)
        for (size_t t = 0; t < FF_STATE_COUNT; t++)
            if (ff_state_move_ok(ff_state_table[f].state, ff_state_table[t].state) !=
                expected(ff_state_table[f].vector, ff_state_table[t].vector))
                fail_msg("%s -> %s", ff_state_table[f].vector, ff_state_table[t].vector);
    for (size_t t = 0; t < FF_STATE_COUNT; t++)
        assert_int_equal(ff_state_move_ok(FF_STATE_NONE, ff_state_table[t].state),
                         expected("", ff_state_table[t].vector));
}

static void test_states__unknown_codes_go_nowhere(void **state)
{
    (void)state;
    for (int32_t code = -3; code < 200; code++) {
        if (ff_state_info(code))
            continue;
        for (size_t i = 0; i < FF_STATE_COUNT; i++) {
            assert_false(ff_state_move_ok(ff_state_table[i].state, (ff_state)code));
            if (code != FF_STATE_NONE)
                assert_false(ff_state_move_ok((ff_state)code, ff_state_table[i].state));
        }
        assert_string_equal(ff_state_public_name(code), "unknown");
    }
    assert_string_equal(ff_state_public_name(FF_NULL32), "gone");
    assert_string_equal(ff_state_outcome_name(FF_NULL32), "none");
}

/* The rule of semantics: public_state is a pure function of the other dimensions. */
static const char *derive(const struct ff_state_info *info)
{
    static const char *const rules[][2] = {
        {"eligible_now", "waiting"},
        {"not_eligible_until_time", "delayed"},
        {"blocked_by_dependencies", "waiting_children"},
    };

    if (!strcmp(info->lifecycle, "terminal"))
        return strcmp(info->outcome, "success") ? info->outcome : "completed";
    if (!strcmp(info->lifecycle, "active"))
        return "active";
    for (size_t i = 0; i < FF_ARRAY_LEN(rules); i++)
        if (!strcmp(info->eligibility, rules[i][0]))
            return rules[i][1];
    return "?";
}

static void test_states__public_state_is_derived(void **state)
{
    (void)state;
    for (size_t i = 0; i < FF_STATE_COUNT; i++) {
        const struct ff_state_info *const info = &ff_state_table[i];

        assert_string_equal(info->public_state, derive(info));
        assert_ptr_equal(ff_state_info((int32_t)info->state), info);
        assert_string_equal(ff_state_public_name((int32_t)info->state), info->public_state);
        assert_int_equal(!strcmp(info->outcome, "none"), strcmp(info->lifecycle, "terminal") != 0);
    }
}

static void test_states__predicates_follow_the_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < FF_STATE_COUNT; i++) {
        const struct ff_state_info *const info = &ff_state_table[i];
        const int32_t code = (int32_t)info->state;

        assert_int_equal(ff_state_is_terminal(code), !strcmp(info->lifecycle, "terminal"));
        assert_int_equal(ff_state_is_leased(code), !strcmp(info->lifecycle, "active"));
        assert_int_equal(ff_state_is_delayed(code), !strcmp(info->public_state, "delayed"));
        assert_int_equal(ff_state_is_blocked(code),
                         !strcmp(info->public_state, "waiting_children"));
        assert_int_equal(ff_state_is_claimable(code),
                         !strcmp(info->eligibility, "eligible_now") ||
                             !strcmp(info->ownership, "lease_expired_reclaimable"));
        if (ff_state_is_delayed(code)) {
            const struct ff_state_info *const ready =
                ff_state_info((int32_t)ff_state_after_delay(code));

            assert_string_equal(ready->attempt, info->attempt);
            assert_string_equal(ready->public_state, "waiting");
        } else {
            assert_int_equal(ff_state_after_delay(code), code);
        }
    }
}

static void test_states__codes_of_a_public_state(void **state)
{
    int64_t codes[FF_STATE_COUNT];

    (void)state;
    assert_int_equal(ff_state_codes_of_public(FF_STR("active"), codes), 2);
    assert_int_equal(codes[0], FF_STATE_RECLAIMABLE);
    assert_int_equal(codes[1], FF_STATE_ACTIVE);
    assert_int_equal(ff_state_codes_of_public(FF_STR("waiting"), codes), 4);
    assert_int_equal(ff_state_codes_of_public(FF_STR("completed"), codes), 1);
    assert_int_equal(codes[0], FF_STATE_SUCCESS);
    assert_int_equal(ff_state_codes_of_public(FF_STR("running"), codes), 0);
    assert_int_equal(ff_state_codes_of_public(FF_STR(""), codes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states__every_pair_is_as_expected),
        cmocka_unit_test(test_states__unknown_codes_go_nowhere),
        cmocka_unit_test(test_states__public_state_is_derived),
        cmocka_unit_test(test_states__predicates_follow_the_names),
        cmocka_unit_test(test_states__codes_of_a_public_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
