/* SPDX-License-Identifier: Apache-2.0
 *
 * test_queue.c -- order, fairness, limits and taking back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "engine/queue.h"

static struct ff_queue queue;

static int setup(void **state)
{
    (void)state;
    ff_queue_init(&queue);
    return 0;
}

static void free_list(struct ff_list *list)
{
    while (!ff_list_empty(list))
        ff_job_free(ff_job_pop(list));
}

static int teardown(void **state)
{
    struct ff_list rest;

    (void)state;
    ff_list_init(&rest);
    while (ff_queue_take(&queue, FF_TAKE_ALL, SIZE_MAX, &rest) > 0 ||
           ff_queue_take(&queue, FF_TAKE_PATIENT, 1, &rest) > 0)
        free_list(&rest);
    assert_int_equal(queue.count, 0);
    assert_int_equal(queue.bytes, 0);
    assert_int_equal(queue.weight, 0);
    ff_queue_done(&queue);
    return 0;
}

static struct ff_job *given_pushed(ff_op_id op, uint32_t tag)
{
    struct ff_job *const job = ff_job_new(op, 0);

    job->tag = tag;
    job->weight = job->type->cls == FF_CLASS_CALLER || job->type->cls == FF_CLASS_SUBMIT;
    assert_int_equal(ff_queue_push(&queue, &job, 1, NULL), 1);
    return job;
}

static void given_pushed_member(uint32_t tag)
{
    struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_COMPLETE, 0);

    job->tag = tag;
    job->member = true;
    assert_int_equal(ff_queue_push(&queue, &job, 1, NULL), 1);
}

static struct ff_job *given_taken(ff_op_id op, uint32_t tag)
{
    struct ff_job *const job = given_pushed(op, tag);

    assert_true(ff_queue_remove(&queue, job));
    return job;
}

static void expect_order(struct ff_list *list, const uint32_t *tags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ff_job *const job = ff_job_pop(list);

        assert_int_equal(job->tag, tags[i]);
        ff_job_free(job);
    }
    assert_true(ff_list_empty(list));
}

static void test_queue__worker_ops_go_first_then_callers_then_submits(void **state)
{
    const uint32_t expected[] = {3, 4, 2, 1};
    struct ff_list out;

    (void)state;
    ff_list_init(&out);
    given_pushed(FF_OP_EXECUTION_SUBMIT, 1);
    given_pushed(FF_OP_EXECUTION_CLAIM, 2);
    given_pushed(FF_OP_EXECUTION_COMPLETE, 3);
    given_pushed(FF_OP_EXECUTION_RENEW, 4);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_NORMAL, 10, &out), 4);
    expect_order(&out, expected, 4);
}

static void test_queue__background_has_a_quarter_while_others_compete(void **state)
{
    struct ff_list out;
    int background = 0;

    (void)state;
    ff_list_init(&out);
    for (uint32_t i = 0; i < 100; i++) {
        given_pushed(FF_OP_EXECUTION_COMPLETE, i);
        given_pushed(FF_OP_TIMER_FIRE, i);
    }
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_NORMAL, 40, &out), 40);
    FF_LIST_FOR_EACH(node, &out)
    background += ff_list_item(node, struct ff_job, link)->type->cls == FF_CLASS_BACKGROUND;
    assert_int_equal(background, 10);
    free_list(&out);
}

static void test_queue__what_comes_back_is_served_first(void **state)
{
    const uint32_t expected[] = {9, 1};
    struct ff_list out;
    struct ff_job *const back = ff_job_new(FF_OP_EXECUTION_COMPLETE, 0);

    (void)state;
    ff_list_init(&out);
    back->tag = 9;
    given_pushed(FF_OP_EXECUTION_COMPLETE, 1);
    ff_queue_return(&queue, back);
    ff_queue_take(&queue, FF_TAKE_NORMAL, 10, &out);
    expect_order(&out, expected, 2);
}

static void test_queue__refuses_above_the_limit_but_never_background(void **state)
{
    struct ff_job *const over = ff_job_new(FF_OP_EXECUTION_SUBMIT, 0);
    struct ff_error err;

    (void)state;
    for (uint32_t i = 0; i < FF_QUEUE_OPS_MAX / 5 * 4; i++)
        given_pushed(FF_OP_EXECUTION_SUBMIT, i);
    assert_int_equal(ff_queue_push(&queue, &over, 1, &err), 0);
    assert_int_equal(err.status, FF_OVERLOADED);
    ff_job_free(over);
    given_pushed(FF_OP_EXECUTION_RENEW, 0); /* a flood of submits must not cost anybody a lease */
    given_pushed(FF_OP_TIMER_FIRE, 0);
}

static void test_queue__refuses_too_many_bytes(void **state)
{
    struct ff_job *const huge = ff_job_new(FF_OP_EXECUTION_SUBMIT, FF_QUEUE_BYTES_MAX);
    struct ff_error err;

    (void)state;
    assert_int_equal(ff_queue_push(&queue, &huge, 1, &err), 0);
    assert_int_equal(err.status, FF_OVERLOADED);
    ff_job_free(huge);
}

static void test_queue__refuses_when_closed(void **state)
{
    struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_SUBMIT, 0);
    struct ff_error err;

    (void)state;
    ff_queue_close(&queue);
    assert_int_equal(ff_queue_push(&queue, &job, 1, &err), 0);
    assert_int_equal(err.status, FF_CLOSED);
    ff_job_free(job);
}

static void test_queue__large_jobs_wait_for_the_executor_that_takes_all(void **state)
{
    const uint32_t expected[] = {7};
    struct ff_list out;
    struct ff_job *const large = ff_job_new(FF_OP_EXECUTION_SUBMIT, 0);

    (void)state;
    ff_list_init(&out);
    large->large = true;
    large->tag = 7;
    assert_int_equal(ff_queue_push(&queue, &large, 1, NULL), 1);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_NORMAL, 10, &out), 0);
    assert_true(ff_queue_has(&queue, FF_TAKE_ALL));
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_ALL, 10, &out), 1);
    expect_order(&out, expected, 1);
}

static void given_many(size_t count, bool shared)
{
    for (size_t i = 0; i < count; i++) {
        struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_SUBMIT, 0);

        job->large = true;
        job->shared = shared;
        assert_int_equal(ff_queue_push(&queue, &job, 1, NULL), 1);
    }
}

/* One call that needs no order keeps all busy, but the first is free again soon. */
static void test_queue__everybody_takes_of_what_is_shared(void **state)
{
    struct ff_list out;

    (void)state;
    ff_queue_spare(&queue, true);
    ff_list_init(&out);
    given_many(2000, true);
    assert_true(ff_queue_has(&queue, FF_TAKE_CASCADE));
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_CASCADE, 512, &out), FF_SHARE_OPS);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_NORMAL, 512, &out), FF_SHARE_OPS);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_LARGE, 512, &out), 512);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_CASCADE, 10, &out), 10);
    free_list(&out);
}

static void test_queue__of_large_inputs_few_are_taken(void **state)
{
    struct ff_list out;

    (void)state;
    ff_list_init(&out);
    for (size_t i = 0; i < 10; i++) {
        struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_SUBMIT, FF_SHARE_BYTES / 4);

        job->large = job->shared = true;
        assert_int_equal(ff_queue_push(&queue, &job, 1, NULL), 1);
    }
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_CASCADE, 512, &out), 4);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_LARGE, 512, &out), 6);
    free_list(&out);
}

/* What does not fit its batch nobody else could take. */
static void test_queue__the_last_takes_what_fits_a_batch(void **state)
{
    struct ff_list out;

    (void)state;
    ff_list_init(&out);
    for (size_t i = 0; i < 12; i++) {
        struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_SUBMIT, FF_BATCH_BYTES_MAX / 8);

        job->large = job->shared = true;
        assert_int_equal(ff_queue_push(&queue, &job, 1, NULL), 1);
    }
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_LARGE, 512, &out), 8);
    assert_true(ff_queue_has(&queue, FF_TAKE_CASCADE));
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_LARGE, 512, &out), 4);
    free_list(&out);
}

/* As every job: given up, too late, or back from a batch. */
static void test_queue__shared_jobs_come_and_go(void **state)
{
    struct ff_list out;
    struct ff_job *job;

    (void)state;
    ff_list_init(&out);
    given_many(3, true);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_CASCADE, 1, &out), 1);
    job = ff_job_pop(&out);
    ff_queue_return(&queue, job);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_CASCADE, 1, &out), 1);
    assert_ptr_equal(ff_job_pop(&out), job);
    ff_queue_return(&queue, job);
    assert_true(ff_queue_remove(&queue, job));
    job->deadline_mono_ms = 100;
    ff_queue_return(&queue, job);
    (void)ff_queue_expired(&queue, 100, &out);
    assert_ptr_equal(ff_job_pop(&out), job);
    ff_job_free(job);
    assert_int_equal(queue.count, 2);
}

/* A word that waits is not packed together with items that take long. */
static void test_queue__with_anything_else_to_do_the_first_leaves_what_is_shared(void **state)
{
    struct ff_list out;

    (void)state;
    ff_list_init(&out);
    given_many(10, true);
    (void)given_pushed(FF_OP_EXECUTION_COMPLETE, 1);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_CASCADE, 512, &out), 1);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_CASCADE, 512, &out), 10);
    free_list(&out);
}

static void test_queue__large_and_shared_ones_do_not_starve_each_other(void **state)
{
    struct ff_list out;
    size_t shared = 0;

    (void)state;
    ff_list_init(&out);
    given_many(1000, false);
    given_many(1000, true);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_ALL, 512, &out), 512);
    while (!ff_list_empty(&out)) {
        struct ff_job *const job = ff_job_pop(&out);

        shared += job->shared;
        ff_job_free(job);
    }
    assert_in_range(shared, 200, 312);
}

static size_t taken_by(ff_lane_of_work which)
{
    struct ff_list out;
    size_t count;

    ff_list_init(&out);
    count = ff_queue_take(&queue, which, SIZE_MAX, &out);
    free_list(&out);
    return count;
}

static void test_queue__a_helper_leaves_a_few_jobs_to_the_first(void **state)
{
    (void)state;
    ff_queue_spare(&queue, true);
    (void)given_pushed(FF_OP_EXECUTION_SUBMIT, 1);
    queue.since_us = INT64_MAX / 2; /* just now, however slow this test is */
    assert_false(ff_queue_has(&queue, FF_TAKE_LARGE));
    assert_int_equal(taken_by(FF_TAKE_NORMAL), 0);
    assert_int_equal(taken_by(FF_TAKE_LARGE), 0);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1);
    assert_int_equal(queue.since_us, 0);
}

static void given_words_and_submits(size_t words, size_t submits)
{
    for (size_t i = 0; i < words; i++)
        (void)given_pushed(FF_OP_EXECUTION_COMPLETE, 1);
    for (size_t i = 0; i < submits; i++)
        (void)given_pushed(FF_OP_EXECUTION_SUBMIT, 2);
    queue.since_us = INT64_MAX / 2; /* just now, however slow this test is */
}

static void given_claim_of(size_t tasks)
{
    struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_CLAIM, 0);

    job->weight = tasks;
    assert_int_equal(ff_queue_push(&queue, &job, 1, NULL), 1);
    queue.since_us = INT64_MAX / 2;
}

static void given_sleeping_helper(void)
{
    ff_queue_spare(&queue, true);
    queue.sleeping = 1;
}

static void test_queue__submits_are_left_to_a_helper_that_sleeps(void **state)
{
    (void)state;
    given_sleeping_helper();
    given_words_and_submits(1, FF_SHARE_WEIGHT);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1);
    queue.since_us = INT64_MAX / 2;
    assert_false(ff_queue_has(&queue, FF_TAKE_CASCADE));
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 0);
    assert_true(ff_queue_has(&queue, FF_TAKE_LARGE));
    assert_int_equal(taken_by(FF_TAKE_LARGE), FF_SHARE_WEIGHT);
    assert_int_equal(queue.since_us, 0); /* nobody waits any more */
    given_words_and_submits(0, 1);       /* afterwards all is as it was */
    assert_int_equal(taken_by(FF_TAKE_LARGE), 0);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1);
}

static void test_queue__a_large_claim_is_left_too(void **state)
{
    (void)state;
    given_sleeping_helper();
    given_words_and_submits(1, 0);
    given_claim_of(FF_SHARE_WEIGHT);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1);
    queue.since_us = INT64_MAX / 2;
    assert_int_equal(taken_by(FF_TAKE_LARGE), 1);
    given_pushed_member(1); /* its hop is much work, too */
    given_claim_of(FF_SHARE_WEIGHT);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1);
    assert_int_equal(taken_by(FF_TAKE_LARGE), 1);
}

static void test_queue__otherwise_the_first_takes_all_along(void **state)
{
    (void)state;
    ff_queue_spare(&queue, true);
    given_words_and_submits(1, FF_SHARE_WEIGHT); /* nobody sleeps */
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1 + FF_SHARE_WEIGHT);
    given_sleeping_helper();
    given_words_and_submits(1, FF_SHARE_WEIGHT - 1); /* few */
    assert_int_equal(taken_by(FF_TAKE_CASCADE), FF_SHARE_WEIGHT);
    given_words_and_submits(0, FF_SHARE_WEIGHT); /* nothing else */
    assert_int_equal(taken_by(FF_TAKE_CASCADE), FF_SHARE_WEIGHT);
}

static void test_queue__a_helper_takes_what_is_heavy_while_the_first_is_away(void **state)
{
    (void)state;
    ff_queue_spare(&queue, true);
    given_words_and_submits(2, 0);
    given_claim_of(FF_SHARE_WEIGHT);
    assert_int_equal(taken_by(FF_TAKE_LARGE), 0);
    ff_queue_away(&queue, true);
    assert_int_equal(taken_by(FF_TAKE_LARGE), 1);
    assert_int_equal(queue.since_us, INT64_MAX / 2);   /* the others wait as before */
    assert_false(ff_queue_has(&queue, FF_TAKE_LARGE)); /* words are the first one's */
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 2);
}

/* However few are left on the way. */
static void test_queue__a_helper_that_comes_because_many_wait_takes_all(void **state)
{
    (void)state;
    ff_queue_spare(&queue, true);
    given_words_and_submits(FF_HELP_OPS, 5);
    assert_int_equal(taken_by(FF_TAKE_LARGE), FF_HELP_OPS + 5);
}

/* Whatever keeps the helper: nobody waits for it alone. */
static void test_queue__what_was_left_for_long_is_taken_all_the_same(void **state)
{
    (void)state;
    given_sleeping_helper();
    given_words_and_submits(1, FF_SHARE_WEIGHT);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1);
    queue.left_since_us = 1;
    given_words_and_submits(1, 0); /* that somebody else came just now does not matter */
    assert_true(ff_queue_has(&queue, FF_TAKE_CASCADE));
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1 + FF_SHARE_WEIGHT);
    given_words_and_submits(1, 1); /* and nothing is left any more */
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 2);
}

static void test_queue__a_helper_helps_when_many_wait_or_one_waits_for_long(void **state)
{
    (void)state;
    ff_queue_spare(&queue, true);
    for (uint32_t i = 0; i < FF_HELP_OPS; i++)
        (void)given_pushed(FF_OP_EXECUTION_SUBMIT, i);
    queue.since_us = INT64_MAX / 2;
    assert_int_equal(taken_by(FF_TAKE_LARGE), FF_HELP_OPS);
    (void)given_pushed(FF_OP_EXECUTION_SUBMIT, 1);
    queue.since_us = 1;
    assert_int_equal(taken_by(FF_TAKE_NORMAL), 1);
}

/* The first may be stuck in a call: timers go on without it. */
static void test_queue__a_helper_takes_background_that_has_waited(void **state)
{
    const ff_lane_of_work helpers[] = {FF_TAKE_NORMAL, FF_TAKE_LARGE};

    (void)state;
    ff_queue_spare(&queue, true);
    for (size_t i = 0; i < FF_ARRAY_LEN(helpers); i++) {
        (void)given_pushed(FF_OP_TIMER_FIRE, 1);
        queue.since_us = INT64_MAX / 2;
        assert_int_equal(taken_by(helpers[i]), 0);
        queue.since_us = 1;
        assert_int_equal(taken_by(helpers[i]), 1);
        (void)given_pushed(FF_OP_EXECUTION_SUBMIT, 1);
        (void)given_pushed(FF_OP_TIMER_FIRE, 2);
        queue.since_us = 1;
        assert_int_equal(taken_by(helpers[i]), 2);
    }
}

static void test_queue__words_about_members_are_left_to_the_first(void **state)
{
    (void)state;
    ff_queue_spare(&queue, true);
    for (uint32_t i = 0; i < FF_HELP_OPS; i++)
        given_pushed_member(i);
    queue.members_since_us = INT64_MAX / 2; /* just now */
    assert_false(ff_queue_has(&queue, FF_TAKE_LARGE));
    assert_int_equal(taken_by(FF_TAKE_LARGE), 0);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), FF_HELP_OPS);
    assert_int_equal(queue.members_since_us, 0);
    given_pushed_member(1);
    queue.members_since_us = 1; /* the first has been busy for long */
    assert_int_equal(taken_by(FF_TAKE_LARGE), 1);
}

/* Otherwise a helper would wait for something that is not there, without ever sleeping. */
static void test_queue__words_that_have_gone_are_not_waited_for(void **state)
{
    struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_COMPLETE, 0);
    struct ff_list out;

    (void)state;
    ff_queue_spare(&queue, true);
    job->member = true;
    job->deadline_mono_ms = 5;
    assert_int_equal(ff_queue_push(&queue, (struct ff_job *const[]){job}, 1, NULL), 1);
    assert_true(queue.members_since_us > 0);
    ff_list_init(&out);
    (void)ff_queue_expired(&queue, 10, &out);
    assert_int_equal(queue.members_since_us, 0);
    job->deadline_mono_ms = INT64_MAX;
    assert_ptr_equal(ff_job_pop(&out), job);
    assert_int_equal(ff_queue_push(&queue, (struct ff_job *const[]){job}, 1, NULL), 1);
    assert_true(ff_queue_remove(&queue, job));
    assert_int_equal(queue.members_since_us, 0);
    ff_job_free(job);
}

static void test_queue__neither_members_nor_others_starve(void **state)
{
    struct ff_list out;
    size_t members = 0;

    (void)state;
    ff_queue_spare(&queue, true);
    for (uint32_t i = 0; i < 20; i++) {
        given_pushed_member(i);
        (void)given_pushed(FF_OP_EXECUTION_RENEW, i);
    }
    ff_list_init(&out);
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_CASCADE, 10, &out), 10);
    while (!ff_list_empty(&out)) {
        struct ff_job *const job = ff_job_pop(&out);

        members += job->member;
        ff_job_free(job);
    }
    assert_int_equal(members, 5);
    assert_true(queue.members_since_us > 0); /* some still wait */
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 30);
}

static void test_queue__callers_that_were_answered_together_are_taken_together(void **state)
{
    (void)state;
    ff_queue_expect(&queue, FF_TAKE_CASCADE, ff_queue_pushes(&queue), 2);
    queue.expect_until_us = INT64_MAX / 2;
    (void)given_pushed(FF_OP_EXECUTION_SUBMIT, 1);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 0);
    (void)given_pushed(FF_OP_EXECUTION_SUBMIT, 2);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 2);
}

static void test_queue__nobody_is_waited_for_longer_than_allowed(void **state)
{
    (void)state;
    ff_queue_expect(&queue, FF_TAKE_CASCADE, ff_queue_pushes(&queue), 2);
    queue.expect_until_us = 1;
    (void)given_pushed(FF_OP_EXECUTION_SUBMIT, 1);
    assert_int_equal(taken_by(FF_TAKE_CASCADE), 1);
}

static void test_queue__nobody_is_waited_for_when_it_is_closed(void **state)
{
    (void)state;
    ff_queue_expect(&queue, FF_TAKE_CASCADE, ff_queue_pushes(&queue), 2);
    queue.expect_until_us = INT64_MAX / 2;
    (void)given_pushed(FF_OP_EXECUTION_SUBMIT, 1);
    ff_queue_close(&queue);
    assert_int_equal(taken_by(FF_TAKE_ALL), 1);
}

static void test_queue__one_caller_alone_is_not_waited_for(void **state)
{
    (void)state;
    ff_queue_expect(&queue, FF_TAKE_CASCADE, ff_queue_pushes(&queue), 1);
    ff_queue_expect(&queue, FF_TAKE_LARGE, ff_queue_pushes(&queue), 5); /* only helps */
    assert_int_equal(queue.expect_until_us, 0);
}

static void test_queue__a_job_can_be_taken_back_while_it_waits(void **state)
{
    struct ff_job *const waiting = given_pushed(FF_OP_EXECUTION_SUBMIT, 1);
    struct ff_list out;

    (void)state;
    ff_list_init(&out);
    assert_true(ff_queue_remove(&queue, waiting));
    assert_false(ff_queue_remove(&queue, waiting));
    assert_int_equal(ff_queue_take(&queue, FF_TAKE_ALL, 10, &out), 0);
    ff_job_free(waiting);
}

/* Background jobs that wait for a row hold callers up for every fourth turn at most. */
static void test_queue__patient_callers_do_not_stand_behind_background(void **state)
{
    const uint32_t expected[] = {100, 101, 102, 0, 103, 1, 2};
    struct ff_list out;

    (void)state;
    ff_list_init(&out);
    for (uint32_t i = 0; i < 3; i++)
        ff_queue_push_patient(&queue, given_taken(FF_OP_HOP_DISPATCH, i));
    for (uint32_t i = 100; i < 104; i++)
        ff_queue_push_patient(&queue, given_taken(FF_OP_EXECUTION_COMPLETE, i));
    while (ff_queue_has(&queue, FF_TAKE_PATIENT))
        assert_int_equal(ff_queue_take(&queue, FF_TAKE_PATIENT, 10, &out), 1);
    expect_order(&out, expected, FF_ARRAY_LEN(expected));
}

static void test_queue__deadlines_are_found(void **state)
{
    const uint32_t expected[] = {1};
    struct ff_list out;

    (void)state;
    ff_list_init(&out);
    given_pushed(FF_OP_EXECUTION_SUBMIT, 1)->deadline_mono_ms = 100;
    given_pushed(FF_OP_EXECUTION_SUBMIT, 2)->deadline_mono_ms = 200;
    assert_int_equal(ff_queue_expired(&queue, 100, &out), 200);
    expect_order(&out, expected, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_queue__worker_ops_go_first_then_callers_then_submits),
        TEST(test_queue__background_has_a_quarter_while_others_compete),
        TEST(test_queue__what_comes_back_is_served_first),
        TEST(test_queue__refuses_above_the_limit_but_never_background),
        TEST(test_queue__refuses_too_many_bytes),
        TEST(test_queue__refuses_when_closed),
        TEST(test_queue__large_jobs_wait_for_the_executor_that_takes_all),
        TEST(test_queue__everybody_takes_of_what_is_shared),
        TEST(test_queue__of_large_inputs_few_are_taken),
        TEST(test_queue__the_last_takes_what_fits_a_batch),
        TEST(test_queue__shared_jobs_come_and_go),
        TEST(test_queue__with_anything_else_to_do_the_first_leaves_what_is_shared),
        TEST(test_queue__large_and_shared_ones_do_not_starve_each_other),
        TEST(test_queue__a_helper_leaves_a_few_jobs_to_the_first),
        TEST(test_queue__submits_are_left_to_a_helper_that_sleeps),
        TEST(test_queue__a_large_claim_is_left_too),
        TEST(test_queue__otherwise_the_first_takes_all_along),
        TEST(test_queue__a_helper_takes_what_is_heavy_while_the_first_is_away),
        TEST(test_queue__a_helper_that_comes_because_many_wait_takes_all),
        TEST(test_queue__what_was_left_for_long_is_taken_all_the_same),
        TEST(test_queue__a_helper_helps_when_many_wait_or_one_waits_for_long),
        TEST(test_queue__a_helper_takes_background_that_has_waited),
        TEST(test_queue__words_about_members_are_left_to_the_first),
        TEST(test_queue__words_that_have_gone_are_not_waited_for),
        TEST(test_queue__neither_members_nor_others_starve),
        TEST(test_queue__callers_that_were_answered_together_are_taken_together),
        TEST(test_queue__nobody_is_waited_for_longer_than_allowed),
        TEST(test_queue__nobody_is_waited_for_when_it_is_closed),
        TEST(test_queue__one_caller_alone_is_not_waited_for),
        TEST(test_queue__a_job_can_be_taken_back_while_it_waits),
        TEST(test_queue__patient_callers_do_not_stand_behind_background),
        TEST(test_queue__deadlines_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
