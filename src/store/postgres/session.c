/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c -- the calls of the seam as pipelines: one round trip to load, one to save and commit.
 *
 * A call is a sequence of rounds; a round is one pipeline with one sync. Normally there is one; a
 * load that misses keys asks a second time to tell absent from busy; after an error comes a
 * ROLLBACK. What must stay true: a save is OK only if COMMIT answered COMMIT, and anything but
 * UNKNOWN only if the COMMIT certainly did nothing.
 * Read first: README.md beside it. Tests: tests/store. */
#include "postgres-int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

#include "base/banned.h"

#define SCRATCH_CHUNK_BYTES (64 << 10)
/* Saves above this are sent before the COMMIT is queued, so that a link that breaks on the way is
 * known not to have committed. Smaller ones are not worth a system call of their own. */
#define EARLY_FLUSH_BYTES (32 << 10)
#define RESOLVE_WAIT_MS   10000

typedef enum round {
    ROUND_NONE, /* no call under way, or its answer is ready */
    ROUND_DIAL,
    ROUND_MAIN,
    ROUND_FLUSH,   /* the changes of a large save go out before its COMMIT */
    ROUND_MISSING, /* absent or busy? */
    ROUND_UNDO,    /* ROLLBACK after an error */
} round;

struct pg_session {
    struct ff_session session;
    struct ff_pg_link link;
    struct ff_arena scratch; /* parameters of one statement */
    struct ff_call *call;
    round round;
    bool commit_queued;
    bool committed; /* the server answered COMMIT */
    size_t sent_bytes;
    struct ff_pg_params params;
};

static struct pg_session *self(struct ff_session *session)
{
    return ff_container_of(session, struct pg_session, session);
}

/* ---------------------------------------------------------------------------------------------
 * Sending */

static struct ff_pg_params *params_new(struct pg_session *s)
{
    ff_arena_reset(&s->scratch);
    s->params.arena = &s->scratch;
    s->params.count = 0;
    return &s->params;
}

static void send_own(struct pg_session *s, ff_pg_own own)
{
    const ff_pg_step_kind kind = own == FF_PG_COMMIT ? FF_PG_STEP_COMMIT : FF_PG_STEP_DONE;

    ff_pg_link_send(&s->link, (struct ff_pg_step){kind, FF_PG_FIRST_OWN + (int)own, 0, NULL}, NULL);
}

static void send_text(struct pg_session *s, ff_pg_own own, const char *text)
{
    struct ff_pg_params *const params = params_new(s);

    ff_pg_bind_text(params, text);
    ff_pg_link_send(&s->link,
                    (struct ff_pg_step){FF_PG_STEP_DONE, FF_PG_FIRST_OWN + (int)own, 0, NULL},
                    params);
}

/* Behind a pooler every round says where its tables are; the setting ends with the transaction,
 * which without BEGIN is the pipeline itself. */
static void send_path(struct pg_session *s)
{
    if (s->link.config->pooler)
        send_text(s, FF_PG_PATH, s->link.config->search_path);
}

static void send_settings(struct pg_session *s, int64_t lock_wait_ms)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%lld", (long long)lock_wait_ms);
    send_path(s);
    send_text(s, FF_PG_SET, text);
}

/* `limit` >= 0 takes the place of the block's parameter of that name. */
static void send_block(struct pg_session *s, struct ff_pg_step step, const struct ff_value *values,
                       size_t count, int64_t limit)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[step.statement];
    struct ff_pg_params *const params = params_new(s);

    if (count != block->param_count || !block->text[FF_DIALECT_POSTGRES]) {
        ff_pg_link_fail(&s->link, &step, FF_CALLED_OP, "block does not take these parameters");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct ff_value as_limit = {.type = FF_VALUE_I64, .as.i64 = limit};
        const bool is_limit = limit >= 0 && block->limit_param == (int)i;

        ff_pg_bind_value(params, &block->params[i], is_limit ? &as_limit : &values[i]);
    }
    ff_pg_link_send(&s->link, step, params);
}

typedef bool pick_fn(const struct ff_col *col);

static bool pick_key(const struct ff_col *col)
{
    return col->cls == FF_COL_KEY;
}

static bool pick_hot(const struct ff_col *col)
{
    return col->cls == FF_COL_HOT;
}

static bool pick_rest(const struct ff_col *col)
{
    return col->cls != FF_COL_KEY;
}

static bool pick_owner(const struct ff_col *col)
{
    return !strcmp(col->name, "partition_key") || !strcmp(col->name, "execution_id");
}

struct bulk {
    ff_pg_step_kind kind;
    ff_table table;
    ff_pg_verb verb;
    void **rows;
    size_t count;
    pick_fn *first, *second; /* which columns, in the statement's order */
};

/* One statement for many rows: one array per column. */
static void send_bulk(struct pg_session *s, const struct bulk *bulk)
{
    const struct ff_table_info *const info = &ff_tables[bulk->table];
    const int statement = FF_PG_FIRST_TABLE + (int)bulk->table * FF_PG_VERB_COUNT + (int)bulk->verb;
    struct ff_pg_params *const params = params_new(s);
    pick_fn *const picks[] = {bulk->first, bulk->second};

    if (bulk->count == 0)
        return;
    for (size_t pick = 0; pick < FF_ARRAY_LEN(picks) && picks[pick]; pick++)
        for (size_t i = 0; i < info->col_count; i++)
            if (picks[pick](&info->cols[i]))
                ff_pg_bind_column(params, &info->cols[i], bulk->rows, bulk->count);
    s->sent_bytes += ff_arena_used(&s->scratch);
    ff_pg_link_send(&s->link, (struct ff_pg_step){bulk->kind, statement, bulk->table, NULL},
                    params);
}

/* ---------------------------------------------------------------------------------------------
 * Loading */

static int by_key(const void *a, const void *b)
{
    const struct ff_row *const x = *(const struct ff_row *const *)a;
    const struct ff_row *const y = *(const struct ff_row *const *)b;

    return ff_str_cmp(x->entry->key, y->entry->key);
}

/* The rows of a table that are wanted in this way and have no verdict yet, sorted by key. */
static size_t unasked(struct ff_rowset *rows, ff_table table, ff_want want, void ***ret)
{
    size_t count = 0;
    size_t cap = 0;
    struct ff_entry *entry;

    for (entry = rows->entries[table]; entry; entry = entry->next)
        cap += entry->found == FF_FOUND_UNASKED && entry->want == want;
    *ret = cap ? ff_arena_array(rows->arena, cap, sizeof **ret) : NULL;
    if (!*ret)
        return 0;
    for (entry = rows->entries[table]; entry; entry = entry->next)
        if (entry->found == FF_FOUND_UNASKED && entry->want == want)
            (*ret)[count++] = entry->row;
    qsort(*ret, count, sizeof **ret, by_key);
    return count;
}

static void send_keyed(struct pg_session *s, ff_table table, ff_want want, bool locking)
{
    struct bulk bulk = {.kind = FF_PG_STEP_READ, .table = table, .verb = FF_PG_READ};

    if (locking && want == FF_WANT_LOCK) {
        bulk.kind = FF_PG_STEP_LOCKED;
        bulk.verb = s->call->lock_wait_ms > 0 ? FF_PG_WAIT : FF_PG_LOCK;
    }
    bulk.first = pick_key;
    bulk.count = unasked(s->call->rows, table, want, &bulk.rows);
    send_bulk(s, &bulk);
}

static void send_scans(struct pg_session *s, bool locking)
{
    for (struct ff_scan *scan = s->call->rows->scans; scan; scan = scan->next)
        if (!scan->loaded && ff_sql_blocks[scan->block].locks == locking)
            send_block(s, (struct ff_pg_step){FF_PG_STEP_SCAN, scan->block, 0, scan}, scan->params,
                       scan->param_count, scan->limit);
}

/* What an earlier call read without a lock is asked for again under it. */
static void forget(struct ff_rowset *rows, bool locking)
{
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next)
            if (entry->found != FF_FOUND_ROW || (locking && entry->want == FF_WANT_LOCK))
                entry->found = FF_FOUND_UNASKED;
}

static void send_rows(struct pg_session *s, bool locking)
{
    forget(s->call->rows, locking);
    for (int table = 0; table < FF_TABLE_COUNT; table++) {
        send_keyed(s, (ff_table)table, FF_WANT_LOCK, locking);
        send_keyed(s, (ff_table)table, FF_WANT_READ, locking);
    }
    send_scans(s, false);
    if (locking)
        send_scans(s, true);
}

static void send_marker(struct pg_session *s, int64_t lock_wait_ms)
{
    const struct ff_value id = {.type = FF_VALUE_UUID, .as.uuid = s->call->batch_id};

    send_own(s, FF_PG_BEGIN);
    send_settings(s, lock_wait_ms);
    send_block(s, (struct ff_pg_step){FF_PG_STEP_DONE, FF_SQL_BATCH_MARK, 0, NULL}, &id, 1, -1);
}

static void send_load(struct pg_session *s)
{
    send_marker(s, s->call->lock_wait_ms);
    send_rows(s, true);
    send_block(s, (struct ff_pg_step){FF_PG_STEP_CLOCK, FF_SQL_CLOCK, 0, NULL}, NULL, 0, -1);
}

/* Asks again, without a lock, for the keys that could not be locked. False: there are none. */
static bool send_missing(struct pg_session *s)
{
    bool any = false;

    ff_pg_link_begin(&s->link);
    for (int table = 0; table < FF_TABLE_COUNT && s->call->lock_wait_ms <= 0; table++) {
        struct bulk bulk = {.kind = FF_PG_STEP_MISSING, .table = (ff_table)table};

        if (ff_tables[table].flavour == FF_FLAVOUR_INSERT_ONLY)
            continue;
        bulk.verb = FF_PG_READ;
        bulk.first = pick_key;
        bulk.count = unasked(s->call->rows, bulk.table, FF_WANT_LOCK, &bulk.rows);
        send_bulk(s, &bulk);
        any |= bulk.count > 0;
    }
    if (any)
        ff_pg_link_sync(&s->link);
    return any;
}

static void settle(struct ff_rowset *rows)
{
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        ff_rowset_settle(rows, (ff_table)table, FF_FOUND_ABSENT);
}

/* ---------------------------------------------------------------------------------------------
 * Saving */

static void send_changes(struct pg_session *s, ff_table table)
{
    struct ff_rowset *const rows = s->call->rows;
    struct bulk bulk = {.kind = FF_PG_STEP_DONE, .table = table};

    bulk.count = ff_rowset_changes(rows, table, FF_CHANGE_DELETE, &bulk.rows);
    bulk.verb = FF_PG_REMOVE;
    bulk.first = pick_key;
    send_bulk(s, &bulk);
    bulk.count = ff_rowset_changes(rows, table, FF_CHANGE_INSERT, &bulk.rows);
    bulk.verb = FF_PG_INSERT;
    bulk.second = pick_rest; /* keys lead every table, so this is the order of the columns */
    send_bulk(s, &bulk);
    bulk.count = ff_rowset_changes(rows, table, FF_CHANGE_UPDATE, &bulk.rows);
    bulk.verb = FF_PG_UPDATE;
    bulk.second = pick_hot;
    send_bulk(s, &bulk);
}

static void send_purges(struct pg_session *s)
{
    const struct ff_rowset *const rows = s->call->rows;
    void **const owners = ff_arena_array(rows->arena, rows->purge_count, sizeof *owners);

    for (size_t i = 0; owners && i < rows->purge_count; i++)
        owners[i] = rows->purges[i];
    for (int table = FF_TABLE_COUNT - 1; owners && table >= 0; table--) {
        /* The key of every execution-scoped row starts as that of the execution does. */
        const struct bulk bulk = {.kind = FF_PG_STEP_DONE,
                                  .table = (ff_table)table,
                                  .verb = FF_PG_PURGE,
                                  .rows = owners,
                                  .count = rows->purge_count,
                                  .first = pick_owner};

        if (ff_tables[table].scope == FF_SCOPE_EXECUTION)
            send_bulk(s, &bulk);
    }
}

/* Ids are taken right before the commit and under the lock that tells readers of the log so. */
static void send_events(struct pg_session *s)
{
    const struct ff_rowset *const rows = s->call->rows;
    const struct ff_value key = {.type = FF_VALUE_I64, .as.i64 = s->link.config->log_key};
    struct bulk bulk = {.kind = FF_PG_STEP_EVENTS, .table = FF_TABLE_EVENT, .verb = FF_PG_INSERT};

    if (rows->event_count == 0)
        return;
    bulk.rows = ff_arena_array(rows->arena, rows->event_count, sizeof *bulk.rows);
    for (size_t i = 0; bulk.rows && i < rows->event_count; i++)
        bulk.rows[bulk.count++] = rows->events[i];
    bulk.first = pick_rest;
    send_block(s, (struct ff_pg_step){FF_PG_STEP_DONE, FF_SQL_LOG_LOCK_SHARED, 0, NULL}, &key, 1,
               -1);
    send_bulk(s, &bulk);
}

static void send_commit(struct pg_session *s)
{
    s->commit_queued = true;
    send_own(s, FF_PG_COMMIT);
    ff_pg_link_sync(&s->link);
}

/* True: the COMMIT waits until all this is on its way. */
static bool send_save(struct pg_session *s)
{
    const struct ff_pg_step save = {.kind = FF_PG_STEP_DONE};

    for (int table = 0; table < FF_TABLE_COUNT; table++)
        if (ff_tables[table].flavour != FF_FLAVOUR_LOG)
            send_changes(s, (ff_table)table);
    if (s->call->rows->purge_count)
        send_purges(s);
    send_events(s);
    if (s->call->rows->arena->failed && !s->link.lost) {
        ff_pg_link_fail(&s->link, &save, FF_CALLED_OP, "batch memory is exhausted");
        s->link.lost = true;
    }
    if (s->sent_bytes > EARLY_FLUSH_BYTES)
        return true;
    if (!s->link.lost)
        send_commit(s);
    return false;
}

/* ---------------------------------------------------------------------------------------------
 * Taking answers */

static bool take_rows(struct pg_session *s, const struct ff_pg_step *step, const PGresult *result)
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
        if (entry && entry->found == FF_FOUND_UNASKED)
            entry->found = FF_FOUND_BUSY;
    }
    return !rows->arena->failed;
}

static bool take_scan(struct pg_session *s, struct ff_scan *scan, const PGresult *result)
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
            scan->rows[i] = ff_rowset_put(rows, table, row, block->locks);
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

static bool take_read(struct ff_call *call, const PGresult *result)
{
    struct ff_read *const read = call->read;
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
        call->now_ms = read->cells[0].as.i64;
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

static bool take(void *ctx, const struct ff_pg_step *step, PGresult *result)
{
    struct pg_session *const s = ctx;

    switch (step->kind) {
    case FF_PG_STEP_READ:
    case FF_PG_STEP_LOCKED:
    case FF_PG_STEP_MISSING:
        return take_rows(s, step, result);
    case FF_PG_STEP_SCAN:
        return take_scan(s, step->what, result);
    case FF_PG_STEP_CELLS:
        return take_read(s->call, result);
    case FF_PG_STEP_CLOCK:
        return take_numbers(result, &s->call->now_ms);
    case FF_PG_STEP_EVENTS:
        /* If this cannot be read the COMMIT is still on its way: never a failure. */
        (void)take_numbers(result, &s->call->last_event_id);
        return true;
    case FF_PG_STEP_COMMIT:
        /* In an aborted transaction COMMIT answers ROLLBACK, with success. */
        s->committed = !strcmp(PQcmdStatus(result), "COMMIT");
        return true;
    case FF_PG_STEP_PREPARE:
    case FF_PG_STEP_DONE:
    case FF_PG_STEP_SYNC:
        break;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------
 * The course of a call */

static void end(struct pg_session *s, ff_called outcome, const char *sqlstate, const char *message)
{
    static const ff_status statuses[] = {
        [FF_CALLED_OK] = FF_OK,
        [FF_CALLED_RERUN] = FF_UNAVAILABLE,
        [FF_CALLED_STOP] = FF_UNAVAILABLE,
        [FF_CALLED_OP] = FF_INTERNAL,
        [FF_CALLED_UNKNOWN] = FF_OUTCOME_UNKNOWN,
    };

    s->round = ROUND_NONE;
    s->call->outcome = outcome;
    if (outcome == FF_CALLED_OK)
        return;
    (void)snprintf(s->call->sqlstate, sizeof s->call->sqlstate, "%s", sqlstate);
    (void)ff_fail(&s->call->error, statuses[outcome], "%s", message);
}

static void end_failed(struct pg_session *s)
{
    const struct ff_pg_failure failure = s->link.failure;

    if (s->call->kind == FF_CALL_RESOLVE && !strcmp(failure.sqlstate, "23505")) {
        s->call->committed = true;
        end(s, FF_CALLED_OK, "", "");
        return;
    }
    end(s, failure.outcome, failure.sqlstate, failure.message);
}

/* Whether a COMMIT that did not answer COMMIT may have happened all the same. */
static bool in_doubt(const struct pg_session *s)
{
    const struct ff_pg_failure *const failure = &s->link.failure;

    if (s->call->kind != FF_CALL_SAVE || !s->commit_queued)
        return false;
    if (failure->failed) /* an error before the COMMIT makes it a ROLLBACK */
        return failure->step == FF_PG_STEP_COMMIT && failure->fatal;
    return s->link.lost || s->link.warned;
}

static void start_undo(struct pg_session *s)
{
    const struct ff_pg_failure failure = s->link.failure;

    ff_pg_link_begin(&s->link);
    send_own(s, FF_PG_ROLLBACK);
    ff_pg_link_sync(&s->link);
    s->link.failure = failure;
    s->round = ROUND_UNDO;
}

/* A pipeline ended badly: decide what it means, then leave the link in order or drop it. */
static void round_failed(struct pg_session *s)
{
    struct ff_pg_link *const link = &s->link;

    if (link->lost || link->failure.fatal || ff_pg_needs_new_link(link->failure.sqlstate)) {
        const bool doubt = in_doubt(s);

        if (doubt)
            end(s, FF_CALLED_UNKNOWN, link->failure.sqlstate, "the answer to COMMIT never came");
        else if (link->failure.failed)
            end_failed(s);
        else
            end(s, FF_CALLED_RERUN, "", "connection lost");
        ff_pg_link_drop(link);
        return;
    }
    if (ff_pg_link_in_transaction(link) && s->round != ROUND_UNDO) {
        start_undo(s);
        return;
    }
    end_failed(s);
}

static void save_over(struct pg_session *s)
{
    if (!s->committed)
        end(s, FF_CALLED_RERUN, "25P02", "the transaction had been aborted");
    else if (s->link.warned)
        end(s, FF_CALLED_UNKNOWN, "01000", "committed here, but not where it must be replicated");
    else
        end(s, FF_CALLED_OK, "", "");
}

static void round_over(struct pg_session *s)
{
    struct ff_call *const call = s->call;

    if (call->kind == FF_CALL_LOAD || call->kind == FF_CALL_PEEK)
        if (call->rows->arena->failed)
            ff_pg_link_fail(&s->link, &s->link.steps[0], FF_CALLED_OP, "batch memory is exhausted");
    if (s->link.lost || s->link.failure.failed) {
        round_failed(s);
        return;
    }
    switch (call->kind) {
    case FF_CALL_SAVE:
        save_over(s);
        return;
    case FF_CALL_LOAD:
        if (s->round == ROUND_MAIN && send_missing(s)) {
            s->round = ROUND_MISSING;
            return;
        }
        settle(call->rows);
        break;
    case FF_CALL_PEEK:
        settle(call->rows);
        break;
    case FF_CALL_ROLLBACK:
    case FF_CALL_RESOLVE:
    case FF_CALL_READ:
        break;
    }
    end(s, FF_CALLED_OK, "", "");
}

/* The link is up: send the pipeline of the call. */
static void begin(struct pg_session *s)
{
    struct ff_call *const call = s->call;

    s->round = ROUND_MAIN;
    s->commit_queued = s->committed = false;
    s->sent_bytes = 0;
    ff_pg_link_begin(&s->link);
    switch (call->kind) {
    case FF_CALL_PEEK:
        send_settings(s, 0);
        send_rows(s, false);
        break;
    case FF_CALL_LOAD:
        send_load(s);
        break;
    case FF_CALL_SAVE:
        if (send_save(s))
            s->round = ROUND_FLUSH;
        return; /* the sync is behind the COMMIT */
    case FF_CALL_ROLLBACK:
        send_own(s, FF_PG_ROLLBACK);
        break;
    case FF_CALL_RESOLVE:
        /* The marker of a load that was answered stands or falls with its transaction. So if it
         * can be inserted now the batch is gone for good, and nothing needs to be committed here:
         * a lost answer to such a commit would make the next resolve take our marker for the
         * batch's own. */
        send_marker(s, RESOLVE_WAIT_MS);
        send_own(s, FF_PG_ROLLBACK);
        break;
    case FF_CALL_READ:
        send_path(s);
        send_block(s, (struct ff_pg_step){FF_PG_STEP_CELLS, call->read->block, 0, NULL},
                   call->read->params, call->read->param_count, -1);
        break;
    }
    ff_pg_link_sync(&s->link);
}

static void pg_start(struct ff_session *session, struct ff_call *call)
{
    struct pg_session *const s = self(session);
    const bool needs_transaction = call->kind == FF_CALL_SAVE || call->kind == FF_CALL_ROLLBACK;

    s->call = call;
    call->outcome = FF_CALLED_OK;
    call->now_ms = call->last_event_id = 0;
    call->committed = false;
    call->sqlstate[0] = '\0';
    if (s->link.up && PQstatus(s->link.conn) == CONNECTION_BAD)
        ff_pg_link_drop(&s->link);
    if (needs_transaction && !ff_pg_link_in_transaction(&s->link)) {
        const bool save = call->kind == FF_CALL_SAVE;

        end(s, save ? FF_CALLED_RERUN : FF_CALLED_OK, "", "the transaction is gone");
    } else if (!needs_transaction && ff_pg_link_in_transaction(&s->link)) {
        ff_pg_link_drop(&s->link); /* whoever began it forgot to end it */
        end(s, FF_CALLED_RERUN, "", "a transaction was still open");
    } else if (s->link.up) {
        begin(s);
    } else if (ff_pg_link_connect(&s->link)) {
        s->round = ROUND_DIAL;
    } else {
        end(s, FF_CALLED_STOP, s->link.failure.sqlstate, s->link.failure.message);
    }
    if (s->round != ROUND_NONE && s->link.up)
        (void)PQflush(s->link.conn);
}

/* One step of the call; false: nothing more to do before the socket moves. */
static bool advance(struct pg_session *s)
{
    switch (s->round) {
    case ROUND_NONE:
        return false;
    case ROUND_DIAL:
        switch (ff_pg_link_dial(&s->link)) {
        case FF_PG_DIALLING:
            return false;
        case FF_PG_UP:
            begin(s);
            return true;
        case FF_PG_DOWN:
            end(s, FF_CALLED_STOP, s->link.failure.sqlstate, s->link.failure.message);
            return true;
        }
        return false;
    case ROUND_FLUSH:
        (void)ff_pg_link_pump(&s->link);
        if (!s->link.lost && s->link.unflushed)
            return false;
        s->round = ROUND_MAIN;
        if (!s->link.lost)
            send_commit(s);
        return true;
    case ROUND_MAIN:
    case ROUND_MISSING:
    case ROUND_UNDO:
        if (!ff_pg_link_pump(&s->link))
            return false;
        round_over(s);
        return true;
    }
    return false;
}

static bool pg_finish(struct ff_session *session, struct ff_call *call)
{
    struct pg_session *const s = self(session);

    assert(s->call == call);
    while (advance(s))
        ;
    return s->round == ROUND_NONE;
}

static void pg_wait(struct ff_session *session, int64_t timeout_ms)
{
    struct pg_session *const s = self(session);

    if (s->round != ROUND_NONE)
        ff_pg_link_wait(&s->link, timeout_ms);
}

static void pg_abandon(struct ff_session *session, struct ff_call *call)
{
    struct pg_session *const s = self(session);
    const bool doubt = call->kind == FF_CALL_SAVE && s->commit_queued;

    if (s->round == ROUND_NONE)
        return;
    end(s, doubt ? FF_CALLED_UNKNOWN : FF_CALLED_RERUN, "", "given up before the answer came");
    ff_pg_link_drop(&s->link);
}

static void pg_free(struct ff_session *session)
{
    struct pg_session *const s = self(session);

    ff_pg_link_done(&s->link);
    ff_arena_done(&s->scratch);
    ff_free(s);
}

static const struct ff_session_ops session_ops = {
    .start = pg_start,
    .finish = pg_finish,
    .wait = pg_wait,
    .abandon = pg_abandon,
    .free = pg_free,
};

ff_status ff_pg_session_new(struct ff_store *store, struct ff_session **ret,
                            struct ff_error *reterr)
{
    struct ff_pg_store *const pg = ff_container_of(store, struct ff_pg_store, store);
    struct pg_session *const s = ff_calloc(1, sizeof *s);

    if (!s)
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for a session");
    s->session.ops = &session_ops;
    ff_pg_link_init(&s->link, &pg->config, &pg->clock);
    s->link.take = take;
    s->link.ctx = s;
    ff_arena_init(&s->scratch, SCRATCH_CHUNK_BYTES, FF_ARENA_BYTES_MAX);
    *ret = &s->session;
    return FF_OK;
}
