/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_claim_match.c -- which executions a worker may get: lanes, kinds, namespace,
 * capabilities.
 *
 * Lanes are served in the order given. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

static struct name given_needing(struct test *t, const char *const *needs, size_t count)
{
    struct ff_submission s = submission();

    s.required_capabilities = needs;
    s.required_capability_count = count;
    return given(t, &s);
}

static bool suits(struct test *t, const char *const *offers, size_t count, struct held *ret)
{
    struct ff_claim_request r = claim_request();

    r.capabilities = offers;
    r.capability_count = count;
    return claims_one(t, &r, ret);
}

FF_CONFORMANCE(execution_claim_match, exactly_the_needed_capabilities_fit)
{
    static const char *const both[] = {"gpu", "eu"};
    static const char *const turned[] = {"eu", "gpu", "eu"};
    const struct name name = given_needing(t, both, 2);
    struct held held;

    EXPECT(t, suits(t, turned, 3, &held));
    EXPECT_TEXT(t, name.id, held.id);
}

FF_CONFORMANCE(execution_claim_match, more_than_needed_fits)
{
    static const char *const more[] = {"eu", "gpu", "ssd"};
    struct held held;

    (void)given_needing(t, more + 1, 1);
    EXPECT(t, suits(t, more, 3, &held));
}

FF_CONFORMANCE(execution_claim_match, no_need_fits_every_worker)
{
    static const char *const offers[] = {"gpu"};
    struct held held;

    (void)given_submitted(t);
    EXPECT(t, suits(t, offers, 1, &held));
    (void)given_submitted(t);
    EXPECT(t, suits(t, NULL, 0, &held));
}

FF_CONFORMANCE(execution_claim_match, one_missing_capability_is_too_many)
{
    static const char *const all[] = {"gpu", "eu", "ssd"};
    struct held held;

    (void)given_needing(t, all, 3);
    EXPECT(t, !suits(t, all, 2, &held));
    EXPECT(t, !suits(t, all + 1, 2, &held));
    EXPECT(t, !suits(t, NULL, 0, &held));
    EXPECT(t, suits(t, all, 3, &held));
}

FF_CONFORMANCE(execution_claim_match, part_of_a_name_is_not_the_name)
{
    static const char *const needs[] = {"gpu"};
    static const char *const offers[] = {"gpu-large", "gp", "GPU"};
    struct held held;

    (void)given_needing(t, needs, 1);
    EXPECT(t, !suits(t, offers, 3, &held));
}

/* A claim does not stop at a head of the queue that does not fit. */
FF_CONFORMANCE(execution_claim_match, head_that_does_not_fit_blocks_nobody)
{
    static const char *const needs[] = {"gpu"};
    struct ff_submission s = submission();
    struct name fits;

    s.required_capabilities = needs;
    s.required_capability_count = 1;
    s.priority = 9000;
    for (int i = 0; i < 30; i++)
        (void)given(t, &s);
    fits = given_submitted(t);
    EXPECT_TEXT(t, fits.id, given_claimed_next(t).id);
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE(execution_claim_match, capabilities_made_by_another_client_become_known)
{
    static const char *const needs[] = {"rare"};
    struct ff_submission s = submission();
    struct ff_submitted submitted;
    struct held held;

    s.required_capabilities = needs;
    s.required_capability_count = 1;
    EXPECT_OK(t, ff_submit(another_client(t, NULL), &s, 1, &submitted, &t->err));
    WAIT_UNTIL(t, suits(t, needs, 1, &held));
    EXPECT_TEXT(t, submitted.execution_id, held.id);
}

/* ---- kinds, namespaces, lanes ---- */

static struct name given_in(struct test *t, const char *lane, const char *ns, const char *kind)
{
    struct ff_submission s = submission();

    s.lane = lane;
    s.ns = ns;
    s.kind = kind;
    return given(t, &s);
}

FF_CONFORMANCE(execution_claim_match, only_the_kinds_asked_for)
{
    static const char *const kinds[] = {"b", "c", "b"};
    struct ff_claim_request r = claim_request();
    const struct name a = given_in(t, NULL, NULL, "a");
    const struct name b = given_in(t, NULL, NULL, "b");
    const struct name c = given_in(t, NULL, NULL, "c");

    r.kinds = kinds;
    r.kind_count = 3;
    EXPECT_TEXT(t, b.id, given_claim(t, &r).id);
    EXPECT_TEXT(t, c.id, given_claim(t, &r).id);
    EXPECT(t, !claims_one(t, &r, &(struct held){0}));
    EXPECT_TEXT(t, a.id, given_claimed_next(t).id);
}

FF_CONFORMANCE(execution_claim_match, only_the_namespace_asked_for)
{
    struct ff_claim_request r = claim_request();
    const struct name one = given_in(t, NULL, "one", "work");
    const struct name two = given_in(t, NULL, "two", "work");

    r.ns = "two";
    EXPECT_TEXT(t, two.id, given_claim(t, &r).id);
    EXPECT(t, !claims_one(t, &r, &(struct held){0}));
    r.ns = NULL;
    EXPECT_TEXT(t, one.id, given_claim(t, &r).id);
}

FF_CONFORMANCE(execution_claim_match, lanes_are_served_in_the_order_given)
{
    static const char *const lanes[] = {"b", "a", "b"};
    struct ff_claim_request r = claim_request();
    const struct name a = given_in(t, "a", NULL, "work");
    const struct name b1 = given_in(t, "b", NULL, "work");
    const struct name b2 = given_in(t, "b", NULL, "work");
    const struct name c = given_in(t, "c", NULL, "work");
    struct held held[4];

    r.lanes = lanes;
    r.lane_count = 3;
    r.max = 4;
    EXPECT_INT(t, 3, (int64_t)when_claimed_many(t, &r, held, 4));
    EXPECT_TEXT(t, b1.id, held[0].id);
    EXPECT_TEXT(t, b2.id, held[1].id);
    EXPECT_TEXT(t, a.id, held[2].id);
    EXPECT_TEXT(t, "a", held[2].lane);
    EXPECT_STATE(t, c.id, "waiting");
}

FF_CONFORMANCE(execution_claim_match, no_lane_means_default)
{
    (void)given_in(t, "other", NULL, "work");
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE(execution_claim_match, priority_counts_inside_a_lane_only)
{
    static const char *const lanes[] = {"a", "b"};
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();
    struct name low;

    s.lane = "b";
    s.priority = 9000;
    (void)given(t, &s);
    s.lane = "a";
    s.priority = 0;
    low = given(t, &s);
    r.lanes = lanes;
    r.lane_count = 2;
    EXPECT_TEXT(t, low.id, given_claim(t, &r).id);
}
