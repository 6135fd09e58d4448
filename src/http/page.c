/* SPDX-License-Identifier: Apache-2.0
 *
 * page.c -- a plain page for people at `/`: lanes, what runs, what is new, flows.
 *
 * Made here, without script; the policy of the page allows nothing but its own style.
 * Tests: tests/e2e/test_http.py. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/macros.h"
#include "base/random.h"
#include "base/str.h"
#include "http/handlers.h"
#include "http/limits.h"
#include "http/server-int.h"

#include "base/banned.h"

#define ROWS 20

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;"
    "color:#222;background:#fff}h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .75rem .25rem "
    "0;"
    "border-bottom:1px solid #e5e5e5}td{font-variant-numeric:tabular-nums}"
    "code{font-size:.9em}.failed,.expired{color:#a00}.completed{color:#070}.active{color:#05a}"
    "p{color:#666}@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}"
    "th,td{border-color:#333}.failed,.expired{color:#f77}.completed{color:#7c7}.active{color:#7bf}"
    "}";

/* What others wrote must not become markup. */
static void add_text(struct ff_strbuf *out, const char *text)
{
    for (; text && *text; text++) {
        switch (*text) {
        case '<':
            ff_strbuf_adds(out, "&lt;");
            break;
        case '&':
            ff_strbuf_adds(out, "&amp;");
            break;
        case '"':
            ff_strbuf_adds(out, "&quot;");
            break;
        default:
            ff_strbuf_addc(out, *text);
        }
    }
}

static void add_cell(struct ff_strbuf *out, const char *text)
{
    ff_strbuf_adds(out, "<td>");
    add_text(out, text ? text : "–");
}

static void add_number(struct ff_strbuf *out, int64_t number)
{
    ff_strbuf_addf(out, "<td>%" PRId64, number);
}

static void add_age(struct ff_strbuf *out, int64_t now_ms, int64_t at_ms)
{
    const int64_t s = at_ms == FF_ABSENT_MS ? 0 : ff_max_i64((now_ms - at_ms) / 1000, 0);

    if (at_ms == FF_ABSENT_MS)
        ff_strbuf_adds(out, "<td>–");
    else if (s < 120)
        ff_strbuf_addf(out, "<td>%" PRId64 " s", s);
    else if (s < 7200)
        ff_strbuf_addf(out, "<td>%" PRId64 " min", s / 60);
    else
        ff_strbuf_addf(out, "<td>%" PRId64 " h", s / 3600);
}

/* A state is one of our own words: it is a class, too. */
static void add_state(struct ff_strbuf *out, const char *state)
{
    ff_strbuf_addf(out, "<td class=\"%s\">%s", state, state);
}

static void add_link(struct ff_strbuf *out, const char *href, const char *id)
{
    ff_strbuf_addf(out, "<tr><td><a href=\"%s\"><code>%s</code></a>", href, id);
}

/* ---- the parts --------------------------------------------------------------------------------
 */

static void add_problem(struct ff_strbuf *out, const struct ff_error *error)
{
    ff_strbuf_adds(out, "<p>cannot be shown: ");
    add_text(out, error->message);
}

static void add_lanes(struct ff_strbuf *out, struct ff_client *client, int64_t now_ms)
{
    FF_AUTO(ff_answer_free) struct ff_lane_list list = {0};
    struct ff_error error;

    ff_strbuf_adds(out, "<h2>Lanes</h2>");
    if (ff_lanes(client, &list, &error) != FF_OK) {
        add_problem(out, &error);
        return;
    }
    ff_strbuf_adds(out, "<table><tr><th>lane<th>waiting<th>oldest<th>delayed<th>blocked<th>active"
                        "<th>paused");
    for (size_t i = 0; i < list.count && i < FF_HTTP_METRIC_LANES_MAX; i++) {
        const struct ff_lane_info *const lane = &list.items[i];

        ff_strbuf_adds(out, "<tr>");
        add_cell(out, lane->lane);
        add_number(out, lane->waiting);
        add_age(out, now_ms, lane->oldest_waiting_at_ms);
        add_number(out, lane->delayed);
        add_number(out, lane->blocked);
        add_number(out, lane->active);
        add_cell(out, !lane->paused ? "no" : lane->paused_reason ? lane->paused_reason : "yes");
    }
    ff_strbuf_adds(out, "</table>");
}

static void add_executions(struct ff_strbuf *out, struct ff_client *client, const char *state,
                           int64_t now_ms)
{
    FF_AUTO(ff_answer_free) struct ff_info_list list = {0};
    struct ff_filter filter;
    struct ff_error error;

    ff_filter_init(&filter);
    filter.state = state;
    filter.limit = ROWS;
    ff_strbuf_addf(out, "<h2>%s</h2>", state ? "Running" : "Recent");
    if (ff_list(client, &filter, &list, &error) != FF_OK) {
        add_problem(out, &error);
        return;
    }
    ff_strbuf_adds(out, "<table><tr><th>execution<th>kind<th>lane<th>state<th>worker<th>attempt"
                        "<th>age");
    for (size_t i = 0; i < list.count; i++) {
        const struct ff_info *const info = &list.items[i];
        char link[96];

        ff_execution_link(info->execution_id, "", link);
        add_link(out, link, strchr(info->execution_id, '}') + 2);
        add_cell(out, info->kind);
        if (info->node) {
            ff_strbuf_adds(out, " · ");
            add_text(out, info->node);
        }
        add_cell(out, info->lane);
        add_state(out, info->public_state);
        add_cell(out, info->worker_id);
        add_number(out, info->attempt_count);
        add_age(out, now_ms, info->created_at_ms);
    }
    ff_strbuf_adds(out, "</table>");
}

static void add_flows(struct ff_strbuf *out, struct ff_client *client, int64_t now_ms)
{
    FF_AUTO(ff_answer_free) struct ff_flow_info_list list = {0};
    const struct ff_flow_filter filter = {.size = sizeof filter, .limit = ROWS};
    struct ff_error error;

    ff_strbuf_adds(out, "<h2>Flows</h2>");
    if (ff_flow_list(client, &filter, &list, &error) != FF_OK) {
        add_problem(out, &error);
        return;
    }
    ff_strbuf_adds(out, "<table><tr><th>flow<th>kind<th>state<th>ended<th>nodes<th>age");
    for (size_t i = 0; i < list.count; i++) {
        const struct ff_flow_info *const info = &list.items[i];
        char link[64];

        (void)snprintf(link, sizeof link, "/v1/flows/%s", info->flow_id);
        add_link(out, link, info->flow_id);
        add_cell(out, info->kind);
        add_state(out, info->state);
        add_number(out, info->ended_count);
        add_number(out, info->node_count);
        add_age(out, now_ms, info->created_at_ms);
    }
    ff_strbuf_adds(out, "</table>");
}

bool ff_handle_page(struct ff_request *request)
{
    struct ff_client *const client = request->server->client;
    const int64_t now_ms = ff_clock_real_ms(&request->server->clock);
    const struct ff_random random = ff_random_system();
    struct ff_strbuf out = ff_strbuf_in(&request->arena, FF_HTTP_ANSWER_BYTES_MAX);
    char nonce[2 * 16 + 1], policy[256];
    struct ff_error error;
    struct ff_str text;
    uint8_t bytes[16];

    ff_random_bytes(&random, bytes, sizeof bytes);
    ff_hex_encode(bytes, sizeof bytes, nonce);
    ff_strbuf_addf(&out,
                   "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta "
                   "name=\"viewport\" content=\"width=device-width\"><meta "
                   "http-equiv=\"refresh\" content=\"5\"><title>FlowFabric</title><style "
                   "nonce=\"%s\">%s</style><h1>FlowFabric %s</h1>",
                   nonce, style, ff_version());
    add_lanes(&out, client, now_ms);
    add_executions(&out, client, "active", now_ms);
    add_executions(&out, client, NULL, now_ms);
    add_flows(&out, client, now_ms);
    ff_strbuf_adds(&out, "<p>This page is made anew every five seconds. <a "
                         "href=\"/openapi.json\">API</a> · <a href=\"/metrics\">metrics</a> · <a "
                         "href=\"/readyz?verbose\">readiness</a></p></html>\n");
    const ff_status status = ff_strbuf_take(&out, &text, &error);
    if (status != FF_OK)
        return ff_answer_error(request, status, &error);
    (void)ff_answer_bytes(request, 200, "text/html; charset=utf-8", text);
    (void)snprintf(policy, sizeof policy,
                   "default-src 'none'; style-src 'nonce-%s'; base-uri 'none'; form-action 'none'; "
                   "frame-ancestors 'none'",
                   nonce);
    ff_answer_header(request, "Content-Security-Policy", policy);
    ff_answer_header(request, "Referrer-Policy", "no-referrer");
    return true;
}
