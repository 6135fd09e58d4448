/* SPDX-License-Identifier: Apache-2.0
 *
 * take.c -- what the answers of a pipeline say, into the rowset or the read of the call.
 *
 * Rows are decoded straight into the arena they will live in.
 * Read first: README.md beside it. Tests: tests/store. */
#include "postgres-int.h"

#include <string.h>

#include "base/mutant.h"

#include "base/banned.h"

static bool take_rows(struct ff_pg_session *s, const struct ff_pg_step *step,
                      const PGresult *result)
{
    struct ff_rowset *const rows = s->call->rows;

    for (int i = 0; i < PQntuples(result); i++) {
        void *const row = ff_rowset_row_new(rows, step->table);
        struct ff_entry *entry;

        if (!row || !ff_pg_decode_row(result, i, step->table, rows->arena, row))
            return false;
        if (step->kind != FF_PG_STEP_MISSING) {
            (void)ff_rowset_put(rows, step->table, row, step->kind == FF_PG_STEP_LOCKED);
            continue;
        }
        entry = ff_rowset_find(rows, step->table, row);
        if (entry && entry->found == FF_FOUND_UNASKED && !FF_MUTANT(busy_is_absent))
            entry->found = FF_FOUND_BUSY;
    }
    return !rows->arena->failed;
}

static bool take_scan(struct ff_pg_session *s, struct ff_scan *scan, const PGresult *result)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[scan->block];
    struct ff_rowset *const rows = s->call->rows;
    const int count = PQntuples(result);

    if (block->out_table < 0)
        return false;
    scan->rows = ff_arena_array(rows->arena, (size_t)count, sizeof *scan->rows);
    for (int i = 0; i < count; i++) {
        const ff_table table = (ff_table)block->out_table;
        void *const row = ff_rowset_row_new(rows, table);

        if (!row || !ff_pg_decode_row(result, i, table, rows->arena, row))
            return false;
        if (scan->rows)
            scan->rows[i] = ff_rowset_put_scanned(rows, table, row, block->locks);
    }
    scan->row_count = (size_t)count;
    scan->loaded = true;
    return !rows->arena->failed;
}

static bool take_read_rows(struct ff_read *read, ff_table table, const PGresult *result)
{
    read->rows = ff_arena_array(read->arena, read->row_count, sizeof *read->rows);
    for (size_t i = 0; read->rows && i < read->row_count; i++) {
        void *const row = ff_arena_alloc(read->arena, ff_tables[table].row_bytes);

        if (!row)
            return false;
        ff_row_init(table, row);
        if (!ff_pg_decode_row(result, (int)i, table, read->arena, row))
            return false;
        read->rows[i] = row;
    }
    return !read->arena->failed;
}

static bool take_read(struct ff_pg_session *s, struct ff_read *read, const PGresult *result)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[read->block];

    read->row_count = (size_t)PQntuples(result);
    read->col_count = block->out_count;
    if (block->out_table >= 0)
        return take_read_rows(read, (ff_table)block->out_table, result);
    if (block->out_count > PQnfields(result))
        return false;
    read->cells =
        ff_arena_array(read->arena, read->row_count * read->col_count, sizeof *read->cells);
    for (size_t i = 0; read->cells && i < read->row_count; i++)
        for (int col = 0; col < block->out_count; col++) {
            const bool null = PQgetisnull(result, (int)i, col);
            const char *const bytes = null ? NULL : PQgetvalue(result, (int)i, col);

            if (!ff_pg_decode_cell(block->out_types[col], bytes, PQgetlength(result, (int)i, col),
                                   read->arena, &read->cells[i * read->col_count + (size_t)col]))
                return false;
        }
    if (read->block == FF_SQL_PULSE && read->row_count && read->cells)
        s->call->now_ms = read->cells[0].as.i64;
    if (read->block == FF_SQL_LOG_HEAD && read->row_count && read->cells)
        ff_raise_i64(s->seen_id, read->cells[FF_OUT_LOG_HEAD_EVENT_ID].as.i64);
    return !read->arena->failed;
}

static bool take_numbers(const PGresult *result, int64_t *ret_max)
{
    struct ff_value cell;

    for (int i = 0; i < PQntuples(result); i++) {
        if (!ff_pg_decode_cell(FF_VALUE_I64, PQgetvalue(result, i, 0), PQgetlength(result, i, 0),
                               NULL, &cell))
            return false;
        *ret_max = ff_max_i64(*ret_max, cell.as.i64);
    }
    return PQntuples(result) > 0;
}

static bool take_settled(struct ff_pg_link *link, const PGresult *result)
{
    const int cols[] = {FF_OUT_LOG_SETTLE_LOG_OID, FF_OUT_LOG_SETTLE_SERIAL};
    struct ff_value cells[FF_ARRAY_LEN(cols)];

    if (PQntuples(result) != 1)
        return false;
    for (size_t i = 0; i < FF_ARRAY_LEN(cols); i++)
        if (PQnfields(result) <= cols[i] ||
            !ff_pg_decode_cell(FF_VALUE_I64, PQgetvalue(result, 0, cols[i]),
                               PQgetlength(result, 0, cols[i]), NULL, &cells[i]))
            return false;
    link->log_oid = cells[0].as.i64;
    link->serial = cells[1].as.i64 != 0;
    return true;
}

bool ff_pg_take(void *ctx, const struct ff_pg_step *step, PGresult *result)
{
    struct ff_pg_session *const s = ctx;

    switch (step->kind) {
    case FF_PG_STEP_READ:
    case FF_PG_STEP_LOCKED:
    case FF_PG_STEP_MISSING:
        return take_rows(s, step, result);
    case FF_PG_STEP_SCAN:
        return take_scan(s, step->what, result);
    case FF_PG_STEP_CELLS:
        return take_read(s, step->what, result);
    case FF_PG_STEP_SETTLED:
        return take_settled(&s->link, result);
    case FF_PG_STEP_CLOCK:
        return take_numbers(result, &s->call->now_ms);
    case FF_PG_STEP_EVENTS:
        /* If this cannot be read the COMMIT is still on its way: never a failure. */
        (void)take_numbers(result, &s->call->last_event_id);
        return true;
    case FF_PG_STEP_HIT:
        s->hit = !strcmp(PQcmdTuples(result), "1");
        return true;
    case FF_PG_STEP_COMMIT:
        /* In an aborted transaction COMMIT answers ROLLBACK, with success. */
        s->committed = !strcmp(PQcmdStatus(result), "COMMIT") || FF_MUTANT(commit_tag_unread);
        return true;
    case FF_PG_STEP_PREPARE:
    case FF_PG_STEP_DONE:
    case FF_PG_STEP_SYNC:
        break;
    }
    return true;
}
