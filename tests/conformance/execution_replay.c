/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_replay.c -- running again what has ended, as a new generation.
 *
 * Pitfall F34 (cancelled ones could not be replayed, limits ignored, history lost). */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

static struct ff_replay_request replay_of(const char *id)
{
    struct ff_replay_request request;

    ff_replay_init(&request);
    request.execution_id = id;
    return request;
}

static ff_status replay(struct test *t, const struct ff_replay_request *request)
{
    return ff_replay(t->client, request, &t->answer.public_state, &t->answer.generation, &t->err);
}

static void expect_replayable(struct test *t, const char *id)
{
    struct held held;

    EXPECT_OK(t, when_replayed(t, id));
    EXPECT_TEXT(t, "waiting", t->answer.public_state);
    EXPECT_INT(t, 1, t->answer.generation);
    EXPECT_VECTOR(t, id,
                  "runnable unowned eligible_now pending_replay_attempt none waiting_for_worker");
    EXPECT_INT(t, FF_ABSENT_MS, look(t, id)->finished_at_ms);
    EXPECT_TEXT(t, NULL, look(t, id)->cancel_reason);
    held = given_claimed_next(t);
    EXPECT_TEXT(t, id, held.id);
    EXPECT_TEXT(t, "replay", held.attempt_type);
    EXPECT_INT(t, 1, held.generation);
    EXPECT_OK(t, when_completed(t, &held, "2"));
}

FF_CONFORMANCE(execution_replay, completed)
{
    expect_replayable(t, given_completed(t).id);
}

FF_CONFORMANCE(execution_replay, failed)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    expect_replayable(t, held.id);
}

FF_CONFORMANCE(execution_replay, cancelled)
{
    const struct name name = given_submitted(t);

    EXPECT_OK(t, when_cancelled(t, name.id));
    expect_replayable(t, name.id);
}

FF_CONFORMANCE_SLOW(execution_replay, expired)
{
    struct ff_submission s = submission();
    struct name name;

    s.deadline_at_ms = 1;
    name = given(t, &s);
    WAIT_UNTIL(t, is_in_state(t, name.id, "expired"));
    expect_replayable(t, name.id);
}

FF_CONFORMANCE(execution_replay, keeps_the_whole_history)
{
    const struct name name = given_completed(t);
    struct held held;

    EXPECT_OK(t, when_replayed(t, name.id));
    held = given_claimed_next(t);
    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    EXPECT_EVENTS(t, name.id,
                  "acquired completion.success operator.replayed acquired completion.failed");
    EXPECT_ATTEMPTS(t, name.id, "0:initial:completed 1:replay:failed");
    EXPECT_INT(t, 0, last_event(t, name.id, "completion", "success")->generation);
    EXPECT_INT(t, 1, last_event(t, name.id, "completion", "failed")->generation);
    EXPECT_TEXT(t, "once more", last_event(t, name.id, "operator", "replayed")->note);
    EXPECT_INT(t, 1, look(t, name.id)->replay_count);
    EXPECT_INT(t, 2, look(t, name.id)->attempt_count);
}

/* The first attempts stay as they were told before, and each is told once. */
FF_CONFORMANCE(execution_replay, every_completed_attempt_stays)
{
    const struct held first = given_claimed(t);
    const struct ff_attempt_info *before, *after;
    struct held second, third;

    EXPECT_OK(t, when_completed(t, &first, "1"));
    before = attempts(t, first.id)->items;
    EXPECT_OK(t, when_replayed(t, first.id));
    EXPECT_ATTEMPTS(t, first.id, "0:initial:completed");
    after = attempts(t, first.id)->items;
    EXPECT_INT(t, 0, after->generation);
    EXPECT_INT(t, before->lease_epoch, after->lease_epoch);
    EXPECT_INT(t, before->started_at_ms, after->started_at_ms);
    EXPECT_INT(t, before->ended_at_ms, after->ended_at_ms);
    EXPECT_TEXT(t, before->lease_id, after->lease_id);
    EXPECT_TEXT(t, before->worker_id, after->worker_id);
    EXPECT_TEXT(t, before->worker_instance_id, after->worker_instance_id);
    EXPECT_TEXT(t, NULL, after->failure_message);
    second = given_claimed_next(t);
    EXPECT_ATTEMPTS(t, first.id, "0:initial:completed 1:replay:running");
    EXPECT_OK(t, when_completed(t, &second, "2"));
    EXPECT_ATTEMPTS(t, first.id, "0:initial:completed 1:replay:completed");
    EXPECT_OK(t, when_replayed(t, first.id));
    EXPECT_ATTEMPTS(t, first.id, "0:initial:completed 1:replay:completed");
    third = given_claimed_next(t);
    EXPECT_OK(t, when_failed(t, &third, "permanent"));
    EXPECT_OK(t, when_replayed(t, first.id));
    EXPECT_ATTEMPTS(t, first.id, "0:initial:completed 1:replay:completed 2:replay:failed");
    EXPECT_TEXT(t, second.lease_id, attempts(t, first.id)->items[1].lease_id);
}

/* A word that is said again is answered as at first, and changes nothing that was kept. */
FF_CONFORMANCE(execution_replay, a_completion_told_again_is_the_first_one)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_TEXT(t, "completed", t->answer.public_state);
    EXPECT_ATTEMPTS(t, held.id, "0:initial:completed");
    EXPECT_OK(t, when_replayed(t, held.id));
    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_TEXT(t, "completed", t->answer.public_state);
    EXPECT_STATE(t, held.id, "waiting");
    EXPECT_ATTEMPTS(t, held.id, "0:initial:completed");
    (void)given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_STATE(t, held.id, "active");
    EXPECT_ATTEMPTS(t, held.id, "0:initial:completed 1:replay:running");
}

/* What ended otherwise after a replay has nothing of the first run on its row. */
FF_CONFORMANCE(execution_replay, cancelled_before_it_ran_again)
{
    const struct name name = given_completed(t);

    EXPECT_OK(t, when_replayed(t, name.id));
    EXPECT_OK(t, when_cancelled(t, name.id));
    EXPECT_ATTEMPTS(t, name.id, "0:initial:completed");
    EXPECT_OK(t, when_replayed(t, name.id));
    EXPECT_ATTEMPTS(t, name.id, "0:initial:completed");
}

FF_CONFORMANCE(execution_replay, retries_start_again)
{
    const struct ff_policy_spec p = retry_policy(1, 0);
    struct held held = given_claimed_with(t, &p, 30000);

    for (int i = 0; i < 2; i++) {
        EXPECT_OK(t, when_failed(t, &held, "transient"));
        EXPECT_INT(t, 1, look(t, held.id)->retry_count);
        held = given_claimed_next(t);
        EXPECT_OK(t, when_failed(t, &held, "transient"));
        EXPECT_STATE(t, held.id, "failed");
        EXPECT_OK(t, when_replayed(t, held.id));
        EXPECT_INT(t, 0, look(t, held.id)->retry_count);
        held = given_claimed_next(t);
    }
}

FF_CONFORMANCE(execution_replay, result_is_that_of_the_generation)
{
    const struct name name = given_completed(t);
    struct ff_bytes result = {0};
    struct held held;

    EXPECT_OK(t, when_replayed(t, name.id));
    EXPECT_STATUS(t, FF_NO_RESULT, ff_result(t->client, name.id, &result, &t->err));
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, "\"second\""));
    EXPECT_OK(t, ff_result(t->client, name.id, &result, &t->err));
    keep_answer(t, result.memory);
    EXPECT_BYTES(t, "\"second\"", 8, result.data);
}

FF_CONFORMANCE(execution_replay, old_leases_stay_dead)
{
    const struct held old = given_claimed(t);
    struct held now;

    EXPECT_OK(t, when_completed(t, &old, "1"));
    EXPECT_OK(t, when_replayed(t, old.id));
    EXPECT_STATUS(t, FF_CONFLICT, when_completed(t, &old, "2"));
    now = given_claimed_next(t);
    EXPECT_STATUS(t, FF_NOT_ACTIVE, when_renewed(t, &old, 0));
    EXPECT_OK(t, when_completed(t, &old, "1")); /* its last word, once more */
    EXPECT_STATE(t, old.id, "active");
    EXPECT_OK(t, when_completed(t, &now, "2"));
    EXPECT_STATUS(t, FF_STALE_LEASE, when_completed(t, &old, "1"));
}

FF_CONFORMANCE(execution_replay, what_lives_is_refused)
{
    const struct name waiting = given_submitted(t);
    struct held held;

    EXPECT_STATUS(t, FF_NOT_TERMINAL, when_replayed(t, waiting.id));
    held = given_claimed_next(t);
    EXPECT_STATUS(t, FF_NOT_TERMINAL, when_replayed(t, held.id));
    EXPECT_INT(t, 0, look(t, held.id)->generation);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_OK(t, when_replayed(t, held.id));
    EXPECT_STATUS(t, FF_NOT_TERMINAL, when_replayed(t, held.id));
}

FF_CONFORMANCE(execution_replay, has_a_limit)
{
    struct ff_policy_spec p = policy();
    struct name name;

    p.max_replay_count = 2;
    name = given_submitted_with(t, &p);
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(t, when_cancelled(t, name.id));
        EXPECT_OK(t, when_replayed(t, name.id));
    }
    EXPECT_OK(t, when_cancelled(t, name.id));
    EXPECT_STATUS(t, FF_REPLAY_LIMIT, when_replayed(t, name.id));
    EXPECT_STATE(t, name.id, "cancelled");
    EXPECT_INT(t, 2, look(t, name.id)->replay_count);
}

FF_CONFORMANCE(execution_replay, limit_of_zero_allows_none)
{
    struct ff_policy_spec p = policy();
    struct name name;

    p.max_replay_count = 0;
    name = given_submitted_with(t, &p);
    EXPECT_OK(t, when_cancelled(t, name.id));
    EXPECT_STATUS(t, FF_REPLAY_LIMIT, when_replayed(t, name.id));
}

FF_CONFORMANCE(execution_replay, expected_generation_guards_it)
{
    const struct name name = given_completed(t);
    struct ff_replay_request request = replay_of(name.id);
    struct held held;

    request.expected_generation = 1;
    EXPECT_REFUSED(t, FF_CONFLICT, "expected_generation", replay(t, &request));
    request.expected_generation = 0;
    EXPECT_OK(t, replay(t, &request));
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_REFUSED(t, FF_CONFLICT, "expected_generation", replay(t, &request));
}

static void expect_input(struct test *t, const char *id, const char *bytes, size_t len)
{
    const struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};

    EXPECT_BYTES(t, bytes, len, look(t, id)->input);
    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT_INT(t, 1, (int64_t)tasks.count);
    EXPECT_BYTES(t, bytes, len, tasks.items[0].input);
    EXPECT_OK(t, when_cancelled(t, id));
}

FF_CONFORMANCE(execution_replay, may_bring_a_new_input)
{
    static const size_t sizes[] = {1, 1024, 1025, 100000};
    struct ff_submission s = submission();
    struct ff_replay_request request;
    struct name name;

    s.input = (struct ff_str){"\"first\"", 7};
    name = given(t, &s);
    expect_input(t, name.id, "\"first\"", 7);
    EXPECT_OK(t, when_replayed(t, name.id));
    expect_input(t, name.id, "\"first\"", 7); /* the old one if there is no new one */
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        request = replay_of(name.id);
        request.has_input = true;
        request.input = json_of(t, sizes[i], (char)('a' + i));
        EXPECT_OK(t, replay(t, &request));
        expect_input(t, name.id, request.input.ptr, sizes[i]);
    }
    EXPECT_OK(t, when_replayed(t, name.id));
    expect_input(t, name.id, request.input.ptr, request.input.len);
}

/* In one claim: first inputs, one of an earlier generation, and a new one. */
FF_CONFORMANCE(execution_replay, large_inputs_of_one_claim_are_each_its_own)
{
    enum { COUNT = 4, KEPT = 1, NEW = 2, BYTES = 2000 };
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();
    struct ff_replay_request request;
    struct ff_str inputs[COUNT];
    struct ff_tasks tasks = {0};
    struct name names[COUNT];

    for (int i = 0; i < COUNT; i++) {
        s.input = inputs[i] = json_of(t, BYTES, (char)('a' + i));
        names[i] = given(t, &s);
    }
    EXPECT_OK(t, when_cancelled(t, names[KEPT].id));
    EXPECT_OK(t, when_replayed(t, names[KEPT].id));
    EXPECT_OK(t, when_cancelled(t, names[NEW].id));
    request = replay_of(names[NEW].id);
    request.has_input = true;
    request.input = inputs[NEW] = json_of(t, BYTES, 'z');
    EXPECT_OK(t, replay(t, &request));
    r.max = COUNT;
    EXPECT_OK(t, ff_claim(t->client, &r, &tasks, &t->err));
    keep_answer(t, tasks.memory);
    EXPECT_INT(t, COUNT, (int64_t)tasks.count);
    for (int i = 0; i < COUNT; i++)
        for (size_t k = 0; k < tasks.count; k++)
            if (strcmp(tasks.items[k].execution_id, names[i].id) == 0)
                EXPECT_BYTES(t, inputs[i].ptr, BYTES, tasks.items[k].input);
}

FF_CONFORMANCE(execution_replay, relative_deadline_starts_again)
{
    struct ff_submission s = submission();
    struct name name;
    int64_t first_ms;

    s.deadline_ms = 3600000;
    name = given(t, &s);
    first_ms = look(t, name.id)->deadline_at_ms;
    EXPECT_OK(t, when_cancelled(t, name.id));
    WAIT_UNTIL(t, store_now_ms(t) > first_ms - 3600000 + 20);
    EXPECT_OK(t, when_replayed(t, name.id));
    EXPECT(t, look(t, name.id)->deadline_at_ms > first_ms);
    EXPECT_INT(t, last_event(t, name.id, "operator", "replayed")->at_ms + 3600000,
               look(t, name.id)->deadline_at_ms);
}

FF_CONFORMANCE(execution_replay, absolute_deadline_stays_or_is_dropped)
{
    const int64_t now_ms = store_now_ms(t);
    struct ff_submission s = submission();
    struct name future, past;

    s.deadline_at_ms = now_ms + 3600000;
    future = given(t, &s);
    EXPECT_OK(t, when_cancelled(t, future.id));
    EXPECT_OK(t, when_replayed(t, future.id));
    EXPECT_INT(t, now_ms + 3600000, look(t, future.id)->deadline_at_ms);
    s.deadline_at_ms = 5;
    past = given(t, &s);
    EXPECT_OK(t, when_cancelled(t, past.id));
    EXPECT_OK(t, when_replayed(t, past.id));
    EXPECT_INT(t, FF_ABSENT_MS, look(t, past.id)->deadline_at_ms);
}

FF_CONFORMANCE(execution_replay, may_bring_a_new_deadline)
{
    const struct name name = given_completed(t);
    struct ff_replay_request request = replay_of(name.id);

    request.deadline_ms = 60000;
    EXPECT_OK(t, replay(t, &request));
    EXPECT_INT(t, last_event(t, name.id, "operator", "replayed")->at_ms + 60000,
               look(t, name.id)->deadline_at_ms);
}

FF_CONFORMANCE(execution_replay, has_limits_for_its_words)
{
    const struct name name = given_completed(t);
    struct ff_replay_request request = replay_of(name.id);

    request.reason = text_of(t, 1025, 'r');
    EXPECT_REFUSED(t, FF_TOO_LARGE, "reason", replay(t, &request));
    request = replay_of(name.id);
    request.has_input = true;
    request.input = json_of(t, 1048577, 'i');
    EXPECT_REFUSED(t, FF_TOO_LARGE, "input", replay(t, &request));
    request.input.len = 5; /* no JSON any more */
    EXPECT_REFUSED(t, FF_INVALID, "input", replay(t, &request));
    request = replay_of(name.id);
    request.deadline_ms = 0;
    EXPECT_REFUSED(t, FF_INVALID, "deadline_ms", replay(t, &request));
    request = replay_of(name.id);
    request.expected_generation = -1;
    EXPECT_REFUSED(t, FF_INVALID, "expected_generation", replay(t, &request));
    request = replay_of(NULL);
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", replay(t, &request));
    request = replay_of("{fp:9}:0190f5fe-7000-7000-8000-000000000001");
    EXPECT_STATUS(t, FF_NOT_FOUND, replay(t, &request));
    EXPECT_STATE(t, name.id, "completed");
}

FF_CONFORMANCE(execution_replay, shows_neither_progress_nor_failure_of_before)
{
    struct held held = given_claimed(t);

    EXPECT_OK(t, when_progressed(t, &held, 40, "half way"));
    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    EXPECT_TEXT(t, "permanent", look(t, held.id)->failure_class);
    EXPECT_OK(t, when_replayed(t, held.id));
    EXPECT(t, !look(t, held.id)->has_progress);
    EXPECT_TEXT(t, NULL, look(t, held.id)->failure_message);
    EXPECT_TEXT(t, NULL, look(t, held.id)->failure_class);
    held = given_claimed_next(t);
    EXPECT(t, !look(t, held.id)->has_progress);
    EXPECT_OK(t, when_progressed(t, &held, -1, "again"));
    EXPECT_INT(t, -1, look(t, held.id)->progress_percent);
    EXPECT_TEXT(t, "again", look(t, held.id)->progress_message);
    EXPECT_ATTEMPTS(t, held.id, "0:initial:failed 1:replay:running");
    EXPECT_TEXT(t, "permanent", attempts(t, held.id)->items[0].failure_class);
}

/* A request that names an input and brings none asks for the contract's null, not for the old one.
 */
FF_CONFORMANCE(execution_replay, may_bring_the_input_null)
{
    struct ff_submission s = submission();
    struct ff_replay_request request;
    struct name name;

    needs_store(t, "an input that is null and not absent");
    s.input = (struct ff_str){"{\"n\":1}", 7};
    name = given(t, &s);
    expect_input(t, name.id, s.input.ptr, s.input.len);
    request = replay_of(name.id);
    request.has_input = true;
    EXPECT_OK(t, replay(t, &request));
    EXPECT_TEXT(t, NULL, look(t, name.id)->input_content_type);
    expect_input(t, name.id, "null", 4);
}
