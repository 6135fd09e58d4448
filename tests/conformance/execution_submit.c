/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_submit.c -- what is accepted is there, whole, and can be claimed at once.
 *
 * Pitfalls F1, F6. What is refused: execution_submit_limits.c. */
#include "support/domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(execution_submit, reads_back_all_it_was_given)
{
    static const char *const needs[] = {"gpu", "eu"};
    const struct ff_tag_pair tags[] = {{"team", "blue"}, {"instance", "i-7"}};
    struct ff_policy_spec p = retry_policy(7, 1500);
    struct ff_submission s = submission();
    const struct ff_info *info;

    p.attempt_timeout_ms = 60000;
    p.max_replay_count = 2;
    s.kind = "encode";
    s.lane = "video";
    s.ns = "tenant-1";
    s.input = (struct ff_str){"{\"n\":1}", 7};
    s.priority = 42;
    s.tags = tags;
    s.tag_count = 2;
    s.deadline_ms = 3600000;
    s.required_capabilities = needs;
    s.required_capability_count = 2;
    s.policy = &p;
    info = look(t, given(t, &s).id);
    EXPECT_TEXT(t, "encode", info->kind);
    EXPECT_TEXT(t, "video", info->lane);
    EXPECT_TEXT(t, "tenant-1", info->ns);
    EXPECT_TEXT(t, "i-7", info->instance_tag);
    EXPECT_TEXT(t, "waiting", info->public_state);
    EXPECT_BYTES(t, "{\"n\":1}", 7, info->input);
    EXPECT_INT(t, 42, info->priority);
    EXPECT_INT(t, 2, (int64_t)info->tag_count);
    EXPECT_TEXT(t, "instance", info->tags[0].name);
    EXPECT_TEXT(t, "team", info->tags[1].name);
    EXPECT_TEXT(t, "blue", info->tags[1].value);
    EXPECT_INT(t, info->changed_at_ms + 3600000, info->deadline_at_ms);
    EXPECT_INT(t, 2, (int64_t)info->required_capability_count);
    EXPECT_INT(t, 7, info->policy.max_retries);
    EXPECT_TEXT(t, "fixed", info->policy.backoff);
    EXPECT_INT(t, 1500, info->policy.delay_ms);
    EXPECT_INT(t, 60000, info->policy.attempt_timeout_ms);
    EXPECT_INT(t, 2, info->policy.max_replay_count);
}

FF_CONFORMANCE(execution_submit, fills_in_the_defaults)
{
    const struct ff_info *const info = look(t, given_submitted(t).id);

    EXPECT_TEXT(t, "default", info->lane);
    EXPECT_TEXT(t, "default", info->ns);
    EXPECT_TEXT(t, NULL, info->instance_tag);
    EXPECT(t, !info->input.ptr && !info->flow_id[0] && !info->has_lease && !info->finished);
    EXPECT_INT(t, 0, info->priority);
    EXPECT_INT(t, 0, info->generation);
    EXPECT_INT(t, 0, info->attempt_count);
    EXPECT_INT(t, 0, info->lease_epoch);
    EXPECT_INT(t, FF_ABSENT_MS, info->started_at_ms);
    EXPECT_INT(t, FF_ABSENT_MS, info->deadline_at_ms);
    EXPECT_INT(t, 3, info->policy.max_retries);
    EXPECT_TEXT(t, "exponential", info->policy.backoff);
    EXPECT_INT(t, 1000, info->policy.initial_delay_ms);
    EXPECT_INT(t, 60000, info->policy.max_delay_ms);
    EXPECT(t, info->policy.jitter);
    EXPECT_INT(t, 100, info->policy.max_reclaim_count);
    EXPECT_INT(t, 10, info->policy.max_replay_count);
    EXPECT_INT(t, 86400000, info->policy.dedup_window_ms);
    EXPECT_TEXT(t, "retry", info->policy.lease_lapse);
}

FF_CONFORMANCE(execution_submit, retry_policy_without_a_number_means_none)
{
    struct ff_policy_spec p = policy();

    p.has_retry_policy = true;
    EXPECT_INT(t, 0, look(t, given_submitted_with(t, &p).id)->policy.max_retries);
}

/* F1: in an earlier engine nothing made a created execution claimable. */
FF_CONFORMANCE(execution_submit, is_claimable_at_once)
{
    const struct name name = given_submitted(t);

    EXPECT_VECTOR(t, name.id,
                  "runnable unowned eligible_now pending_first_attempt none waiting_for_worker");
    EXPECT_TEXT(t, name.id, given_claimed_next(t).id);
}

/* F6: an earlier engine took a delay and ignored it. */
FF_CONFORMANCE(execution_submit, with_a_future_delay_is_delayed)
{
    struct ff_submission s = submission();
    const struct ff_info *info;

    s.delay_ms = 3600000;
    info = look(t, given(t, &s).id);
    EXPECT_TEXT(t, "delayed", info->public_state);
    EXPECT_INT(t, info->changed_at_ms + 3600000, info->delay_until_ms);
    EXPECT_VECTOR(t, info->execution_id,
                  "runnable unowned not_eligible_until_time pending_first_attempt none "
                  "waiting_for_delay");
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE(execution_submit, with_a_past_delay_waits)
{
    struct ff_submission s = submission();

    s.delay_until_ms = 1;
    EXPECT_STATE(t, given(t, &s).id, "waiting");
    s.delay_until_ms = FF_ABSENT_MS;
    s.delay_ms = 0;
    EXPECT_STATE(t, given(t, &s).id, "waiting");
}

FF_CONFORMANCE(execution_submit, clamps_the_priority)
{
    EXPECT_INT(t, 0, look(t, given_priority(t, -1).id)->priority);
    EXPECT_INT(t, 9000, look(t, given_priority(t, 9001).id)->priority);
    EXPECT_INT(t, 9000, look(t, given_priority(t, INT64_MAX).id)->priority);
    EXPECT_INT(t, 0, look(t, given_priority(t, INT64_MIN).id)->priority);
    EXPECT_INT(t, 8999, look(t, given_priority(t, 8999).id)->priority);
}

static void expect_input(struct test *t, const char *bytes, size_t len)
{
    struct ff_submission s = submission();
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};
    struct name name;

    s.input = (struct ff_str){bytes, len};
    s.input_content_type = "application/octet-stream";
    name = given(t, &s);
    EXPECT_BYTES(t, bytes, len, look(t, name.id)->input);
    EXPECT_TEXT(t, "application/octet-stream", look(t, name.id)->input_content_type);
    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT_INT(t, 1, (int64_t)tasks.count);
    EXPECT_BYTES(t, bytes, len, tasks.items[0].input);
    EXPECT_INT(t, '\0', tasks.items[0].input.ptr[len]);
    EXPECT_TEXT(t, "application/octet-stream", tasks.items[0].input_content_type);
}

/* Above 1 KiB an input lives in a table of its own: both sides of the edge. */
FF_CONFORMANCE(execution_submit, keeps_inputs_of_any_size_byte_for_byte)
{
    static const size_t sizes[] = {0, 1, 1023, 1024, 1025, 1048575, 1048576};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *const bytes = keep(t, sizes[i] + 1);

        for (size_t b = 0; b < sizes[i]; b++)
            bytes[b] = (char)(b * 31 + i);
        expect_input(t, bytes, sizes[i]);
    }
}

FF_CONFORMANCE(execution_submit, mints_ids_that_tell_their_partition)
{
    for (int i = 0; i < 32; i++) {
        const struct name name = given_submitted(t);
        char *end = NULL;
        const long partition = strtol(name.id + 4, &end, 10);

        EXPECT(t, !strncmp(name.id, "{fp:", 4) && !strncmp(end, "}:", 2));
        EXPECT(t, partition >= 0 && partition < 256);
        /* The last two bytes of the uuid are the partition. */
        EXPECT_INT(t, partition, strtol(name.id + strlen(name.id) - 4, NULL, 16));
    }
}

FF_CONFORMANCE(execution_submit, takes_a_thousand_at_once)
{
    struct ff_submission *const items = keep(t, 1000 * sizeof *items);
    struct ff_submitted *const results = keep(t, 1000 * sizeof *results);
    struct ff_filter all;

    for (size_t i = 0; i < 1000; i++)
        items[i] = submission();
    EXPECT_OK(t, ff_submit(t->client, items, 1000, results, &t->err));
    for (size_t i = 0; i < 1000; i++)
        EXPECT(t, results[i].status == FF_OK && results[i].created);
    ff_filter_init(&all);
    all.limit = 1000;
    EXPECT_INT(t, 1000, (int64_t)list(t, &all)->count);
}

FF_CONFORMANCE(execution_submit, one_bad_item_never_fails_the_others)
{
    struct ff_submission items[3] = {submission(), submission(), submission()};
    struct ff_submitted results[3];

    items[1].lane = "";
    EXPECT_OK(t, ff_submit(t->client, items, 3, results, &t->err));
    EXPECT_INT(t, FF_OK, results[0].status);
    EXPECT_INT(t, FF_INVALID, results[1].status);
    EXPECT_TEXT(t, "lane", results[1].error.field);
    EXPECT_INT(t, FF_OK, results[2].status);
    EXPECT_ROWS(t, 2);
}

FF_CONFORMANCE(execution_submit, needs_one_to_a_thousand_items)
{
    struct ff_submission *const items = keep(t, 1001 * sizeof *items);
    struct ff_submitted *const results = keep(t, 1001 * sizeof *results);

    for (size_t i = 0; i < 1001; i++)
        items[i] = submission();
    EXPECT_REFUSED(t, FF_INVALID, "count", ff_submit(t->client, items, 0, results, &t->err));
    EXPECT_REFUSED(t, FF_TOO_LARGE, "count", ff_submit(t->client, items, 1001, results, &t->err));
    EXPECT_NO_ROWS(t);
}

FF_CONFORMANCE(execution_submit, tells_the_state_it_made)
{
    struct ff_submission s = submission();
    struct ff_submitted submitted;

    EXPECT_OK(t, when_submitted(t, &s, &submitted));
    EXPECT_TEXT(t, "waiting", submitted.public_state);
    s.delay_ms = 100000;
    EXPECT_OK(t, when_submitted(t, &s, &submitted));
    EXPECT_TEXT(t, "delayed", submitted.public_state);
}

/* An older program knows a shorter struct: what it does not know has its default. */
FF_CONFORMANCE(execution_submit, takes_the_shorter_struct_of_an_older_caller)
{
    struct ff_submission s = submission();
    struct ff_submitted submitted;

    s.size = offsetof(struct ff_submission, policy);
    s.priority = 5;
    EXPECT_OK(t, when_submitted(t, &s, &submitted));
    EXPECT_INT(t, 5, look(t, submitted.execution_id)->priority);
    s.size = 0;
    EXPECT_REFUSED(t, FF_INVALID, "size", when_submitted(t, &s, &submitted));
}
