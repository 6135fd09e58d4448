/* SPDX-License-Identifier: Apache-2.0
 *
 * queue.c -- what waits for a batch, by class.
 *
 * What must stay true: `count`, `bytes` and `weight` cover every list; a job is in at most one
 * list; nobody holds the lock while calling out. Tests: tests/unit/test_queue.c. */
#include "engine/queue.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/wait.h"

#include "base/banned.h"

void ff_queue_init(struct ff_queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    ff_wait_init(&queue->filled);
    ff_wait_init(&queue->helped);
    ff_wait_init(&queue->held);
    for (int cls = 0; cls < FF_CLASS_COUNT; cls++)
        ff_list_init(&queue->normal[cls]);
    ff_list_init(&queue->members);
    ff_list_init(&queue->large);
    ff_list_init(&queue->shared);
    ff_list_init(&queue->cascade);
    ff_list_init(&queue->patient);
    ff_list_init(&queue->patient_background);
    queue->patient_turns = 0;
    queue->count = 0;
    queue->bytes = 0;
    queue->closed = false;
    queue->eager = true;
    queue->has_helpers = false;
    queue->waiting = 0;
    queue->since_us = queue->members_since_us = 0;
    queue->weight = 0;
    queue->left_from = FF_CLASS_COUNT;
    queue->left_since_us = 0;
    queue->first_is_away = false;
    queue->sleeping = 0;
    queue->look_at_us = INT64_MAX;
    queue->pushes = queue->expected = 0;
    queue->expect_until_us = 0;
}

void ff_queue_spare(struct ff_queue *queue, bool has_helpers)
{
    queue->eager = false;
    queue->has_helpers = has_helpers;
}

void ff_queue_done(struct ff_queue *queue)
{
    pthread_cond_destroy(&queue->filled);
    pthread_cond_destroy(&queue->helped);
    pthread_cond_destroy(&queue->held);
    pthread_mutex_destroy(&queue->lock);
}

static struct ff_list *list_of(struct ff_queue *queue, const struct ff_job *job)
{
    if (job->large)
        return job->shared ? &queue->shared : &queue->large;
    if (job->type->flags & FF_OPF_CASCADE)
        return &queue->cascade;
    if (job->member && queue->has_helpers)
        return &queue->members;
    return &queue->normal[job->type->cls];
}

static struct ff_list *patient_of(struct ff_queue *queue, const struct ff_job *job)
{
    return job->type->cls == FF_CLASS_BACKGROUND ? &queue->patient_background : &queue->patient;
}

static void account(struct ff_queue *queue, const struct ff_job *job, bool in)
{
    queue->count += in ? 1 : (size_t)-1;
    queue->bytes += in ? job->bytes : (size_t)-job->bytes;
    queue->weight += in ? job->weight : (size_t)-job->weight;
}

static bool gathering(const struct ff_queue *queue)
{
    return queue->pushes < queue->expected && !queue->closed &&
           ff_wait_now_us() < queue->expect_until_us;
}

static bool is_helper(ff_lane_of_work which)
{
    return which == FF_TAKE_NORMAL || which == FF_TAKE_LARGE;
}

static bool is_long_ago(int64_t since_us)
{
    return since_us && ff_wait_now_us() - since_us >= FF_HELP_US;
}

/* Whether normal jobs are for this one, too. */
static bool takes_normal(const struct ff_queue *queue, ff_lane_of_work which)
{
    return queue->eager || !is_helper(which) || queue->count >= FF_HELP_OPS ||
           is_long_ago(queue->since_us);
}

/* What waits is worth a transaction of its own. */
static bool is_heavy(const struct ff_queue *queue)
{
    return queue->weight >= FF_SHARE_WEIGHT;
}

/* The same of one class; `normal` is what takes_normal has said. Claims and submits are a helper's,
 * too, while the first is away, or if that one has left them; whatever keeps the helper, nobody
 * waits for it alone. */
static bool takes_class(const struct ff_queue *queue, ff_lane_of_work which, int cls, bool normal)
{
    const bool is_weighed = cls == FF_CLASS_CALLER || cls == FF_CLASS_SUBMIT;
    const bool is_left = is_weighed && cls >= queue->left_from;

    if (normal)
        return !is_left || which != FF_TAKE_CASCADE || is_long_ago(queue->left_since_us);
    return is_left || (is_weighed && queue->first_is_away && is_heavy(queue));
}

/* The first has something to do without what comes from this class on, a helper sleeps, and that is
 * much: side by side both are done sooner. */
static void leave(struct ff_queue *queue, ff_lane_of_work which, size_t taken, int cls)
{
    const bool may = which == FF_TAKE_CASCADE && !queue->eager && queue->sleeping > 0;

    if (!may || taken == 0 || !is_heavy(queue) || queue->left_from <= cls)
        return;
    queue->left_from = cls;
    queue->left_since_us = ff_wait_now_us();
    pthread_cond_broadcast(&queue->helped);
}

/* Whether words about members of flows are. */
static bool takes_members(const struct ff_queue *queue, ff_lane_of_work which)
{
    return !ff_list_empty(&queue->members) &&
           (!is_helper(which) || ff_wait_now_us() - queue->members_since_us >= FF_HELP_US);
}

/* Some have left: those that stay wait from now on. */
static void members_left(struct ff_queue *queue)
{
    queue->members_since_us = ff_list_empty(&queue->members) ? 0 : ff_wait_now_us();
}

/* Nobody else is free, and no helper will look in time: waking one costs more than a short job. */
static bool is_unwatched(const struct ff_queue *queue)
{
    return queue->waiting == 0 && queue->look_at_us > queue->since_us + FF_HELP_US;
}

static bool has_normal(const struct ff_queue *queue)
{
    for (int cls = 0; cls < FF_CLASS_COUNT; cls++)
        if (!ff_list_empty(&queue->normal[cls]))
            return true;
    return false;
}

/* The same of normal jobs; a helper that sleeps has to count their time. */
static void normal_left(struct ff_queue *queue)
{
    const bool some = has_normal(queue);

    queue->since_us = some ? ff_wait_now_us() : 0;
    if (some && is_unwatched(queue))
        pthread_cond_broadcast(&queue->helped);
}

/* Something came. When nobody watches a helper is told once, so that it counts the time. */
static void tell(struct ff_queue *queue, bool large)
{
    const bool first = queue->since_us == 0;

    if (first)
        queue->since_us = ff_wait_now_us();
    if (!ff_list_empty(&queue->members) && queue->members_since_us == 0)
        queue->members_since_us = ff_wait_now_us();
    if (large || queue->count >= FF_HELP_OPS || (first && is_unwatched(queue)) ||
        (queue->first_is_away && queue->sleeping > 0 && is_heavy(queue)))
        pthread_cond_broadcast(&queue->helped);
    if (!gathering(queue))
        pthread_cond_broadcast(&queue->filled);
}

static ff_status refusal(const struct ff_queue *queue, const struct ff_job *job)
{
    if (queue->closed)
        return FF_CLOSED;
    /* New work may fill the queue up to four fifths: whoever holds a lease always finds room to
     * renew it and to say a last word. Background jobs are few and never refused. */
    const size_t share = job->type->cls == FF_CLASS_WORKER ? 5 : 4;

    if (job->type->cls != FF_CLASS_BACKGROUND &&
        (queue->count >= FF_QUEUE_OPS_MAX / 5 * share ||
         queue->bytes + job->bytes > (size_t)FF_QUEUE_BYTES_MAX / 5 * share))
        return FF_OVERLOADED;
    return FF_OK;
}

size_t ff_queue_push(struct ff_queue *queue, struct ff_job *const *jobs, size_t count,
                     struct ff_error *reterr)
{
    ff_status status = FF_OK;
    size_t taken = 0;

    pthread_mutex_lock(&queue->lock);
    for (; taken < count; taken++) {
        status = refusal(queue, jobs[taken]);
        if (status != FF_OK)
            break;
        ff_list_push_back(list_of(queue, jobs[taken]), &jobs[taken]->link);
        account(queue, jobs[taken], true);
    }
    if (taken > 0) {
        jobs[taken - 1]->ends_call = true;
        queue->pushes++;
        tell(queue, jobs[0]->large);
    }
    pthread_mutex_unlock(&queue->lock);
    if (status != FF_OK)
        (void)ff_fail(reterr, status, "%s",
                      status == FF_CLOSED ? "engine is closing" : "too much work is waiting");
    return taken;
}

void ff_queue_return(struct ff_queue *queue, struct ff_job *job)
{
    pthread_mutex_lock(&queue->lock);
    ff_list_push_front(list_of(queue, job), &job->link);
    account(queue, job, true);
    tell(queue, job->large);
    pthread_mutex_unlock(&queue->lock);
}

void ff_queue_push_patient(struct ff_queue *queue, struct ff_job *job)
{
    pthread_mutex_lock(&queue->lock);
    job->weight = 0;
    ff_list_push_back(patient_of(queue, job), &job->link);
    account(queue, job, true);
    pthread_cond_broadcast(&queue->held);
    pthread_mutex_unlock(&queue->lock);
}

static size_t move(struct ff_queue *queue, struct ff_list *from, size_t max, struct ff_list *out)
{
    size_t moved = 0;

    while (moved < max && !ff_list_empty(from)) {
        struct ff_job *const job = ff_job_pop(from);

        account(queue, job, false);
        ff_list_push_back(out, &job->link);
        moved++;
    }
    return moved;
}

/* Whose turn it is to wait. A job that holds the lane up does so for its own time only. */
static struct ff_list *next_patient(struct ff_queue *queue)
{
    const bool background =
        ff_list_empty(&queue->patient) ||
        (queue->patient_turns++ % 4 == 3 && !ff_list_empty(&queue->patient_background));

    return background ? &queue->patient_background : &queue->patient;
}

static bool takes_cascade(ff_lane_of_work which)
{
    return which == FF_TAKE_CASCADE || which == FF_TAKE_ALL;
}

static bool takes_large(ff_lane_of_work which)
{
    return which == FF_TAKE_LARGE || which == FF_TAKE_ALL;
}

static size_t take_normal(struct ff_queue *queue, ff_lane_of_work which, size_t max,
                          struct ff_list *out)
{
    struct ff_list *const background = &queue->normal[FF_CLASS_BACKGROUND];
    const bool cascade = takes_cascade(which) && !ff_list_empty(&queue->cascade);
    const size_t reserved = ff_list_empty(background) && !cascade ? 0 : max / 4;
    const bool members = takes_members(queue, which);
    const bool normal = takes_normal(queue, which); /* by how long they have waited until now */
    size_t taken = 0;

    if (members) /* half for them while others wait: neither may starve the other */
        taken += move(queue, &queue->members, (max - reserved) / 2, out);
    for (int cls = 0; cls < FF_CLASS_BACKGROUND; cls++) {
        if (cls != FF_CLASS_WORKER)
            leave(queue, which, taken, cls);
        if (takes_class(queue, which, cls, normal))
            taken += move(queue, &queue->normal[cls], max - reserved - taken, out);
    }
    if (is_helper(which) || !is_heavy(queue))
        queue->left_from = FF_CLASS_COUNT;
    if (members) {
        taken += move(queue, &queue->members, max - reserved - taken, out);
        members_left(queue);
    }
    if (!normal) { /* what it was not for has waited all the same */
        queue->since_us = has_normal(queue) ? queue->since_us : 0;
        return taken;
    }
    taken += move(queue, background, cascade ? (max - taken) / 2 : max - taken, out);
    if (cascade)
        taken += move(queue, &queue->cascade, max - taken, out);
    normal_left(queue);
    return taken;
}

/* Not more than the batch will hold: what is left of it nobody else could take. */
static size_t take_shared(struct ff_queue *queue, size_t max, size_t bytes_max, struct ff_list *out)
{
    size_t bytes = 0;
    size_t taken = 0;

    while (taken < max && bytes < bytes_max && !ff_list_empty(&queue->shared)) {
        bytes += ff_job_first(&queue->shared)->bytes;
        taken += move(queue, &queue->shared, 1, out);
    }
    return taken;
}

/* Neither may starve the other. */
static size_t take_large(struct ff_queue *queue, size_t max, struct ff_list *out)
{
    size_t taken = move(queue, &queue->large, max - max / 2, out);

    taken += take_shared(queue, max - taken, FF_BATCH_BYTES_MAX / 2, out);
    return taken + move(queue, &queue->large, max - taken, out);
}

size_t ff_queue_take(struct ff_queue *queue, ff_lane_of_work which, size_t max, struct ff_list *out)
{
    size_t taken = 0;

    pthread_mutex_lock(&queue->lock);
    if (which != FF_TAKE_PATIENT && gathering(queue)) {
        pthread_mutex_unlock(&queue->lock);
        return 0;
    }
    switch (which) {
    case FF_TAKE_PATIENT:
        taken = move(queue, next_patient(queue), 1, out);
        break;
    case FF_TAKE_LARGE:
    case FF_TAKE_ALL:
        /* Half for each while both wait: with one executor neither may starve the other. */
        taken = take_large(queue, max / 2 + 1, out);
        taken += take_normal(queue, which, max - taken, out);
        taken += take_large(queue, max - taken, out);
        break;
    case FF_TAKE_NORMAL:
    case FF_TAKE_CASCADE:
        taken = take_normal(queue, which, max, out);
        if (taken == 0) /* few: whoever comes next waits for them */
            taken = take_shared(queue, ff_min_size(max, FF_SHARE_OPS), FF_SHARE_BYTES, out);
        break;
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

static bool has_locked(const struct ff_queue *queue, ff_lane_of_work which)
{
    if (which == FF_TAKE_PATIENT)
        return !ff_list_empty(&queue->patient) || !ff_list_empty(&queue->patient_background);
    if (!ff_list_empty(&queue->shared) || (takes_large(which) && !ff_list_empty(&queue->large)))
        return true;
    if (takes_cascade(which) && !ff_list_empty(&queue->cascade))
        return true;
    if (takes_members(queue, which))
        return true;
    for (int cls = 0; cls < FF_CLASS_COUNT; cls++)
        if (!ff_list_empty(&queue->normal[cls]) &&
            takes_class(queue, which, cls, takes_normal(queue, which)))
            return true;
    return false;
}

bool ff_queue_has(struct ff_queue *queue, ff_lane_of_work which)
{
    bool has;

    pthread_mutex_lock(&queue->lock);
    has = has_locked(queue, which);
    pthread_mutex_unlock(&queue->lock);
    return has;
}

/* Only lists of this queue hold a linked job that is neither parked nor in a batch; walking them is
 * the price of not keeping a pointer to the list in every job. */
static bool linked_in(const struct ff_list *list, const struct ff_job *job)
{
    FF_LIST_FOR_EACH(node, list)
    if (node == &job->link)
        return true;
    return false;
}

bool ff_queue_remove(struct ff_queue *queue, struct ff_job *job)
{
    bool found;

    pthread_mutex_lock(&queue->lock);
    found = linked_in(list_of(queue, job), job) || linked_in(patient_of(queue, job), job);
    if (found) {
        ff_list_remove(&job->link);
        account(queue, job, false);
        if (ff_list_empty(&queue->members))
            queue->members_since_us = 0;
    }
    pthread_mutex_unlock(&queue->lock);
    return found;
}

static int64_t expire_list(struct ff_queue *queue, struct ff_list *list, int64_t mono_ms,
                           struct ff_list *out)
{
    int64_t next_ms = INT64_MAX;

    FF_LIST_FOR_EACH(node, list)
    {
        struct ff_job *const job = ff_list_item(node, struct ff_job, link);

        if (job->deadline_mono_ms > mono_ms) {
            next_ms = ff_min_i64(next_ms, job->deadline_mono_ms);
            continue;
        }
        ff_list_remove(node);
        account(queue, job, false);
        ff_list_push_back(out, node);
    }
    return next_ms;
}

int64_t ff_queue_expired(struct ff_queue *queue, int64_t mono_ms, struct ff_list *out)
{
    int64_t next_ms = INT64_MAX;

    pthread_mutex_lock(&queue->lock);
    for (int cls = 0; cls < FF_CLASS_COUNT; cls++)
        next_ms = ff_min_i64(next_ms, expire_list(queue, &queue->normal[cls], mono_ms, out));
    next_ms = ff_min_i64(next_ms, expire_list(queue, &queue->members, mono_ms, out));
    if (ff_list_empty(&queue->members))
        queue->members_since_us = 0;
    next_ms = ff_min_i64(next_ms, expire_list(queue, &queue->large, mono_ms, out));
    next_ms = ff_min_i64(next_ms, expire_list(queue, &queue->shared, mono_ms, out));
    next_ms = ff_min_i64(next_ms, expire_list(queue, &queue->cascade, mono_ms, out));
    next_ms = ff_min_i64(next_ms, expire_list(queue, &queue->patient, mono_ms, out));
    next_ms = ff_min_i64(next_ms, expire_list(queue, &queue->patient_background, mono_ms, out));
    pthread_mutex_unlock(&queue->lock);
    return next_ms;
}

void ff_queue_expect(struct ff_queue *queue, ff_lane_of_work which, uint64_t pushes, size_t count)
{
    if (is_helper(which) || count < 2)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->expected = pushes + count;
    queue->expect_until_us = ff_wait_now_us() + FF_GATHER_US;
    pthread_mutex_unlock(&queue->lock);
}

void ff_queue_away(struct ff_queue *queue, bool is_away)
{
    pthread_mutex_lock(&queue->lock);
    queue->first_is_away = is_away;
    if (is_away && queue->sleeping > 0 && is_heavy(queue))
        pthread_cond_broadcast(&queue->helped);
    pthread_mutex_unlock(&queue->lock);
}

uint64_t ff_queue_pushes(struct ff_queue *queue)
{
    uint64_t pushes;

    pthread_mutex_lock(&queue->lock);
    pushes = queue->pushes;
    pthread_mutex_unlock(&queue->lock);
    return pushes;
}

void ff_queue_came(struct ff_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    if (++queue->pushes == queue->expected)
        pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

/* The first executor waits for anything, or for the others that are expected; a helper until its
 * help is wanted. */
void ff_queue_wait(struct ff_queue *queue, ff_lane_of_work which, int64_t timeout_ms)
{
    int64_t until_us = ff_wait_now_us() + timeout_ms * 1000;

    pthread_mutex_lock(&queue->lock);
    const bool gathers = gathering(queue);

    if (queue->closed) {
        /* nothing will come */
    } else if (which == FF_TAKE_PATIENT) {
        if (!has_locked(queue, which))
            ff_wait_until_us(&queue->held, &queue->lock, until_us);
    } else if (is_helper(which) && !queue->eager) {
        if (queue->since_us)
            until_us = ff_min_i64(until_us, queue->since_us + FF_HELP_US);
        if (queue->members_since_us)
            until_us = ff_min_i64(until_us, queue->members_since_us + FF_HELP_US);
        if (!has_locked(queue, which)) {
            queue->look_at_us = ff_min_i64(queue->look_at_us, until_us);
            queue->sleeping++;
            ff_wait_until_us(&queue->helped, &queue->lock, until_us);
            queue->sleeping--;
            queue->look_at_us = INT64_MAX; /* of others that sleep it is not known any more */
        }
    } else if (gathers || !has_locked(queue, which)) {
        if (gathers)
            until_us = queue->expect_until_us;
        else if (queue->left_from < FF_CLASS_COUNT)
            until_us = ff_min_i64(until_us, queue->left_since_us + FF_HELP_US);
        queue->waiting++;
        ff_wait_until_us(&queue->filled, &queue->lock, until_us);
        queue->waiting--;
    }
    pthread_mutex_unlock(&queue->lock);
}

static void wake_all(struct ff_queue *queue)
{
    pthread_cond_broadcast(&queue->filled);
    pthread_cond_broadcast(&queue->helped);
    pthread_cond_broadcast(&queue->held);
}

void ff_queue_wake(struct ff_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    wake_all(queue);
    pthread_mutex_unlock(&queue->lock);
}

void ff_queue_close(struct ff_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    wake_all(queue);
    pthread_mutex_unlock(&queue->lock);
}
