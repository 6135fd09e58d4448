/* SPDX-License-Identifier: Apache-2.0
 *
 * send.c -- what each call says to the server: the statements of its pipeline, in order.
 *
 * Nothing is read here. Keyed statements take one array per column, sorted by key (or one value per
 * column and row, for few of them); tables go by rank, so that all sessions take their locks in the
 * same order. Read first: README.md beside it. Tests: tests/store. */
#include "postgres-int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mutant.h"
#include "sql_gen.h"

#include "base/banned.h"

/* Saves above this are sent before the COMMIT is queued, so that a link that breaks on the way is
 * known not to have committed. Smaller ones are not worth a system call of their own. */
#define EARLY_FLUSH_BYTES (32 << 10)
#define RESOLVE_WAIT_MS   10000

static struct ff_pg_params *params_new(struct ff_pg_session *s)
{
    ff_arena_reset(&s->scratch);
    s->params.arena = &s->scratch;
    s->params.count = 0;
    return &s->params;
}

void ff_pg_send_own(struct ff_pg_session *s, ff_pg_own own)
{
    const ff_pg_step_kind kind = own == FF_PG_COMMIT ? FF_PG_STEP_COMMIT : FF_PG_STEP_DONE;

    ff_pg_link_send(&s->link, (struct ff_pg_step){kind, FF_PG_FIRST_OWN + (int)own, 0, NULL}, NULL);
}

/* `limit` >= 0 takes the place of the block's parameter of that name. */
static void send_block(struct ff_pg_session *s, struct ff_pg_step step,
                       const struct ff_value *values, size_t count, int64_t limit)
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

/* A block that only has to succeed; `text` NULL: it takes no parameter. */
static void send_setting(struct ff_pg_session *s, int block, const char *text)
{
    const struct ff_value value = {.type = FF_VALUE_TEXT, .as.str = ff_str_of(text)};

    send_block(s, (struct ff_pg_step){FF_PG_STEP_DONE, block, 0, NULL}, &value, text ? 1 : 0, -1);
}

/* Behind a pooler every round says where its tables are; the setting ends with the transaction,
 * which without BEGIN is the pipeline itself. */
static void send_path(struct ff_pg_session *s)
{
    if (s->link.config->pooler)
        send_setting(s, FF_SQL_TX_PATH, s->link.config->search_path);
}

static void send_batch_settings(struct ff_pg_session *s, int64_t lock_wait_ms, bool local)
{
    char text[24];
    const int len = snprintf(text, sizeof text, "%lld", (long long)lock_wait_ms);
    const struct ff_value values[] = {{.type = FF_VALUE_TEXT, .as.str = {text, (size_t)len}},
                                      {.type = FF_VALUE_I64, .as.i64 = local}};

    send_block(s, (struct ff_pg_step){FF_PG_STEP_DONE, FF_SQL_BATCH_SETTINGS, 0, NULL}, values, 2,
               -1);
}

/* Before the transaction, since a setting made inside would end with its rollback; and in a round
 * of its own: were it to fail in front of a COMMIT, behind a sync of its own, that would still
 * happen. */
bool ff_pg_send_tuning(struct ff_pg_session *s)
{
    if (s->link.config->pooler || s->link.tuned)
        return false;
    ff_pg_link_begin(&s->link);
    send_batch_settings(s, FF_SAVE_LOCK_MS, false);
    ff_pg_link_sync(&s->link);
    s->link.tuned = true;
    return true;
}

/* Inside it: what the connection has not been told for good. */
static void send_settings(struct ff_pg_session *s, int64_t lock_wait_ms)
{
    char text[24];

    if (s->link.config->pooler) {
        send_path(s);
        send_batch_settings(s, lock_wait_ms, true);
    } else if (lock_wait_ms != FF_SAVE_LOCK_MS) {
        (void)snprintf(text, sizeof text, "%lld", (long long)lock_wait_ms);
        send_setting(s, FF_SQL_TX_LOCK_TIMEOUT, text);
    }
}

typedef bool pick_fn(const struct ff_col *col);

static bool pick_key(const struct ff_col *col)
{
    return col->cls == FF_COL_KEY;
}

static bool pick_hot(const struct ff_col *col)
{
    return FF_COL_IS_HOT(col);
}

static bool pick_hot_or_warm(const struct ff_col *col)
{
    return FF_COL_IS_HOT(col) || col->cls == FF_COL_WARM;
}

static bool pick_stamp(const struct ff_col *col)
{
    return col->cls == FF_COL_STAMP;
}

static bool pick_rest(const struct ff_col *col)
{
    return col->cls != FF_COL_KEY;
}

static bool pick_plain(const struct ff_col *col)
{
    return pick_rest(col) && !col->is_later;
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
    void **befores;          /* of an update: the rows as they were; their stamps come last */
};

/* How many rows of these the statement can take by their values. */
static size_t few_rows(ff_pg_verb verb)
{
    switch (verb) {
    case FF_PG_INSERT:
    case FF_PG_UPDATE:
    case FF_PG_REWRITE:
        return FF_SQL_FEW_ROWS;
    case FF_PG_LOCK:
    case FF_PG_WAIT:
    case FF_PG_READ:
    case FF_PG_REMOVE:
        return 1;
    case FF_PG_INSERT_PLAIN:
    case FF_PG_SERIAL:
    case FF_PG_PURGE:
    case FF_PG_VERB_COUNT:
        break;
    }
    return 0;
}

/* One array per column picked. */
static void bind_columns(struct ff_pg_params *params, const struct bulk *bulk, pick_fn *pick,
                         void **rows)
{
    const struct ff_table_info *const info = &ff_tables[bulk->table];

    for (size_t i = 0; pick && i < info->col_count; i++)
        if (pick(&info->cols[i]))
            ff_pg_bind_column(params, &info->cols[i], rows, bulk->count);
}

static void bind_cells(struct ff_pg_params *params, const struct bulk *bulk, pick_fn *pick,
                       const void *row)
{
    const struct ff_table_info *const info = &ff_tables[bulk->table];

    for (size_t i = 0; pick && i < info->col_count; i++)
        if (pick(&info->cols[i]))
            ff_pg_bind_cell(params, &info->cols[i], row);
}

static void bind_bulk(struct ff_pg_params *params, const struct bulk *bulk, bool few)
{
    if (!few) {
        bind_columns(params, bulk, bulk->first, bulk->rows);
        bind_columns(params, bulk, bulk->second, bulk->rows);
        if (bulk->befores)
            bind_columns(params, bulk, pick_stamp, bulk->befores);
        return;
    }
    for (size_t i = 0; i < bulk->count; i++) {
        bind_cells(params, bulk, bulk->first, bulk->rows[i]);
        bind_cells(params, bulk, bulk->second, bulk->rows[i]);
        if (bulk->befores)
            bind_cells(params, bulk, pick_stamp, bulk->befores[i]);
    }
}

static bool are_plain(const struct bulk *bulk)
{
    bool all = ff_sql_tables[bulk->table].insert_plain != NULL;

    for (size_t i = 0; all && i < bulk->count; i++)
        all = ff_row_is_plain(bulk->table, bulk->rows[i]);
    return all;
}

/* One statement for many rows: one array per column. For a few: their values. */
static void send_bulk(struct ff_pg_session *s, const struct bulk *bulk)
{
    const bool few = bulk->count <= few_rows(bulk->verb);
    const int form = few ? (int)bulk->count : 0;
    const int statement = FF_PG_FIRST_TABLE +
                          (form * FF_TABLE_COUNT + (int)bulk->table) * FF_PG_VERB_COUNT +
                          (int)bulk->verb;
    struct ff_pg_params *const params = params_new(s);

    if (bulk->count == 0)
        return;
    bind_bulk(params, bulk, few);
    for (int i = 0; i < params->count; i++)
        s->sent_bytes += (size_t)params->lengths[i];
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

/* A row that could not be locked is absent, or somebody has it. */
static void send_whether_absent(struct ff_pg_session *s, struct bulk bulk)
{
    bulk.kind = FF_PG_STEP_MISSING;
    bulk.verb = FF_PG_READ;
    send_bulk(s, &bulk);
}

/* Where it is the rule that a key is not there yet, both are asked in one round. */
static bool is_mostly_absent(ff_table table)
{
    return table == FF_TABLE_DEDUP || table == FF_TABLE_REPLY || table == FF_TABLE_PROGRESS;
}

static void send_keyed(struct ff_pg_session *s, ff_table table, ff_want want, bool locking)
{
    struct bulk bulk = {.kind = FF_PG_STEP_READ, .table = table, .verb = FF_PG_READ};
    const bool waits = s->call->lock_wait_ms > 0;

    if (locking && want == FF_WANT_LOCK) {
        bulk.kind = FF_PG_STEP_LOCKED;
        bulk.verb = waits ? FF_PG_WAIT : FF_PG_LOCK;
    }
    bulk.first = pick_key;
    bulk.count = unasked(s->call->rows, table, want, &bulk.rows);
    send_bulk(s, &bulk);
    if (bulk.verb == FF_PG_LOCK && is_mostly_absent(table))
        send_whether_absent(s, bulk);
}

static void send_scans(struct ff_pg_session *s, bool locking)
{
    for (struct ff_scan *scan = s->call->rows->scans; scan; scan = scan->next)
        if (!scan->loaded && ff_sql_blocks[scan->block].locks == locking)
            send_block(s, (struct ff_pg_step){FF_PG_STEP_SCAN, scan->block, 0, scan}, scan->params,
                       scan->param_count, scan->limit);
}

/* What an earlier call read without a lock is asked for again under it. */
static void forget_all(struct ff_rowset *rows, bool locking)
{
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next)
            if (entry->found != FF_FOUND_ROW)
                entry->found = FF_FOUND_UNASKED;
    if (locking)
        ff_rowset_ask_again(rows);
}

static void send_rows(struct ff_pg_session *s, bool locking)
{
    if (FF_MUTANT(scan_before_locks))
        send_scans(s, false);
    for (int table = 0; table < FF_TABLE_COUNT; table++) {
        send_keyed(s, (ff_table)table, FF_WANT_LOCK, locking);
        send_keyed(s, (ff_table)table, FF_WANT_READ, locking);
    }
    if (!FF_MUTANT(scan_before_locks))
        send_scans(s, false);
    if (locking)
        send_scans(s, true);
}

void ff_pg_send_peek(struct ff_pg_session *s)
{
    send_settings(s, FF_SAVE_LOCK_MS);
    forget_all(s->call->rows, false);
    send_rows(s, false);
}

/* Does it read whole tables? */
static bool is_audit(int block)
{
    if (block == FF_SQL_LOG_STEPS || block == FF_SQL_POLICIES_KEPT)
        return true;
    for (size_t i = 0; i < ff_sql_audit_count; i++)
        if ((int)ff_sql_audits[i].block == block)
            return true;
    return false;
}

void ff_pg_send_read(struct ff_pg_session *s)
{
    const bool several = s->call->read->next;

    if (several)
        ff_pg_send_own(s, FF_PG_SNAPSHOT);
    send_path(s);
    for (struct ff_read *read = s->call->read; read; read = read->next) {
        if (is_audit(read->block))
            send_setting(s, FF_SQL_TX_AUDIT, NULL);
        send_block(s, (struct ff_pg_step){FF_PG_STEP_CELLS, read->block, 0, read}, read->params,
                   read->param_count, -1);
    }
    if (several)
        ff_pg_send_own(s, FF_PG_ROLLBACK);
}

void ff_pg_send_settle(struct ff_pg_session *s)
{
    const struct ff_in_log_settle in = {
        .known_id = FF_MUTANT(known_ids_forgotten) ? 0 : atomic_load(s->seen_id)};
    struct ff_value values[FF_SQL_LOG_SETTLE_PARAMS];

    ff_in_log_settle_values(&in, values);
    ff_pg_link_begin(&s->link);
    send_path(s);
    send_block(s, (struct ff_pg_step){FF_PG_STEP_SETTLED, FF_SQL_LOG_SETTLE, 0, NULL}, values,
               FF_SQL_LOG_SETTLE_PARAMS, -1);
    ff_pg_link_sync(&s->link);
}

/* Begins a transaction with something about the marker of the batch. */
static void send_batch(struct ff_pg_session *s, ff_pg_step_kind kind, int block,
                       int64_t lock_wait_ms)
{
    const struct ff_value id = {.type = FF_VALUE_UUID, .as.uuid = s->call->batch_id};

    ff_pg_send_own(s, FF_PG_BEGIN);
    send_settings(s, lock_wait_ms);
    if (FF_MUTANT(no_batch_marker) && s->call->kind != FF_CALL_RESOLVE)
        return;
    send_block(s, (struct ff_pg_step){kind, block, 0, NULL}, &id, 1, -1);
}

/* A batch whose marker is buried can never commit, also if all of it is still on its way. */
void ff_pg_send_resolve(struct ff_pg_session *s)
{
    send_batch(s, FF_PG_STEP_DONE,
               FF_MUTANT(lost_is_not_final) ? FF_SQL_BATCH_MARK : FF_SQL_BATCH_BURY,
               RESOLVE_WAIT_MS);
    if (FF_MUTANT(lost_is_not_final))
        ff_pg_send_own(s, FF_PG_ROLLBACK);
    ff_pg_send_commit(s);
}

/* There is a marker: has the batch committed, and where it must be replicated, too? */
void ff_pg_send_confirm(struct ff_pg_session *s)
{
    send_batch(s, FF_PG_STEP_HIT, FF_SQL_BATCH_CONFIRM, RESOLVE_WAIT_MS);
    ff_pg_send_commit(s);
}

void ff_pg_send_load(struct ff_pg_session *s)
{
    const int64_t wait_ms = s->call->lock_wait_ms;

    /* Rows are skipped, but a key that somebody else is inserting is waited for by the save. */
    send_batch(s, FF_PG_STEP_DONE, FF_SQL_BATCH_MARK, wait_ms > 0 ? wait_ms : FF_SAVE_LOCK_MS);
    forget_all(s->call->rows, true);
    send_rows(s, true);
    send_block(s, (struct ff_pg_step){FF_PG_STEP_CLOCK, FF_SQL_CLOCK, 0, NULL}, NULL, 0, -1);
}

void ff_pg_send_more(struct ff_pg_session *s)
{
    ff_rowset_ask_again(s->call->rows);
    send_rows(s, true);
}

/* Asks again, without a lock, for the keys that could not be locked. False: there are none. */
bool ff_pg_send_missing(struct ff_pg_session *s)
{
    bool any = false;

    ff_pg_link_begin(&s->link);
    for (int table = 0; table < FF_TABLE_COUNT && s->call->lock_wait_ms <= 0; table++) {
        struct bulk bulk = {.table = (ff_table)table, .first = pick_key};

        if (ff_tables[table].flavour == FF_FLAVOUR_INSERT_ONLY || is_mostly_absent(bulk.table))
            continue;
        bulk.count = unasked(s->call->rows, bulk.table, FF_WANT_LOCK, &bulk.rows);
        send_whether_absent(s, bulk);
        any |= bulk.count > 0;
    }
    if (any)
        ff_pg_link_sync(&s->link);
    return any;
}

/* ---------------------------------------------------------------------------------------------
 * Saving */

static void *row_before(void *row)
{
    const struct ff_row *const head = row;

    return head->before ? head->before : row;
}

/* Rows in which a warm column has changed go after the others, in a statement of their own. */
static void send_updates(struct ff_pg_session *s, struct bulk all)
{
    struct ff_arena *const arena = s->call->rows->arena;
    void **const rows = ff_arena_array(arena, all.count, sizeof *rows);
    void **const befores = ff_arena_array(arena, all.count, sizeof *befores);
    struct bulk part = all;

    for (int rewritten = 0; rows && befores && rewritten <= 1; rewritten++) {
        part.rows = rows;
        part.befores = befores;
        part.count = 0;
        part.verb = rewritten ? FF_PG_REWRITE : FF_PG_UPDATE;
        part.second = rewritten ? pick_hot_or_warm : pick_hot;
        for (size_t i = 0; i < all.count; i++)
            if (ff_row_is_rewritten(all.rows[i]) == (bool)rewritten) {
                befores[part.count] = row_before(all.rows[i]);
                rows[part.count++] = all.rows[i];
            }
        send_bulk(s, &part);
    }
}

/* All in one statement, so that keys are taken, and events numbered, in their order. */
static void send_inserts(struct ff_pg_session *s, struct bulk all)
{
    if (all.verb == FF_PG_INSERT && all.count > FF_SQL_FEW_ROWS && are_plain(&all)) {
        all.verb = FF_PG_INSERT_PLAIN;
        *(all.second ? &all.second : &all.first) = pick_plain;
    }
    send_bulk(s, &all);
}

static void send_changes(struct ff_pg_session *s, ff_table table)
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
    send_inserts(s, bulk);
    bulk.count = ff_rowset_changes(rows, table, FF_CHANGE_UPDATE, &bulk.rows);
    send_updates(s, bulk);
}

static void send_purges(struct ff_pg_session *s)
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

/* The lock that tells readers of the log of us, and whether it is the log that was settled. What a
 * connection has settled stays so as long as the tables are the same; behind a pooler there is no
 * connection to speak of, and all of it is looked at. */
static void send_log_lock(struct ff_pg_session *s)
{
    const bool pooler = s->link.config->pooler;
    const struct ff_value what = {.type = FF_VALUE_I64,
                                  .as.i64 = pooler ? atomic_load(s->seen_id) : s->link.log_oid};
    const int block = pooler ? FF_SQL_LOG_ENTER : FF_SQL_LOG_LOCK_SHARED;

    send_block(s, (struct ff_pg_step){FF_PG_STEP_DONE, block, 0, NULL}, &what, 1, -1);
}

/* Ids are taken right before the commit, under the lock of the log. Numbers from one row, which
 * nobody else can have meanwhile, need it too: whoever settles must know that nobody is there. */
static void send_events(struct ff_pg_session *s)
{
    const struct ff_rowset *const rows = s->call->rows;
    struct bulk bulk = {.kind = FF_PG_STEP_EVENTS, .table = FF_TABLE_EVENT, .verb = FF_PG_INSERT};

    if (rows->event_count == 0)
        return;
    bulk.rows = ff_arena_array(rows->arena, rows->event_count, sizeof *bulk.rows);
    for (size_t i = 0; bulk.rows && i < rows->event_count; i++)
        bulk.rows[bulk.count++] = rows->events[i];
    bulk.first = pick_rest;
    if (s->link.serial)
        bulk.verb = FF_PG_SERIAL;
    if (FF_MUTANT(event_id_before_lock))
        send_inserts(s, bulk);
    send_log_lock(s);
    if (!FF_MUTANT(event_id_before_lock))
        send_inserts(s, bulk);
}

/* Rows of a table that are assumed: the block, which takes their keys, fails if one is not so. */
static void send_proof(struct ff_pg_session *s, ff_table table, int block)
{
    const struct ff_rowset *const rows = s->call->rows;
    struct bulk bulk = {.table = table};
    const struct ff_entry *entry;

    for (entry = rows->entries[table]; entry; entry = entry->next)
        bulk.count += entry->assumed;
    if (bulk.count > 0)
        bulk.rows = ff_arena_array(rows->arena, bulk.count, sizeof *bulk.rows);
    if (!bulk.rows)
        return; /* nothing is assumed, or the arena has failed */
    bulk.count = 0;
    for (entry = rows->entries[table]; entry; entry = entry->next)
        if (entry->assumed)
            bulk.rows[bulk.count++] = entry->row;
    bind_columns(params_new(s), &bulk, pick_key, bulk.rows);
    ff_pg_link_send(&s->link, (struct ff_pg_step){FF_PG_STEP_DONE, block, 0, NULL}, &s->params);
}

/* Lanes in which work was handed out without a look must not be paused; sets of capabilities that
 * new work asks for must be written down. */
static void send_proofs(struct ff_pg_session *s)
{
    if (!FF_MUTANT(lanes_unproved))
        send_proof(s, FF_TABLE_LANE, FF_SQL_LANES_ARE_OPEN);
    if (!FF_MUTANT(capsets_unproved))
        send_proof(s, FF_TABLE_CAPSET, FF_SQL_CAPSETS_ARE_THERE);
}

void ff_pg_send_commit(struct ff_pg_session *s)
{
    s->commit_queued = true;
    ff_pg_send_own(s, FF_PG_COMMIT);
    ff_pg_link_sync(&s->link);
}

/* True: the COMMIT waits until all this is on its way. */
bool ff_pg_send_save(struct ff_pg_session *s)
{
    const struct ff_pg_step save = {.kind = FF_PG_STEP_DONE};

    if (s->call->begins)
        send_batch(s, FF_PG_STEP_DONE, FF_SQL_BATCH_MARK, FF_SAVE_LOCK_MS);
    send_proofs(s);
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
        ff_pg_send_commit(s);
    return false;
}
