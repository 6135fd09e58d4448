/* SPDX-License-Identifier: Apache-2.0
 *
 * operate.c -- what an operator says about one execution, or a lane.
 *
 * Read first: src/remote/README.md. Tests: tests/conformance --store http. */
#include "remote/remote-int.h"

#include "base/error.h"

#include "base/banned.h"

static ff_status start(struct ff_ask *ask, struct ff_client *client, const char *execution_id,
                       const char *verb, struct ff_error *reterr)
{
    FF_TRY(ff_ask_init(ask, client, "/v1/executions/", reterr));
    FF_TRY(ff_ask_path(ask, execution_id, "execution_id", reterr));
    ff_ask_rest(ask, verb);
    return FF_OK;
}

ff_status ff_remote_cancel(struct ff_client *client, const char *execution_id, const char *reason,
                           const char **ret_public_state, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(start(&ask, client, execution_id, "/cancel", reterr));
    ff_write_text(&ask.body, "reason", reason);
    ask.repeatable = true;
    FF_TRY(ff_ask_post(&ask, reterr));
    if (ret_public_state)
        *ret_public_state = ff_remote_state(ask.answer);
    return FF_OK;
}

ff_status ff_remote_set_priority(struct ff_client *client, const char *execution_id,
                                 int64_t priority, const char **ret_public_state,
                                 struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(start(&ask, client, execution_id, "/priority", reterr));
    ff_write_i64(&ask.body, "priority", ff_max_i64(priority, 0)); /* clamped, as by the engine */
    ask.repeatable = true;
    FF_TRY(ff_ask_post(&ask, reterr));
    if (ret_public_state)
        *ret_public_state = ff_remote_state(ask.answer);
    return FF_OK;
}

ff_status ff_remote_replay(struct ff_client *client, const struct ff_replay_request *request,
                           const char **ret_public_state, int32_t *ret_generation,
                           struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};
    struct ff_replay_request given;

    if (!request)
        return ff_fail_field(reterr, FF_INVALID, "request", "there is no request");
    ff_replay_init(&given);
    FF_TRY(ff_api_sized(&given, sizeof given, request, request->size, reterr));
    FF_TRY(start(&ask, client, given.execution_id, "/replay", reterr));
    ff_write_text(&ask.body, "reason", given.reason);
    if (given.has_input)
        ff_write_bytes(&ask.body, "input", given.input, given.input_content_type);
    ff_write_i64(&ask.body, "deadline_ms", given.deadline_ms);
    ff_write_i64(&ask.body, "expected_generation", given.expected_generation);
    ff_write_text(&ask.body, "scope", given.scope);
    if (given.reopen_downstream)
        ff_json_put_bool(&ask.body.made, "reopen_downstream", true);
    ask.repeatable = given.expected_generation != FF_ABSENT_MS;
    FF_TRY(ff_ask_post(&ask, reterr));
    if (ret_public_state)
        *ret_public_state = ff_remote_state(ask.answer);
    if (ret_generation)
        *ret_generation = (int32_t)json_integer_value(json_object_get(ask.answer, "generation"));
    return FF_OK;
}

ff_status ff_remote_revoke_lease(struct ff_client *client, const char *execution_id,
                                 const char *reason, int64_t *ret_epoch, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(start(&ask, client, execution_id, "/revoke-lease", reterr));
    ff_write_text(&ask.body, "reason", reason);
    FF_TRY(ff_ask_post(&ask, reterr));
    if (ret_epoch)
        *ret_epoch = json_integer_value(json_object_get(ask.answer, "lease_epoch"));
    return FF_OK;
}

ff_status ff_remote_set_tags(struct ff_client *client, const char *execution_id,
                             const struct ff_tag_pair *tags, size_t count, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(start(&ask, client, execution_id, "/tags", reterr));
    struct ff_json_maker set = ff_json_make();
    json_t *const remove = json_array();
    ff_json_put(&ask.body.made, "remove", remove);
    ff_json_put(&ask.body.made, "set", set.object);
    if (ask.body.made.failed)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    if (!count)
        return ff_fail_field(reterr, FF_INVALID, "tags", "there is no tag");
    FF_TRY(ff_write_check_tags(tags, count, true, reterr));
    for (size_t i = 0; i < count; i++) {
        if (tags[i].value)
            ff_json_put_text(&set, tags[i].name, tags[i].value);
        else if (json_array_append_new(remove, json_string(tags[i].name)) != 0)
            set.failed = true;
    }
    if (set.failed)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    ask.repeatable = true;
    return ff_ask_post(&ask, reterr);
}

ff_status ff_remote_lane_pause(struct ff_client *client, const char *lane, bool paused,
                               const char *reason, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, "/v1/lanes/", reterr));
    FF_TRY(ff_ask_path(&ask, lane, "lane", reterr));
    ff_ask_rest(&ask, paused ? "/pause" : "/resume");
    ff_write_text(&ask.body, "reason", reason);
    ask.repeatable = true;
    return ff_ask_post(&ask, reterr);
}
