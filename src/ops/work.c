/* SPDX-License-Identifier: Apache-2.0
 *
 * work.c -- the op's view of its batch, in the words of the domain.
 *
 * Tests: tests/unit/test_ops.c. */
#include "ops/work.h"

#include <string.h>

#include "base/codec.h"
#include "base/hash.h"
#include "base/limits.h"

#include "base/banned.h"

void ff_settings_default(struct ff_settings *settings)
{
    *settings = (struct ff_settings){
        .retention_ms = INT64_C(7) * 24 * 3600 * 1000,
        .dedup_window_ms = INT64_C(24) * 3600 * 1000,
        .instance_tag = "instance",
        .event_renewals = FF_RENEWALS_SAMPLED,
        .input_bytes_max = FF_INPUT_BYTES_MAX,
        .result_bytes_max = FF_RESULT_BYTES_MAX,
        .flow_nodes_max = FF_FLOW_NODES_MAX,
        .flow_edges_max = FF_FLOW_EDGES_MAX,
        .hop_edges = FF_HOP_EDGES_MAX,
        .drain_rows = FF_DRAIN_ROWS,
        .event_retention_ms = INT64_C(7) * 24 * 3600 * 1000,
    };
}

static struct ff_execution execution_key(struct ff_exec_id id)
{
    return (struct ff_execution){.partition_key = id.partition, .execution_id = id.uuid};
}

void ff_work_want(struct ff_work *work, ff_table table, const void *key, ff_want want)
{
    (void)ff_rowset_want(work->rows, table, key, want);
}

void ff_work_lock_execution(struct ff_work *work, struct ff_exec_id id)
{
    const struct ff_execution key = execution_key(id);

    ff_work_want(work, FF_TABLE_EXECUTION, &key, FF_WANT_LOCK);
}

void ff_work_read_execution(struct ff_work *work, struct ff_exec_id id)
{
    const struct ff_execution key = execution_key(id);

    ff_work_want(work, FF_TABLE_EXECUTION, &key, FF_WANT_READ);
}

struct ff_scan *ff_work_scan(struct ff_work *work, int block, const struct ff_value *params,
                             size_t param_count, int64_t limit)
{
    return ff_rowset_scan(work->rows, block, params, param_count, limit);
}

/* An execution that is only assumed is proved by whoever changes it, and by nobody else. */
static bool is_in_doubt(const struct ff_entry *entry)
{
    return entry->assumed && entry->table == FF_TABLE_EXECUTION &&
           !((const struct ff_row *)entry->row)->is_dirty;
}

void *ff_work_row(struct ff_work *work, ff_table table, const void *key)
{
    const struct ff_entry *const entry = ff_rowset_find(work->rows, table, key);

    if (!entry || (is_in_doubt(entry) && !work->assumes))
        return NULL;
    if (entry->found != FF_FOUND_ROW || ((struct ff_row *)entry->row)->is_deleted ||
        ((struct ff_row *)entry->row)->is_purged)
        return NULL;
    return entry->row;
}

struct ff_execution *ff_work_execution(struct ff_work *work, struct ff_exec_id id)
{
    const struct ff_execution key = execution_key(id);

    return ff_work_row(work, FF_TABLE_EXECUTION, &key);
}

void ff_work_edit(struct ff_work *work, void *row)
{
    ff_rowset_edit(work->rows, row);
}

void *ff_work_insert(struct ff_work *work, ff_table table, const void *key)
{
    return ff_rowset_insert(work->rows, table, key);
}

void *ff_work_insert_new(struct ff_work *work, ff_table table, const void *key)
{
    return ff_rowset_insert(work->rows, table, key);
}

void ff_work_delete(struct ff_work *work, void *row)
{
    ff_rowset_delete(work->rows, row);
}

void ff_work_purge(struct ff_work *work, struct ff_execution *execution)
{
    ff_rowset_purge(work->rows, execution);
}

struct ff_event *ff_work_event(struct ff_work *work)
{
    return ff_rowset_event(work->rows);
}

void ff_work_trim_log(struct ff_work *work, int64_t floor_id)
{
    work->rows->log_floor_id = floor_id;
}

struct ff_uuid ff_work_uuid(const struct ff_work *work, uint32_t nth)
{
    const struct ff_hash_seed seed = {ff_get_be64(work->seed.b), ff_get_be64(work->seed.b + 8)};
    uint8_t input[5];
    uint8_t output[16];

    ff_put_be32(input, nth);
    for (uint8_t half = 0; half < 2; half++) {
        input[4] = half;
        ff_put_be64(output + 8 * half, ff_hash_bytes(seed, input, sizeof input));
    }
    return ff_uuid_v4(output);
}
