/* SPDX-License-Identifier: Apache-2.0
 *
 * task.c -- what the ops of a worker have in common.
 *
 * Tests: tests/unit/test_ops.c. */
#include "ops/task.h"

#include <string.h>

#include "base/codec.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/sha256.h"

#include "base/banned.h"

static ff_status no_execution(struct ff_exec_id id, struct ff_error *reterr)
{
    char text[FF_ID_TEXT_BYTES];

    ff_exec_id_text(id, text);
    return ff_fail(reterr, FF_NOT_FOUND, "no execution '%s'", text);
}

ff_status ff_find_execution(struct ff_work *work, struct ff_exec_id id, struct ff_execution **ret,
                            struct ff_error *reterr)
{
    struct ff_execution *const execution = ff_work_execution(work, id);

    if (!execution)
        return no_execution(id, reterr);
    *ret = execution;
    return FF_OK;
}

static bool is_his(const struct ff_task_ref *task, const struct ff_execution *execution)
{
    for (size_t i = 0; i < task->namespace_count; i++)
        if (ff_str_eq(task->namespaces[i], execution->namespace))
            return true;
    return !task->namespace_count;
}

ff_status ff_find_task(struct ff_work *work, const struct ff_task_ref *task, struct ff_str hash,
                       struct ff_execution **ret, bool *ret_repeat, struct ff_error *reterr)
{
    const struct ff_lease_said said = {
        .lease_id = task->lease_id, .lease_epoch = task->lease_epoch, .hash = hash};

    FF_TRY(ff_find_execution(work, task->id, ret, reterr));
    if (!is_his(task, *ret))
        return no_execution(task->id, reterr);
    return ff_lease_check(*ret, &said, ret_repeat, reterr);
}

bool ff_is_leaving(struct ff_work *work, ff_table table, const void *key)
{
    const struct ff_entry *const entry = ff_rowset_find(work->rows, table, key);
    const struct ff_row *const row = entry ? entry->row : NULL;

    return row && entry->found == FF_FOUND_ROW && (row->is_deleted || row->is_purged);
}

ff_status ff_word_hash(struct ff_work *work, char word, const struct ff_str *parts, size_t count,
                       struct ff_str *ret, struct ff_error *reterr)
{
    uint8_t digest[FF_SHA256_BYTES];
    struct ff_sha256 sha;
    ff_status status;

    FF_TRY(ff_sha256_init(&sha, reterr));
    ff_sha256_add(&sha, &word, 1);
    for (size_t i = 0; i < count; i++) {
        uint8_t length[8];

        /* In front of each part, so that no two lists of parts look alike; null is not empty. */
        ff_put_be64(length, ff_str_is_null(parts[i]) ? UINT64_MAX : parts[i].len);
        ff_sha256_add(&sha, length, sizeof length);
        ff_sha256_add(&sha, parts[i].ptr, parts[i].len);
    }
    status = ff_sha256_finish(&sha, digest, reterr);
    ff_sha256_done(&sha);
    if (status != FF_OK)
        return status;
    *ret = ff_arena_str(work->arena, (struct ff_str){(const char *)digest, FF_WORD_HASH_BYTES});
    return ff_arena_check(work->arena, reterr);
}

void ff_state_answer(const struct ff_execution *execution, struct ff_state_out *out)
{
    *out = (struct ff_state_out){
        .state = execution->state, .generation = execution->generation, .retry_at_ms = FF_NULL64};
}

void ff_state_answer_again(const struct ff_execution *execution, struct ff_state_out *out)
{
    *out = (struct ff_state_out){.state = (int32_t)ff_lease_last_state(execution),
                                 .generation = execution->generation,
                                 .retry_at_ms = execution->last_retry_at_ms};
}

ff_status ff_fail_terminal(const struct ff_execution *execution, struct ff_error *reterr)
{
    const char *const outcome = ff_state_outcome_name(execution->state);

    (void)ff_fail(reterr, FF_ALREADY_TERMINAL, "execution has ended: %s", outcome);
    if (reterr)
        memcpy(reterr->outcome, outcome, strlen(outcome) + 1);
    return FF_ALREADY_TERMINAL;
}
