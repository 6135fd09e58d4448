/* SPDX-License-Identifier: Apache-2.0
 *
 * job.c -- making and freeing jobs. */
#include "engine/job.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

#include "base/banned.h"

/* Small jobs share one chunk with their input and answer. */
#define JOB_CHUNK_BYTES 2048

static void begin(struct ff_job *job, ff_op_id op, size_t bytes_hint)
{
    job->type = &ff_op_types[op];
    job->repeatable = job->type->flags & FF_OPF_REPEATABLE;
    job->deadline_mono_ms = INT64_MAX;
    job->bytes = sizeof *job + JOB_CHUNK_BYTES + bytes_hint;
}

struct ff_job *ff_job_new(ff_op_id op, size_t bytes_hint)
{
    struct ff_job *const job = ff_calloc(1, sizeof *job);

    if (!job)
        return NULL;
    begin(job, op, bytes_hint);
    ff_arena_init(&job->arena, JOB_CHUNK_BYTES, FF_ARENA_BYTES_MAX);
    return job;
}

void ff_job_renew(struct ff_job *job, ff_op_id op, size_t bytes_hint)
{
    const struct ff_arena arena = job->arena;

    memset(job, 0, sizeof *job);
    job->arena = arena;
    ff_arena_reset(&job->arena);
    begin(job, op, bytes_hint);
}

void ff_job_free(struct ff_job *job)
{
    if (!job)
        return;
    ff_arena_done(&job->arena);
    ff_free(job);
}

ff_status ff_job_late(const struct ff_job *job, struct ff_error *reterr)
{
    if (atomic_load(&job->busy_rounds))
        return ff_fail(reterr, FF_BUSY, "somebody else holds what this needs");
    return ff_fail(reterr, FF_TIMEOUT, "not done in time");
}
