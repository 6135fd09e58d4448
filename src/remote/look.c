/* SPDX-License-Identifier: Apache-2.0
 *
 * look.c -- the calls that look, and those that work by filter.
 *
 * Read first: src/remote/README.md. Tests: tests/conformance --store http. */
#include "remote/remote-int.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"

#include "base/banned.h"

/* GET <path><id><rest>, read by a table. */
static ff_status look(struct ff_client *client, const char *execution_id, const char *rest,
                      const struct ff_shape *shape, void *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, "/v1/executions/", reterr));
    FF_TRY(ff_ask_path(&ask, execution_id, "execution_id", reterr));
    ff_ask_rest(&ask, rest);
    FF_TRY(ff_ask_get(&ask, reterr));
    return ff_ask_take(&ask, shape, ret, reterr);
}

/* One object as a list of one. */
static ff_status take_one(struct ff_ask *ask, struct ff_info_list *ret, struct ff_error *reterr)
{
    struct ff_info *const info = ff_arena_alloc(&ask->memory->arena, sizeof *info);

    if (!info)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the answer");
    FF_TRY(ff_shape_take(&ff_answer_info, ask->answer, &ask->memory->arena, info, reterr));
    *ret = (struct ff_info_list){.count = 1, .items = info};
    ret->memory = FF_STEAL(ask->memory);
    return FF_OK;
}

static ff_status get(struct ff_client *client, const char *execution_id, int64_t wait_ms,
                     struct ff_info_list *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, "/v1/executions/", reterr));
    FF_TRY(ff_ask_path(&ask, execution_id, "execution_id", reterr));
    ff_ask_query_i64(&ask, "wait_ms", wait_ms ? wait_ms : FF_ABSENT_MS);
    ask.wait_ms = wait_ms;
    FF_TRY(ff_ask_get(&ask, reterr));
    return take_one(&ask, ret, reterr);
}

ff_status ff_remote_get(struct ff_client *client, const char *execution_id,
                        struct ff_info_list *ret, struct ff_error *reterr)
{
    return get(client, execution_id, 0, ret, reterr);
}

ff_status ff_remote_wait(struct ff_client *client, const char *execution_id, int64_t wait_ms,
                         struct ff_info_list *ret, struct ff_error *reterr)
{
    if (wait_ms < 0)
        return ff_fail_field(reterr, FF_INVALID, "wait_ms", "wait_ms is not negative");
    /* A server waits a minute at most; a caller may want more. */
    for (;;) {
        const int64_t part_ms = ff_min_i64(wait_ms, FF_WAIT_MS_MAX);

        FF_TRY(get(client, execution_id, part_ms, ret, reterr));
        wait_ms -= part_ms;
        if (ret->items[0].finished || wait_ms <= 0)
            return FF_OK;
        ff_answer_free(ret);
    }
}

ff_status ff_remote_list(struct ff_client *client, const struct ff_filter *filter,
                         struct ff_info_list *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
    struct ff_filter given;

    FF_TRY(ff_ask_init(&ask, client, "/v1/executions", reterr));
    FF_TRY(ff_filter_take(filter, &given, reterr));
    if (given.limit < 0) { /* none at all: is the server there? */
        *ret = (struct ff_info_list){.count = 0};
        ret->memory = FF_STEAL(ask.memory);
        return FF_OK;
    }
    ff_ask_query(&ask, "namespace", given.ns);
    ff_ask_query(&ask, "lane", given.lane);
    ff_ask_query(&ask, "kind", given.kind);
    ff_ask_query(&ask, "state", given.state);
    ff_ask_query(&ask, "flow_id", given.flow_id);
    ff_ask_query(&ask, "worker_id", given.worker_id);
    if (given.tag_name) {
        const struct ff_str tag =
            ff_arena_printf(&ask.memory->arena, "%s%s%s", given.tag_name,
                            given.tag_value ? ":" : "", given.tag_value ? given.tag_value : "");

        ff_ask_query(&ask, "tag", tag.ptr);
    }
    ff_ask_query_i64(&ask, "created_after_ms", given.created_after_ms);
    ff_ask_query_i64(&ask, "created_before_ms", given.created_before_ms);
    ff_ask_query_i64(&ask, "limit", given.limit);
    ff_ask_query(&ask, "cursor", given.cursor && given.cursor[0] ? given.cursor : NULL);
    FF_TRY(ff_ask_get(&ask, reterr));
    return ff_ask_take(&ask, &ff_answer_infos, ret, reterr);
}

static ff_status where(struct ff_client *client, const char *path, const struct ff_filter *filter,
                       const char *reason, struct ff_bulk_result *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
    struct ff_writing inside = {.made = ff_json_make()};
    struct ff_filter given;
    ff_status status = ff_ask_init(&ask, client, path, reterr);
    json_t *json = NULL;

    if (status == FF_OK)
        status = ff_filter_take(filter, &given, reterr);
    if (status != FF_OK) {
        json_decref(inside.made.object);
        return status;
    }
    ff_write_text(&inside, "namespace", given.ns);
    ff_write_text(&inside, "lane", given.lane);
    ff_write_text(&inside, "kind", given.kind);
    ff_write_text(&inside, "state", given.state);
    ff_write_text(&inside, "flow_id", given.flow_id);
    ff_write_text(&inside, "worker_id", given.worker_id);
    if (given.tag_name)
        ff_write_text(&inside, "tag",
                      ff_arena_printf(&ask.memory->arena, "%s%s%s", given.tag_name,
                                      given.tag_value ? ":" : "",
                                      given.tag_value ? given.tag_value : "")
                          .ptr);
    ff_write_i64(&inside, "created_after_ms", given.created_after_ms);
    ff_write_i64(&inside, "created_before_ms", given.created_before_ms);
    FF_TRY(ff_written(&inside, &json, reterr));
    ff_json_put(&ask.body.made, "filter", json);
    ff_write_text(&ask.body, "reason", reason);
    ask.repeatable = true; /* what was done is passed over by the next call */
    FF_TRY(ff_ask_post(&ask, reterr));
    return ff_shape_take(&ff_answer_bulk_result, ask.answer, &ask.memory->arena, ret, reterr);
}

ff_status ff_remote_cancel_where(struct ff_client *client, const struct ff_filter *filter,
                                 const char *reason, struct ff_bulk_result *ret,
                                 struct ff_error *reterr)
{
    return where(client, "/v1/executions:cancel", filter, reason, ret, reterr);
}

ff_status ff_remote_replay_where(struct ff_client *client, const struct ff_filter *filter,
                                 const char *reason, struct ff_bulk_result *ret,
                                 struct ff_error *reterr)
{
    return where(client, "/v1/executions:replay", filter, reason, ret, reterr);
}

static ff_status result_of(struct ff_client *client, const char *execution_id, int64_t generation,
                           struct ff_bytes *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, "/v1/executions/", reterr));
    FF_TRY(ff_ask_path(&ask, execution_id, "execution_id", reterr));
    ff_ask_rest(&ask, "/result");
    ff_ask_query_i64(&ask, "generation", generation);
    return ff_ask_bytes(&ask, ret, reterr);
}

ff_status ff_remote_result(struct ff_client *client, const char *execution_id, struct ff_bytes *ret,
                           struct ff_error *reterr)
{
    return result_of(client, execution_id, FF_ABSENT_MS, ret, reterr);
}

ff_status ff_remote_result_of(struct ff_client *client, const char *execution_id,
                              int32_t generation, struct ff_bytes *ret, struct ff_error *reterr)
{
    return result_of(client, execution_id, generation, ret, reterr);
}

ff_status ff_remote_attempts(struct ff_client *client, const char *execution_id,
                             struct ff_attempt_list *ret, struct ff_error *reterr)
{
    return look(client, execution_id, "/attempts", &ff_answer_attempts, ret, reterr);
}

ff_status ff_remote_explain(struct ff_client *client, const char *execution_id,
                            struct ff_explanation *ret, struct ff_error *reterr)
{
    return look(client, execution_id, "/explain", &ff_answer_explanation, ret, reterr);
}

ff_status ff_remote_history(struct ff_client *client, const char *execution_id, const char *cursor,
                            int32_t limit, struct ff_event_list *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    if (limit < 0 || limit > FF_LIST_MAX)
        return ff_fail_field(reterr, FF_INVALID, "limit", "limit is at most %d", FF_LIST_MAX);
    FF_TRY(ff_ask_init(&ask, client, "/v1/executions/", reterr));
    FF_TRY(ff_ask_path(&ask, execution_id, "execution_id", reterr));
    ff_ask_rest(&ask, "/events");
    ff_ask_query_i64(&ask, "limit", limit ? limit : FF_ABSENT_MS);
    ff_ask_query(&ask, "cursor", cursor && cursor[0] ? cursor : NULL);
    FF_TRY(ff_ask_get(&ask, reterr));
    return ff_ask_take(&ask, &ff_answer_events, ret, reterr);
}

/* ---- the whole server --------------------------------------------------------------------------
 */

static ff_status look_at(struct ff_client *client, const char *path, const struct ff_shape *shape,
                         void *ret, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, path, reterr));
    FF_TRY(ff_ask_get(&ask, reterr));
    return ff_ask_take(&ask, shape, ret, reterr);
}

ff_status ff_remote_lanes(struct ff_client *client, struct ff_lane_list *ret,
                          struct ff_error *reterr)
{
    return look_at(client, "/v1/lanes", &ff_answer_lanes, ret, reterr);
}

ff_status ff_remote_workers(struct ff_client *client, struct ff_worker_list *ret,
                            struct ff_error *reterr)
{
    return look_at(client, "/v1/workers", &ff_answer_workers, ret, reterr);
}

ff_status ff_remote_scanners(struct ff_client *client, struct ff_scanner_list *ret,
                             struct ff_error *reterr)
{
    return look_at(client, "/v1/scanners", &ff_answer_scanners, ret, reterr);
}
