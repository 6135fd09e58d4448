/* SPDX-License-Identifier: Apache-2.0
 *
 * worker_run.c -- the worker runtime: who runs what, how often, and what becomes of it. */
#include "support/crew.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define MANY 200

static ff_verdict echo(struct ff_context *ctx, void *data)
{
    const struct ff_task *const task = ff_context_task(ctx);
    struct crew *const crew = data;

    crew->begun++;
    return ff_context_done(ctx, task->input.ptr);
}

static ff_verdict nothing(struct ff_context *ctx, void *data)
{
    (void)ctx;
    (void)data;
    return FF_VERDICT_DONE;
}

static const char *result_of(struct test *t, const char *id)
{
    struct ff_bytes bytes = {0};

    EXPECT_OK(t, ff_result(t->client, id, &bytes, &t->err));
    keep_answer(t, bytes.memory);
    return bytes.data.ptr;
}

/* In one call; inputs are their numbers. */
static struct ff_submitted *given_many(struct test *t, size_t count)
{
    struct ff_submission *const items = keep(t, count * sizeof *items);
    struct ff_submitted *const made = keep(t, count * sizeof *made);

    for (size_t i = 0; i < count; i++) {
        char *const text = keep(t, 16);

        items[i] = submission();
        items[i].input = (struct ff_str){text, (size_t)snprintf(text, 16, "%zu", i)};
    }
    EXPECT_OK(t, ff_submit(t->client, items, count, made, &t->err));
    return made;
}

FF_CONFORMANCE(worker_run, every_task_runs_once_and_keeps_its_result)
{
    struct ff_worker_options options = crew_options();
    const struct ff_submitted *const made = given_many(t, MANY);
    struct crew *crew;

    options.threads = 8;
    options.ahead = 32;
    crew = given_crew(t, &options);
    given_handler(t, crew, "work", echo);
    when_crew_has_worked(t, crew, MANY);
    EXPECT_INT(t, MANY, crew->begun);
    EXPECT_INT(t, MANY, crew->stats.done);
    EXPECT_INT(t, MANY, crew->stats.claimed);
    for (size_t i = 0; i < MANY; i += 17) {
        char want[16];

        (void)snprintf(want, sizeof want, "%zu", i);
        EXPECT_ATTEMPTS(t, made[i].execution_id, "0:initial:completed");
        EXPECT_TEXT(t, want, result_of(t, made[i].execution_id));
    }
}

FF_CONFORMANCE(worker_run, two_crews_share_the_work)
{
    const struct ff_worker_options options = crew_options();
    struct crew *first, *second;

    (void)given_many(t, MANY);
    first = given_crew(t, &options);
    second = given_crew(t, &options);
    given_handler(t, first, NULL, echo);
    given_handler(t, second, NULL, echo);
    when_crew_starts(t, first);
    when_crew_starts(t, second);
    WAIT_UNTIL(t, crew_stats(first).done + crew_stats(second).done == MANY);
    when_crew_stops(t, first);
    when_crew_stops(t, second);
    EXPECT_INT(t, MANY, first->begun + second->begun);
    EXPECT_INT(t, 0, first->stats.lost + second->stats.lost);
}

FF_CONFORMANCE(worker_run, kinds_go_to_their_handlers_and_others_stay)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    struct ff_submission s = submission();
    struct name mine, foreign;

    mine = given(t, &s);
    s.kind = "foreign";
    foreign = given(t, &s);
    given_handler(t, crew, "work", echo);
    given_handler(t, crew, "other", nothing);
    when_crew_has_worked(t, crew, 1);
    EXPECT_STATE(t, mine.id, "completed");
    EXPECT_STATE(t, foreign.id, "waiting");
}

FF_CONFORMANCE(worker_run, the_handler_of_any_kind_takes_the_rest)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    struct ff_submission s = submission();

    (void)given(t, &s);
    s.kind = "foreign";
    (void)given(t, &s);
    given_handler(t, crew, "work", echo);
    given_handler(t, crew, NULL, nothing);
    when_crew_has_worked(t, crew, 2);
    EXPECT_INT(t, 1, crew->begun);
}

/* ---- verdicts ---- */

static ff_verdict fail_twice(struct ff_context *ctx, void *data)
{
    struct crew *const crew = data;

    if (++crew->begun <= 2)
        return ff_context_fail(ctx, NULL, "try %d", (int)crew->begun);
    return ff_context_done(ctx, "true");
}

FF_CONFORMANCE(worker_run, failures_are_retried_by_the_policy)
{
    const struct ff_worker_options options = crew_options();
    const struct ff_policy_spec p = retry_policy(5, 10);
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted_with(t, &p);

    given_handler(t, crew, "work", fail_twice);
    when_crew_has_worked(t, crew, 1);
    EXPECT_INT(t, 2, crew->stats.failed);
    EXPECT_ATTEMPTS(t, name.id, "0:initial:retry 1:retry:retry 2:retry:completed");
    EXPECT_TEXT(t, "try 2", attempts(t, name.id)->items[1].failure_message);
}

static ff_verdict fail_for_good(struct ff_context *ctx, void *data)
{
    (void)data;
    return ff_context_fail(ctx, "permanent", "no such %s", "thing");
}

FF_CONFORMANCE(worker_run, permanent_failures_end_it)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted(t);

    given_handler(t, crew, "work", fail_for_good);
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, is_in_state(t, name.id, "failed"));
    EXPECT_TEXT(t, "no such thing", look(t, name.id)->failure_message);
    EXPECT_TEXT(t, "permanent", look(t, name.id)->failure_class);
}

static ff_verdict say_too_much(struct ff_context *ctx, void *data)
{
    static char large[(1 << 20) + 1];

    (void)data;
    return ff_context_done_bytes(ctx, (struct ff_str){large, sizeof large}, "text/plain");
}

FF_CONFORMANCE(worker_run, a_result_that_is_not_accepted_fails_for_good)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted(t);

    given_handler(t, crew, "work", say_too_much);
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, is_in_state(t, name.id, "failed"));
    EXPECT(t, strstr(look(t, name.id)->failure_message, "not accepted"));
    EXPECT_ATTEMPTS(t, name.id, "0:initial:failed");
}

static ff_verdict postpone_once(struct ff_context *ctx, void *data)
{
    struct crew *const crew = data;

    if (++crew->begun == 1)
        return ff_context_delay(ctx, 50);
    if (crew->begun == 2)
        return ff_context_release(ctx, "not mine");
    return FF_VERDICT_DONE;
}

FF_CONFORMANCE(worker_run, what_is_delayed_or_released_comes_again_without_a_retry)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted(t);

    given_handler(t, crew, "work", postpone_once);
    when_crew_has_worked(t, crew, 1);
    EXPECT_ATTEMPTS(t, name.id, "0:initial:delayed 0:initial:released 0:initial:completed");
    EXPECT_INT(t, 1, crew->stats.delayed);
    EXPECT_INT(t, 1, crew->stats.released);
}

static ff_verdict contradict(struct ff_context *ctx, void *data)
{
    (void)data;
    (void)ff_context_done(ctx, "true");
    return FF_VERDICT_FAILED;
}

FF_CONFORMANCE(worker_run, the_value_returned_counts)
{
    const struct ff_worker_options options = crew_options();
    const struct ff_policy_spec p = retry_policy(0, 0);
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted_with(t, &p);

    given_handler(t, crew, "work", contradict);
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, is_in_state(t, name.id, "failed"));
}

static ff_verdict tell_progress(struct ff_context *ctx, void *data)
{
    struct crew *const crew = data;

    ff_context_progress(ctx, 10, "begun");
    ff_context_progress(ctx, 40, "almost half");
    crew->begun++;
    while (!crew->go && !ff_context_wait(ctx, 10))
        continue;
    return FF_VERDICT_DONE;
}

FF_CONFORMANCE(worker_run, progress_is_seen_while_it_runs)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted(t);

    given_handler(t, crew, "work", tell_progress);
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, look(t, name.id)->has_progress && look(t, name.id)->progress_percent == 40);
    EXPECT_TEXT(t, "almost half", look(t, name.id)->progress_message);
    crew->go = true;
    WAIT_UNTIL(t, is_in_state(t, name.id, "completed"));
}

/* 3 * 1500 bytes: the limit of 4,096 falls into a character. */
static const char *long_text(char out[4608])
{
    for (size_t i = 0; i < 1500; i++)
        memcpy(out + 3 * i, "\xe2\x82\xac", 4);
    return out;
}

static ff_verdict tell_long_texts(struct ff_context *ctx, void *data)
{
    struct crew *const crew = data;
    char text[4608];

    ff_context_progress(ctx, 40, long_text(text));
    while (!crew->go && !ff_context_wait(ctx, 10))
        continue;
    return ff_context_fail(ctx, "permanent", "%s", long_text(text));
}

FF_CONFORMANCE(worker_run, long_texts_are_cut_between_characters)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted(t);

    given_handler(t, crew, "work", tell_long_texts);
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, look(t, name.id)->has_progress);
    EXPECT_INT(t, 4095, (int64_t)strlen(look(t, name.id)->progress_message));
    crew->go = true;
    WAIT_UNTIL(t, is_in_state(t, name.id, "failed"));
    EXPECT_INT(t, 4095, (int64_t)strlen(look(t, name.id)->failure_message));
}

static ff_verdict give_back_at_length(struct ff_context *ctx, void *data)
{
    struct crew *const crew = data;
    char text[4608];

    return crew->begun++ ? FF_VERDICT_DONE : ff_context_release(ctx, long_text(text));
}

/* Refused it would be held until the lease has lapsed. */
FF_CONFORMANCE(worker_run, a_long_reason_gives_a_task_back)
{
    const struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    const struct name name = given_submitted(t);

    given_handler(t, crew, "work", give_back_at_length);
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, is_in_state(t, name.id, "completed"));
    EXPECT_INT(t, 2, crew->begun);
}

/* The name of an instance begins with that of its worker. */
FF_CONFORMANCE(worker_run, a_worker_may_have_a_long_name)
{
    struct ff_worker_options options = crew_options();
    const struct name name = given_submitted(t);
    char text[4608];
    struct crew *crew;

    (void)long_text(text);
    text[3 * 80] = '\0';
    options.worker_id = text;
    crew = given_crew(t, &options);
    given_handler(t, crew, "work", nothing);
    when_crew_starts(t, crew);
    WAIT_UNTIL(t, is_in_state(t, name.id, "completed"));
}

/* Two processes, or one that was started again, under the instance id that their user gave them. */
FF_CONFORMANCE(worker_run, who_has_the_same_name_gets_tasks_of_its_own)
{
    struct ff_worker_options options = crew_options();
    struct ff_submission other = submission();
    struct crew *first, *second;

    options.threads = 1;
    options.worker_instance_id = "mine";
    other.kind = "other"; /* or the first might take it ahead of need */
    first = given_crew(t, &options);
    second = given_crew(t, &options);
    given_handler(t, first, "work", tell_progress);
    given_handler(t, second, "other", nothing);
    const struct name a = given_submitted(t);
    when_crew_starts(t, first);
    WAIT_UNTIL(t, first->begun == 1);
    when_crew_starts(t, second);
    const struct name b = given(t, &other);
    WAIT_UNTIL(t, is_in_state(t, b.id, "completed"));
    EXPECT_STATE(t, a.id, "active");
    EXPECT_INT(t, 1, crew_stats(second).claimed);
    first->go = true;
    WAIT_UNTIL(t, is_in_state(t, a.id, "completed"));
}

/* ---- what makes no sense ---- */

FF_CONFORMANCE(worker_run, a_claim_that_is_refused_ends_the_run_with_its_error)
{
    const char *const lanes[] = {""};
    struct ff_worker_options options = crew_options();
    struct crew *crew;

    options.lanes = lanes;
    options.lane_count = 1;
    crew = given_crew(t, &options);
    given_handler(t, crew, NULL, nothing);
    when_crew_starts(t, crew);
    join_thread(t, crew->thread);
    EXPECT_INT(t, FF_INVALID, crew->status);
    EXPECT_TEXT(t, "lanes[0]", crew->err.field);
}

FF_CONFORMANCE(worker_run, options_and_handlers_are_checked)
{
    struct ff_worker_options options = crew_options();
    struct crew *const crew = given_crew(t, &options);
    struct ff_worker *worker;

    options.threads = 257;
    EXPECT_REFUSED(t, FF_INVALID, "threads", ff_worker_new(t->client, &options, &worker, &t->err));
    options.threads = 256;
    options.ahead = 257;
    EXPECT_REFUSED(t, FF_INVALID, "ahead", ff_worker_new(t->client, &options, &worker, &t->err));
    options.ahead = 256;
    options.lease_ttl_ms = 99;
    EXPECT_REFUSED(t, FF_INVALID, "lease_ttl_ms",
                   ff_worker_new(t->client, &options, &worker, &t->err));
    options.size = 0;
    EXPECT_REFUSED(t, FF_INVALID, "size", ff_worker_new(t->client, &options, &worker, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "client", ff_worker_new(NULL, NULL, &worker, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "handler",
                   ff_worker_handle(crew->worker, "k", NULL, NULL, &t->err));
    EXPECT_STATUS(t, FF_INVALID, ff_worker_run(crew->worker, &t->err));
    given_handler(t, crew, "k", nothing);
    EXPECT_REFUSED(t, FF_CONFLICT, "kind",
                   ff_worker_handle(crew->worker, "k", nothing, NULL, &t->err));
    for (int i = 1; i < 64; i++) {
        char kind[16];

        (void)snprintf(kind, sizeof kind, "k%d", i);
        given_handler(t, crew, kind, nothing);
    }
    EXPECT_REFUSED(t, FF_TOO_LARGE, "kind",
                   ff_worker_handle(crew->worker, "k64", nothing, NULL, &t->err));
    ff_worker_stop(crew->worker);
    EXPECT_OK(t, ff_worker_run(crew->worker, &t->err));
    EXPECT_STATUS(t, FF_CONFLICT, ff_worker_run(crew->worker, &t->err));
    EXPECT_STATUS(t, FF_CONFLICT, ff_worker_handle(crew->worker, "late", nothing, NULL, &t->err));
}
