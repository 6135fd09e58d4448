/* SPDX-License-Identifier: Apache-2.0
 *
 * event.c -- the event log: one page, and following it page by page.
 *
 * A subscription asks for the page behind its cursor and lets the server wait for it, so a server
 * that went away, or another one in its place, goes on where the last page ended.
 * Read first: src/remote/README.md. Tests: tests/conformance --store http,
 * tests/e2e/test_events.py.
 */
#include "api/events.h"
#include "api/subscription.h"
#include "remote/remote-int.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/cursor.h"

#include "base/banned.h"

#define AWAY_MS 200 /* between two tries */

/* ---- one page ----------------------------------------------------------------------------------
 */

static ff_status add_kinds(struct ff_ask *ask, const struct ff_event_filter *filter,
                           struct ff_error *reterr)
{
    struct ff_strbuf kinds = ff_strbuf_in(&ask->memory->arena, 1024);
    struct ff_str joined;

    for (size_t i = 0; i < filter->kind_count; i++) {
        FF_TRY(ff_api_need(filter->kinds ? filter->kinds[i] : NULL, "kinds", reterr));
        ff_strbuf_addf(&kinds, "%s%s", i ? "," : "", filter->kinds[i]);
    }
    FF_TRY(ff_strbuf_take(&kinds, &joined, reterr));
    ff_ask_query(ask, "kinds", filter->kind_count ? joined.ptr : NULL);
    return FF_OK;
}

static ff_status add_filter(struct ff_ask *ask, const struct ff_event_filter *filter,
                            struct ff_error *reterr)
{
    struct ff_event_filter given;
    char partitions[32];

    FF_TRY(ff_event_filter_read(filter, &given, reterr));
    FF_TRY(add_kinds(ask, &given, reterr));
    (void)snprintf(partitions, sizeof partitions, "%d-%d", given.partition_from,
                   given.partition_to);
    ff_ask_query(ask, "partition", given.partition_from < 0 ? NULL : partitions);
    ff_ask_query(ask, "namespace", given.ns);
    ff_ask_query(ask, "instance_tag", given.instance_tag);
    ff_ask_query(ask, "execution_id", given.execution_id);
    ff_ask_query(ask, "flow_id", given.flow_id);
    return FF_OK;
}

static ff_status ask_page(struct ff_ask *ask, const char *after, int32_t limit, int64_t wait_ms,
                          struct ff_error *reterr)
{
    ff_ask_query(ask, "after", after && after[0] ? after : NULL);
    ff_ask_query_i64(ask, "limit", limit ? limit : FF_ABSENT_MS);
    ff_ask_query_i64(ask, "wait_ms", wait_ms ? wait_ms : FF_ABSENT_MS);
    ask->wait_ms = ff_max_i64(ff_min_i64(wait_ms, FF_WAIT_MS_MAX), 0);
    return ff_ask_get(ask, reterr);
}

ff_status ff_remote_events(struct ff_client *client, const struct ff_event_filter *filter,
                           const char *after, int32_t limit, int64_t wait_ms,
                           struct ff_event_list *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, "/v1/events", reterr));
    FF_TRY(add_filter(&ask, filter, reterr));
    FF_TRY(ask_page(&ask, after, limit, wait_ms, reterr));
    return ff_ask_take(&ask, &ff_answer_events, ret, reterr);
}

/* ---- following ---------------------------------------------------------------------------------
 */

struct following {
    struct ff_subscription base;
    struct ff_client self; /* asks by itself: it may outlive the client it is of */
    char *path;            /* with the filter */
    bool has_query;
    char after[FF_EVENT_CURSOR_BYTES]; /* a cursor, or "start" */
    bool away;                         /* and that has been told */
};

static void put_cursor(char out[FF_EVENT_CURSOR_BYTES], const char *cursor)
{
    (void)snprintf(out, FF_EVENT_CURSOR_BYTES, "%.*s", FF_EVENT_CURSOR_BYTES - 1, cursor);
}

static struct following *following_of(struct ff_subscription *base)
{
    return ff_container_of(base, struct following, base);
}

static ff_status next_page(struct following *following, size_t max, int64_t wait_ms,
                           struct ff_ask *ask, struct ff_error *reterr)
{
    FF_TRY(ff_ask_init(ask, &following->self, following->path, reterr));
    ask->has_query = following->has_query;
    return ask_page(ask, following->after, (int32_t)ff_min_size(max, FF_LIST_MAX), wait_ms, reterr);
}

/* The words of ff_delivery; they live for ever. */
static const char *notice_of(const json_t *answer)
{
    static const char *const all[] = {"reset", "gap"};
    const char *const said = json_string_value(json_object_get(answer, "notice"));

    for (size_t i = 0; said && i < FF_ARRAY_LEN(all); i++)
        if (strcmp(said, all[i]) == 0)
            return all[i];
    return NULL;
}

/* `behind` NULL: it stays where it is. */
static ff_status deliver_notice(struct following *following, const char *notice, const char *behind,
                                struct ff_delivery *ret, struct ff_error *reterr)
{
    struct ff_memory *const memory = ff_memory_new();

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a delivery");
    if (behind)
        put_cursor(following->after, behind);
    *ret = (struct ff_delivery){.memory = memory, .notice = notice};
    put_cursor(ret->cursor, following->after);
    return FF_OK;
}

static ff_status deliver_page(struct following *following, struct ff_ask *ask,
                              struct ff_delivery *ret, struct ff_error *reterr)
{
    const char *const notice = notice_of(ask->answer);
    const char *const behind = json_string_value(json_object_get(ask->answer, "notice_cursor"));
    struct ff_event_list list;

    following->away = false;
    if (notice && behind) /* what follows is asked for again, from there */
        return deliver_notice(following, notice, behind, ret, reterr);
    FF_TRY(ff_ask_take(ask, &ff_answer_events, &list, reterr));
    put_cursor(following->after, list.next_cursor);
    *ret = (struct ff_delivery){.memory = list.memory, .count = list.count, .items = list.items};
    put_cursor(ret->cursor, list.next_cursor);
    return FF_OK;
}

/* Where the log goes on for a cursor that is not in it: 02…, so the order of texts is the log's. */
static ff_status deliver_gap(struct following *following, const struct ff_error *error,
                             struct ff_delivery *ret, struct ff_error *reterr)
{
    const bool is_other_log = strcmp(following->after, error->oldest) > 0;

    return deliver_notice(following, is_other_log ? "reset" : "gap", error->oldest, ret, reterr);
}

/* Whether it may be better next time, wherever the trouble is. */
static bool is_away(ff_status status)
{
    return ff_status_retryable(status) || status == FF_OUTCOME_UNKNOWN || status == FF_TIMEOUT ||
           status == FF_CLOSED;
}

static bool is_over(const struct following *following)
{
    return atomic_load(&following->self.closing) || ff_remote_is_closed(following->self.remote);
}

static ff_status over(const struct following *following, struct ff_delivery *ret,
                      struct ff_error *reterr)
{
    if (ff_remote_is_closed(following->self.remote))
        return ff_fail(reterr, FF_CLOSED, "client was closed");
    *ret = (struct ff_delivery){0};
    put_cursor(ret->cursor, following->after);
    return FF_OK;
}

static void pause_ms(const struct following *following, int64_t ms)
{
    const struct timespec part = {.tv_nsec = 10000000};

    for (int64_t slept_ms = 0; slept_ms < ms && !is_over(following); slept_ms += 10)
        (void)nanosleep(&part, NULL);
}

static ff_status following_next(struct ff_subscription *base, size_t max, int64_t timeout_ms,
                                struct ff_delivery *ret, struct ff_error *reterr)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t until_ms = ff_add_i64_clamped(ff_clock_mono_ms(&clock), timeout_ms);
    struct following *const following = following_of(base);

    for (;;) {
        const int64_t left_ms = ff_max_i64(until_ms - ff_clock_mono_ms(&clock), 0);
        FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
        struct ff_error error;

        if (is_over(following))
            return over(following, ret, reterr);
        const ff_status status =
            next_page(following, max, ff_min_i64(left_ms, FF_WAIT_MS_MAX), &ask, &error);
        if (is_over(following))
            continue;
        if (status == FF_OK) {
            FF_TRY(deliver_page(following, &ask, ret, reterr));
            if (ret->count || ret->notice || left_ms <= FF_WAIT_MS_MAX)
                return FF_OK;
            ff_answer_free(ret);
        } else if (status == FF_GAP) {
            return deliver_gap(following, &error, ret, reterr);
        } else if (!is_away(status)) {
            if (reterr)
                *reterr = error;
            return status;
        } else if (!following->away) {
            FF_TRY(deliver_notice(following, "disconnected", NULL, ret, reterr));
            following->away = true;
            return FF_OK;
        } else if (!left_ms) {
            return deliver_notice(following, NULL, NULL, ret, reterr);
        } else {
            pause_ms(following, ff_min_i64(left_ms, AWAY_MS));
        }
    }
}

static void following_interrupt(struct ff_subscription *base)
{
    struct following *const following = following_of(base);

    atomic_store(&following->self.closing, true);
    ff_remote_wake(following->self.remote);
}

static void following_free(struct ff_subscription *base)
{
    struct following *const following = following_of(base);

    ff_remote_free(following->self.remote);
    ff_free(following->path);
    ff_free(following);
}

static const struct ff_subscription_ops following_ops = {
    .next = following_next,
    .interrupt = following_interrupt,
    .free = following_free,
};

/* The path with the filter, and where it begins: what is wrong with either is said at once. */
static ff_status begin(struct following *following, struct ff_client *client,
                       const struct ff_event_filter *filter, const char *after,
                       struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
    FF_AUTO(ff_answer_free) struct ff_event_list list = {0};
    struct ff_str path;

    FF_TRY(ff_ask_init(&ask, client, "/v1/events", reterr));
    FF_TRY(add_filter(&ask, filter, reterr));
    FF_TRY(ff_strbuf_take(&ask.path, &path, reterr));
    following->has_query = ask.has_query;
    following->path = ff_malloc(path.len + 1);
    if (!following->path)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a subscription");
    memcpy(following->path, path.ptr, path.len + 1);
    FF_TRY(ff_remote_events(client, filter, after, 1, 0, &list, reterr));
    put_cursor(following->after, after && after[0] ? after : list.next_cursor);
    return FF_OK;
}

ff_status ff_remote_subscribe(struct ff_client *client, const struct ff_event_filter *filter,
                              const char *after, struct ff_subscription **ret,
                              struct ff_error *reterr)
{
    struct following *following;

    if (!ret)
        return ff_fail_field(reterr, FF_INVALID, "ret", "there is no place for the subscription");
    following = ff_calloc(1, sizeof *following);
    if (!following)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a subscription");
    following->base.ops = &following_ops;
    following->self.timeout_ms = client->timeout_ms;
    following->self.remote = ff_remote_ref(client->remote);
    const ff_status status = begin(following, client, filter, after, reterr);
    if (status != FF_OK) {
        following_free(&following->base);
        return status;
    }
    *ret = &following->base;
    return FF_OK;
}
