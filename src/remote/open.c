/* SPDX-License-Identifier: Apache-2.0
 *
 * open.c -- a client of a server: its table of calls.
 *
 * Read first: src/remote/README.md, src/api/client.h. Tests: tests/conformance --store http. */
#include "remote/remote-int.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

#include "base/banned.h"

#define TIMEOUT_MS_DEFAULT 30000

static void wake(struct ff_client *client)
{
    ff_remote_wake(client->remote);
}

/* Missing here means: needs the store itself. */
static const struct ff_calls remote_calls = {
    .close = ff_remote_close,
    .wake = wake,
    .submit = ff_remote_submit,
    .claim = ff_remote_claim,
    .renew = ff_remote_renew,
    .complete = ff_remote_complete,
    .fail_task = ff_remote_fail_task,
    .progress = ff_remote_progress,
    .delay = ff_remote_delay,
    .release = ff_remote_release,
    .cancel = ff_remote_cancel,
    .set_priority = ff_remote_set_priority,
    .replay = ff_remote_replay,
    .revoke_lease = ff_remote_revoke_lease,
    .set_tags = ff_remote_set_tags,
    .lane_pause = ff_remote_lane_pause,
    .flow_create = ff_remote_flow_create,
    .flow_grow = ff_remote_flow_grow,
    .flow_cancel = ff_remote_flow_cancel,
    .flow_get = ff_remote_flow_get,
    .flow_wait = ff_remote_flow_wait,
    .flow_list = ff_remote_flow_list,
    .cancel_where = ff_remote_cancel_where,
    .replay_where = ff_remote_replay_where,
    .events = ff_remote_events,
    .subscribe = ff_remote_subscribe,
    .get = ff_remote_get,
    .wait = ff_remote_wait,
    .list = ff_remote_list,
    .result = ff_remote_result,
    .result_of = ff_remote_result_of,
    .attempts = ff_remote_attempts,
    .history = ff_remote_history,
    .explain = ff_remote_explain,
    .lanes = ff_remote_lanes,
    .workers = ff_remote_workers,
    .scanners = ff_remote_scanners,
};

/* What only an engine can follow; a server has options of its own. */
static const char *engine_option(const struct ff_options *options)
{
    const struct {
        const char *name;
        bool given;
    } all[] = {
        {"executors", options->executors != 0},
        {"retention_ms", options->retention_ms != 0},
        {"instance_tag", options->instance_tag != NULL},
        {"event_renewals", options->event_renewals != NULL},
        {"scan_ns", options->scan_ns != NULL},
        {"scan_instance", options->scan_instance != NULL},
        {"event_retention_ms", options->event_retention_ms != 0},
        {"event_count_max", options->event_count_max != 0},
        {"input_bytes_max", options->input_bytes_max != 0},
        {"result_bytes_max", options->result_bytes_max != 0},
        {"flow_nodes_max", options->flow_nodes_max != 0},
        {"flow_edges_max", options->flow_edges_max != 0},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(all); i++)
        if (all[i].given)
            return all[i].name;
    return NULL;
}

/* Nothing is asked yet: a server that is away says so at the first call. */
ff_status ff_remote_open(const char *url, const struct ff_options *options,
                         struct ff_client **ret_client, struct ff_error *reterr)
{
    const char *const token = options->token ? options->token : getenv("FF_TOKEN");
    const char *const not_ours = engine_option(options);

    if (not_ours)
        return ff_fail_field(reterr, FF_UNSUPPORTED, not_ours,
                             "%s belongs to the server, not to its clients", not_ours);
    if (options->timeout_ms < 0 || options->timeout_ms > FF_DURATION_MS_MAX)
        return ff_fail_field(reterr, FF_INVALID, "timeout_ms", "timeout_ms is out of range");
    struct ff_client *const client = ff_calloc(1, sizeof *client);
    if (!client)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a client");
    client->calls = &remote_calls;
    client->pid = getpid();
    client->timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS_DEFAULT;
    const ff_status status = ff_remote_new(url, token, &client->remote, reterr);
    if (status != FF_OK) {
        ff_free(client);
        return status;
    }
    *ret_client = client;
    return FF_OK;
}

size_t ff_remote_close(struct ff_client *client, int64_t grace_ms)
{
    (void)grace_ms; /* calls end by their own time limits, those that wait at once */
    ff_remote_close_all(client->remote);
    ff_client_wait_for_calls(client);
    ff_remote_free(client->remote);
    ff_free(client);
    return 0;
}
