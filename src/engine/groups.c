/* SPDX-License-Identifier: Apache-2.0
 *
 * groups.c -- jobs of an executor that must be run again, together or in halves.
 *
 * What must stay true: whoever's time is over is told so, wherever its job lies; a caller that has
 * gone is not served again. Tests: tests/unit/test_engine.c, tests/faults. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/engine-int.h"
#include "engine/executor.h"

#include "base/banned.h"

struct ff_group *ff_executor_group(struct ff_executor *executor, struct ff_list *jobs, size_t count,
                                   uint32_t reruns)
{
    struct ff_group *const group = ff_calloc(1, sizeof *group);

    if (!group) {
        ff_engine_fail_jobs(executor->engine, jobs, FF_NO_MEMORY, "out of memory");
        return NULL;
    }
    ff_list_init(&group->jobs);
    for (size_t i = 0; i < count && !ff_list_empty(jobs); i++, group->count++)
        ff_list_push_back(&group->jobs, &ff_job_pop(jobs)->link);
    group->reruns = reruns;
    group->failed = true;
    ff_list_push_front(&executor->groups, &group->link);
    return group;
}

void ff_executor_keep_wanted(struct ff_executor *executor, struct ff_list *jobs, size_t *count)
{
    const int64_t mono_ms = ff_engine_mono_ms(executor->engine);

    *count = 0;
    FF_LIST_FOR_EACH(node, jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);
        int applied = FF_JOB_APPLIED;

        atomic_compare_exchange_strong(&job->stage, &applied, FF_JOB_QUEUED);
        if (applied == FF_JOB_LATE || applied == FF_JOB_ABANDONED ||
            job->deadline_mono_ms <= mono_ms) {
            ff_list_remove(node);
            job->status = ff_job_late(job, &job->error);
            ff_engine_end_job(executor->engine, job);
        } else {
            (*count)++;
        }
    }
}

void ff_executor_expire_groups(struct ff_executor *executor)
{
    FF_LIST_FOR_EACH(node, &executor->groups)
    {
        struct ff_group *const group = ff_list_item(node, struct ff_group, link);

        ff_executor_keep_wanted(executor, &group->jobs, &group->count);
        if (group->count > 0)
            continue;
        ff_list_remove(node);
        ff_free(group);
    }
}

/* Takes out jobs whose time is over and answers them. The batch keeps their memory: rows and the
 * call under way borrow from it. Returns how many. */
static size_t take_overdue(struct ff_executor *executor, struct ff_list *jobs, bool saving)
{
    const int64_t mono_ms = ff_engine_mono_ms(executor->engine);
    size_t count = 0;

    FF_LIST_FOR_EACH(node, jobs)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        if (job->deadline_mono_ms > mono_ms)
            continue;
        ff_list_remove(node);
        count++;
        job->status = saving ? ff_fail(&job->error, FF_OUTCOME_UNKNOWN,
                                       "the store does not say in time whether this was applied")
                             : ff_job_late(job, &job->error);
        job->error.repeatable = saving && job->repeatable;
        ff_arena_adopt(&executor->batch.arena, &job->arena);
        ff_engine_end_job(executor->engine, job);
    }
    return count;
}

void ff_executor_answer_overdue(struct ff_executor *executor)
{
    struct ff_batch *const batch = &executor->batch;
    const bool saving = executor->stage == FF_EXECUTOR_BOARDING || /* it will be saved */
                        executor->stage == FF_EXECUTOR_SAVING ||
                        executor->stage == FF_EXECUTOR_RESOLVING;

    ff_executor_expire_groups(executor);
    if (batch->first_deadline_mono_ms > ff_engine_mono_ms(executor->engine))
        return;
    batch->count -= take_overdue(executor, &batch->jobs, saving);
    (void)take_overdue(executor, &batch->deferred, false);
}

void ff_executor_again(struct ff_executor *executor, bool split, uint32_t reruns)
{
    struct ff_list *const jobs = &executor->batch.jobs;
    size_t count;

    while (!ff_list_empty(&executor->batch.deferred))
        ff_list_push_back(jobs, &ff_job_pop(&executor->batch.deferred)->link);
    ff_executor_keep_wanted(executor, jobs, &count);
    if (count == 0)
        return;
    if (split && count > 1) {
        struct ff_list first;

        executor->engine->stats.bisections++;
        ff_list_init(&first);
        for (size_t i = 0; i < count / 2; i++)
            ff_list_push_back(&first, &ff_job_pop(jobs)->link);
        (void)ff_executor_group(executor, jobs, count,
                                0); /* the second half, then in front of it ... */
        (void)ff_executor_group(executor, &first, count, 0);
        return;
    }
    (void)ff_executor_group(executor, jobs, count, reruns);
}
