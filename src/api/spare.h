/* SPDX-License-Identifier: Apache-2.0
 *
 * spare.h -- jobs that have been answered, kept for the next call.
 *
 * Giving the memory of a thousand jobs back to the system and asking for it again took half of the
 * time that a caller of ff_submit spends on its items. Bounded; any thread may use it.
 * Private to src/api. Tests: tests/unit/test_spare.c. */
#ifndef FF_API_SPARE_H
#define FF_API_SPARE_H

#include "base/list.h"
#include "engine/job.h"

#include <pthread.h>

#define FF_SPARE_JOBS_MAX 1000 /* the items of one call; about 3 MB */

struct ff_spare {
    pthread_mutex_t lock;
    struct ff_list jobs;
    size_t count;
};

struct ff_spare *ff_spare_new(void); /* NULL: no memory */
void ff_spare_free(struct ff_spare *spare);

/* As ff_job_new and ff_job_free. */
struct ff_job *ff_spare_take(struct ff_spare *spare, ff_op_id op, size_t bytes_hint);
void ff_spare_give(struct ff_spare *spare, struct ff_job *job);

#endif
