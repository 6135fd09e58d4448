/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_complete.c -- success, and its result. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

static ff_status when_result_read(struct test *t, const char *id, struct ff_bytes *ret)
{
    const ff_status status = ff_result(t->client, id, ret, &t->err);

    if (status == FF_OK)
        keep_answer(t, ret->memory);
    return status;
}

FF_CONFORMANCE(execution_complete, ends_the_execution)
{
    const struct held held = given_claimed(t);
    const struct ff_info *info;

    EXPECT_OK(t, when_completed(t, &held, "{\"ok\":true}"));
    EXPECT_TEXT(t, "completed", t->answer.public_state);
    EXPECT_INT(t, FF_ABSENT_MS, t->answer.retry_at_ms);
    info = look(t, held.id);
    EXPECT_VECTOR(t, held.id, "terminal unowned not_applicable attempt_terminal success none");
    EXPECT(t, info->finished && !info->has_lease);
    EXPECT_TEXT(t, NULL, info->worker_id);
    EXPECT(t, info->finished_at_ms >= info->started_at_ms);
    EXPECT(t, info->started_at_ms >= info->created_at_ms);
    EXPECT(t, info->lease_epoch > held.epoch);
    EXPECT_ATTEMPTS(t, held.id, "0:initial:completed");
    EXPECT_EVENTS(t, held.id, "acquired completion.success");
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE(execution_complete, event_tells_namespace_and_instance)
{
    const struct ff_tag_pair tags[] = {{"instance", "i-7"}};
    struct ff_submission s = submission();
    const struct ff_event_info *event;
    struct held held;

    s.ns = "tenant-1";
    s.tags = tags;
    s.tag_count = 1;
    (void)given(t, &s);
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    event = last_event(t, held.id, "completion", "success");
    EXPECT_TEXT(t, "tenant-1", event->ns);
    EXPECT_TEXT(t, "i-7", event->instance_tag);
    EXPECT_TEXT(t, "completed", event->public_state);
    EXPECT_INT(t, look(t, held.id)->finished_at_ms, event->at_ms);
    EXPECT_INT(t, look(t, held.id)->version, event->version);
}

FF_CONFORMANCE(execution_complete, there_is_no_result_before)
{
    const struct name waiting = given_submitted(t);
    struct ff_bytes result;
    struct held held;

    EXPECT_STATUS(t, FF_NO_RESULT, when_result_read(t, waiting.id, &result));
    held = given_claimed_next(t);
    EXPECT_STATUS(t, FF_NO_RESULT, when_result_read(t, held.id, &result));
    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    EXPECT_STATUS(t, FF_NO_RESULT, when_result_read(t, held.id, &result));
    EXPECT_STATUS(t, FF_NOT_FOUND,
                  when_result_read(t, "{fp:9}:0190f5fe-7000-7000-8000-000000000001", &result));
}

static void expect_result(struct test *t, const char *bytes, size_t len, const char *type)
{
    const struct held held = given_claimed(t);
    const struct ff_completion item = {
        .lease = lease_of(&held), .result = {bytes, len}, .result_content_type = type};
    struct ff_task_result answer;
    struct ff_bytes result;

    EXPECT_OK(t, ff_complete(t->client, &item, 1, &answer, &t->err));
    EXPECT_INT(t, FF_OK, answer.status);
    EXPECT_OK(t, when_result_read(t, held.id, &result));
    EXPECT_BYTES(t, bytes, len, result.data);
    EXPECT_TEXT(t, type, result.content_type);
}

FF_CONFORMANCE(execution_complete, result_is_kept_byte_for_byte)
{
    static const size_t sizes[] = {1, 1023, 1024, 1025, 1048576};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *const bytes = keep(t, sizes[i]);

        for (size_t b = 0; b < sizes[i]; b++)
            bytes[b] = (char)(b * 7 + 1);
        expect_result(t, bytes, sizes[i], "application/octet-stream");
    }
    expect_result(t, "", 0, "text/plain");
    expect_result(t, "a\0b", 3, "text/plain; charset=utf-8");
}

FF_CONFORMANCE(execution_complete, no_result_is_none)
{
    needs_store(t, "through a server no result is the value null");
    expect_result(t, NULL, 0, NULL);
}

FF_CONFORMANCE(execution_complete, result_has_limits)
{
    const struct held held = given_claimed(t);
    struct ff_completion item = {.lease = lease_of(&held)};
    struct ff_task_result answer;

    item.result = json_of(t, 1048577, 'r');
    EXPECT_OK(t, ff_complete(t->client, &item, 1, &answer, &t->err));
    EXPECT_INT(t, FF_TOO_LARGE, answer.status);
    EXPECT_TEXT(t, "result", answer.error.field);
    item.result.len = 5;
    item.result_content_type = "a\x01";
    EXPECT_OK(t, ff_complete(t->client, &item, 1, &answer, &t->err));
    EXPECT_INT(t, FF_INVALID, answer.status);
    EXPECT_TEXT(t, "result_content_type", answer.error.field);
    item.result_content_type = NULL; /* five bytes of a string are no JSON */
    EXPECT_OK(t, ff_complete(t->client, &item, 1, &answer, &t->err));
    EXPECT_INT(t, FF_INVALID, answer.status);
    EXPECT_TEXT(t, "result", answer.error.field);
    EXPECT_STATE(t, held.id, "active");
    EXPECT_OK(t, when_completed(t, &held, NULL));
}

FF_CONFORMANCE(execution_complete, many_in_one_call_each_have_their_answer)
{
    struct ff_completion items[50];
    struct ff_task_result *const results = keep(t, 50 * sizeof *results);
    struct held *const held = keep(t, 50 * sizeof *held);
    struct ff_claim_request r = claim_request();

    for (int i = 0; i < 50; i++)
        (void)given_submitted(t);
    r.max = 50;
    EXPECT_INT(t, 50, (int64_t)when_claimed_many(t, &r, held, 50));
    for (size_t i = 0; i < 50; i++)
        items[i] = (struct ff_completion){.lease = lease_of(&held[i]), .result = {"1", 1}};
    items[7].lease.lease_epoch += 1;
    items[8].lease.execution_id = "nonsense";
    EXPECT_OK(t, ff_complete(t->client, items, 50, results, &t->err));
    for (size_t i = 0; i < 50; i++) {
        const ff_status want = i == 7 ? FF_STALE_LEASE : i == 8 ? FF_INVALID : FF_OK;

        EXPECT_INT(t, want, results[i].status);
        EXPECT_STATE(t, held[i].id, want == FF_OK ? "completed" : "active");
    }
}

/* F22: all times are the store's, so they never run against each other. */
FF_CONFORMANCE(execution_complete, times_are_of_one_clock)
{
    const struct held held = given_claimed(t);
    const struct ff_event_list *events;
    const struct ff_info *info;

    EXPECT_INT(t, held.expires_at_ms - held.ttl_ms,
               last_event(t, held.id, "lease", "acquired")->at_ms);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    events = history(t, held.id);
    for (size_t i = 1; i < events->count; i++)
        EXPECT(t, events->items[i].at_ms >= events->items[i - 1].at_ms);
    info = look(t, held.id);
    EXPECT_INT(t, info->created_at_ms, events->items[0].at_ms);
    EXPECT_INT(t, info->finished_at_ms, info->changed_at_ms);
}
