/* SPDX-License-Identifier: Apache-2.0
 *
 * events.c -- ff events: the log, as it was and as it comes.
 *
 * One line per event, for people or as JSON; notices go to standard error, or are lines of their
 * own as JSON. Tests: tests/e2e/test_events.py. */
#include "cli/cli.h"

#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/print.h"

#include "base/banned.h"

#define KINDS_MAX   16
#define KINDS_BYTES 256
#define FOLLOW_MS   60000 /* of one wait; then it waits again */

struct asked {
    struct ff_event_filter filter;
    const char *kinds[KINDS_MAX];
    char kind_texts[KINDS_BYTES];
    int64_t limit; /* INT64_MAX: none */
};

/* ---- what was asked ---------------------------------------------------------------------------
 */

static int take_kinds(struct ff_cli *cli, struct asked *asked)
{
    const struct ff_str given = ff_str_of(ff_cli_value(cli, FF_OPT_KINDS));
    size_t from = 0;

    if (ff_str_is_null(given))
        return FF_EXIT_OK;
    if (given.len >= sizeof asked->kind_texts)
        return ff_cli_usage(cli, "option '--kinds' is too long");
    memcpy(asked->kind_texts, given.ptr, given.len);
    for (size_t at = 0; at <= given.len; at++) {
        if (at < given.len && given.ptr[at] != ',')
            continue;
        if (asked->filter.kind_count == KINDS_MAX)
            return ff_cli_usage(cli, "option '--kinds' names too many");
        asked->kind_texts[at] = '\0';
        asked->kinds[asked->filter.kind_count++] = asked->kind_texts + from;
        from = at + 1;
    }
    asked->filter.kinds = asked->kinds;
    return FF_EXIT_OK;
}

/* "7" or "0-127" */
static int take_partitions(struct ff_cli *cli, struct asked *asked)
{
    const struct ff_str given = ff_str_of(ff_cli_value(cli, FF_OPT_PARTITION));
    const char *const dash = given.len ? memchr(given.ptr, '-', given.len) : NULL;
    const size_t at = dash ? (size_t)(dash - given.ptr) : given.len;
    int64_t from, to;

    if (ff_str_is_null(given))
        return FF_EXIT_OK;
    if (!ff_str_to_i64(ff_str_slice(given, 0, at), &from) ||
        !ff_str_to_i64(dash ? ff_str_slice(given, at + 1, given.len) : given, &to) || from < 0 ||
        to >= FF_PARTITIONS || from > to)
        return ff_cli_usage(cli, "option '--partition' is N or FROM-TO, 0 to %d",
                            FF_PARTITIONS - 1);
    asked->filter.partition_from = (int32_t)from;
    asked->filter.partition_to = (int32_t)to;
    return FF_EXIT_OK;
}

static int take_asked(struct ff_cli *cli, struct asked *asked)
{
    int code;

    ff_event_filter_init(&asked->filter);
    asked->filter.ns = ff_cli_value(cli, FF_OPT_IN_NAMESPACE);
    asked->filter.instance_tag = ff_cli_value(cli, FF_OPT_INSTANCE_TAG);
    asked->filter.execution_id = ff_cli_value(cli, FF_OPT_EXECUTION);
    asked->filter.flow_id = ff_cli_value(cli, FF_OPT_EVENT_FLOW);
    code = take_kinds(cli, asked);
    if (code == FF_EXIT_OK)
        code = take_partitions(cli, asked);
    if (code == FF_EXIT_OK)
        code = ff_cli_number(cli, FF_OPT_EVENT_LIMIT, INT64_MAX, &asked->limit);
    if (code == FF_EXIT_OK && asked->limit < 1)
        code = ff_cli_usage(cli, "option '--limit' is at least 1");
    return code;
}

/* ---- printing ---------------------------------------------------------------------------------
 */

static void print_event(struct ff_cli *cli, const struct ff_event_info *event)
{
    const char *const about = event->execution_id[0] ? event->execution_id
                              : event->flow_id[0]    ? event->flow_id
                                                     : "-";
    char time[FF_TIME_TEXT_BYTES];

    if (ff_cli_has(cli, FF_OPT_JSON)) {
        (void)ff_cli_json(cli, ff_json_event(event));
        return;
    }
    (void)fprintf(cli->out, "%s  %s.%s  %s", ff_time_format_utc(event->at_ms, time), event->kind,
                  event->type, about);
    if (event->public_state)
        (void)fprintf(cli->out, "  %s%s%s", ff_state_colour(cli, event->public_state),
                      event->public_state, ff_colour_off(cli));
    if (event->worker_id)
        (void)fprintf(cli->out, "  %s",
                      ff_printable(cli, event->worker_id, strlen(event->worker_id)));
    if (event->note)
        (void)fprintf(cli->out, "  %s", ff_printable(cli, event->note, strlen(event->note)));
    (void)fputc('\n', cli->out);
}

static void print_notice(struct ff_cli *cli, const char *notice, const char *cursor)
{
    if (ff_cli_has(cli, FF_OPT_JSON)) {
        struct ff_json_maker made = ff_json_make();

        ff_json_put_text(&made, "notice", notice);
        ff_json_put_text(&made, "cursor", cursor);
        (void)ff_cli_json(cli, ff_json_made(&made));
    } else {
        (void)fprintf(cli->err, "ff: notice: %s, goes on behind %s\n", notice, cursor);
    }
}

/* Whoever reads a pipe wants each line when it happens. False: nobody reads any more. */
static bool print_events(struct ff_cli *cli, const struct ff_event_info *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_event(cli, &items[i]);
    ff_arena_reset(&cli->arena); /* following may go on for ever */
    return fflush(cli->out) == 0;
}

static int refused(struct ff_cli *cli, ff_status status, const struct ff_error *error)
{
    const int code = ff_cli_fail(cli, "read the log", status, error);

    if (status == FF_GAP)
        (void)fprintf(cli->err, "ff: the oldest cursor is --after %s\n", error->oldest);
    return code;
}

/* ---- the two ways -----------------------------------------------------------------------------
 */

/* Where the log ends now. */
static ff_status find_end(struct ff_cli *cli, const struct asked *asked, char end[FF_CURSOR_BYTES],
                          struct ff_error *reterr)
{
    FF_AUTO(ff_answer_free) struct ff_event_list list = {0};
    const ff_status status = ff_events(cli->client, &asked->filter, NULL, 1, 0, &list, reterr);

    (void)snprintf(end, FF_CURSOR_BYTES, "%s", list.next_cursor);
    return status;
}

/* Up to where it ended when we began: others may write as fast as we print. Cursors sort like the
 * log. */
static int print_log(struct ff_cli *cli, struct asked *asked)
{
    const char *const after = ff_cli_value(cli, FF_OPT_AFTER_EVENT);
    char cursor[FF_CURSOR_BYTES], end[FF_CURSOR_BYTES];
    int64_t left = asked->limit;
    struct ff_error error;
    ff_status status = find_end(cli, asked, end, &error);
    bool began = false;

    if (status != FF_OK)
        return refused(cli, status, &error);
    (void)snprintf(cursor, sizeof cursor, "%s", after ? after : "start");
    while (left > 0 && (!began || strcmp(cursor, end) < 0)) {
        FF_AUTO(ff_answer_free) struct ff_event_list list = {0};

        status = ff_events(cli->client, &asked->filter, cursor,
                           (int32_t)ff_min_i64(left, FF_LIST_MAX), 0, &list, &error);

        if (status == FF_GAP && began) { /* what comes next went while we were reading */
            print_notice(cli, "gap", error.oldest);
            (void)snprintf(cursor, sizeof cursor, "%s", error.oldest);
            continue;
        }
        if (status != FF_OK)
            return refused(cli, status, &error);
        began = true;
        if (list.notice)
            print_notice(cli, list.notice, list.notice_cursor);
        (void)snprintf(cursor, sizeof cursor, "%s", list.next_cursor);
        if ((!list.count && !list.notice) || !print_events(cli, list.items, list.count))
            break;
        left -= (int64_t)list.count;
    }
    if (!ff_cli_has(cli, FF_OPT_JSON))
        (void)fprintf(cli->err, "ff: go on with --after %s\n", cursor);
    return FF_EXIT_OK;
}

static int follow_log(struct ff_cli *cli, struct asked *asked)
{
    struct ff_subscription *subscription = NULL;
    int64_t left = asked->limit;
    struct ff_error error;
    ff_status status = ff_subscribe(cli->client, &asked->filter,
                                    ff_cli_value(cli, FF_OPT_AFTER_EVENT), &subscription, &error);

    while (status == FF_OK && left > 0) {
        FF_AUTO(ff_answer_free) struct ff_delivery delivery = {0};

        status = ff_subscription_next(subscription, (size_t)ff_min_i64(left, FF_EVENT_PAGE),
                                      FOLLOW_MS, &delivery, &error);
        if (status == FF_OK && delivery.notice)
            print_notice(cli, delivery.notice, delivery.cursor);
        if (status == FF_OK && !print_events(cli, delivery.items, delivery.count))
            break;
        left -= (int64_t)delivery.count;
    }
    ff_unsubscribe(subscription);
    return status == FF_OK ? FF_EXIT_OK : refused(cli, status, &error);
}

int ff_run_events(struct ff_cli *cli)
{
    struct asked asked = {0};
    int code = take_asked(cli, &asked);

    if (code == FF_EXIT_OK)
        code = ff_cli_open(cli, true);
    if (code != FF_EXIT_OK)
        return code;
    return ff_cli_has(cli, FF_OPT_FOLLOW) ? follow_log(cli, &asked) : print_log(cli, &asked);
}
