/* SPDX-License-Identifier: Apache-2.0
 *
 * test_spare.c -- jobs that are used again are as good as new, and not too many are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/spare.h"

static struct ff_spare *spare;

static int setup(void **state)
{
    (void)state;
    spare = ff_spare_new();
    assert_non_null(spare);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ff_spare_free(spare);
    return 0;
}

static struct ff_job *given_used(ff_op_id op)
{
    struct ff_job *const job = ff_spare_take(spare, op, 100);

    assert_non_null(job);
    job->status = FF_CONFLICT;
    job->busy_rounds = 3;
    job->stage = FF_JOB_LATE;
    job->in = ff_arena_alloc(&job->arena, 300);
    memset(job->in, 'x', 300);
    (void)ff_arena_alloc(&job->arena, 100000);
    return job;
}

static void test_spare__a_job_comes_back_as_new(void **state)
{
    struct ff_job *const used = given_used(FF_OP_EXECUTION_COMPLETE);
    struct ff_job *fresh, *again;

    (void)state;
    ff_spare_give(spare, used);
    again = ff_spare_take(spare, FF_OP_EXECUTION_SUBMIT, 7);
    fresh = ff_job_new(FF_OP_EXECUTION_SUBMIT, 7);
    assert_ptr_equal(again, used);
    assert_memory_equal(&again->type, &fresh->type, sizeof again->type);
    assert_int_equal(again->bytes, fresh->bytes);
    assert_int_equal(again->deadline_mono_ms, fresh->deadline_mono_ms);
    assert_int_equal(again->repeatable, fresh->repeatable);
    assert_int_equal(again->status, FF_OK);
    assert_int_equal(again->stage, FF_JOB_QUEUED);
    assert_int_equal(again->busy_rounds, 0);
    assert_null(again->in);
    assert_int_equal(again->arena.used_bytes, 0);
    ff_spare_give(spare, again);
    ff_job_free(fresh);
}

/* An arena that had no room must not make the next call fail. */
static void test_spare__what_failed_once_is_forgotten(void **state)
{
    struct ff_job *job = given_used(FF_OP_EXECUTION_SUBMIT);

    (void)state;
    ff_arena_fail(&job->arena);
    ff_spare_give(spare, job);
    job = ff_spare_take(spare, FF_OP_EXECUTION_SUBMIT, 0);
    assert_false(job->arena.failed);
    ff_spare_give(spare, job);
}

static void test_spare__so_many_are_kept_and_no_more(void **state)
{
    static struct ff_job *jobs[FF_SPARE_JOBS_MAX + 2];

    (void)state;
    for (size_t i = 0; i < FF_SPARE_JOBS_MAX + 2; i++)
        jobs[i] = given_used(FF_OP_EXECUTION_SUBMIT);
    for (size_t i = 0; i < FF_SPARE_JOBS_MAX + 2; i++)
        ff_spare_give(spare, jobs[i]);
    assert_int_equal(spare->count, FF_SPARE_JOBS_MAX);
}

/* Of a caller that has gone: never was a job. */
static void test_spare__a_stand_in_is_not_kept(void **state)
{
    (void)state;
    ff_spare_give(spare, calloc(1, sizeof(struct ff_job)));
    ff_spare_give(spare, NULL);
    assert_int_equal(spare->count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_spare__a_job_comes_back_as_new),
        TEST(test_spare__what_failed_once_is_forgotten),
        TEST(test_spare__so_many_are_kept_and_no_more),
        TEST(test_spare__a_stand_in_is_not_kept),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
