/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_submit_limits.c -- every field of a submission just inside and just outside its limits.
 *
 * What is refused names its field and leaves no row behind. The limits are those of the HTTP
 * contract. */
#include "support/domain.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define DURATION_MAX INT64_C(315360000000)    /* ten years */
#define TIME_MAX     INT64_C(253402300799999) /* the end of the year 9999 */
#define BAD_UTF8     "caf\xe9"
#define CONTROL      "a\x01z"

static void refused(struct test *t, const struct ff_submission *s, ff_status want,
                    const char *field)
{
    struct ff_submitted submitted;

    EXPECT_REFUSED(t, want, field, when_submitted(t, s, &submitted));
}

FF_CONFORMANCE(execution_submit_limits, kind)
{
    struct ff_submission s = submission();

    s.kind = NULL;
    refused(t, &s, FF_INVALID, "kind");
    s.kind = "";
    refused(t, &s, FF_INVALID, "kind");
    s.kind = text_of(t, 129, 'k');
    refused(t, &s, FF_TOO_LARGE, "kind");
    s.kind = BAD_UTF8;
    refused(t, &s, FF_INVALID, "kind");
    s.kind = CONTROL;
    refused(t, &s, FF_INVALID, "kind");
    EXPECT_NO_ROWS(t);
    s.kind = text_of(t, 127, 'k');
    (void)given(t, &s);
    s.kind = text_of(t, 128, 'k');
    EXPECT_TEXT(t, s.kind, look(t, given(t, &s).id)->kind);
    s.kind = "caf\xc3\xa9";
    EXPECT_TEXT(t, s.kind, look(t, given(t, &s).id)->kind);
}

FF_CONFORMANCE(execution_submit_limits, lane)
{
    static const char *const bad[] = {"", BAD_UTF8, CONTROL, "caf\xc3\xa9", "a\tb", "a\x7f"};
    struct ff_submission s = submission();

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        s.lane = bad[i];
        refused(t, &s, FF_INVALID, "lane");
    }
    s.lane = text_of(t, 65, 'l');
    refused(t, &s, FF_INVALID, "lane");
    EXPECT_NO_ROWS(t);
    s.lane = text_of(t, 63, 'l');
    (void)given(t, &s);
    s.lane = text_of(t, 64, 'l');
    EXPECT_TEXT(t, s.lane, look(t, given(t, &s).id)->lane);
}

FF_CONFORMANCE(execution_submit_limits, namespace)
{
    struct ff_submission s = submission();

    s.ns = "";
    refused(t, &s, FF_INVALID, "namespace");
    s.ns = text_of(t, 129, 'n');
    refused(t, &s, FF_TOO_LARGE, "namespace");
    s.ns = BAD_UTF8;
    refused(t, &s, FF_INVALID, "namespace");
    s.ns = CONTROL;
    refused(t, &s, FF_INVALID, "namespace");
    EXPECT_NO_ROWS(t);
    s.ns = text_of(t, 128, 'n');
    EXPECT_TEXT(t, s.ns, look(t, given(t, &s).id)->ns);
}

FF_CONFORMANCE(execution_submit_limits, input)
{
    struct ff_submission s = submission();

    s.input = json_of(t, 1048577, 'i');
    refused(t, &s, FF_TOO_LARGE, "input");
    s.input.len = 1;
    s.input_content_type = "";
    refused(t, &s, FF_INVALID, "input_content_type");
    s.input_content_type = "text/\x01";
    refused(t, &s, FF_INVALID, "input_content_type");
    s.input_content_type = text_of(t, 256, 'c');
    refused(t, &s, FF_INVALID, "input_content_type");
    EXPECT_NO_ROWS(t);
    s.input_content_type = text_of(t, 255, 'c');
    EXPECT_TEXT(t, s.input_content_type, look(t, given(t, &s).id)->input_content_type);
}

/* Bytes of a C caller were taken for JSON unseen. */
FF_CONFORMANCE(execution_submit_limits, an_input_said_to_be_json_must_be)
{
    static const char *const none[] = {
        "", "x", "{", "[1,]", "1 2", "\xff", "\"\xff\"", "{1:2}", "{\"a\":1,\"a\":2}"};
    struct ff_submission s = submission();

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        s.input = (struct ff_str){none[i], strlen(none[i])};
        s.input_content_type = i % 2 ? "application/json" : NULL;
        refused(t, &s, FF_INVALID, "input");
    }
    EXPECT_NO_ROWS(t);
    s.input_content_type = "text/plain"; /* nobody said it was */
    EXPECT_BYTES(t, s.input.ptr, s.input.len, look(t, given(t, &s).id)->input);
}

FF_CONFORMANCE(execution_submit_limits, who_asks_to_be_trusted_is)
{
    const struct ff_options options = {.size = sizeof options, .trusts_json = true};
    struct ff_submission s = submission();

    needs_store(t, "a caller in the engine's own process");
    close_client(t, &t->client);
    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    s.input = (struct ff_str){"no JSON at all", 14};
    (void)given(t, &s);
}

FF_CONFORMANCE(execution_submit_limits, idempotency_key)
{
    struct ff_submission s = submission();

    s.idempotency_key = "";
    refused(t, &s, FF_INVALID, "idempotency_key");
    s.idempotency_key = text_of(t, 256, 'k');
    refused(t, &s, FF_TOO_LARGE, "idempotency_key");
    s.idempotency_key = "caf\xc3\xa9";
    refused(t, &s, FF_INVALID, "idempotency_key");
    s.idempotency_key = CONTROL;
    refused(t, &s, FF_INVALID, "idempotency_key");
    EXPECT_NO_ROWS(t);
    s.idempotency_key = text_of(t, 255, 'k');
    (void)given(t, &s);
    s.idempotency_key = text_of(t, 254, 'k');
    (void)given(t, &s);
}

FF_CONFORMANCE(execution_submit_limits, tags)
{
    static const char *const bad[] = {"",    "Team", "-a",          ".a",   "_a",
                                      "a b", "a,b",  "caf\xc3\xa9", CONTROL};
    struct ff_tag_pair tags[33];
    struct ff_submission s = submission();
    char names[33][24];

    for (size_t i = 0; i < 33; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%zu", i);
        tags[i] = (struct ff_tag_pair){names[i], "v"};
    }
    s.tags = tags;
    s.tag_count = 33;
    refused(t, &s, FF_TOO_LARGE, "tags");
    s.tag_count = 1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tags[0].name = bad[i];
        refused(t, &s, FF_INVALID, "tags");
    }
    tags[0] = (struct ff_tag_pair){text_of(t, 65, 'a'), "v"};
    EXPECT_STATUS(t, FF_TOO_LARGE, when_submitted(t, &s, &(struct ff_submitted){0}));
    tags[0] = (struct ff_tag_pair){"a", text_of(t, 257, 'v')};
    refused(t, &s, FF_TOO_LARGE, "tags.a");
    tags[0].value = BAD_UTF8;
    refused(t, &s, FF_INVALID, "tags.a");
    tags[0].value = NULL;
    refused(t, &s, FF_INVALID, "tags");
    tags[0] = tags[1];
    s.tag_count = 2;
    refused(t, &s, FF_INVALID, "tags.t1");
    EXPECT_NO_ROWS(t);
}

FF_CONFORMANCE(execution_submit_limits, tags_at_their_limits_are_kept)
{
    struct ff_tag_pair tags[32];
    struct ff_submission s = submission();
    char names[32][24];
    const struct ff_info *info;

    for (size_t i = 0; i < 32; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%zu", i);
        tags[i] = (struct ff_tag_pair){names[i], i % 2 ? "" : "line\nbreak"};
    }
    tags[0] = (struct ff_tag_pair){text_of(t, 64, 'a'), text_of(t, 256, 'v')};
    tags[1] = (struct ff_tag_pair){"0_.-", "x"};
    s.tags = tags;
    s.tag_count = 32;
    info = look(t, given(t, &s).id);
    EXPECT_INT(t, 32, (int64_t)info->tag_count);
    EXPECT_TEXT(t, "0_.-", info->tags[0].name);
    EXPECT_TEXT(t, tags[0].name, info->tags[1].name);
    EXPECT_TEXT(t, tags[0].value, info->tags[1].value);
}

/* Through a server they were one body above its limit, and refused altogether. */
FF_CONFORMANCE(execution_submit_limits, many_at_their_limits_fit_in_one_call)
{
    enum { COUNT = 200 }; /* 10 MB of JSON: a byte of control has six there */
    struct ff_submission *const items = keep(t, COUNT * sizeof *items);
    struct ff_submitted *const results = keep(t, COUNT * sizeof *results);
    struct ff_tag_pair tags[32];
    char names[32][8];

    for (size_t i = 0; i < 32; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%zu", i);
        tags[i] = (struct ff_tag_pair){names[i], text_of(t, 256, '\x01')};
    }
    for (size_t i = 0; i < COUNT; i++) {
        items[i] = submission();
        items[i].tags = tags;
        items[i].tag_count = 32;
    }
    items[7].kind = ""; /* a bad one has its own answer, wherever the call is cut */
    EXPECT_OK(t, ff_submit(t->client, items, COUNT, results, &t->err));
    for (size_t i = 0; i < COUNT; i++)
        EXPECT_INT(t, i == 7 ? FF_INVALID : FF_OK, results[i].status);
    EXPECT_TEXT(t, tags[31].value, look(t, results[COUNT - 1].execution_id)->tags[31].value);
}

FF_CONFORMANCE(execution_submit_limits, capabilities)
{
    static const char *const bad[] = {"", "a,b", "a b", "a\tb", CONTROL, BAD_UTF8};
    const char *needs[65];
    struct ff_submission s = submission();

    for (size_t i = 0; i < 65; i++) {
        char *const name = keep(t, 24);

        (void)snprintf(name, 24, "c%zu", i);
        needs[i] = name;
    }
    s.required_capabilities = needs;
    s.required_capability_count = 65;
    refused(t, &s, FF_TOO_LARGE, "required_capabilities");
    s.required_capability_count = 64;
    EXPECT_INT(t, 64, (int64_t)look(t, given(t, &s).id)->required_capability_count);
    s.required_capability_count = 2;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        needs[1] = bad[i];
        refused(t, &s, FF_INVALID, "required_capabilities[1]");
    }
    needs[1] = NULL;
    refused(t, &s, FF_INVALID, "required_capabilities");
    needs[1] = text_of(t, 65, 'c');
    refused(t, &s, FF_TOO_LARGE, "required_capabilities[1]");
    EXPECT_ROWS(t, 1);
    needs[1] = text_of(t, 64, 'c');
    (void)given(t, &s);
}

FF_CONFORMANCE(execution_submit_limits, delay)
{
    struct ff_submission s = submission();

    s.delay_ms = -1;
    refused(t, &s, FF_INVALID, "delay_ms");
    s.delay_ms = DURATION_MAX + 1;
    refused(t, &s, FF_INVALID, "delay_ms");
    s.delay_ms = INT64_MAX;
    refused(t, &s, FF_INVALID, "delay_ms");
    s.delay_ms = 5;
    s.delay_until_ms = 5;
    refused(t, &s, FF_INVALID, "delay_until_ms");
    s.delay_ms = FF_ABSENT_MS;
    s.delay_until_ms = -1;
    refused(t, &s, FF_INVALID, "delay_until_ms");
    s.delay_until_ms = TIME_MAX + 1;
    refused(t, &s, FF_INVALID, "delay_until_ms");
    EXPECT_NO_ROWS(t);
    s.delay_until_ms = TIME_MAX;
    EXPECT_INT(t, TIME_MAX, look(t, given(t, &s).id)->delay_until_ms);
    s.delay_until_ms = FF_ABSENT_MS;
    s.delay_ms = DURATION_MAX;
    EXPECT_STATE(t, given(t, &s).id, "delayed");
}

FF_CONFORMANCE(execution_submit_limits, deadline)
{
    struct ff_submission s = submission();

    s.deadline_ms = 0;
    refused(t, &s, FF_INVALID, "deadline_ms");
    s.deadline_ms = -5;
    refused(t, &s, FF_INVALID, "deadline_ms");
    s.deadline_ms = DURATION_MAX + 1;
    refused(t, &s, FF_INVALID, "deadline_ms");
    s.deadline_ms = 5;
    s.deadline_at_ms = 5;
    refused(t, &s, FF_INVALID, "deadline_at_ms");
    s.deadline_ms = FF_ABSENT_MS;
    s.deadline_at_ms = -1;
    refused(t, &s, FF_INVALID, "deadline_at_ms");
    s.deadline_at_ms = INT64_MAX;
    refused(t, &s, FF_INVALID, "deadline_at_ms");
    EXPECT_NO_ROWS(t);
    s.deadline_at_ms = TIME_MAX;
    EXPECT_INT(t, TIME_MAX, look(t, given(t, &s).id)->deadline_at_ms);
    s.deadline_at_ms = FF_ABSENT_MS;
    s.deadline_ms = DURATION_MAX;
    (void)given(t, &s);
}

static void refused_policy(struct test *t, const struct ff_policy_spec *p, const char *field)
{
    struct ff_submission s = submission();

    s.policy = p;
    refused(t, &s, FF_INVALID, field);
}

/* A policy that makes no sense is refused, whatever part of it. */
FF_CONFORMANCE(execution_submit_limits, policy_numbers)
{
    static const double factors[] = {0.5, -1, 1000.5, NAN, INFINITY, -DBL_MAX};
    struct ff_policy_spec p = retry_policy(-1, 0);

    refused_policy(t, &p, "policy.retry_policy.max_retries");
    p = retry_policy(1000001, 0);
    refused_policy(t, &p, "policy.retry_policy.max_retries");
    p = retry_policy(1, -1);
    refused_policy(t, &p, "policy.retry_policy.backoff.delay_ms");
    p = retry_policy(1, DURATION_MAX + 1);
    refused_policy(t, &p, "policy.retry_policy.backoff.delay_ms");
    p = retry_policy(1, 0);
    p.backoff = "exponential";
    p.initial_delay_ms = -1;
    refused_policy(t, &p, "policy.retry_policy.backoff.initial_delay_ms");
    p.initial_delay_ms = 1;
    p.max_delay_ms = -1;
    refused_policy(t, &p, "policy.retry_policy.backoff.max_delay_ms");
    p.max_delay_ms = 1;
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        p.multiplier = factors[i];
        refused_policy(t, &p, "policy.retry_policy.backoff.multiplier");
    }
    p = policy();
    p.attempt_timeout_ms = -1;
    refused_policy(t, &p, "policy.attempt_timeout_ms");
    p = policy();
    p.max_reclaim_count = -1;
    refused_policy(t, &p, "policy.max_reclaim_count");
    p = policy();
    p.max_replay_count = 1000001;
    refused_policy(t, &p, "policy.max_replay_count");
    p = policy();
    p.dedup_window_ms = 0;
    refused_policy(t, &p, "policy.dedup_window_ms");
    EXPECT_NO_ROWS(t);
}

FF_CONFORMANCE(execution_submit_limits, policy_words)
{
    struct ff_policy_spec p = retry_policy(1, 0);

    p.backoff = "linear";
    refused_policy(t, &p, "policy.retry_policy.backoff.type");
    p = policy();
    p.lease_lapse = "ignore";
    refused_policy(t, &p, "policy.lease_lapse");
    p = policy();
    p.size = 0;
    refused_policy(t, &p, "size");
    EXPECT_NO_ROWS(t);
}

FF_CONFORMANCE(execution_submit_limits, policy_at_its_limits_is_kept)
{
    struct ff_policy_spec p = retry_policy(1000000, DURATION_MAX);
    const struct ff_info *info;

    p.attempt_timeout_ms = DURATION_MAX;
    p.max_reclaim_count = 1000000;
    p.max_replay_count = 0;
    p.dedup_window_ms = 1;
    info = look(t, given_submitted_with(t, &p).id);
    EXPECT_INT(t, 1000000, info->policy.max_retries);
    EXPECT_INT(t, DURATION_MAX, info->policy.delay_ms);
    EXPECT_INT(t, DURATION_MAX, info->policy.attempt_timeout_ms);
    EXPECT_INT(t, 1000000, info->policy.max_reclaim_count);
    EXPECT_INT(t, 0, info->policy.max_replay_count);
    EXPECT_INT(t, 1, info->policy.dedup_window_ms);
    p = retry_policy(2, 0);
    p.backoff = "exponential";
    p.multiplier = 1.0000000000000002;
    info = look(t, given_submitted_with(t, &p).id);
    EXPECT(t, info->policy.multiplier > 1.0 && info->policy.multiplier < 1.0000000000000004);
}

FF_CONFORMANCE(execution_submit_limits, own_id)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "0190f5fe-7000-7000-8000-000000000001",
                                      "{fp:256}:0190f5fe-7000-7000-8000-00000000",
                                      "{fp:256}:0190f5fe-7000-7000-8000-000000000001",
                                      "{fp:-1}:0190f5fe-7000-7000-8000-00000000000",
                                      "{fp:01}:0190f5fe-7000-7000-8000-000000000001",
                                      "{fp:1}0190f5fe-7000-7000-8000-000000000001",
                                      "{fp:1}:00000000-0000-0000-0000-000000000000",
                                      "{fq:1}:0190f5fe-7000-7000-8000-000000000001",
                                      "{fp:1}:0190f5fe-7000-7000-8000-000000000001 "};
    struct ff_submission s = submission();

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        s.execution_id = bad[i];
        refused(t, &s, FF_INVALID, "execution_id");
    }
    EXPECT_NO_ROWS(t);
}
