/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_claim.c -- one call hands out a lease, best first, and nothing twice.
 *
 * Which executions fit a worker: execution_claim_match.c. */
#include "base/limits.h"
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(execution_claim, nothing_to_do_is_an_empty_answer)
{
    const struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {.count = 99};

    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    EXPECT_INT(t, 0, (int64_t)tasks.count);
    ff_answer_free(&tasks);
}

/* F2: in an earlier engine a claim was a grant that could never be consumed. */
FF_CONFORMANCE(execution_claim, hands_out_a_lease_at_once)
{
    const struct held held = given_claimed(t);
    const struct ff_info *const info = look(t, held.id);

    EXPECT_INT(t, 1, held.epoch);
    EXPECT_INT(t, 0, held.attempt_index);
    EXPECT_INT(t, 0, held.generation);
    EXPECT_TEXT(t, "initial", held.attempt_type);
    EXPECT_INT(t, 30000, held.ttl_ms);
    EXPECT_VECTOR(t, held.id, "active leased not_applicable running_attempt none none");
    EXPECT(t, info->has_lease);
    EXPECT_INT(t, 0, info->attempt_index); /* F20: not the next one */
    EXPECT_TEXT(t, held.lease_id, info->lease_id);
    EXPECT_TEXT(t, WORKER, info->worker_id);
    EXPECT_TEXT(t, INSTANCE, info->worker_instance_id);
    EXPECT_INT(t, held.expires_at_ms, info->lease_expires_at_ms);
    EXPECT_INT(t, info->lease_acquired_at_ms, info->started_at_ms);
    EXPECT_INT(t, 1, info->attempt_count);
    EXPECT_EVENTS(t, held.id, "acquired");
}

FF_CONFORMANCE(execution_claim, task_tells_all_a_worker_needs)
{
    const struct ff_tag_pair tags[] = {{"a", "1"}, {"b", "2"}};
    const struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();
    struct ff_tasks tasks = {0};
    const struct ff_task *task;
    int64_t deadline_ms;

    s.tags = tags;
    s.tag_count = 2;
    s.input = (struct ff_str){"[1]", 3};
    s.deadline_ms = 60000;
    deadline_ms = look(t, given(t, &s).id)->changed_at_ms + 60000;
    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT_INT(t, 1, (int64_t)tasks.count);
    task = &tasks.items[0];
    EXPECT_TEXT(t, "work", task->kind);
    EXPECT_TEXT(t, "default", task->lane);
    EXPECT_TEXT(t, "default", task->ns);
    EXPECT_TEXT(t, "", task->flow_id);
    EXPECT_BYTES(t, "[1]", 3, task->input);
    EXPECT_TEXT(t, NULL, task->input_content_type);
    EXPECT_INT(t, 2, (int64_t)task->tag_count);
    EXPECT_TEXT(t, "b", task->tags[1].name);
    EXPECT_TEXT(t, "2", task->tags[1].value);
    EXPECT_INT(t, deadline_ms, task->deadline_at_ms);
}

static void expect_order(struct test *t, const struct name *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        EXPECT_TEXT(t, want[i].id, given_claimed_next(t).id);
    EXPECT(t, nothing_to_claim(t));
}

FF_CONFORMANCE(execution_claim, highest_priority_first)
{
    const struct name low = given_priority(t, 1);
    const struct name high = given_priority(t, 9001); /* clamped */
    const struct name none = given_priority(t, -5);
    const struct name middle = given_priority(t, 8999);

    expect_order(t, (const struct name[]){high, middle, low, none}, 4);
}

FF_CONFORMANCE(execution_claim, oldest_first_inside_a_priority)
{
    struct name names[24];

    for (size_t i = 0; i < 24; i++)
        names[i] = given_submitted(t);
    expect_order(t, names, 24);
}

/* More than one batch, and on Postgres the work of two sessions at a time. */
FF_CONFORMANCE(execution_claim, items_of_one_call_keep_their_order)
{
    struct ff_submission *const items = keep(t, FF_SUBMIT_MAX * sizeof *items);
    struct ff_submitted *const results = keep(t, FF_SUBMIT_MAX * sizeof *results);
    struct held *const held = keep(t, FF_SUBMIT_MAX * sizeof *held);
    struct ff_claim_request r = claim_request();
    size_t claimed = 0;

    for (size_t i = 0; i < FF_SUBMIT_MAX; i++)
        items[i] = submission();
    EXPECT_OK(t, ff_submit(t->client, items, FF_SUBMIT_MAX, results, &t->err));
    for (r.max = 100; claimed < FF_SUBMIT_MAX; claimed += 100)
        EXPECT_INT(t, 100, (int64_t)when_claimed_many(t, &r, held + claimed, 100));
    for (size_t i = 0; i < FF_SUBMIT_MAX; i++)
        EXPECT_TEXT(t, results[i].execution_id, held[i].id);
}

FF_CONFORMANCE(execution_claim, several_at_once_come_in_order)
{
    struct ff_claim_request r = claim_request();
    struct name names[5];
    struct held held[5];

    for (size_t i = 0; i < 5; i++)
        names[i] = given_priority(t, (int64_t)(10 - i));
    r.max = 3;
    EXPECT_INT(t, 3, (int64_t)when_claimed_many(t, &r, held, 5));
    EXPECT_INT(t, 2, (int64_t)when_claimed_many(t, &r, held + 3, 2));
    for (size_t i = 0; i < 5; i++) {
        EXPECT_TEXT(t, names[i].id, held[i].id);
        EXPECT(t, i == 0 || strcmp(held[i].lease_id, held[0].lease_id) != 0);
    }
    EXPECT_INT(t, 0, (int64_t)when_claimed_many(t, &r, held, 5));
}

/* A worker that has room for no more asks for no more; the rest is another one's. */
FF_CONFORMANCE(execution_claim, what_a_full_worker_leaves_is_for_others)
{
    struct ff_claim_request r = claim_request();
    struct name names[3];
    struct held held[3];

    for (size_t i = 0; i < 3; i++)
        names[i] = given_submitted(t);
    r.worker_id = "full";
    EXPECT_INT(t, 1, (int64_t)when_claimed_many(t, &r, held, 3));
    EXPECT_STATE(t, names[1].id, "waiting");
    r.worker_id = r.worker_instance_id = "other";
    r.max = 3;
    EXPECT_INT(t, 2, (int64_t)when_claimed_many(t, &r, held + 1, 2));
    for (size_t i = 0; i < 3; i++) {
        EXPECT_TEXT(t, names[i].id, held[i].id);
        EXPECT_TEXT(t, i == 0 ? "full" : "other", look(t, held[i].id)->worker_id);
    }
}

FF_CONFORMANCE(execution_claim, is_not_handed_out_while_somebody_holds_it)
{
    (void)given_claimed(t);
    EXPECT(t, nothing_to_claim(t));
}

#define CROWD 200

struct crowd {
    struct held held[8][CROWD];
    size_t counts[8];
};

static void claim_all(struct test *t, size_t index, void *ctx)
{
    struct crowd *const crowd = ctx;
    struct ff_claim_request r = claim_request();
    size_t got;

    r.max = index % 3 ? 1 : 7;
    if (index % 2 && t->others[0])
        t->client = t->others[0];
    do {
        size_t *const count = &crowd->counts[index];

        got = when_claimed_many(t, &r, crowd->held[index] + *count, CROWD - *count);
        *count += got;
    } while (got);
}

static void expect_each_once(struct test *t, const struct crowd *crowd, size_t threads, size_t want)
{
    const char **const seen = keep(t, CROWD * sizeof(char *));
    size_t total = 0;

    for (size_t i = 0; i < threads; i++) {
        for (size_t h = 0; h < crowd->counts[i]; h++) {
            const struct held *const held = &crowd->held[i][h];

            EXPECT_INT(t, 1, held->epoch);
            for (size_t s = 0; s < total; s++)
                EXPECT(t, strcmp(seen[s], held->id) != 0);
            EXPECT(t, total < CROWD);
            seen[total++] = held->id;
        }
    }
    EXPECT_INT(t, (int64_t)want, (int64_t)total);
}

static void given_crowd(struct test *t)
{
    struct ff_submission *const items = keep(t, CROWD * sizeof *items);
    struct ff_submitted *const results = keep(t, CROWD * sizeof *results);

    for (size_t i = 0; i < CROWD; i++)
        items[i] = submission();
    EXPECT_OK(t, ff_submit(t->client, items, CROWD, results, &t->err));
}

/* Empty answers are final: whoever finds nothing may believe it. */
FF_CONFORMANCE(execution_claim, concurrent_claimers_never_share)
{
    struct crowd *const crowd = keep(t, sizeof *crowd);

    given_crowd(t);
    in_threads(t, 8, claim_all, crowd);
    expect_each_once(t, crowd, 8, CROWD);
}

FF_CONFORMANCE(execution_claim, claimers_of_two_clients_never_share)
{
    struct crowd *const crowd = keep(t, sizeof *crowd);

    (void)another_client(t, NULL);
    given_crowd(t);
    in_threads(t, 8, claim_all, crowd);
    /* A row that the other client has locked may be passed over; then it is still there. */
    WAIT_UNTIL(t,
               (claim_all(t, 0, crowd),
                crowd->counts[0] + crowd->counts[1] + crowd->counts[2] + crowd->counts[3] +
                        crowd->counts[4] + crowd->counts[5] + crowd->counts[6] + crowd->counts[7] ==
                    CROWD));
    expect_each_once(t, crowd, 8, CROWD);
}

/* A claim answer stops at 8 MiB, but never at nothing. */
FF_CONFORMANCE(execution_claim, large_inputs_come_in_several_answers)
{
    struct ff_submission s = submission();
    struct ff_claim_request r = claim_request();
    struct held held[12];
    size_t total = 0;

    s.input = json_of(t, 1 << 20, 'x');
    for (int i = 0; i < 12; i++)
        (void)given(t, &s);
    r.max = 12;
    for (int calls = 0; total < 12; calls++) {
        const size_t got = when_claimed_many(t, &r, held + total, 12 - total);

        EXPECT(t, got > 0 && got <= 8 && calls < 12);
        total += got;
    }
    EXPECT(t, nothing_to_claim(t));
}

/* Over release, revoke, retry and replay the epoch only ever rises. */
FF_CONFORMANCE(execution_claim, every_claim_has_a_higher_epoch)
{
    const struct ff_policy_spec p = retry_policy(5, 0);
    struct held held = given_claimed_with(t, &p, 30000);
    int64_t last = held.epoch;

    EXPECT_OK(t, when_released(t, &held, NULL));
    held = given_claimed_next(t);
    EXPECT(t, held.epoch > last);
    last = held.epoch;
    EXPECT_OK(t, when_revoked(t, held.id));
    held = given_claimed_next(t);
    EXPECT(t, held.epoch > last);
    last = held.epoch;
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    held = given_claimed_next(t);
    EXPECT(t, held.epoch > last);
    last = held.epoch;
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_OK(t, when_replayed(t, held.id));
    EXPECT(t, given_claimed_next(t).epoch > last);
}

/* However many claims have gone before: whatever becomes the best is the next. */
FF_CONFORMANCE(execution_claim, better_one_is_never_passed_over)
{
    struct ff_claim_request r = claim_request();
    struct held held[2], first = {0};

    for (int i = 0; i < 30; i++)
        (void)given_submitted(t);
    r.max = 2;
    for (int i = 0; i < 4; i++) { /* the store's hints, if it has any, are warm */
        EXPECT_INT(t, 2, (int64_t)when_claimed_many(t, &r, held, 2));
        if (i == 0)
            first = held[0];
    }
    EXPECT_OK(t, when_released(t, &first, NULL)); /* the oldest of them all */
    EXPECT_INT(t, 2, (int64_t)when_claimed_many(t, &r, held, 2));
    EXPECT_TEXT(t, first.id, held[0].id);
    for (int64_t priority = 1; priority < 20; priority++) {
        const struct name name = given_priority(t, priority);

        EXPECT_TEXT(t, name.id, given_claimed_next(t).id);
        EXPECT_OK(t, when_revoked(t, name.id));
        EXPECT_TEXT(t, name.id, given_claimed_next(t).id);
    }
}
