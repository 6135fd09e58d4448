/* SPDX-License-Identifier: Apache-2.0
 *
 * birth.c -- a new execution with everything that comes with it.
 *
 * Tests: tests/unit/test_submit.c, test_cascade.c. */
#include "ops/birth.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/capset.h"
#include "model/codes.h"
#include "ops/change.h"

#include "base/banned.h"

/* Its row, also of a set that this process knows: an older copy of the store may have been put back
 * since, and work whose set is not written down is found by nobody who starts later. */
void ff_birth_need(struct ff_work *work, const struct ff_submit_in *in)
{
    const struct ff_capset capset = {.capset_id = in->capset_id};

    if (in->capset_id != 0)
        ff_work_want(work, FF_TABLE_CAPSET, &capset, FF_WANT_READ);
}

static bool has_new_capset(struct ff_work *work, const struct ff_submit_in *in)
{
    const struct ff_capset key = {.capset_id = in->capset_id};

    return in->capset_id != 0 && !ff_work_row(work, FF_TABLE_CAPSET, &key);
}

/* Every process keeps all sets in memory and every claim walks them. */
ff_status ff_birth_check(struct ff_work *work, const struct ff_submit_in *in,
                         struct ff_error *reterr)
{
    if (work->capsets && work->capsets->count >= FF_CAPSETS_MAX && has_new_capset(work, in))
        return ff_fail_field(
            reterr, FF_TOO_LARGE, "required_capabilities",
            "this store has %d different sets of capabilities, no more are allowed",
            FF_CAPSETS_MAX);
    return FF_OK;
}

static void insert_capset(struct ff_work *work, const struct ff_submit_in *in)
{
    const struct ff_capset key = {.capset_id = in->capset_id};
    struct ff_capset *capset;

    if (!has_new_capset(work, in))
        return;
    capset = ff_work_insert(work, FF_TABLE_CAPSET, &key);
    capset->tokens = in->capset_tokens;
    capset->created_at_ms = work->now_ms;
}

static void insert_tags(struct ff_work *work, const struct ff_submit_in *in,
                        struct ff_execution *execution)
{
    const struct ff_str instance = ff_str_of(work->settings->instance_tag);

    if (in->tag_count)
        execution->flags |= FF_EXEC_TAGGED;
    for (size_t i = 0; i < in->tag_count; i++) {
        const struct ff_tag key = {.partition_key = in->id.partition,
                                   .execution_id = in->id.uuid,
                                   .name = in->tags[i].name};
        struct ff_tag *const tag = ff_work_insert_new(work, FF_TABLE_TAG, &key);

        tag->value = in->tags[i].value;
        if (ff_str_eq(in->tags[i].name, instance))
            execution->instance_tag = in->tags[i].value;
    }
}

static void set_input(struct ff_work *work, const struct ff_submit_in *in,
                      struct ff_execution *execution)
{
    if (in->input.len > FF_PAYLOAD_INLINE_BYTES_MAX) {
        const struct ff_payload key = {.partition_key = in->id.partition,
                                       .execution_id = in->id.uuid,
                                       .generation = 0,
                                       .kind = FF_PAYLOAD_INPUT};
        struct ff_payload *const payload = ff_work_insert_new(work, FF_TABLE_PAYLOAD, &key);

        payload->data = in->input;
        payload->content_type = in->input_type;
        execution->flags = ff_flags_with_input(execution->flags, in->input.len);
        return;
    }
    execution->input = in->input;
    execution->input_type = in->input_type;
}

/* The time in an id that was minted by the store's time counts however long the call has waited;
 * that of any other must be close to now. Nothing is made in the future: who asks for what there is
 * by now must find it. */
int64_t ff_birth_ms(const struct ff_work *work, struct ff_uuid id, bool dated)
{
    const int64_t told_ms = ff_uuid_time_ms(id);
    const bool is_late = told_ms < work->now_ms - FF_CALL_NEAR_MS;

    return told_ms > work->now_ms || (is_late && !dated) ? work->now_ms : told_ms;
}

/* Members are looked for by their flow's time: if that is not right, none of them is dated. */
static bool is_dated(const struct ff_execution *execution, const struct ff_membership *member)
{
    const int64_t told_ms = ff_uuid_time_ms(execution->execution_id);

    return execution->created_at_ms == told_ms &&
           (!member || member->flow->created_at_ms == told_ms);
}

/* What is relative counts from the batch: nobody's time runs out while his call waits. */
static void set_times(const struct ff_work *work, const struct ff_submit_in *in,
                      const struct ff_membership *member, struct ff_execution *execution)
{
    const int64_t until_ms = in->delay_ms != FF_NULL64
                                 ? ff_add_i64_clamped(work->now_ms, in->delay_ms)
                                 : in->delay_until_ms;

    execution->created_at_ms = execution->changed_at_ms =
        member ? member->created_ms : ff_birth_ms(work, in->id.uuid, in->dated);
    if (is_dated(execution, member))
        execution->flags |= FF_EXEC_DATED;
    execution->delay_until_ms = until_ms > work->now_ms ? until_ms : FF_NULL64;
    execution->deadline_ms = in->deadline_ms;
    execution->deadline_at_ms = in->deadline_ms != FF_NULL64
                                    ? ff_add_i64_clamped(work->now_ms, in->deadline_ms)
                                    : in->deadline_at_ms;
}

struct ff_execution *ff_execution_birth(struct ff_work *work, const struct ff_submit_in *in,
                                        const struct ff_membership *member)
{
    const struct ff_execution key = {.partition_key = in->id.partition,
                                     .execution_id = in->id.uuid};
    struct ff_execution *const execution = ff_work_insert_new(work, FF_TABLE_EXECUTION, &key);

    execution->namespace = in->namespace;
    execution->lane = in->lane;
    execution->kind = in->kind;
    execution->priority = (int32_t)in->priority;
    execution->capset_id = in->capset_id;
    execution->policy = ff_policy_pack(&in->policy, work->arena);
    execution->submit_hash =
        in->is_hashed ? (struct ff_str){(const char *)in->hash, sizeof in->hash} : FF_STR("");
    set_times(work, in, member, execution);
    set_input(work, in, execution);
    insert_capset(work, in);
    insert_tags(work, in, execution);
    if (member) {
        execution->flow_id = member->flow->flow_id;
        execution->node = member->node;
        execution->submit_hash = member->hash;
        execution->instance_tag = member->flow->instance_tag;
    }
    return execution;
}

ff_state ff_state_when_free(const struct ff_work *work, const struct ff_execution *execution)
{
    return execution->delay_until_ms > work->now_ms ? FF_STATE_DELAYED_FIRST : FF_STATE_READY_FIRST;
}
