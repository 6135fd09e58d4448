/* SPDX-License-Identifier: Apache-2.0
 *
 * model-scan.c -- the scans and reads of src/store/sql as plain C over the model's rows.
 *
 * Each says the same as its SQL block: same filter, same order, same limit. Where SQL leaves the
 * order of equals open, the key decides. The SQLite mode compares them with the real statements. */
#include "model-scan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/states.h"
#include "store/sql.h"

#include "base/banned.h"

/* --- parameters by name --- */

const struct ff_value *model_param(const struct ff_scan *scan, const char *name)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[scan->block];

    for (size_t i = 0; i < block->param_count; i++)
        if (strcmp(block->params[i].name, name) == 0)
            return &scan->params[i];
    assert(!"no such parameter");
    return NULL;
}

static struct ff_str text_param(const struct ff_scan *scan, const char *name)
{
    const struct ff_value *const value = model_param(scan, name);

    return value->type == FF_VALUE_NULL ? ff_str_null() : value->as.str;
}

static int64_t number_param(const struct ff_scan *scan, const char *name)
{
    return model_param(scan, name)->as.i64;
}

/* --- filters --- */

static bool matches(struct ff_str wanted, struct ff_str is)
{
    return ff_str_is_null(wanted) || ff_str_eq(wanted, is);
}

static bool is_due(const struct query *q, const struct ff_execution *row)
{
    return row->due_at_ms != FF_NULL64 && row->due_at_ms <= q->now_ms;
}

/* Before the place where a claim begins to look. */
static bool is_before_start(const struct ff_scan *scan, const struct ff_execution *row)
{
    const int64_t from_rank = number_param(scan, "from_rank");
    const int64_t from_ms = number_param(scan, "from_created_ms");
    const struct ff_value *const from_id = model_param(scan, "from_id");

    if (-(int64_t)row->priority != from_rank)
        return -(int64_t)row->priority < from_rank;
    if (row->created_at_ms != from_ms)
        return row->created_at_ms < from_ms;
    return from_id->type == FF_VALUE_NULL || ff_uuid_cmp(row->execution_id, from_id->as.uuid) < 0;
}

static bool fits_claim(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;
    const struct ff_value *const kinds = model_param(q->scan, "kinds");
    const struct ff_value *const capsets = model_param(q->scan, "capsets");
    bool kind_fits = kinds->type == FF_VALUE_NULL;
    bool capset_fits = false;

    if (!ff_state_is_claimable(row->state) || !ff_str_eq(row->lane, text_param(q->scan, "lane")) ||
        !matches(q->namespace, row->namespace) ||
        (row->deadline_at_ms != FF_NULL64 && row->deadline_at_ms <= q->now_ms))
        return false;
    if (is_before_start(q->scan, row))
        return false;
    for (size_t i = 0; !kind_fits && i < kinds->count; i++)
        kind_fits = ff_str_eq(kinds->as.strs[i], row->kind);
    for (size_t i = 0; !capset_fits && i < capsets->count; i++)
        capset_fits = capsets->as.i64s[i] == row->capset_id;
    return kind_fits && capset_fits;
}

static bool fits_tenant(const struct query *q, const struct ff_execution *row)
{
    return matches(q->namespace, row->namespace) && matches(q->instance_tag, row->instance_tag);
}

static bool fits_leases(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;

    return is_due(q, row) && ff_state_is_leased(row->state) && fits_tenant(q, row);
}

static bool fits_delays(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;

    return is_due(q, row) && ff_state_is_delayed(row->state) && fits_tenant(q, row);
}

static bool fits_deadlines(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;

    return is_due(q, row) && row->deadline_at_ms != FF_NULL64 && row->deadline_at_ms <= q->now_ms &&
           !ff_state_is_terminal(row->state) && fits_tenant(q, row);
}

static bool fits_retention(const struct query *q, const void *any)
{
    const struct ff_execution *const row = any;

    return ff_state_is_terminal(row->state) && row->finished_at_ms < q->cutoff_ms &&
           ff_uuid_is_zero(row->flow_id) && fits_tenant(q, row);
}

static bool fits_old_marker(const struct query *q, const void *any)
{
    const struct ff_marker *const marker = any;

    return marker->at_ms < q->cutoff_ms && marker->at_ms > -q->cutoff_ms;
}

static bool fits_old_claim(const struct query *q, const void *any)
{
    return ((const struct ff_claim *)any)->at_ms < q->cutoff_ms;
}

static bool fits_old_key(const struct query *q, const void *any)
{
    return ((const struct ff_dedup *)any)->expires_at_ms <= q->now_ms;
}

static bool fits_old_reply(const struct query *q, const void *any)
{
    return ((const struct ff_reply *)any)->expires_at_ms <= q->now_ms;
}

static bool fits_lost_worker(const struct query *q, const void *any)
{
    const struct ff_registration *const row = any;

    return row->seen_at_ms + row->ttl_ms <= q->now_ms;
}

static bool fits_tags(const struct query *q, const void *any)
{
    const struct ff_tag *const row = any;

    return row->partition_key == (int32_t)number_param(q->scan, "partition_key") &&
           ff_uuid_eq(row->execution_id, model_param(q->scan, "execution_id")->as.uuid);
}

/* --- orders: a number first, then the key --- */

static int64_t by_priority(const void *row)
{
    return -(int64_t)((const struct ff_execution *)row)->priority;
}

static int64_t by_due(const void *row)
{
    return ((const struct ff_execution *)row)->due_at_ms;
}

/* The log is never cut here: no event grows old enough. */
static bool fits_nothing(const struct query *q, const void *row)
{
    (void)q;
    (void)row;
    return false;
}

static int64_t by_finish(const void *row)
{
    return ((const struct ff_execution *)row)->finished_at_ms;
}

static int64_t by_marker_time(const void *row)
{
    return ((const struct ff_marker *)row)->at_ms;
}

static int64_t by_claim_time(const void *row)
{
    return ((const struct ff_claim *)row)->at_ms;
}

static int64_t by_key_time(const void *row)
{
    return ((const struct ff_dedup *)row)->expires_at_ms;
}

static int64_t by_reply_time(const void *row)
{
    return ((const struct ff_reply *)row)->expires_at_ms;
}

static int64_t by_worker_time(const void *row)
{
    return ((const struct ff_registration *)row)->seen_at_ms +
           ((const struct ff_registration *)row)->ttl_ms;
}

int64_t model_by_key(const void *row)
{
    (void)row;
    return 0;
}

// clang-format off
static const struct scan_rule rules[] = {
    {FF_SQL_EXECUTION_CLAIM_SCAN, FF_TABLE_EXECUTION, fits_claim,       by_priority,    true},
    {FF_SQL_TIMER_LEASES,         FF_TABLE_EXECUTION, fits_leases,      by_due,         true},
    {FF_SQL_TIMER_DELAYS,         FF_TABLE_EXECUTION, fits_delays,      by_due,         true},
    {FF_SQL_TIMER_DEADLINES,      FF_TABLE_EXECUTION, fits_deadlines,   by_due,         true},
    {FF_SQL_RETENTION_SCAN,       FF_TABLE_EXECUTION, fits_retention,   by_finish,      true},
    {FF_SQL_PRUNE_BATCHES,        FF_TABLE_MARKER,    fits_old_marker,  by_marker_time, true},
    {FF_SQL_PRUNE_DEDUP,          FF_TABLE_DEDUP,     fits_old_key,     by_key_time,    true},
    {FF_SQL_PRUNE_REPLIES,        FF_TABLE_REPLY,     fits_old_reply,   by_reply_time,  true},
    {FF_SQL_PRUNE_CLAIMS,         FF_TABLE_CLAIM,     fits_old_claim,   by_claim_time,  true},
    {FF_SQL_PRUNE_WORKERS,        FF_TABLE_WORKER,    fits_lost_worker, by_worker_time, true},
    {FF_SQL_LOG_TRIM_SCAN,        FF_TABLE_EVENT,     fits_nothing,     model_by_key,   true},
    {FF_SQL_LOG_STRETCHES,        FF_TABLE_EVENT,     fits_nothing,     model_by_key,   true},
    {FF_SQL_EXECUTION_TAGS,       FF_TABLE_TAG,       fits_tags,        model_by_key,   false},
};
// clang-format on

static const struct scan_rule *rule_of(int block)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(rules); i++)
        if (rules[i].block == block)
            return &rules[i];
    return model_flow_rule(block);
}

static int64_t (*current_order)(const void *row); /* qsort has no argument for it */

static int compare(const void *a, const void *b)
{
    const struct model_slot *const x = *(struct model_slot *const *)a;
    const struct model_slot *const y = *(struct model_slot *const *)b;
    const int64_t first = current_order(x->row);
    const int64_t second = current_order(y->row);

    if (first != second)
        return first < second ? -1 : 1;
    if (current_order == by_priority) {
        const struct ff_execution *const row_x = x->row;
        const struct ff_execution *const row_y = y->row;

        if (row_x->created_at_ms != row_y->created_at_ms)
            return row_x->created_at_ms < row_y->created_at_ms ? -1 : 1;
        return ff_uuid_cmp(row_x->execution_id, row_y->execution_id);
    }
    return ff_str_cmp(x->key, y->key);
}

static struct query query_of(const struct model *model, const struct ff_scan *scan, int64_t now_ms)
{
    const struct ff_sql_block *const block = &ff_sql_blocks[scan->block];
    struct query q = {.model = model, .scan = scan, .now_ms = now_ms};

    for (size_t i = 0; i < block->param_count; i++) {
        if (strcmp(block->params[i].name, "namespace") == 0)
            q.namespace = text_param(scan, "namespace");
        if (strcmp(block->params[i].name, "instance_tag") == 0)
            q.instance_tag = text_param(scan, "instance_tag");
        if (strcmp(block->params[i].name, "cutoff_ms") == 0)
            q.cutoff_ms = number_param(scan, "cutoff_ms");
    }
    return q;
}

/* Valid until the next scan. */
static struct model_slot **scratch(struct model *model, size_t count)
{
    if (count >= model->scratch_cap) {
        model->scratch_cap = 2 * count + 64;
        model->scratch = ff_arena_array(&model->arena, model->scratch_cap, sizeof *model->scratch);
        assert(model->scratch);
    }
    return model->scratch;
}

size_t model_scan(struct model *model, struct model_tx *tx, const struct ff_scan *scan,
                  int64_t now_ms, struct model_slot ***ret)
{
    const struct scan_rule *const rule = rule_of(scan->block);
    const struct query q = query_of(model, scan, now_ms);
    const size_t all = model->slots[rule->table].len;
    const bool locks = tx && ff_sql_blocks[scan->block].locks;
    struct model_slot **const found = scratch(model, all);
    size_t count = 0;

    for (size_t i = 0; i < all; i++) {
        struct model_slot *const slot = model->slots[rule->table].items[i];

        if (slot->row && !(locks && slot->holder && slot->holder != tx) &&
            rule->fits(&q, slot->row))
            found[count++] = slot;
    }
    current_order = rule->order;
    qsort(found, count, sizeof *found, compare);
    if (rule->limited && (int64_t)count > scan->limit)
        count = (size_t)scan->limit;
    for (size_t i = 0; locks && i < count; i++)
        (void)model_tx_lock(tx, found[i]);
    *ret = found;
    return count;
}

/* --- reads --- */

static struct ff_value number(int64_t i64)
{
    return (struct ff_value){.type = i64 == FF_NULL64 ? FF_VALUE_NULL : FF_VALUE_I64,
                             .as.i64 = i64};
}

static void read_pulse(struct model *model, struct ff_read *read, int64_t now_ms)
{
    const struct ff_meta key = {.name = read->params[0].as.str};
    const struct ff_meta *const contact = model_row(model, FF_TABLE_META, &key);
    int64_t due_ms = FF_NULL64;
    bool claimable = false;
    int64_t capsets = 0;

    for (size_t i = 0; i < model->slots[FF_TABLE_EXECUTION].len; i++) {
        const struct ff_execution *const row =
            ((struct model_slot *)model->slots[FF_TABLE_EXECUTION].items[i])->row;

        if (row && row->due_at_ms != FF_NULL64 && (due_ms == FF_NULL64 || row->due_at_ms < due_ms))
            due_ms = row->due_at_ms;
        claimable = claimable || (row && ff_state_is_claimable(row->state));
    }
    for (size_t i = 0; i < model->slots[FF_TABLE_CAPSET].len; i++)
        capsets += ((struct model_slot *)model->slots[FF_TABLE_CAPSET].items[i])->row ? 1 : 0;
    read->row_count = 1;
    read->col_count = 8;
    read->cells = ff_arena_array(read->arena, 8, sizeof *read->cells);
    assert(read->cells);
    read->cells[0] = number(now_ms);
    read->cells[1] = number(due_ms);
    read->cells[2] = number(model_hops_wait(model, now_ms));
    read->cells[3] = number(model_drains_wait(model, now_ms));
    read->cells[4] =
        number(model->events.len
                   ? ((struct ff_event *)model->events.items[model->events.len - 1])->event_id
                   : 0);
    read->cells[5] = number(capsets);
    read->cells[6] = number(claimable ? (int64_t)model->commit_count + 1 : 0);
    if (contact)
        read->cells[7] = (struct ff_value){.type = FF_VALUE_TEXT,
                                           .as.str = ff_arena_str(read->arena, contact->value)};
}

static void read_capsets(struct model *model, struct ff_read *read)
{
    const struct vec *const slots = &model->slots[FF_TABLE_CAPSET];

    read->row_count = 0;
    read->rows = ff_arena_array(read->arena, slots->len + 1, sizeof *read->rows);
    assert(read->rows);
    for (size_t i = 0; i < slots->len; i++) {
        const struct model_slot *const slot = slots->items[i];
        void *const copy = ff_arena_alloc(read->arena, sizeof(struct ff_capset));

        if (!slot->row)
            continue;
        assert(copy);
        ff_row_init(FF_TABLE_CAPSET, copy);
        model_copy_out(FF_TABLE_CAPSET, slot->row, copy, read->arena);
        read->rows[read->row_count++] = copy;
    }
}

/* --- the log --- */

static void read_head(struct model *model, struct ff_read *read)
{
    const struct vec *const events = &model->events;

    read->row_count = 1;
    read->col_count = FF_OUT_LOG_HEAD_CELLS;
    read->cells = ff_arena_array(read->arena, FF_OUT_LOG_HEAD_CELLS, sizeof *read->cells);
    assert(read->cells);
    read->cells[FF_OUT_LOG_HEAD_EVENT_ID] =
        number(events->len ? ((struct ff_event *)events->items[events->len - 1])->event_id : 0);
    read->cells[FF_OUT_LOG_HEAD_GIVEN_ID] = number(model->event_seq);
    read->cells[FF_OUT_LOG_HEAD_FLOOR_ID] = number(FF_NULL64);
}

void model_read_holders(struct model *model, struct ff_read *read)
{
    struct ff_str text = FF_STR("");

    for (size_t i = 0; i < model->txs.len; i++) {
        const struct model_tx *const tx = model->txs.items[i];

        if (tx->numbered)
            text = ff_arena_printf(read->arena, FF_STR_FMT "%s%" PRIu64, FF_STR_ARG(text),
                                   text.len ? "," : "", tx->number);
    }
    read->cells[FF_OUT_LOG_HEAD_HOLDERS] = (struct ff_value){.type = FF_VALUE_TEXT, .as.str = text};
}

/* Everything is kept, so a page is what lies between two ids. */
static void read_events(struct model *model, struct ff_read *read)
{
    const struct vec *const events = &model->events;
    const int64_t after = read->params[0].as.i64, upto = read->params[1].as.i64;
    const size_t limit = (size_t)read->params[2].as.i64;

    read->row_count = 0;
    read->rows = ff_arena_array(read->arena, limit + 1, sizeof *read->rows);
    assert(read->rows);
    for (size_t i = 0; i < events->len && read->row_count < limit; i++) {
        const struct ff_event *const event = events->items[i];

        if (event->event_id <= after || event->event_id > upto)
            continue;
        read->rows[read->row_count] = ff_arena_alloc(read->arena, sizeof *event);
        assert(read->rows[read->row_count]);
        model_copy_out(FF_TABLE_EVENT, event, read->rows[read->row_count++], read->arena);
    }
}

bool model_read(struct model *model, struct ff_read *read, int64_t now_ms)
{
    switch (read->block) {
    case FF_SQL_LOG_HEAD:
        read_head(model, read);
        return true;
    case FF_SQL_LOG_FLOOR:
        read->row_count = 0;
        return true;
    case FF_SQL_EVENTS_AFTER:
        read_events(model, read);
        return true;
    case FF_SQL_PULSE:
        read_pulse(model, read, now_ms);
        return true;
    case FF_SQL_CAPSETS_ALL:
        read_capsets(model, read);
        return true;
    default:
        return false;
    }
}
