/* SPDX-License-Identifier: Apache-2.0
 *
 * rowset.c -- the rows of one batch in memory.
 *
 * What must stay true: a key has one entry and one row struct, whoever asked for it; a row that
 * came back under a lock replaces what was read without one; everything an op changes can be put
 * back. Tests: tests/unit/test_rowset.c. */
#include "model/rowset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

typedef enum undo_kind { UNDO_EDIT, UNDO_INSERT } undo_kind;

struct ff_undo {
    struct ff_undo *next;
    undo_kind kind;
    struct ff_entry *entry;
    ff_found found; /* of the entry, before */
    void *row;      /* UNDO_EDIT: where the copy goes back to */
    void *copy;
};

static size_t largest_row_bytes(void)
{
    size_t max = 0;

    for (int table = 0; table < FF_TABLE_COUNT; table++)
        max = ff_max_size(max, ff_tables[table].row_bytes);
    return max;
}

void ff_rowset_init(struct ff_rowset *rows, struct ff_arena *arena)
{
    static const struct ff_hash_seed seed = {0};

    memset(rows, 0, sizeof *rows);
    rows->arena = arena;
    rows->spare = ff_arena_alloc(arena, largest_row_bytes());
    ff_hashmap_init(&rows->index, arena, seed);
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        rows->entries_end[table] = &rows->entries[table];
    rows->scans_end = &rows->scans;
}

static void *spare_row(const struct ff_rowset *rows, ff_table table)
{
    if (rows->spare)
        ff_row_init(table, rows->spare);
    return rows->spare;
}

void *ff_rowset_row_new(struct ff_rowset *rows, ff_table table)
{
    void *const row = ff_arena_alloc(rows->arena, ff_tables[table].row_bytes);

    if (!row)
        return spare_row(rows, table);
    ff_row_init(table, row);
    return row;
}

static void copy_column(const struct ff_col *col, void *to, const void *from,
                        struct ff_arena *arena)
{
    char *const dst = (char *)to + col->offset;
    const char *const src = (const char *)from + col->offset;

    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        memcpy(dst, src, sizeof(int32_t));
        break;
    case FF_TYPE_I64:
        memcpy(dst, src, sizeof(int64_t));
        break;
    case FF_TYPE_UUID:
        memcpy(dst, src, sizeof(struct ff_uuid));
        break;
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB: {
        struct ff_str str;

        memcpy(&str, src, sizeof str);
        str = ff_arena_str(arena, str);
        memcpy(dst, &str, sizeof str);
        break;
    }
    }
}

/* The row of a key that has not been loaded: only its key columns are set. */
static void *key_row(struct ff_rowset *rows, ff_table table, const void *key)
{
    const struct ff_table_info *const info = &ff_tables[table];
    void *const row = ff_rowset_row_new(rows, table);

    if (!row)
        return NULL;
    for (size_t i = 0; i < info->key_count; i++)
        copy_column(&info->cols[i], row, key, rows->arena);
    return row;
}

/* Where the index keeps a key: the table's number in front of the key bytes. */
static size_t index_key(ff_table table, const void *row, uint8_t out[FF_KEY_BYTES + 1])
{
    out[0] = (uint8_t)table;
    return 1 + ff_row_key(table, row, out + 1);
}

struct ff_entry *ff_rowset_find(struct ff_rowset *rows, ff_table table, const void *key)
{
    uint8_t bytes[FF_KEY_BYTES + 1];
    const size_t len = index_key(table, key, bytes);

    return ff_hashmap_get(&rows->index, bytes, len);
}

/* `row` NULL: make one from the key. */
static struct ff_entry *entry_new(struct ff_rowset *rows, ff_table table, const void *key,
                                  void *row)
{
    uint8_t bytes[FF_KEY_BYTES + 1];
    const size_t len = index_key(table, key, bytes);
    struct ff_entry *const entry = ff_arena_alloc(rows->arena, sizeof *entry);
    char *const copy = ff_arena_copy(rows->arena, bytes, len);

    if (!entry || !copy)
        return NULL;
    entry->table = table;
    entry->row = row ? row : key_row(rows, table, key);
    if (!entry->row || entry->row == rows->spare)
        return NULL;
    entry->key = (struct ff_str){copy + 1, len - 1};
    ((struct ff_row *)entry->row)->entry = entry;
    if (ff_hashmap_put(&rows->index, copy, len, entry, NULL) != FF_OK)
        return NULL;
    *rows->entries_end[table] = entry;
    rows->entries_end[table] = &entry->next;
    rows->entry_count++;
    return entry;
}

static bool push(struct ff_rowset *rows, void ***list, size_t *count, size_t *cap, void *item)
{
    if (*count == *cap) {
        const size_t grown = *cap ? *cap * 2 : 64;
        void **const items =
            ff_arena_grow(rows->arena, *list, *cap * sizeof *items, grown * sizeof *items);

        if (!items)
            return false;
        *list = items;
        *cap = grown;
    }
    (*list)[(*count)++] = item;
    return true;
}

/* Finds or makes the entry without noting that somebody depends on it. */
static struct ff_entry *entry_of(struct ff_rowset *rows, ff_table table, const void *key,
                                 ff_want want)
{
    struct ff_entry *entry = ff_rowset_find(rows, table, key);

    if (!entry) {
        entry = entry_new(rows, table, key, NULL);
        if (entry)
            entry->want = want;
    } else if (want == FF_WANT_LOCK) {
        entry->want = FF_WANT_LOCK;
    }
    return entry;
}

struct ff_entry *ff_rowset_want(struct ff_rowset *rows, ff_table table, const void *key,
                                ff_want want)
{
    struct ff_entry *const entry = entry_of(rows, table, key, want);
    void **list = (void **)rows->wants;

    if (entry)
        push(rows, &list, &rows->want_count, &rows->want_cap, entry);
    rows->wants = (struct ff_entry **)list;
    return entry;
}

static bool values_equal(const struct ff_value *a, const struct ff_value *b)
{
    if (a->type != b->type || a->count != b->count)
        return false;
    switch (a->type) {
    case FF_VALUE_NULL:
        return true;
    case FF_VALUE_I64:
        return a->as.i64 == b->as.i64;
    case FF_VALUE_TEXT:
    case FF_VALUE_BLOB:
        return a->as.str.ptr == b->as.str.ptr || ff_str_eq(a->as.str, b->as.str);
    case FF_VALUE_UUID:
        return ff_uuid_eq(a->as.uuid, b->as.uuid);
    case FF_VALUE_I64S:
        return a->count == 0 || memcmp(a->as.i64s, b->as.i64s, a->count * sizeof(int64_t)) == 0;
    case FF_VALUE_TEXTS:
        for (size_t i = 0; i < a->count; i++)
            if (!ff_str_eq(a->as.strs[i], b->as.strs[i]))
                return false;
        return true;
    case FF_VALUE_UUIDS:
        return a->count == 0 ||
               memcmp(a->as.uuids, b->as.uuids, a->count * sizeof *a->as.uuids) == 0;
    }
    return false;
}

static void value_copy(struct ff_value *value, struct ff_arena *arena)
{
    switch (value->type) {
    case FF_VALUE_TEXT:
    case FF_VALUE_BLOB:
        value->as.str = ff_arena_str(arena, value->as.str);
        break;
    case FF_VALUE_I64S:
        value->as.i64s =
            ff_arena_copy(arena, value->as.i64s, value->count * sizeof *value->as.i64s);
        break;
    case FF_VALUE_TEXTS: {
        struct ff_str *const strs = ff_arena_array(arena, value->count, sizeof *strs);

        for (size_t i = 0; strs && i < value->count; i++)
            strs[i] = ff_arena_str(arena, value->as.strs[i]);
        value->as.strs = strs;
        break;
    }
    case FF_VALUE_UUIDS:
        value->as.uuids =
            ff_arena_copy(arena, value->as.uuids, value->count * sizeof *value->as.uuids);
        break;
    case FF_VALUE_NULL:
    case FF_VALUE_I64:
    case FF_VALUE_UUID:
        break;
    }
}

static bool scan_is(const struct ff_scan *scan, int block, const struct ff_value *params,
                    size_t param_count)
{
    if (scan->block != block || scan->param_count != param_count)
        return false;
    for (size_t i = 0; i < param_count; i++)
        if (!values_equal(&scan->params[i], &params[i]))
            return false;
    return true;
}

struct ff_scan *ff_rowset_scan(struct ff_rowset *rows, int block, const struct ff_value *params,
                               size_t param_count, int64_t limit)
{
    struct ff_scan *scan = rows->scans;

    while (scan && (scan->loaded || !scan_is(scan, block, params, param_count)))
        scan = scan->next;
    if (!scan) {
        scan = ff_arena_alloc(rows->arena, sizeof *scan);
        if (!scan)
            return NULL;
        scan->block = block;
        scan->param_count = param_count;
        scan->params = ff_arena_copy(rows->arena, params, param_count * sizeof *params);
        if (!scan->params)
            return NULL;
        for (size_t i = 0; i < param_count; i++)
            value_copy(&scan->params[i], rows->arena);
        *rows->scans_end = scan;
        rows->scans_end = &scan->next;
    }
    scan->limit += limit;
    rows->scan_rows += (uint64_t)limit;
    return scan;
}

const struct ff_scan *ff_rowset_scan_find(const struct ff_rowset *rows, int block,
                                          const struct ff_value *params, size_t param_count)
{
    const struct ff_scan *scan = rows->scans;

    while (scan && !scan_is(scan, block, params, param_count))
        scan = scan->next;
    return scan;
}

void *ff_rowset_put(struct ff_rowset *rows, ff_table table, void *row, bool locked)
{
    struct ff_entry *entry = ff_rowset_find(rows, table, row);

    if (!entry) {
        entry = entry_new(rows, table, row, row);
        if (!entry)
            return row;
        entry->want = locked ? FF_WANT_LOCK : FF_WANT_READ;
        entry->found = FF_FOUND_ROW;
        entry->locked = locked;
        return row;
    }
    if (entry->found != FF_FOUND_ROW ||
        (locked && (entry->want == FF_WANT_READ || entry->assumed))) {
        memcpy(entry->row, row, ff_tables[table].row_bytes);
        ((struct ff_row *)entry->row)->entry = entry;
        entry->found = FF_FOUND_ROW;
        entry->locked = locked;
        entry->assumed = false;
        if (locked)
            entry->want = FF_WANT_LOCK;
    }
    return entry->row;
}

void *ff_rowset_put_scanned(struct ff_rowset *rows, ff_table table, void *row, bool locked)
{
    const struct ff_entry *const entry = ff_rowset_find(rows, table, row);

    if (!locked && entry && entry->want == FF_WANT_LOCK && entry->found == FF_FOUND_UNASKED)
        return row;
    return ff_rowset_put(rows, table, row, locked);
}

void ff_rowset_forget(struct ff_rowset *rows, struct ff_entry *entry)
{
    const struct ff_table_info *const info = &ff_tables[entry->table];
    const size_t from = info->cols[info->key_count].offset; /* keys stand first in the struct */
    const char *const fresh = ff_rowset_row_new(rows, entry->table);

    if (fresh)
        memcpy((char *)entry->row + from, fresh + from, info->row_bytes - from);
    entry->found = FF_FOUND_UNASKED;
    entry->locked = entry->assumed = false;
}

void ff_rowset_assume(struct ff_rowset *rows, struct ff_entry *entry, const void *row)
{
    assert(entry->found == FF_FOUND_UNASKED);
    if (row) {
        memcpy(entry->row, row, ff_tables[entry->table].row_bytes);
        ((struct ff_row *)entry->row)->entry = entry;
    }
    entry->found = row ? FF_FOUND_ROW : FF_FOUND_ABSENT;
    entry->locked = entry->assumed = true;
    rows->assumes = true;
}

void ff_rowset_ask_again(struct ff_rowset *rows)
{
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next)
            if (entry->found == FF_FOUND_ROW && entry->want == FF_WANT_LOCK && !entry->locked)
                ff_rowset_forget(rows, entry);
}

void ff_rowset_settle(struct ff_rowset *rows, ff_table table, ff_found verdict)
{
    for (struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next)
        if (entry->found == FF_FOUND_UNASKED)
            entry->found = verdict;
}

void ff_rowset_op_begin(struct ff_rowset *rows, uint32_t op)
{
    rows->op = op;
    rows->contradicted = false;
    rows->undo = NULL;
    rows->undo_events = rows->event_count;
    rows->undo_purges = rows->purge_count;
}

void ff_rowset_op_undo(struct ff_rowset *rows)
{
    for (struct ff_undo *undo = rows->undo; undo; undo = undo->next) {
        if (undo->kind == UNDO_EDIT) {
            memcpy(undo->row, undo->copy, ff_tables[undo->entry->table].row_bytes);
        } else {
            void *const row = key_row(rows, undo->entry->table, undo->entry->row);

            if (row && row != rows->spare)
                memcpy(undo->entry->row, row, ff_tables[undo->entry->table].row_bytes);
            ((struct ff_row *)undo->entry->row)->entry = undo->entry;
        }
        undo->entry->found = undo->found;
    }
    rows->undo = NULL;
    rows->event_count = rows->undo_events;
    rows->purge_count = rows->undo_purges;
}

/* Returns the copy of an edited row. */
static void *journal(struct ff_rowset *rows, undo_kind kind, struct ff_entry *entry)
{
    struct ff_undo *const undo = ff_arena_alloc(rows->arena, sizeof *undo);

    if (!undo)
        return NULL; /* the arena has failed: the engine drops the whole batch */
    undo->kind = kind;
    undo->entry = entry;
    undo->found = entry->found;
    undo->row = entry->row;
    if (kind == UNDO_EDIT) {
        undo->copy = ff_arena_copy(rows->arena, entry->row, ff_tables[entry->table].row_bytes);
        if (!undo->copy)
            return NULL;
    }
    undo->next = rows->undo;
    rows->undo = undo;
    return undo->copy;
}

void ff_rowset_edit(struct ff_rowset *rows, void *row)
{
    struct ff_row *const head = row;
    void *copy;

    if (row == rows->spare)
        return;
    assert(head->entry && head->entry->want == FF_WANT_LOCK);
    assert(ff_tables[head->table].flavour != FF_FLAVOUR_INSERT_ONLY || head->is_new);
    if (head->op == rows->op)
        return;
    copy = journal(rows, UNDO_EDIT, head->entry);
    if (!head->is_dirty)
        head->before = copy;
    head->is_dirty = true;
    head->op = rows->op;
}

void *ff_rowset_insert(struct ff_rowset *rows, ff_table table, const void *key)
{
    struct ff_entry *const entry = entry_of(rows, table, key, FF_WANT_LOCK);
    struct ff_row *head;

    if (!entry)
        return spare_row(rows, table); /* there may be memory again, but this row has no entry */
    head = entry->row;
    if (rows->assumes &&
        (entry->found == FF_FOUND_BUSY || (entry->found == FF_FOUND_ROW && !head->is_deleted))) {
        rows->contradicted = true;
        return spare_row(rows, table);
    }
    assert(entry->found != FF_FOUND_BUSY);
    assert(entry->found != FF_FOUND_ROW || head->is_deleted);
    if (entry->found == FF_FOUND_ROW) { /* deleted in this batch: it comes back as an update */
        ff_rowset_edit(rows, head);
        head->is_deleted = false;
        head->is_dirty = !head->is_new;
        return head;
    }
    (void)journal(rows, UNDO_INSERT, entry);
    entry->found = FF_FOUND_ROW;
    entry->locked = true;
    head->is_new = true;
    head->op = rows->op;
    return head;
}

void ff_rowset_delete(struct ff_rowset *rows, void *row)
{
    struct ff_row *const head = row;

    if (row == rows->spare)
        return;
    assert(head->entry && head->entry->want == FF_WANT_LOCK);
    if (head->op != rows->op) {
        (void)journal(rows, UNDO_EDIT, head->entry);
        head->op = rows->op;
    }
    head->is_deleted = true;
}

void ff_rowset_purge(struct ff_rowset *rows, struct ff_execution *execution)
{
    void **list = (void **)rows->purges;

    if ((void *)execution == rows->spare)
        return;
    ff_rowset_edit(rows, execution);
    execution->head.is_purged = true;
    push(rows, &list, &rows->purge_count, &rows->purge_cap, execution);
    rows->purges = (struct ff_execution **)list;
}

struct ff_event *ff_rowset_event(struct ff_rowset *rows)
{
    struct ff_event *const event = ff_rowset_row_new(rows, FF_TABLE_EVENT);
    void **list = (void **)rows->events;

    if ((void *)event != rows->spare)
        push(rows, &list, &rows->event_count, &rows->event_cap, event);
    rows->events = (struct ff_event **)list;
    return event;
}

static bool row_needs(const struct ff_entry *entry, ff_change change)
{
    const struct ff_row *const row = entry->row;

    if (entry->found != FF_FOUND_ROW || row->is_purged)
        return false;
    switch (change) {
    case FF_CHANGE_INSERT:
        return row->is_new && !row->is_deleted;
    case FF_CHANGE_UPDATE:
        return row->is_dirty && !row->is_new && !row->is_deleted;
    case FF_CHANGE_DELETE:
        return row->is_deleted && !row->is_new;
    }
    return false;
}

static int by_key(const void *a, const void *b)
{
    const struct ff_row *const x = *(const struct ff_row *const *)a;
    const struct ff_row *const y = *(const struct ff_row *const *)b;

    return ff_str_cmp(x->entry->key, y->entry->key);
}

size_t ff_rowset_changes(struct ff_rowset *rows, ff_table table, ff_change change, void ***ret)
{
    size_t count = 0;
    size_t filled = 0;
    void **list;

    *ret = NULL;
    for (const struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next)
        count += row_needs(entry, change) ? 1 : 0;
    if (count == 0)
        return 0;
    list = ff_arena_array(rows->arena, count, sizeof *list);
    if (!list)
        return 0;
    for (const struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next)
        if (row_needs(entry, change))
            list[filled++] = entry->row;
    qsort(list, count, sizeof *list, by_key);
    *ret = list;
    return count;
}

static bool column_equal(const struct ff_col *col, const void *a, const void *b)
{
    const char *const x = (const char *)a + col->offset;
    const char *const y = (const char *)b + col->offset;
    struct ff_str s, t;

    switch (col->type) {
    case FF_TYPE_I16:
    case FF_TYPE_I32:
        return memcmp(x, y, sizeof(int32_t)) == 0;
    case FF_TYPE_I64:
        return memcmp(x, y, sizeof(int64_t)) == 0;
    case FF_TYPE_UUID:
        return memcmp(x, y, sizeof(struct ff_uuid)) == 0;
    case FF_TYPE_TEXT:
    case FF_TYPE_BLOB:
        memcpy(&s, x, sizeof s);
        memcpy(&t, y, sizeof t);
        return !s.ptr == !t.ptr && ff_str_eq(s, t);
    }
    return false;
}

bool ff_row_is_rewritten(const void *row)
{
    const struct ff_row *const head = row;
    const struct ff_table_info *const info = &ff_tables[head->table];

    for (size_t i = 0; i < info->col_count; i++)
        if (info->cols[i].cls == FF_COL_WARM &&
            (!head->before || !column_equal(&info->cols[i], row, head->before)))
            return true;
    return false;
}

bool ff_rowset_has_changes(const struct ff_rowset *rows)
{
    if (rows->event_count || rows->purge_count)
        return true;
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (const struct ff_entry *entry = rows->entries[table]; entry; entry = entry->next)
            if (row_needs(entry, FF_CHANGE_INSERT) || row_needs(entry, FF_CHANGE_UPDATE) ||
                row_needs(entry, FF_CHANGE_DELETE))
                return true;
    return false;
}
