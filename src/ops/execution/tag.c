/* SPDX-License-Identifier: Apache-2.0
 *
 * tag.c -- execution.tag: set and remove tags, in any state.
 *
 * The tags of an execution hang on its row: whoever changes them holds its lock, so the limit on
 * their number holds. The instance tag is part of the execution's identity in the log and stays as
 * it was at submission. Tests: tests/unit/test_ops.c. */
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"
#include "sql_ids.h"

#include "base/banned.h"

static struct ff_tag tag_key(struct ff_exec_id id, struct ff_str name)
{
    return (struct ff_tag){.partition_key = id.partition, .execution_id = id.uuid, .name = name};
}

void ff_execution_tag_need(struct ff_work *work, struct ff_tag_op_in *in)
{
    const struct ff_in_execution_tags set = {.partition_key = in->id.partition,
                                             .execution_id = in->id.uuid};
    struct ff_value params[FF_SQL_EXECUTION_TAGS_PARAMS];

    ff_work_lock_execution(work, in->id);
    for (size_t i = 0; i < in->tag_count; i++) {
        const struct ff_tag key = tag_key(in->id, in->tags[i].name);

        ff_work_want(work, FF_TABLE_TAG, &key, FF_WANT_LOCK);
    }
    ff_in_execution_tags_values(&set, params);
    (void)ff_work_scan(work, FF_SQL_EXECUTION_TAGS, params, FF_SQL_EXECUTION_TAGS_PARAMS, 0);
}

/* The set as it is now: what the scan brought and what ops before us made of it. */
static size_t count_tags(const struct ff_work *work, struct ff_exec_id id)
{
    size_t count = 0;

    for (const struct ff_entry *entry = work->rows->entries[FF_TABLE_TAG]; entry;
         entry = entry->next) {
        const struct ff_tag *const tag = entry->row;

        if (entry->found == FF_FOUND_ROW && !tag->head.is_deleted &&
            tag->partition_key == id.partition && ff_uuid_eq(tag->execution_id, id.uuid))
            count++;
    }
    return count;
}

/* True if something changed. */
static bool change(struct ff_work *work, struct ff_exec_id id, const struct ff_tag_in *wish)
{
    const struct ff_tag key = tag_key(id, wish->name);
    struct ff_tag *tag = ff_work_row(work, FF_TABLE_TAG, &key);

    if (ff_str_is_null(wish->value)) {
        if (tag)
            ff_work_delete(work, tag);
        return tag != NULL;
    }
    if (tag && ff_str_eq(tag->value, wish->value))
        return false;
    if (tag)
        ff_work_edit(work, tag);
    else
        tag = ff_work_insert(work, FF_TABLE_TAG, &key);
    tag->value = wish->value;
    return true;
}

static ff_status keep_instance_tag(const struct ff_work *work, const struct ff_execution *execution,
                                   const struct ff_tag_op_in *in, struct ff_error *reterr)
{
    const struct ff_str name = ff_str_of(work->settings->instance_tag);

    for (size_t i = 0; i < in->tag_count; i++) {
        if (ff_str_eq(in->tags[i].name, name) &&
            !ff_str_eq(in->tags[i].value, execution->instance_tag))
            return ff_fail_field(reterr, FF_CONFLICT, "tags",
                                 "tag '" FF_STR_FMT "' cannot be changed after the submission",
                                 FF_STR_ARG(name));
    }
    return FF_OK;
}

ff_status ff_execution_tag_apply(struct ff_work *work, struct ff_tag_op_in *in,
                                 struct ff_tag_op_out *out, struct ff_error *reterr)
{
    struct ff_execution *execution;
    bool changed = false;
    size_t count;

    FF_TRY(ff_find_execution(work, in->id, &execution, reterr));
    FF_TRY(keep_instance_tag(work, execution, in, reterr));
    for (size_t i = 0; i < in->tag_count; i++)
        changed = change(work, in->id, &in->tags[i]) || changed;
    count = count_tags(work, in->id);
    if (changed && count > FF_TAGS_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "tags", "more than %d tags", FF_TAGS_MAX);
    if (changed) {
        ff_execution_touch(work, execution);
        execution->flags &= ~FF_EXEC_TAGGED;
        execution->flags |= count ? FF_EXEC_TAGGED : 0;
        (void)ff_execution_event(work, execution, FF_EVENT_OPERATOR,
                                 FF_EVENT_OPERATOR_TAGS_CHANGED);
    }
    out->version = execution->version;
    return FF_OK;
}
