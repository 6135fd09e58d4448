/* SPDX-License-Identifier: Apache-2.0
 *
 * dump.c -- everything the API shows about a namespace, as one text that can be compared.
 *
 * Times are shown as given or not; leases by the order in which they appear; executions by their
 * kind, so a scenario gives each its own. The same history gives the same text on every store. */
#include "faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define LEASES_MAX 64
#define TIME_FROM  INT64_C(1000000000000) /* numbers above are times */

struct dump {
    struct test *t;
    const char *ns;
    FILE *out;
    char leases[LEASES_MAX][FF_UUID_BYTES];
    size_t lease_count;
};

static const char *or_none(const char *text)
{
    return text ? text : "-";
}

/* A name that is the namespace differs from run to run. */
static const char *own(const struct dump *d, const char *text)
{
    return text && !strcmp(text, d->ns) ? "own" : or_none(text);
}

static const char *given_time(int64_t at_ms)
{
    return at_ms == FF_ABSENT_MS ? "-" : "T";
}

/* A letter per lease, in the order of appearance. */
static const char *lease_name(struct dump *d, const char *lease_id)
{
    static char name[8];
    size_t i = 0;

    if (!lease_id[0])
        return "-";
    while (i < d->lease_count && strcmp(d->leases[i], lease_id) != 0)
        i++;
    if (i == d->lease_count && i < LEASES_MAX)
        (void)snprintf(d->leases[d->lease_count++], FF_UUID_BYTES, "%s", lease_id);
    (void)snprintf(name, sizeof name, "L%zu", i);
    return name;
}

static void put_number(struct dump *d, const char *name, int64_t number)
{
    if (number == FF_ABSENT_MS)
        (void)fprintf(d->out, " %s=-", name);
    else if (number >= TIME_FROM)
        (void)fprintf(d->out, " %s=T", name);
    else
        (void)fprintf(d->out, " %s=%" PRId64, name, number);
}

static void put_info(struct dump *d, const struct ff_info *info)
{
    (void)fprintf(d->out, "%s: %s %s %s %s %s %s %s\n", info->kind, info->public_state,
                  info->lifecycle_phase, info->ownership_state, info->eligibility_state,
                  info->attempt_state, or_none(info->terminal_outcome),
                  or_none(info->blocking_reason));
    (void)fprintf(d->out,
                  "  priority=%d generation=%d attempt=%d/%d retries=%d reclaims=%d replays=%d "
                  "epoch=%" PRId64 " version=%" PRId64 "\n",
                  info->priority, info->generation, info->attempt_index, info->attempt_count,
                  info->retry_count, info->reclaim_count, info->replay_count, info->lease_epoch,
                  info->version);
    (void)fprintf(d->out, "  lease=%s worker=%s/%s started=%s finished=%s delay=%s deadline=%s\n",
                  info->has_lease ? lease_name(d, info->lease_id) : "-", or_none(info->worker_id),
                  own(d, info->worker_instance_id), given_time(info->started_at_ms),
                  given_time(info->finished_at_ms), given_time(info->delay_until_ms),
                  given_time(info->deadline_at_ms));
    (void)fprintf(d->out, "  progress=%d '%s' failure=%s '%s' cancel='%s' by %s input=%zu",
                  info->has_progress ? info->progress_percent : -2, or_none(info->progress_message),
                  or_none(info->failure_class), or_none(info->failure_message),
                  or_none(info->cancel_reason), or_none(info->cancelled_by), info->input.len);
    for (size_t i = 0; i < info->tag_count; i++)
        (void)fprintf(d->out, " %s=%s", info->tags[i].name, info->tags[i].value);
    for (size_t i = 0; i < info->required_capability_count; i++)
        (void)fprintf(d->out, " needs %s", own(d, info->required_capabilities[i]));
    (void)fputc('\n', d->out);
}

static void put_attempts(struct dump *d, const char *id)
{
    struct test *const t = d->t;
    struct ff_attempt_list all = {0};

    EXPECT_OK(t, ff_attempts(t->client, id, &all, &t->err));
    for (size_t i = 0; i < all.count; i++) {
        const struct ff_attempt_info *const a = &all.items[i];

        (void)fprintf(d->out, "  attempt %d.%d %s %s epoch=%" PRId64 " %s %s '%s'\n", a->generation,
                      a->attempt_index, a->attempt_type, or_none(a->outcome), a->lease_epoch,
                      lease_name(d, a->lease_id), or_none(a->failure_class),
                      or_none(a->failure_message));
    }
    ff_answer_free(&all);
}

static void put_events(struct dump *d, const char *id)
{
    struct test *const t = d->t;
    struct ff_event_list all = {0};

    EXPECT_OK(t, ff_history(t->client, id, NULL, 1000, &all, &t->err));
    for (size_t i = 0; i < all.count; i++) {
        const struct ff_event_info *const e = &all.items[i];

        (void)fprintf(d->out, "  event %s.%s %d %s %s '%s' prev=%s", e->kind, e->type,
                      e->generation, or_none(e->public_state), lease_name(d, e->lease_id),
                      or_none(e->note), own(d, e->prev_owner));
        put_number(d, "epoch", e->lease_epoch);
        put_number(d, "version", e->version);
        put_number(d, "a", e->num_a);
        put_number(d, "b", e->num_b);
        (void)fputc('\n', d->out);
    }
    ff_answer_free(&all);
}

static void put_result(struct dump *d, const char *id)
{
    struct test *const t = d->t;
    struct ff_bytes result = {0};
    const ff_status status = ff_result(t->client, id, &result, &t->err);

    if (status != FF_OK && status != FF_NO_RESULT)
        EXPECT_OK(t, status);
    if (status == FF_OK)
        (void)fprintf(d->out, "  result %zu '%.40s'\n", result.data.len,
                      result.data.ptr ? result.data.ptr : "-");
    ff_answer_free(&result);
}

static void put_flow(struct dump *d, const char *flow_id)
{
    struct test *const t = d->t;
    struct ff_flow_info_list whole = {0};

    EXPECT_OK(t, ff_flow_get(t->client, flow_id, &whole, &t->err));
    (void)fprintf(d->out, "flow %s revision=%" PRId64 " nodes=%" PRId64 " ended=%" PRId64 " '%s'\n",
                  whole.items->state, whole.items->revision, whole.items->node_count,
                  whole.items->ended_count, or_none(whole.items->cancel_reason));
    for (size_t i = 0; i < whole.items->edge_info_count; i++)
        (void)fprintf(d->out, "  edge %s to %s %s\n", whole.items->edges[i].from,
                      whole.items->edges[i].to, whole.items->edges[i].outcome);
    for (size_t i = 0; i < whole.items->join_count; i++)
        (void)fprintf(d->out, "  join %s %s %s\n", whole.items->joins[i].node,
                      whole.items->joins[i].policy, whole.items->joins[i].group_state);
    ff_answer_free(&whole);
}

static void put_flows(struct dump *d, const char *ns)
{
    struct test *const t = d->t;
    struct ff_flow_info_list all = {0};
    const struct ff_flow_filter filter = {.size = sizeof filter, .ns = ns};

    EXPECT_OK(t, ff_flow_list(t->client, &filter, &all, &t->err));
    for (size_t i = 0; i < all.count; i++)
        put_flow(d, all.items[i].flow_id);
    ff_answer_free(&all);
}

static void put_lane(struct dump *d, const char *lane)
{
    struct test *const t = d->t;
    struct ff_lane_list all = {0};

    EXPECT_OK(t, ff_lanes(t->client, &all, &t->err));
    for (size_t i = 0; i < all.count; i++)
        if (!strcmp(all.items[i].lane, lane))
            (void)fprintf(d->out,
                          "lane %s waiting=%" PRId64 " delayed=%" PRId64 " active=%" PRId64 "\n",
                          all.items[i].paused ? or_none(all.items[i].paused_reason) : "open",
                          all.items[i].waiting, all.items[i].delayed, all.items[i].active);
    ff_answer_free(&all);
}

static void put_workers(struct dump *d, const char *ns)
{
    struct test *const t = d->t;
    struct ff_worker_list all = {0};

    EXPECT_OK(t, ff_workers(t->client, &all, &t->err));
    for (size_t i = 0; i < all.count; i++)
        if (all.items[i].ns && !strcmp(all.items[i].ns, ns))
            (void)fprintf(d->out, "worker %s\n", all.items[i].worker_id);
    ff_answer_free(&all);
}

static int by_kind(const void *a, const void *b)
{
    const struct ff_info *const x = a;
    const struct ff_info *const y = b;
    const int order = strcmp(x->kind, y->kind);

    return order ? order
                 : (x->created_at_ms > y->created_at_ms) - (x->created_at_ms < y->created_at_ms);
}

static void put_all(struct dump *d, const char *ns)
{
    struct test *const t = d->t;
    struct ff_info_list all = {0};
    struct ff_filter filter;

    ff_filter_init(&filter);
    filter.ns = ns;
    filter.limit = 1000;
    EXPECT_OK(t, ff_list(t->client, &filter, &all, &t->err));
    qsort(all.items, all.count, sizeof *all.items, by_kind);
    for (size_t i = 0; i < all.count; i++) {
        struct ff_info_list whole = {0};

        EXPECT_OK(t, ff_get(t->client, all.items[i].execution_id, &whole, &t->err));
        put_info(d, whole.items);
        ff_answer_free(&whole);
        put_attempts(d, all.items[i].execution_id);
        put_events(d, all.items[i].execution_id);
        put_result(d, all.items[i].execution_id);
    }
    ff_answer_free(&all);
}

const char *dump_of(struct test *t, const char *ns)
{
    struct dump d = {.t = t, .ns = ns};
    char *text = NULL;
    char *kept;
    size_t len = 0;

    d.out = open_memstream(&text, &len);
    if (!d.out)
        abort();
    put_all(&d, ns);
    put_flows(&d, ns);
    put_lane(&d, ns);
    put_workers(&d, ns);
    if (fclose(d.out) != 0)
        abort();
    kept = keep(t, len + 1);
    memcpy(kept, text, len);
    free(text);
    return kept;
}
