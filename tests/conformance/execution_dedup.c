/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_dedup.c -- the same submission twice is one execution.
 *
 * By idempotency key and by the caller's own id. Pitfall F6 (an earlier engine took keys and
 * ignored them). That a window outlives the execution itself is in retention_sweep.c. */
#include "support/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#include "base/banned.h"

#define OWN_ID    "{fp:7}:0190f5fe-7000-7000-8000-000000000001"
#define OWN_ID_P8 "{fp:8}:0190f5fe-7000-7000-8000-000000000001"

static struct ff_submission keyed(const char *key)
{
    struct ff_submission s = submission();

    s.idempotency_key = key;
    return s;
}

static void expect_duplicate(struct test *t, const struct ff_submission *s, const char *first,
                             const char *state)
{
    struct ff_submitted again;

    EXPECT_OK(t, when_submitted(t, s, &again));
    EXPECT(t, !again.created);
    EXPECT_TEXT(t, first, again.execution_id);
    EXPECT_TEXT(t, state, again.public_state);
}

FF_CONFORMANCE(execution_dedup, same_key_and_body_is_the_first_one)
{
    const struct ff_submission s = keyed("order-1");
    const struct name first = given(t, &s);

    expect_duplicate(t, &s, first.id, "waiting");
    expect_duplicate(t, &s, first.id, "waiting");
    EXPECT_ROWS(t, 1);
}

FF_CONFORMANCE(execution_dedup, answers_with_the_state_it_has_now)
{
    const struct ff_submission s = keyed("order-1");
    const struct name first = given(t, &s);
    const struct held held = given_claimed_next(t);

    expect_duplicate(t, &s, first.id, "active");
    EXPECT_OK(t, when_completed(t, &held, NULL));
    expect_duplicate(t, &s, first.id, "completed");
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE(execution_dedup, same_key_with_another_body_is_refused)
{
    struct ff_submission s = keyed("order-1");
    const struct name first = given(t, &s);
    struct ff_submitted again;

    s.priority = 1;
    EXPECT_REFUSED(t, FF_KEY_REUSED, "idempotency_key", when_submitted(t, &s, &again));
    s.priority = 0;
    s.input = (struct ff_str){"false", 5};
    EXPECT_REFUSED(t, FF_KEY_REUSED, "idempotency_key", when_submitted(t, &s, &again));
    EXPECT_INT(t, 0, look(t, first.id)->priority);
    EXPECT_ROWS(t, 1);
}

/* "Same" is the request with its defaults filled in. */
FF_CONFORMANCE(execution_dedup, defaults_said_aloud_are_the_same_body)
{
    const struct ff_policy_spec p = policy();
    struct ff_submission s = keyed("order-1");
    const struct name first = given(t, &s);

    s.lane = "default";
    s.ns = "default";
    s.policy = &p;
    s.priority = -3;
    expect_duplicate(t, &s, first.id, "waiting");
}

FF_CONFORMANCE(execution_dedup, order_of_tags_and_capabilities_does_not_matter)
{
    static const char *const needs[] = {"a", "b", "a"};
    const struct ff_tag_pair tags[] = {{"x", "1"}, {"y", "2"}, {"x", "1"}};
    struct ff_submission s = keyed("order-1");
    struct name first;

    s.tags = tags;
    s.tag_count = 2;
    s.required_capabilities = needs;
    s.required_capability_count = 2;
    first = given(t, &s);
    s.tags = tags + 1;
    s.required_capabilities = needs + 1;
    expect_duplicate(t, &s, first.id, "waiting");
}

/* As with an Idempotency-Key: JSON is compared as a value. */
FF_CONFORMANCE(execution_dedup, order_of_members_does_not_matter)
{
    struct ff_submission s = keyed("order-1");
    struct ff_submitted again;
    struct name first;

    s.input = FF_STR("{\"a\":{\"x\":1.5,\"y\":[1,2]},\"b\":2}");
    first = given(t, &s);
    s.input = FF_STR("{\"b\": 2, \"a\": {\"y\": [1, 2], \"x\": 1.50}}");
    expect_duplicate(t, &s, first.id, "waiting");
    s.input = FF_STR("{\"b\":2,\"a\":{\"y\":[2,1],\"x\":1.5}}"); /* an array has an order */
    EXPECT_REFUSED(t, FF_KEY_REUSED, "idempotency_key", when_submitted(t, &s, &again));
    s.input = FF_STR("{\"b\":2,\"a\":{\"y\":[1,2],\"x\":1.5}}");
    s.input_content_type = "text/plain"; /* bytes are compared as such */
    EXPECT_REFUSED(t, FF_KEY_REUSED, "idempotency_key", when_submitted(t, &s, &again));
}

FF_CONFORMANCE(execution_dedup, keys_belong_to_their_namespace)
{
    struct ff_submission s = keyed("order-1");
    const struct name first = given(t, &s);

    s.ns = "other";
    EXPECT(t, strcmp(first.id, given(t, &s).id) != 0);
    EXPECT_ROWS(t, 2);
}

FF_CONFORMANCE(execution_dedup, refused_submission_does_not_take_the_key)
{
    struct ff_submission s = keyed("order-1");
    struct ff_submitted submitted;

    s.lane = "";
    EXPECT_STATUS(t, FF_INVALID, when_submitted(t, &s, &submitted));
    s.lane = NULL;
    (void)given(t, &s);
}

static bool is_created(struct test *t, const struct ff_submission *s, struct ff_submitted *ret)
{
    EXPECT_OK(t, when_submitted(t, s, ret));
    return ret->created;
}

FF_CONFORMANCE(execution_dedup, key_is_free_again_when_its_window_is_over)
{
    struct ff_policy_spec p = policy();
    struct ff_submission s = keyed("order-1");
    struct ff_submitted second;
    struct name first;

    p.dedup_window_ms = 300;
    s.policy = &p;
    first = given(t, &s);
    WAIT_UNTIL(t, is_created(t, &s, &second));
    EXPECT(t, strcmp(first.id, second.execution_id) != 0);
    EXPECT(t,
           look(t, second.execution_id)->changed_at_ms >= look(t, first.id)->changed_at_ms + 300);
    EXPECT_ROWS(t, 2);
}

FF_CONFORMANCE(execution_dedup, first_submissions_window_counts)
{
    struct ff_policy_spec p = policy();
    struct ff_submission s = keyed("order-1");
    const struct name first = given(t, &s);
    const int64_t from_ms = store_now_ms(t);

    p.dedup_window_ms = 1;
    s.policy = &p;
    expect_duplicate(t, &s, first.id, "waiting");
    WAIT_UNTIL(t, store_now_ms(t) > from_ms + 5);
    expect_duplicate(t, &s, first.id, "waiting");
}

FF_CONFORMANCE(execution_dedup, inside_one_call_the_later_item_is_the_duplicate)
{
    struct ff_submission items[4] = {keyed("a"), keyed("b"), keyed("a"), keyed("a")};
    struct ff_submitted results[4];

    items[3].priority = 9;
    EXPECT_OK(t, ff_submit(t->client, items, 4, results, &t->err));
    EXPECT(t, results[0].created && results[1].created && !results[2].created);
    EXPECT_INT(t, FF_OK, results[2].status);
    EXPECT_TEXT(t, results[0].execution_id, results[2].execution_id);
    EXPECT_INT(t, FF_KEY_REUSED, results[3].status);
    EXPECT_ROWS(t, 2);
}

FF_CONFORMANCE(execution_dedup, thousand_items_with_one_key_are_one)
{
    struct ff_submission *const items = keep(t, 1000 * sizeof *items);
    struct ff_submitted *const results = keep(t, 1000 * sizeof *results);
    size_t created = 0;

    for (size_t i = 0; i < 1000; i++)
        items[i] = keyed("only-one");
    EXPECT_OK(t, ff_submit(t->client, items, 1000, results, &t->err));
    for (size_t i = 0; i < 1000; i++) {
        EXPECT_INT(t, FF_OK, results[i].status);
        EXPECT_TEXT(t, results[0].execution_id, results[i].execution_id);
        created += results[i].created;
    }
    EXPECT_INT(t, 1, (int64_t)created);
    EXPECT_ROWS(t, 1);
}

FF_CONFORMANCE(execution_dedup, thousand_keys_said_again_create_nothing)
{
    struct ff_submission *const items = keep(t, 1000 * sizeof *items);
    struct ff_submitted *const first = keep(t, 1000 * sizeof *first);
    struct ff_submitted *const again = keep(t, 1000 * sizeof *again);

    for (size_t i = 0; i < 1000; i++) {
        char *const key = keep(t, 32);

        (void)snprintf(key, 32, "key-%zu", i);
        items[i] = keyed(key);
    }
    EXPECT_OK(t, ff_submit(t->client, items, 1000, first, &t->err));
    EXPECT_OK(t, ff_submit(t->client, items, 1000, again, &t->err));
    for (size_t i = 0; i < 1000; i++) {
        EXPECT(t, first[i].created && again[i].status == FF_OK && !again[i].created);
        EXPECT_TEXT(t, first[i].execution_id, again[i].execution_id);
    }
    EXPECT_ROWS(t, 1000);
}

struct race {
    struct ff_submitted results[8];
};

static void submit_it(struct test *t, size_t index, void *ctx)
{
    struct race *const race = ctx;
    const struct ff_submission s = keyed("order-1");

    /* Half of them through the other client. */
    if (index % 2)
        t->client = t->others[0];
    EXPECT_OK(t, when_submitted(t, &s, &race->results[index]));
}

FF_CONFORMANCE(execution_dedup, racing_threads_and_clients_create_one)
{
    struct race *const race = keep(t, sizeof *race);
    int created = 0;

    (void)another_client(t, NULL);
    in_threads(t, 8, submit_it, race);
    for (size_t i = 0; i < 8; i++) {
        created += race->results[i].created;
        EXPECT_TEXT(t, race->results[0].execution_id, race->results[i].execution_id);
    }
    EXPECT_INT(t, 1, created);
    EXPECT_ROWS(t, 1);
}

/* ---- the caller's own ids ---- */

static struct ff_submission own(const char *id)
{
    struct ff_submission s = submission();

    s.execution_id = id;
    return s;
}

FF_CONFORMANCE(execution_dedup, own_id_is_kept_as_given)
{
    const struct ff_submission s = own(OWN_ID);

    EXPECT_TEXT(t, OWN_ID, given(t, &s).id);
    EXPECT_TEXT(t, OWN_ID, given_claimed_next(t).id);
}

FF_CONFORMANCE(execution_dedup, own_id_said_again_is_the_first_one)
{
    const struct ff_submission s = own(OWN_ID);
    struct ff_submission path_form = own("fp:7:0190f5fe-7000-7000-8000-000000000001");

    (void)given(t, &s);
    expect_duplicate(t, &s, OWN_ID, "waiting");
    expect_duplicate(t, &path_form, OWN_ID, "waiting");
    EXPECT_ROWS(t, 1);
}

/* A second submission does not alter the first. */
FF_CONFORMANCE(execution_dedup, own_id_with_another_body_is_refused)
{
    struct ff_submission s = own(OWN_ID);
    struct ff_submitted again;

    (void)given(t, &s);
    s.kind = "other";
    EXPECT_REFUSED(t, FF_KEY_REUSED, "execution_id", when_submitted(t, &s, &again));
    s.kind = "work";
    s.execution_id = OWN_ID_P8; /* the same uuid in another partition */
    EXPECT_REFUSED(t, FF_KEY_REUSED, "execution_id", when_submitted(t, &s, &again));
    EXPECT_TEXT(t, "work", look(t, OWN_ID)->kind);
    EXPECT_ROWS(t, 1);
}

FF_CONFORMANCE(execution_dedup, own_id_is_never_given_twice_while_kept)
{
    struct ff_policy_spec p = policy();
    struct ff_submission s = own(OWN_ID);
    int64_t from_ms;

    p.dedup_window_ms = 1;
    s.policy = &p;
    (void)given(t, &s);
    from_ms = store_now_ms(t);
    WAIT_UNTIL(t, store_now_ms(t) > from_ms + 5);
    expect_duplicate(t, &s, OWN_ID, "waiting");
    s.priority = 2;
    EXPECT_STATUS(t, FF_KEY_REUSED, when_submitted(t, &s, &(struct ff_submitted){0}));
}

FF_CONFORMANCE(execution_dedup, key_and_own_id_go_together)
{
    struct ff_submission s = own(OWN_ID);
    struct ff_submitted again;

    s.idempotency_key = "order-1";
    (void)given(t, &s);
    expect_duplicate(t, &s, OWN_ID, "waiting");
    s.idempotency_key = "order-2";
    EXPECT_REFUSED(t, FF_KEY_REUSED, "execution_id", when_submitted(t, &s, &again));
    s = keyed("order-1");
    EXPECT_REFUSED(t, FF_KEY_REUSED, "idempotency_key", when_submitted(t, &s, &again));
    EXPECT_ROWS(t, 1);
}
