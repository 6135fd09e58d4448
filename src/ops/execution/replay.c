/* SPDX-License-Identifier: Apache-2.0
 *
 * replay.c -- execution.replay: run an ended execution again, as a new generation.
 *
 * Attempts, results and events of older generations stay; so does the epoch, so an old lease never
 * becomes valid again. A member of a flow goes where its join says, and a reopening hop takes back
 * what its old outcome resolved; that takes its flow, its join and its old hops, which a first
 * batch finds out. Tests: tests/unit/test_operator.c, test_cascade.c. */
#include <assert.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "model/due.h"
#include "model/events.h"
#include "ops/cascade.h"
#include "ops/ops-int.h"
#include "ops/outdated.h"
#include "ops/task.h"
#include "sql_ids.h"

#include "base/banned.h"

#define BLAMED_MAX    3    /* named in an error */
#define ANCESTORS_MAX 1000 /* replayed by one call */

/* --- asking --- */

static void need_scan(struct ff_work *work, struct ff_replay_in *in)
{
    struct ff_value params[FF_SQL_FAILED_UPSTREAMS_PARAMS];
    const struct ff_in_failed_upstreams failed = {.partition_key = in->id.partition,
                                                  .downstream_id = in->id.uuid};

    static_assert((int)FF_SQL_FAILED_UPSTREAMS_PARAMS == (int)FF_SQL_FAILED_ANCESTORS_PARAMS,
                  "scans for the guilty differ");
    ff_in_failed_upstreams_values(&failed, params);
    if (in->failed_ancestors)
        in->scan = ff_work_scan(work, FF_SQL_FAILED_ANCESTORS, params,
                                FF_SQL_FAILED_ANCESTORS_PARAMS, ANCESTORS_MAX + 1);
    else
        in->scan = ff_work_scan(work, FF_SQL_FAILED_UPSTREAMS, params,
                                FF_SQL_FAILED_UPSTREAMS_PARAMS, BLAMED_MAX + 1);
}

static void need_member(struct ff_work *work, struct ff_exec_id id, int32_t generation,
                        struct ff_outdated *outdated)
{
    const struct ff_edge_group group = {.partition_key = id.partition, .execution_id = id.uuid};

    ff_work_want(work, FF_TABLE_EDGE_GROUP, &group, FF_WANT_LOCK);
    ff_member_need_hops(work, id, generation);
    ff_outdated_need(work, id, outdated);
}

void ff_execution_replay_need(struct ff_work *work, struct ff_replay_in *in)
{
    const struct ff_flow flow = ff_flow_key(in->flow_id);

    in->scan = NULL;
    ff_work_lock_execution(work, in->id);
    if (!in->is_member)
        return;
    ff_work_want(work, FF_TABLE_FLOW, &flow, FF_WANT_LOCK);
    need_member(work, in->id, in->generation, &in->outdated);
    if (in->wants_blame && !in->ancestors)
        need_scan(work, in);
    for (size_t i = 0; i < in->ancestor_count; i++) {
        const struct ff_exec_id id = {in->id.partition, in->ancestors[i].id};

        ff_work_lock_execution(work, id);
        need_member(work, id, in->ancestors[i].generation, &in->ancestors[i].outdated);
    }
}

/* --- may it? --- */

/* An ancestor is not the one that was asked for: it is named. */
static ff_status check_limit(const struct ff_execution *execution, bool is_ancestor,
                             struct ff_error *reterr)
{
    struct ff_policy policy;

    ff_policy_read(execution->policy, &policy);
    if (execution->replay_count < policy.max_replay_count)
        return FF_OK;
    if (is_ancestor)
        return ff_fail(reterr, FF_REPLAY_LIMIT,
                       "its ancestor '" FF_STR_FMT "' was replayed %d times, the limit is %d",
                       FF_STR_ARG(execution->node), (int)execution->replay_count,
                       (int)policy.max_replay_count);
    return ff_fail(reterr, FF_REPLAY_LIMIT, "replayed %d times, the limit is %d",
                   (int)execution->replay_count, (int)policy.max_replay_count);
}

static ff_status may_replay(const struct ff_execution *execution, const struct ff_replay_in *in,
                            struct ff_error *reterr)
{
    if (in->expected_generation != FF_NULL64 && in->expected_generation != execution->generation)
        return ff_fail_field(reterr, FF_CONFLICT, "expected_generation",
                             "execution is in generation %d", (int)execution->generation);
    if (!ff_state_is_terminal(execution->state))
        return ff_fail(reterr, FF_NOT_TERMINAL, "execution has not ended, it is %s",
                       ff_state_public_name(execution->state));
    if (in->finished_before_ms != FF_NULL64 && execution->finished_at_ms > in->finished_before_ms)
        return ff_fail(reterr, FF_NOT_FOUND, "execution had not ended at the time of the call");
    if (execution->flags & FF_EXEC_NO_NEW_ATTEMPT)
        return ff_fail(reterr, FF_FLOW_TERMINAL, "its flow was cancelled");
    if (in->has_input && (execution->flags & FF_EXEC_INPUT_PASSED))
        return ff_fail_field(reterr, FF_INVALID, "input", "its input comes from an upstream");
    return check_limit(execution, false, reterr);
}

static struct ff_edge_group *group_of(struct ff_work *work, const struct ff_execution *execution)
{
    const struct ff_edge_group key = {.partition_key = execution->partition_key,
                                      .execution_id = execution->execution_id};

    return ff_work_row(work, FF_TABLE_EDGE_GROUP, &key);
}

static bool is_impossible(struct ff_work *work, const struct ff_execution *execution)
{
    const struct ff_edge_group *const group = group_of(work, execution);

    return group && group->group_state == FF_GROUP_IMPOSSIBLE;
}

static ff_status blame(struct ff_work *work, const struct ff_replay_in *in, struct ff_error *reterr)
{
    struct ff_strbuf text = ff_strbuf_in(work->arena, 512);
    struct ff_str names;

    for (size_t i = 0; i < in->scan->row_count && i < BLAMED_MAX; i++) {
        const struct ff_execution *const upstream = in->scan->rows[i];

        ff_strbuf_addf(&text, "%s'" FF_STR_FMT "' (%s)", i > 0 ? ", " : "",
                       FF_STR_ARG(upstream->node), ff_state_public_name(upstream->state));
    }
    if (in->scan->row_count > BLAMED_MAX)
        ff_strbuf_adds(&text, " and others");
    FF_TRY(ff_strbuf_take(&text, &names, reterr));
    return ff_fail(reterr, FF_DEPENDENCIES_FAILED, "it depends on " FF_STR_FMT, FF_STR_ARG(names));
}

static ff_status learn_ancestors(struct ff_work *work, struct ff_replay_in *in,
                                 struct ff_error *reterr)
{
    const size_t count = in->scan->row_count;

    if (count > ANCESTORS_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "scope",
                             "more than %d failed ancestors: replay some of them first",
                             ANCESTORS_MAX);
    if (count == 0)
        return ff_fail(reterr, FF_DEPENDENCIES_FAILED, "no ended ancestor could be replayed");
    in->ancestors = ff_arena_array(work->arena, count, sizeof *in->ancestors);
    FF_TRY(ff_arena_check(work->arena, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct ff_execution *const row = in->scan->rows[i];

        in->ancestors[i] =
            (struct ff_ancestor){.id = row->execution_id, .generation = row->generation};
    }
    in->ancestor_count = count;
    return FF_AGAIN;
}

/* Inputs are set-once on the row: a new one always goes to ff_payload, under its generation. */
static void insert_input(struct ff_work *work, struct ff_execution *execution,
                         const struct ff_replay_in *in)
{
    const struct ff_payload key = {.partition_key = execution->partition_key,
                                   .execution_id = execution->execution_id,
                                   .generation = execution->generation,
                                   .kind = FF_PAYLOAD_INPUT};
    struct ff_payload *const payload = ff_work_insert_new(work, FF_TABLE_PAYLOAD, &key);

    payload->data = ff_str_is_null(in->input) ? FF_STR("null") : in->input;
    payload->content_type = ff_str_is_null(in->input) ? ff_str_null() : in->input_type;
    execution->flags = ff_flags_with_input(execution->flags, payload->data.len);
}

static void say_replayed(struct ff_work *work, const struct ff_execution *execution,
                         const struct ff_replay_in *in)
{
    struct ff_event *const event =
        ff_execution_event(work, execution, FF_EVENT_OPERATOR, FF_EVENT_OPERATOR_REPLAYED);

    event->note = in->reason;
    event->num_a = execution->generation;
}

/* --- members --- */

/* Where its join says: nothing runs again before what it waits for. */
static void restart(struct ff_work *work, struct ff_replay_in *in, struct ff_flow *flow,
                    struct ff_execution *execution, const struct ff_outdated *outdated)
{
    const struct ff_edge_group *const group = group_of(work, execution);
    const bool waits = group && group->group_state != FF_GROUP_SATISFIED;

    ff_work_edit(work, execution);
    execution->replay_count++;
    ff_member_restart(work, flow, execution, waits, in->reopen_downstream || outdated->downstream);
    say_replayed(work, execution, in);
}

static ff_status bring_up_to_date(struct ff_work *work, const struct ff_flow *flow,
                                  const struct ff_execution *execution,
                                  struct ff_outdated *outdated, struct ff_error *reterr)
{
    struct ff_edge_group *const group = group_of(work, execution);

    FF_TRY(ff_outdated_learn(work, outdated, (struct ff_uuid){0}, reterr));
    if (group)
        ff_outdated_update(work, flow, execution, group, group->group_state, outdated);
    return FF_OK;
}

static struct ff_execution *ancestor_at(struct ff_work *work, const struct ff_replay_in *in,
                                        size_t at)
{
    return ff_work_execution(work, (struct ff_exec_id){in->id.partition, in->ancestors[at].id});
}

/* Whoever is to blame for that was not looked for. */
static ff_status cannot_be_mended(const struct ff_execution *ancestor, struct ff_error *reterr)
{
    return ff_fail(reterr, FF_DEPENDENCIES_FAILED,
                   "its ancestor '" FF_STR_FMT
                   "' waits for something that has failed since: replay that one first",
                   FF_STR_ARG(ancestor->node));
}

/* All of them before the first runs again: what they wait for has ended as it has. */
static ff_status look_at_ancestors(struct ff_work *work, struct ff_replay_in *in,
                                   const struct ff_flow *flow, struct ff_error *reterr)
{
    bool again = false;

    for (size_t i = 0; i < in->ancestor_count; i++) {
        const struct ff_execution *const execution = ancestor_at(work, in, i);
        ff_status status;
        bool could;

        if (!execution || !ff_state_is_terminal(execution->state) ||
            execution->generation != in->ancestors[i].generation) { /* moved on meanwhile */
            in->ancestors = NULL;
            in->ancestor_count = 0;
            return FF_AGAIN;
        }
        FF_TRY(check_limit(execution, true, reterr));
        could = !is_impossible(work, execution);
        status = bring_up_to_date(work, flow, execution, &in->ancestors[i].outdated, reterr);
        again = again || status == FF_AGAIN;
        if (status == FF_AGAIN)
            continue;
        FF_TRY(status);
        if (could && is_impossible(work, execution))
            return cannot_be_mended(execution, reterr);
    }
    return again ? FF_AGAIN : FF_OK;
}

/* The failed ancestors run again; what could not run because of them, the one asked for included,
 * follows. */
static ff_status restart_ancestors(struct ff_work *work, struct ff_replay_in *in,
                                   struct ff_flow *flow, struct ff_error *reterr)
{
    size_t restarted = 0;

    FF_TRY(look_at_ancestors(work, in, flow, reterr));
    for (size_t i = 0; i < in->ancestor_count; i++) {
        struct ff_execution *const execution = ancestor_at(work, in, i);

        if (is_impossible(work, execution)) {
            ff_member_follow_join(work, execution, in->reopen_downstream);
            continue;
        }
        restart(work, in, flow, execution, &in->ancestors[i].outdated);
        restarted++;
    }
    if (restarted == 0)
        return ff_fail(reterr, FF_DEPENDENCIES_FAILED, "no ended ancestor could be replayed");
    return FF_OK;
}

static ff_status replay_member(struct ff_work *work, struct ff_replay_in *in,
                               struct ff_execution *execution, struct ff_error *reterr)
{
    struct ff_flow *flow;

    if (!in->is_member || in->generation != execution->generation) {
        in->is_member = true;
        in->flow_id = execution->flow_id;
        in->generation = execution->generation;
        in->outdated.known = false;
        return FF_AGAIN;
    }
    FF_TRY(ff_find_flow(work, in->flow_id, &flow, reterr));
    if (flow->state == FF_FLOW_CANCELLED)
        return ff_fail(reterr, FF_FLOW_TERMINAL, "its flow was cancelled");
    /* Ancestors that run again already will bring it back; asked twice, it comes back once. */
    if (!in->failed_ancestors || !is_impossible(work, execution))
        FF_TRY(bring_up_to_date(work, flow, execution, &in->outdated, reterr));
    if (is_impossible(work, execution)) {
        if (!in->wants_blame) {
            in->wants_blame = true;
            return FF_AGAIN;
        }
        if (!in->failed_ancestors)
            return in->scan ? blame(work, in, reterr) : FF_AGAIN;
        if (!in->ancestors)
            return in->scan ? learn_ancestors(work, in, reterr) : FF_AGAIN;
        ff_member_follow_join(work, execution, in->reopen_downstream || in->outdated.downstream);
        return restart_ancestors(work, in, flow, reterr);
    }
    restart(work, in, flow, execution, &in->outdated);
    return FF_OK;
}

/* A deadline or an input given with the replay counts more than what the row had. */
static void apply_wishes(struct ff_work *work, struct ff_execution *execution,
                         const struct ff_replay_in *in)
{
    struct ff_policy policy;

    if (in->has_input)
        insert_input(work, execution, in);
    if (in->deadline_ms == FF_NULL64)
        return;
    ff_policy_read(execution->policy, &policy);
    execution->deadline_at_ms = ff_add_i64_clamped(work->now_ms, in->deadline_ms);
    execution->due_at_ms = ff_due(execution, &policy);
}

/* Its ancestors run first; it begins its own generation when they have ended. */
static ff_status has_no_wishes(const struct ff_replay_in *in, struct ff_error *reterr)
{
    if (!in->has_input && in->deadline_ms == FF_NULL64)
        return FF_OK;
    return ff_fail_field(reterr, FF_INVALID, in->has_input ? "input" : "deadline_ms",
                         "cannot be given to an execution that waits for its ancestors");
}

ff_status ff_execution_replay_apply(struct ff_work *work, struct ff_replay_in *in,
                                    struct ff_state_out *out, struct ff_error *reterr)
{
    struct ff_execution *execution;
    int32_t generation;

    FF_TRY(ff_find_execution(work, in->id, &execution, reterr));
    FF_TRY(may_replay(execution, in, reterr));
    generation = execution->generation;
    if (!ff_uuid_is_zero(execution->flow_id)) {
        FF_TRY(replay_member(work, in, execution, reterr));
    } else {
        ff_execution_next_generation(work, execution);
        execution->replay_count++;
        ff_execution_move(work, execution, FF_STATE_READY_REPLAY);
        say_replayed(work, execution, in);
    }
    if (execution->generation == generation)
        FF_TRY(has_no_wishes(in, reterr));
    else
        apply_wishes(work, execution, in);
    ff_state_answer(execution, out);
    return FF_OK;
}
