/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_explain.c -- why it is not running, or who runs it, or how it ended. */
#include "support/flows.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#include "base/banned.h"

static const struct ff_explanation *explain(struct test *t, const char *id)
{
    struct ff_explanation *const why = keep(t, sizeof *why);

    EXPECT_OK(t, ff_explain(t->client, id, why, &t->err));
    keep_answer(t, why->memory);
    EXPECT_TEXT(t, id, why->execution_id);
    return why;
}

static bool says(struct test *t, const char *id, const char *code)
{
    const struct ff_explanation *const why = explain(t, id);

    for (size_t i = 0; i < why->count; i++)
        if (!strcmp(why->items[i].code, code))
            return why->items[i].detail && why->items[i].detail[0];
    return false;
}

/* A worker that offers `capabilities` has asked for work. */
static void given_worker(struct test *t, const char *const *capabilities, size_t count)
{
    struct ff_claim_request r = claim_request();

    r.capabilities = capabilities;
    r.capability_count = count;
    EXPECT_OK(t, when_asked(t, &r));
}

FF_CONFORMANCE(execution_explain, waits_without_any_worker)
{
    const struct name name = given_submitted(t);

    EXPECT(t, says(t, name.id, "no_worker"));
    EXPECT_TEXT(t, "waiting", explain(t, name.id)->public_state);
}

FF_CONFORMANCE(execution_explain, waits_for_a_worker_to_ask)
{
    struct name name;

    given_worker(t, NULL, 0);
    name = given_submitted(t);
    WAIT_UNTIL(t, says(t, name.id, "ready"));
    EXPECT_INT(t, 1, (int64_t)explain(t, name.id)->count);
    (void)given_submitted(t);
    EXPECT(t, says(t, name.id, "queue"));
}

FF_CONFORMANCE(execution_explain, no_worker_on_its_lane_or_of_its_kind)
{
    static const char *const kinds[] = {"other"};
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();
    struct name lane, kind;

    r.kinds = kinds;
    r.kind_count = 1;
    EXPECT_OK(t, when_asked(t, &r));
    s.lane = "far";
    lane = given(t, &s);
    kind = given_submitted(t);
    WAIT_UNTIL(t, says(t, lane.id, "no_worker") &&
                      strstr(explain(t, lane.id)->items[0].detail, "far"));
    EXPECT(t, says(t, kind.id, "no_worker"));
    EXPECT(t, !says(t, kind.id, "ready"));
}

/* Lists of names were texts joined by commas. */
FF_CONFORMANCE(execution_explain, a_name_with_a_comma_is_one_name)
{
    static const char *const lanes[] = {"a,b"}, *const kinds[] = {"x,y"};
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();
    struct name whole, half_lane, half_kind;

    r.lanes = lanes;
    r.kinds = kinds;
    r.lane_count = r.kind_count = 1;
    EXPECT_OK(t, when_asked(t, &r));
    s.lane = "a";
    s.kind = "x,y";
    half_lane = given(t, &s);
    s.lane = "a,b";
    s.kind = "x";
    half_kind = given(t, &s);
    WAIT_UNTIL(t, strstr(explain(t, half_kind.id)->items[0].detail, "offers kind 'x'"));
    EXPECT(t, says(t, half_lane.id, "no_worker"));
    s.kind = "x,y";
    whole = given(t, &s);
    EXPECT(t, !says(t, whole.id, "no_worker"));
}

FF_CONFORMANCE(execution_explain, lacks_a_capability)
{
    static const char *const needs[] = {"eu", "gpu"};
    struct ff_submission s = submission();
    struct name name;

    given_worker(t, needs, 1);
    s.required_capabilities = needs;
    s.required_capability_count = 2;
    name = given(t, &s);
    WAIT_UNTIL(t, says(t, name.id, "no_capability"));
    EXPECT(t, strstr(explain(t, name.id)->items[0].detail, "gpu"));
}

FF_CONFORMANCE(execution_explain, waits_on_a_paused_lane)
{
    const struct name name = given_submitted(t);

    EXPECT_OK(t, ff_lane_pause(t->client, "default", true, "maintenance", &t->err));
    EXPECT(t, says(t, name.id, "paused_lane"));
    EXPECT(t, strstr(explain(t, name.id)->items[0].detail, "maintenance"));
}

FF_CONFORMANCE(execution_explain, waits_for_a_time)
{
    const struct ff_policy_spec p = retry_policy(3, 3600000);
    const struct held held = given_claimed_with(t, &p, 30000);
    struct ff_submission s = submission();

    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT(t, says(t, held.id, "retry_backoff"));
    EXPECT(t, says(t, held.id, "failure"));
    s.delay_ms = 3600000;
    s.deadline_ms = 7200000;
    EXPECT(t, says(t, given(t, &s).id, "delayed"));
    s.deadline_ms = 30000;
    EXPECT(t, says(t, given(t, &s).id, "deadline_near"));
}

FF_CONFORMANCE(execution_explain, is_worked_on)
{
    const struct held held = given_claimed(t);

    EXPECT(t, says(t, held.id, "leased"));
    EXPECT(t, strstr(explain(t, held.id)->items[0].detail, WORKER));
    EXPECT_OK(t, when_progressed(t, &held, 30, "reading"));
    EXPECT(t, says(t, held.id, "progress"));
}

FF_CONFORMANCE_SLOW(execution_explain, waits_to_be_reclaimed)
{
    const struct ff_policy_spec p = reclaim_policy(3);
    const struct held held = given_claimed_with(t, &p, 100);

    given_lapsed(t, &held);
    EXPECT(t, says(t, held.id, "reclaimable"));
}

FF_CONFORMANCE(execution_explain, has_ended)
{
    const struct name done = given_completed(t);
    const struct held held = given_claimed(t);
    struct name cancelled;

    EXPECT(t, says(t, done.id, "finished"));
    EXPECT_INT(t, 1, (int64_t)explain(t, done.id)->count);
    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    EXPECT(t, says(t, held.id, "finished") && says(t, held.id, "failure"));
    cancelled = given_submitted(t);
    EXPECT_OK(t, when_cancelled(t, cancelled.id));
    EXPECT(t, says(t, cancelled.id, "finished") && says(t, cancelled.id, "cancelled"));
}

/* `count` times a character of three bytes. */
static char *wide(struct test *t, size_t count)
{
    char *const text = keep(t, 3 * count + 1);

    for (size_t i = 0; i < count; i++)
        memcpy(text + 3 * i, "\xe2\x82\xac", 4);
    return text;
}

static bool can_be_written(struct test *t, const char *id)
{
    const struct ff_explanation *const why = explain(t, id);

    for (size_t i = 0; i < why->count; i++)
        if (!ff_str_is_utf8(ff_str_of(why->items[i].detail)))
            return false;
    return true;
}

/* Half a character cannot be told as JSON: nobody would ever get the answer. */
FF_CONFORMANCE(execution_explain, a_long_text_is_cut_between_characters)
{
    struct ff_failure failure;
    struct held held;

    for (size_t shift = 0; shift < 3; shift++) {
        char *const message = wide(t, 1200);

        memset(message, 'x', shift);
        memmove(message + shift, message + 3, strlen(message + 3) + 1);
        held = given_claimed(t);
        EXPECT_OK(t, when_progressed(t, &held, 30, message));
        EXPECT(t, says(t, held.id, "progress"));
        EXPECT(t, can_be_written(t, held.id));
        failure = failure_of(&held, "permanent");
        failure.message = message;
        EXPECT_OK(t, when_failed_as(t, &failure));
        EXPECT(t, says(t, held.id, "failure"));
        EXPECT(t, can_be_written(t, held.id));
    }
}

FF_CONFORMANCE(execution_explain, long_names_are_cut_between_characters)
{
    const char *const name = wide(t, 42);
    char text[4096] = "", edges[4096] = "";
    size_t nodes_len = 0, edges_len = 0;
    struct flow flow;

    for (int i = 0; i < 8; i++) {
        nodes_len += (size_t)snprintf(text + nodes_len, sizeof text - nodes_len, "%d%s ", i, name);
        edges_len +=
            (size_t)snprintf(edges + edges_len, sizeof edges - edges_len, " %d%s>z", i, name);
    }
    (void)snprintf(text + nodes_len, sizeof text - nodes_len, "z |%s", edges);
    flow = given_flow(t, text);
    EXPECT(t, says(t, node_id(t, &flow, "z"), "dependencies"));
    EXPECT(t, can_be_written(t, node_id(t, &flow, "z")));
}
