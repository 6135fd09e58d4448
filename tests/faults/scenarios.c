/* SPDX-License-Identifier: Apache-2.0
 *
 * scenarios.c -- submitting, working and operating, one call each; and the table of them all.
 *
 * Read first: scenarios.h. Reads, timers and clean-up are in background.c. */
#include "scenarios.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "background.h"

#include "base/banned.h"

#define LARGE_BYTES 5000 /* lives in ff_payload */

void stage_init(struct stage *s)
{
    static unsigned number;

    memset(s, 0, sizeof *s);
    (void)snprintf(s->ns, sizeof s->ns, "s%u", ++number);
}

void each_scenario(struct test *t, bool (*wanted)(const struct scenario *scenario),
                   void (*run)(struct test *t, void *ctx, const struct scenario *scenario),
                   void *ctx)
{
    struct test_store *const shared = t->store;

    for (size_t i = 0; i < scenario_count; i++) {
        struct test_store *const own = keep(t, sizeof *own);

        if (wanted && !wanted(&scenarios[i]))
            continue;
        if (!test_store_new(shared->kind, own, t->why, sizeof t->why))
            FAIL(t, "no store for '%s'", scenarios[i].name);
        t->store = own;
        t->url = own->url;
        run(t, ctx, &scenarios[i]);
        close_client(t, &t->client);
        test_store_done(own, true);
    }
    t->store = shared;
    t->url = shared->url;
}

/* ---- given ---- */

static struct ff_submission one(const struct stage *s, const char *kind)
{
    struct ff_submission item = submission();

    item.ns = s->ns;
    item.lane = s->ns;
    item.kind = kind;
    return item;
}

static void nothing(struct test *t, struct stage *s)
{
    (void)t;
    (void)s;
}

static void add(struct test *t, struct stage *s, const struct ff_submission *item)
{
    const struct name name = given(t, item);

    memcpy(s->ids[s->id_count++], name.id, sizeof name.id);
}

void given_ready(struct test *t, struct stage *s)
{
    const struct ff_submission item = one(s, "k00");

    add(t, s, &item);
}

static void given_ready_rich(struct test *t, struct stage *s)
{
    static const char *const needs[] = {"gpu"};
    const struct ff_tag_pair tags[] = {{"a", "1"}, {"b", "2"}};
    struct ff_submission item = one(s, "k00");

    item.tags = tags;
    item.tag_count = 2;
    item.input = json_of(t, LARGE_BYTES, 'x');
    item.required_capabilities = needs;
    item.required_capability_count = 1;
    add(t, s, &item);
}

static void given_many(struct test *t, struct stage *s)
{
    given_ready(t, s);
    for (int i = 1; i < 3; i++) {
        const char kind[] = {'k', '0', (char)('0' + i), '\0'};
        struct ff_submission item = one(s, kind);

        item.priority = i; /* a claim takes them in this order, not by chance */
        add(t, s, &item);
    }
}

static struct ff_claim_request request_of(const struct stage *s, const char *const *lane)
{
    static const char *const capabilities[] = {"gpu", "net"};
    struct ff_claim_request r = claim_request();

    (void)s;
    r.lanes = lane;
    r.lane_count = 1;
    r.capabilities = capabilities;
    r.capability_count = 2;
    r.max = 10;
    return r;
}

void given_held_for(struct test *t, struct stage *s, int64_t ttl_ms)
{
    const char *const lane = s->ns;
    struct ff_claim_request r = request_of(s, &lane);

    r.lease_ttl_ms = ttl_ms;
    EXPECT_INT(t, 1, (int64_t)when_claimed_many(t, &r, s->held, STAGE_ITEMS));
}

static void given_held(struct test *t, struct stage *s)
{
    given_ready(t, s);
    given_held_for(t, s, 0);
}

static void given_done(struct test *t, struct stage *s)
{
    given_held(t, s);
    EXPECT_OK(t, when_completed(t, &s->held[0], "1"));
}

/* ---- submitting ---- */

static ff_status submit(struct test *t, struct stage *s, const struct ff_submission *items,
                        size_t count)
{
    struct ff_submitted results[STAGE_ITEMS];
    ff_status status = ff_submit(t->client, items, count, results, &t->err);
    size_t used = 0;

    for (size_t i = 0; status == FF_OK && i < count; i++) {
        if (results[i].status != FF_OK) {
            t->err = results[i].error;
            status = results[i].status;
        } else {
            used += (size_t)snprintf(s->answer + used, sizeof s->answer - used, "%s %d;",
                                     results[i].public_state, results[i].created);
        }
    }
    return status;
}

static ff_status submit_plain(struct test *t, struct stage *s)
{
    const struct ff_submission item = one(s, "k00");

    return submit(t, s, &item, 1);
}

static ff_status submit_keyed(struct test *t, struct stage *s)
{
    struct ff_submission item = one(s, "k00");

    item.idempotency_key = "the key";
    return submit(t, s, &item, 1);
}

static ff_status submit_own_id(struct test *t, struct stage *s)
{
    struct ff_submission item = one(s, "k00");
    char id[FF_ID_BYTES];

    (void)snprintf(id, sizeof id, "{fp:7}:00000000-0000-4000-8000-%012lx",
                   strtoul(s->ns + 1, NULL, 10));
    item.execution_id = id;
    return submit(t, s, &item, 1);
}

/* Its capability set is one that nobody has used before. */
static ff_status submit_rich(struct test *t, struct stage *s)
{
    const char *const needs[] = {"gpu", s->ns};
    const struct ff_tag_pair tags[] = {{"instance", "i"}, {"b", "2"}};
    struct ff_submission item = one(s, "k00");

    item.tags = tags;
    item.tag_count = 2;
    item.input = json_of(t, LARGE_BYTES, 'x');
    item.required_capabilities = needs;
    item.required_capability_count = 2;
    item.idempotency_key = "k";
    item.delay_ms = 3600000;
    item.deadline_ms = 7200000;
    return submit(t, s, &item, 1);
}

static ff_status submit_bulk(struct test *t, struct stage *s)
{
    struct ff_submission items[STAGE_ITEMS];
    char kinds[STAGE_ITEMS][8];

    for (size_t i = 0; i < STAGE_ITEMS; i++) {
        (void)snprintf(kinds[i], sizeof kinds[i], "k%02zu", i);
        items[i] = one(s, kinds[i]);
        items[i].idempotency_key = kinds[i];
    }
    return submit(t, s, items, STAGE_ITEMS);
}

/* ---- working ---- */

static ff_status claim_as(struct test *t, struct stage *s, const char *request_id)
{
    const char *const lane = s->ns;
    struct ff_claim_request r = request_of(s, &lane);
    struct ff_tasks tasks = {0};
    size_t used = 0;
    ff_status status;

    r.request_id = request_id;
    r.worker_instance_id = s->ns; /* request ids belong to an instance */
    status = ff_claim(t->client, &r, &tasks, &t->err);
    if (status != FF_OK)
        return status;
    for (size_t i = 0; i < tasks.count; i++) {
        const struct ff_task *const task = &tasks.items[i];

        used += (size_t)snprintf(
            s->answer + used, sizeof s->answer - used, "%s %" PRId64 " %s %zu bytes %zu tags;",
            task->kind, task->lease_epoch, task->attempt_type, task->input.len, task->tag_count);
        (void)snprintf(s->held[i].id, FF_ID_BYTES, "%s", task->execution_id);
        (void)snprintf(s->held[i].lease_id, FF_UUID_BYTES, "%s", task->lease_id);
        s->held[i].epoch = task->lease_epoch;
    }
    ff_answer_free(&tasks);
    return FF_OK;
}

static ff_status claim(struct test *t, struct stage *s)
{
    return claim_as(t, s, NULL);
}

static ff_status claim_request_id(struct test *t, struct stage *s)
{
    return claim_as(t, s, "request 1");
}

/* What a claim does that could not read what it wants to hand over. */
static void given_back(struct test *t, struct stage *s)
{
    for (size_t i = 0; s->held[i].id[0]; i++)
        EXPECT_OK(t, when_released(t, &s->held[i], "the task could not be handed over"));
}

static ff_status told(struct test *t, struct stage *s, ff_status status)
{
    if (status == FF_OK)
        (void)snprintf(s->answer, sizeof s->answer, "%s %d %" PRId64,
                       t->answer.public_state ? t->answer.public_state : "-",
                       t->answer.retry_at_ms != FF_ABSENT_MS, t->answer.epoch);
    return status;
}

static ff_status renew(struct test *t, struct stage *s)
{
    return told(t, s, when_renewed(t, &s->held[0], 60000));
}

static ff_status progress(struct test *t, struct stage *s)
{
    return told(t, s, when_progressed(t, &s->held[0], 40, "on the way"));
}

static void given_progressed(struct test *t, struct stage *s)
{
    given_held(t, s);
    EXPECT_OK(t, when_progressed(t, &s->held[0], 20, "begun"));
}

static ff_status complete(struct test *t, struct stage *s)
{
    return told(t, s, when_completed(t, &s->held[0], "{\"done\":true}"));
}

static ff_status fail_retry(struct test *t, struct stage *s)
{
    return told(t, s, when_failed(t, &s->held[0], "transient"));
}

static ff_status fail_for_good(struct test *t, struct stage *s)
{
    return told(t, s, when_failed(t, &s->held[0], "permanent"));
}

static ff_status delay(struct test *t, struct stage *s)
{
    return told(t, s, when_delayed(t, &s->held[0], 3600000));
}

static ff_status give_back(struct test *t, struct stage *s)
{
    return told(t, s, when_released(t, &s->held[0], "shutting down"));
}

/* ---- operating ---- */

static ff_status cancel(struct test *t, struct stage *s)
{
    return told(t, s, when_cancelled(t, s->ids[0]));
}

static ff_status priority(struct test *t, struct stage *s)
{
    return told(t, s, when_prioritised(t, s->ids[0], 17));
}

static ff_status replay(struct test *t, struct stage *s)
{
    struct ff_replay_request r;

    ff_replay_init(&r);
    r.execution_id = s->ids[0];
    r.reason = "once more";
    r.has_input = true;
    r.input = (struct ff_str){"{\"new\":1}", 9};
    return told(t, s,
                ff_replay(t->client, &r, &t->answer.public_state, &t->answer.generation, &t->err));
}

static ff_status revoke(struct test *t, struct stage *s)
{
    return told(t, s, when_revoked(t, s->ids[0]));
}

static ff_status tag(struct test *t, struct stage *s)
{
    const struct ff_tag_pair tags[] = {{"a", NULL}, {"c", "3"}};

    return ff_set_tags(t->client, s->ids[0], tags, 2, &t->err);
}

static ff_status pause_lane(struct test *t, struct stage *s)
{
    return ff_lane_pause(t->client, s->ns, true, "maintenance", &t->err);
}

static void given_paused(struct test *t, struct stage *s)
{
    given_ready(t, s);
    EXPECT_OK(t, pause_lane(t, s));
}

static ff_status resume_lane(struct test *t, struct stage *s)
{
    return ff_lane_pause(t->client, s->ns, false, NULL, &t->err);
}

// clang-format off
const struct scenario scenarios[] = {
    {"submit plain",     nothing,          submit_plain,     FF_OK, AGAIN_CHANGES | ASSUMES, NULL},
    {"submit keyed",      nothing,          submit_keyed,      FF_OK,          0, NULL},
    {"submit own id",     nothing,          submit_own_id,     FF_OK,          0, NULL},
    {"submit rich",       nothing,          submit_rich,       FF_OK,          0, NULL},
    {"submit bulk",       nothing,          submit_bulk,       FF_OK,          MANY, NULL},
    {"claim",             given_many,       claim,             FF_OK,          0, given_back},
    {"claim rich",        given_ready_rich, claim,             FF_OK,          0, given_back},
    {"claim request id",  given_many,       claim_request_id,  FF_OK,          0, given_back},
    {"claim member",      given_next,       claim,             FF_OK,          0, given_back},
    {"renew",            given_held,       renew,            FF_OK, AGAIN_CHANGES | ASSUMES, NULL},
    {"progress",          given_held,       progress,          FF_OK,          0, NULL},
    {"progress again",    given_progressed, progress,          FF_OK,          0, NULL},
    {"complete",          given_held,       complete,          FF_OK,          ASSUMES, NULL},
    {"fail to retry",     given_held,       fail_retry,        FF_OK,          ASSUMES, NULL},
    {"fail for good",     given_held,       fail_for_good,     FF_OK,          ASSUMES, NULL},
    {"delay",             given_held,       delay,             FF_OK,          ASSUMES, NULL},
    {"release",           given_held,       give_back,         FF_OK,          ASSUMES, NULL},
    {"cancel waiting",    given_ready,      cancel,            FF_OK,          0, NULL},
    {"cancel active",     given_held,       cancel,            FF_OK,          0, NULL},
    {"priority",          given_ready,      priority,          FF_OK,          0, NULL},
    {"replay",            given_done,       replay,            FF_NOT_TERMINAL, 0, NULL},
    {"revoke",           given_held,       revoke,            FF_OK,          0, NULL},
    {"tag",               given_ready_rich, tag,               FF_OK,          0, NULL},
    {"pause lane",        given_ready,      pause_lane,        FF_OK,          0, NULL},
    {"resume lane",       given_paused,     resume_lane,       FF_OK,          0, NULL},
    {"cancel by filter",  given_many,       cancel_where,      FF_OK,          MANY, NULL},
    {"replay by filter",  given_done,       replay_where,      FF_OK,          0, NULL},
    {"create flow",      nothing,          create_flow,       FF_OK,          0, NULL},
    {"grow flow",        given_flow,       grow_flow,         FF_OK,          0, NULL},
    {"cancel flow",      given_flow,       cancel_flow,       FF_OK,          0, NULL},
    {"hop",               given_hop,        dispatch_hop,      FF_OK,          0, NULL},
    {"hop that skips",    given_bad_hop,    dispatch_hop,      FF_OK,          0, NULL},
    {"hop that decides",  given_rivals_hop, dispatch_hop,      FF_OK,          0, NULL},
    {"last hop",          given_last_hop,   dispatch_hop,      FF_OK,          0, NULL},
    {"last hop of many",  given_last_skip,  dispatch_last,     FF_OK,          0, NULL},
    {"replay blamed",     given_skipped,    replay_blamed,     FF_OK,          ONLY_READS, NULL},
    {"replay ancestors",  given_skipped,    replay_ancestors,  FF_DEPENDENCIES_FAILED, 0, NULL},
    {"replay member",     given_skipped,    replay_member,     FF_NOT_TERMINAL, 0, NULL},
    {"hop that reopens",  given_replayed,   dispatch_reopening, FF_OK,         0, NULL},
    {"drain siblings",    given_rivals,     drain_siblings,    FF_OK,          0, NULL},
    {"drain flow",        given_cancelled_flow, drain_flow,    FF_OK,          0, NULL},
    {"remove flow",       given_forgotten_flow, remove_flow,   FF_OK,          0, NULL},
    {"remove flow at last", given_emptied_flow, remove_flow,   FF_OK,          ONLY_READS, NULL},
    {"touch again",       given_touched,    touch_worker,      FF_OK,          ONLY_READS, NULL},
    {"touch worker",      nothing,          touch_worker,      FF_OK,          0, NULL},
    {"contact",           nothing,          write_contact,     FF_OK,          0, NULL},
    {"retention",         given_old,        sweep_retention,   FF_OK,          0, NULL},
    {"prune",             given_gone,       prune_workers,     FF_OK,          TIMER, NULL},
    {"lapse to retry",    given_lapsing,    fire_lapse,        FF_OK,          TIMER, NULL},
    {"lapse to the end",  given_last_lapse, fire_lapse,        FF_OK,          TIMER, NULL},
    {"lapse to reclaim",  given_reclaim,    fire_lapse,        FF_OK,          TIMER, NULL},
    {"delay over",        given_delayed,    fire_delay,        FF_OK,          TIMER, NULL},
    {"deadline",          given_deadline,   fire_deadline,     FF_OK,          TIMER, NULL},
    {"get",               given_ready_rich, read_whole,        FF_OK,          ONLY_READS, NULL},
    {"list",              given_many,       read_list,         FF_OK,          ONLY_READS, NULL},
    {"look up",           given_ready,      read_by_uuid,      FF_OK,          ONLY_READS, NULL},
    {"result",            given_done,       read_result,       FF_OK,          ONLY_READS, NULL},
    {"history",           given_done,       read_history,      FF_OK,          ONLY_READS, NULL},
    {"attempts",          given_done,       read_attempts,     FF_OK,          ONLY_READS, NULL},
    {"explain",           given_ready_rich, read_explanation,  FF_OK,          ONLY_READS, NULL},
    {"explain member",    given_hop,        read_last_explanation, FF_OK,      ONLY_READS, NULL},
    {"find hops",         given_hop,        find_hops,         FF_OK,          ONLY_READS, NULL},
    {"find drains",       given_rivals,     find_drains,       FF_OK,          ONLY_READS, NULL},
    {"find flows",        given_cancelled_flow, find_flows,    FF_OK,          ONLY_READS, NULL},
    {"trim log",          given_old,        trim_log,          FF_OK,          ONLY_READS, NULL},
    {"lanes and workers", given_ready,      read_registry,     FF_OK,          ONLY_READS, NULL},
    {"get flow",         given_flow,       read_flow,         FF_OK,          ONLY_READS, NULL},
    {"look up flow",      given_flow,       read_flow_by_prefix, FF_OK,        ONLY_READS, NULL},
    {"list flows",        given_flow,       read_flows,        FF_OK,          ONLY_READS, NULL},
    {"fsck",              given_done,       read_fsck,         FF_OK,          ONLY_READS, NULL},
};
// clang-format on
const size_t scenario_count = sizeof scenarios / sizeof scenarios[0];
