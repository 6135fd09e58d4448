/* SPDX-License-Identifier: Apache-2.0
 *
 * player.c -- one thread that does whatever comes into its mind, and writes it down.
 *
 * Some of it must be refused: words about leases that have ended, said by somebody who knows. An
 * answer that no rule allows ends the game. */
#include "hammer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"

#define HANDS    48
#define WORDS    64
#define TOGETHER 8
#define LANES    3
#define SHORT_MS 100

/* A task in the player's hands, or the last word about one. */
struct hand {
    char id[FF_ID_BYTES];
    char lease_id[FF_UUID_BYTES];
    int64_t epoch;
    int32_t generation;
    char result[24];
};

struct game {
    struct player *player;
    struct ff_client *client;
    struct ff_prng prng;
    struct hand hands[HANDS];
    size_t hand_count;
    struct hand words[WORDS]; /* of completions that were accepted */
    size_t word_count;
    unsigned requests, keys;
    char key_id[FF_ID_BYTES]; /* what the key in use has led to */
};

static const char *const lanes[LANES] = {"a", "b", "c"};

int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static size_t any(struct game *g, size_t below)
{
    return (size_t)ff_prng_below(&g->prng, below);
}

static void wrong(struct game *g, const char *what, const char *id, const char *answer)
{
    atomic_store(&g->player->hammer->gave_up, true);
    if (!g->player->problem[0])
        (void)snprintf(g->player->problem, PROBLEM_BYTES, "%s of '%s': %s", what, id, answer);
}

static bool is_allowed(hammer_op op, ff_status status)
{
    /* A machine may be slow; that is never a reason to do something twice. */
    if (status == FF_OK || status == FF_TIMEOUT || status == FF_BUSY || status == FF_OVERLOADED)
        return op != OP_STALE || status != FF_OK;
    switch ((int)op) {
    case OP_RENEW:
    case OP_COMPLETE:
    case OP_FAIL:
    case OP_RELEASE:
    case OP_DELAY:
    case OP_REPEAT:
        return status == FF_STALE_LEASE || status == FF_NOT_ACTIVE || status == FF_LEASE_REVOKED;
    case OP_STALE:
        return status == FF_STALE_LEASE || status == FF_NOT_ACTIVE || status == FF_LEASE_REVOKED ||
               status == FF_CONFLICT;
    case OP_CANCEL:
    case OP_PRIORITY:
        return status == FF_ALREADY_TERMINAL;
    case OP_REPLAY:
        return status == FF_NOT_TERMINAL || status == FF_REPLAY_LIMIT;
    case OP_REVOKE:
        return status == FF_NOT_LEASED || status == FF_ALREADY_TERMINAL;
    default:
        return false;
    }
}

/* Writes the answer down; true: it was a yes. */
static bool note(struct game *g, hammer_op op, const struct hand *about, int64_t began_us,
                 ff_status status)
{
    struct record record = {.began_us = began_us,
                            .ended_us = now_us(),
                            .epoch = about->epoch,
                            .generation = about->generation,
                            .op = (int16_t)op,
                            .status = (int16_t)status};

    (void)snprintf(record.id, sizeof record.id, "%s", about->id);
    history_add(&g->player->history, &record);
    if (status == FF_OK || op == OP_STALE)
        atomic_fetch_add(&g->player->hammer->said[op], 1);
    if (!is_allowed(op, status))
        wrong(g, op_names[op], about->id, ff_status_code(status));
    return status == FF_OK;
}

/* ---- submitting and claiming ---- */

static void pool_add(struct hammer *hammer, const char *id)
{
    (void)pthread_mutex_lock(&hammer->lock);
    if (hammer->pool_count < POOL_MAX)
        (void)snprintf(hammer->pool[hammer->pool_count++], FF_ID_BYTES, "%s", id);
    (void)pthread_mutex_unlock(&hammer->lock);
}

static bool pool_pick(struct game *g, struct hand *ret)
{
    struct hammer *const hammer = g->player->hammer;
    bool found;

    memset(ret, 0, sizeof *ret);
    (void)pthread_mutex_lock(&hammer->lock);
    found = hammer->pool_count > 0;
    if (found)
        memcpy(ret->id, hammer->pool[any(g, hammer->pool_count)], FF_ID_BYTES);
    (void)pthread_mutex_unlock(&hammer->lock);
    return found;
}

static void fill(struct game *g, struct ff_submission *item, struct ff_policy_spec *policy)
{
    ff_submission_init(item);
    ff_policy_init(policy);
    item->kind = "work";
    item->lane = lanes[any(g, LANES)];
    item->priority = (int64_t)any(g, 3);
    if (any(g, 10) == 0)
        item->delay_ms = (int64_t)any(g, 50);
    policy->has_retry_policy = true;
    policy->max_retries = (int32_t)any(g, 4);
    policy->backoff = "fixed";
    policy->delay_ms = (int64_t)any(g, 30);
    policy->lease_lapse = any(g, 3) ? "retry" : "reclaim";
    policy->max_reclaim_count = 3;
    item->policy = policy;
}

static void play_submit(struct game *g)
{
    struct ff_submission items[TOGETHER];
    struct ff_policy_spec policies[TOGETHER];
    struct ff_submitted results[TOGETHER];
    const size_t count = 1 + any(g, TOGETHER);
    const int64_t began_us = now_us();
    ff_status status;

    for (size_t i = 0; i < count; i++)
        fill(g, &items[i], &policies[i]);
    status = ff_submit(g->client, items, count, results, NULL);
    for (size_t i = 0; i < count; i++) {
        struct hand hand = {0};

        if (status == FF_OK && results[i].status == FF_OK)
            memcpy(hand.id, results[i].execution_id, FF_ID_BYTES);
        if (note(g, OP_SUBMIT, &hand, began_us, status == FF_OK ? results[i].status : status))
            pool_add(g->player->hammer, hand.id);
    }
}

/* A key is used three times, and always leads to the same execution. */
static void play_submit_keyed(struct game *g)
{
    struct ff_submission item;
    struct ff_submitted result;
    struct hand hand = {0};
    char key[64];
    const int64_t began_us = now_us();
    ff_status status;

    if (g->keys++ % 3 == 0)
        g->key_id[0] = '\0';
    (void)snprintf(key, sizeof key, "%" PRIu64 "-%zu-%u", g->player->hammer->seed, g->player->index,
                   (g->keys - 1) / 3);
    ff_submission_init(&item);
    item.kind = "keyed";
    item.lane = lanes[0];
    item.idempotency_key = key;
    status = ff_submit(g->client, &item, 1, &result, NULL);
    status = status == FF_OK ? result.status : status;
    if (status == FF_OK)
        memcpy(hand.id, result.execution_id, FF_ID_BYTES);
    if (!note(g, OP_SUBMIT, &hand, began_us, status))
        return;
    if (!g->key_id[0])
        memcpy(g->key_id, hand.id, FF_ID_BYTES);
    else if (strcmp(g->key_id, hand.id) != 0 || result.created)
        wrong(g, "submit with the key", g->key_id, hand.id);
}

static void take(struct game *g, const struct ff_task *task, int64_t began_us, hammer_op op)
{
    struct hand hand = {.epoch = task->lease_epoch, .generation = task->generation};

    memcpy(hand.id, task->execution_id, sizeof hand.id);
    memcpy(hand.lease_id, task->lease_id, sizeof hand.lease_id);
    (void)snprintf(hand.result, sizeof hand.result, "%" PRId64, task->lease_epoch);
    (void)note(g, op, &hand, began_us, FF_OK);
    if (op == OP_CLAIM && g->hand_count < HANDS)
        g->hands[g->hand_count++] = hand;
}

static bool holds(const struct game *g, const struct ff_task *task)
{
    for (size_t i = 0; i < g->hand_count; i++)
        if (!strcmp(g->hands[i].lease_id, task->lease_id))
            return true;
    return false;
}

static size_t ask(struct game *g, const struct ff_claim_request *r, hammer_op op)
{
    const int64_t began_us = now_us();
    struct ff_tasks tasks = {0};
    const ff_status status = ff_claim(g->client, r, &tasks, NULL);
    const size_t count = tasks.count;
    const struct hand nothing = {0};

    if (status != FF_OK || count == 0)
        (void)note(g, op, &nothing, began_us, status);
    for (size_t i = 0; status == FF_OK && i < count; i++) {
        if (op == OP_CLAIM_AGAIN && !holds(g, &tasks.items[i]))
            wrong(g, "the same request", tasks.items[i].execution_id, "brought something new");
        take(g, &tasks.items[i], began_us, op);
    }
    ff_answer_free(&tasks);
    return count;
}

static void play_claim(struct game *g)
{
    const size_t from = any(g, LANES);
    const size_t room = HANDS - g->hand_count;
    char instance[64];
    char request[32];
    struct ff_claim_request r = {.size = sizeof r, .worker_id = "hammer"};

    if (room < TOGETHER)
        return;
    (void)snprintf(instance, sizeof instance, "%" PRIu64 "-%zu", g->player->hammer->seed,
                   g->player->index);
    r.worker_instance_id = instance;
    r.lanes = lanes + from;
    r.lane_count = 1 + any(g, LANES - from);
    r.max = (int32_t)(1 + any(g, TOGETHER));
    r.lease_ttl_ms = any(g, 3) ? 30000 : SHORT_MS + (int64_t)any(g, SHORT_MS);
    if (any(g, 4) == 0) {
        (void)snprintf(request, sizeof request, "r%u", g->requests++);
        r.request_id = request;
    }
    /* A claim that found nothing is not remembered. */
    if (ask(g, &r, OP_CLAIM) && r.request_id)
        (void)ask(g, &r, OP_CLAIM_AGAIN);
}

/* ---- words ---- */

static struct ff_lease lease_of(const struct hand *hand)
{
    return (struct ff_lease){
        .execution_id = hand->id, .lease_id = hand->lease_id, .lease_epoch = hand->epoch};
}

static ff_status complete(struct game *g, const struct hand *hand, const char *result)
{
    const struct ff_completion item = {.lease = lease_of(hand), .result = {result, strlen(result)}};
    struct ff_task_result answer;
    const ff_status status = ff_complete(g->client, &item, 1, &answer, NULL);

    return status == FF_OK ? answer.status : status;
}

static ff_status renew(struct game *g, const struct hand *hand)
{
    const struct ff_renewal item = {.lease = lease_of(hand)};
    struct ff_task_result answer;
    const ff_status status = ff_renew(g->client, &item, 1, &answer, NULL);

    return status == FF_OK ? answer.status : status;
}

static ff_status fail(struct game *g, const struct hand *hand)
{
    const struct ff_failure item = {.lease = lease_of(hand),
                                    .message = "by chance",
                                    .failure_class = any(g, 4) ? "transient" : "permanent",
                                    .retry_after_ms = any(g, 2) ? FF_ABSENT_MS : 0};
    struct ff_task_result answer;
    const ff_status status = ff_fail_task(g->client, &item, 1, &answer, NULL);

    return status == FF_OK ? answer.status : status;
}

static ff_status release(struct game *g, const struct hand *hand)
{
    const struct ff_giveback item = {.lease = lease_of(hand), .reason = "by chance"};
    struct ff_task_result answer;
    const ff_status status = ff_release(g->client, &item, 1, &answer, NULL);

    return status == FF_OK ? answer.status : status;
}

static ff_status delay(struct game *g, const struct hand *hand)
{
    const struct ff_postponement item = {
        .lease = lease_of(hand), .delay_ms = (int64_t)any(g, 60), .delay_until_ms = FF_ABSENT_MS};
    struct ff_task_result answer;
    const ff_status status = ff_delay(g->client, &item, 1, &answer, NULL);

    return status == FF_OK ? answer.status : status;
}

/* Says it about something held; what was not answered for certain stays in the hand. */
static void play_word(struct game *g, hammer_op op)
{
    const size_t at = g->hand_count ? any(g, g->hand_count) : 0;
    const struct hand hand = g->hands[at];
    const int64_t began_us = now_us();
    ff_status status;

    if (!g->hand_count)
        return;
    status = op == OP_RENEW      ? renew(g, &hand)
             : op == OP_COMPLETE ? complete(g, &hand, hand.result)
             : op == OP_FAIL     ? fail(g, &hand)
             : op == OP_DELAY    ? delay(g, &hand)
                                 : release(g, &hand);
    (void)note(g, op, &hand, began_us, status);
    if (op == OP_COMPLETE && status == FF_OK)
        g->words[g->word_count++ % WORDS] = hand;
    if (!ff_status_retryable(status) && !(op == OP_RENEW && status == FF_OK))
        g->hands[at] = g->hands[--g->hand_count];
}

/* The same again is answered as before, or not at all any more; anything else is refused. */
static void play_ended(struct game *g, hammer_op op)
{
    const size_t known = g->word_count < WORDS ? g->word_count : WORDS;
    const struct hand *const hand = &g->words[known ? any(g, known) : 0];
    const int64_t began_us = now_us();
    ff_status status;

    if (!known)
        return;
    if (op == OP_REPEAT)
        status = complete(g, hand, hand->result);
    else
        status = any(g, 2) ? complete(g, hand, "\"something else\"") : renew(g, hand);
    (void)note(g, op, hand, began_us, status);
}

/* ---- operating ---- */

static void play_operator(struct game *g, hammer_op op)
{
    struct ff_replay_request request;
    struct hand hand;
    const int64_t began_us = now_us();
    ff_status status;

    if (!pool_pick(g, &hand))
        return;
    ff_replay_init(&request);
    request.execution_id = hand.id;
    request.reason = "by chance";
    status = op == OP_CANCEL ? ff_cancel(g->client, hand.id, "by chance", NULL, NULL)
             : op == OP_PRIORITY
                 ? ff_set_priority(g->client, hand.id, (int64_t)any(g, 9), NULL, NULL)
             : op == OP_REPLAY ? ff_replay(g->client, &request, NULL, NULL, NULL)
                               : ff_revoke_lease(g->client, hand.id, "by chance", NULL, NULL);
    (void)note(g, op, &hand, began_us, status);
}

static void play_once(struct game *g)
{
    const size_t dice = any(g, 100);

    if (dice < 12)
        play_submit(g);
    else if (dice < 17)
        play_submit_keyed(g);
    else if (dice < 40)
        play_claim(g);
    else if (dice < 48)
        play_word(g, OP_RENEW);
    else if (dice < 70)
        play_word(g, OP_COMPLETE);
    else if (dice < 78)
        play_word(g, OP_FAIL);
    else if (dice < 80)
        play_word(g, OP_RELEASE);
    else if (dice < 82)
        play_word(g, OP_DELAY);
    else if (dice < 84)
        play_ended(g, OP_REPEAT);
    else if (dice < 87)
        play_ended(g, OP_STALE);
    else if (dice < 90)
        play_operator(g, OP_CANCEL);
    else if (dice < 93)
        play_operator(g, OP_PRIORITY);
    else if (dice < 98)
        play_operator(g, OP_REPLAY);
    else
        play_operator(g, OP_REVOKE);
}

void player_run(struct player *player)
{
    struct hammer *const hammer = player->hammer;
    struct game *const g = calloc(1, sizeof *g);

    if (!g)
        abort();
    g->player = player;
    g->client = hammer->clients[player->index % hammer->client_count];
    ff_prng_init(&g->prng, hammer->seed * 1000 + player->index);
    while (!atomic_load(&hammer->stop) && !player->problem[0])
        play_once(g);
    while (g->hand_count && !player->problem[0])
        play_word(g, OP_RELEASE);
    free(g);
}
