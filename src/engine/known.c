/* SPDX-License-Identifier: Apache-2.0
 *
 * known.c -- a small table of rows, each in one piece of memory with its key and all its texts.
 *
 * What must stay true: the list of a member's edges is kept only as long as every change of the
 * member is one of ours, from the version we knew to the next. Whoever adds an edge changes the
 * member (docs/internals/cascade.md), so a list that goes with the stored version is whole. What a
 * node waited for goes with the version in which it was set free, and with no other: no save
 * proves it (docs/decisions/0019-a-step-reads-nothing-twice.md).
 * Tests: tests/unit/test_known.c. */
#include "engine/known.h"

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/mutant.h"
#include "model/codes.h"
#include "model/states.h"

#include "base/banned.h"

/* Behind it: the row, its key, its texts. */
struct known_row {
    struct known_row *next; /* of the same slot */
    ff_table table;
    size_t bytes, key_bytes, text_bytes;
    struct ff_uuid *edges; /* of a member: where it leads to, by id; owned */
    size_t edge_count;
    bool knows_edges;
    bool knows_upstreams;              /* of a member that can be claimed: what it waited for ... */
    struct ff_upstream_out *upstreams; /* ... with its texts, NULL: nothing; owned */
    alignas(max_align_t) char data[];
};

/* Tables in which rows are kept. */
static const ff_table tables[] = {FF_TABLE_EXECUTION, FF_TABLE_EDGE, FF_TABLE_EDGE_GROUP,
                                  FF_TABLE_FLOW};

static const struct ff_hash_seed seed = {0};

void ff_known_init(struct ff_known *known)
{
    *known = (struct ff_known){0};
    pthread_mutex_init(&known->lock, NULL);
    known->slots = ff_calloc(FF_KNOWN_SLOTS, sizeof *known->slots);
}

/* `place` is what points to it, and to the next of its slot afterwards. */
static void drop(struct ff_known *known, struct known_row **place)
{
    struct known_row *const row = *place;

    *place = row->next;
    known->bytes -= row->bytes;
    ff_free(row->edges);
    ff_free(row->upstreams);
    ff_free(row);
}

static void drop_all(struct ff_known *known, struct known_row **slot)
{
    while (*slot)
        drop(known, slot);
}

void ff_known_done(struct ff_known *known)
{
    for (size_t i = 0; known->slots && i < FF_KNOWN_SLOTS; i++)
        drop_all(known, &known->slots[i]);
    ff_free(known->slots);
    pthread_mutex_destroy(&known->lock);
}

/* --- finding --- */

static char *row_of(struct known_row *have)
{
    return have->data;
}

static size_t key_at(ff_table table)
{
    return ff_tables[table].row_bytes;
}

static bool is_it(const struct known_row *have, ff_table table, struct ff_str key)
{
    return have->table == table && have->key_bytes == key.len &&
           memcmp(have->data + key_at(table), key.ptr, key.len) == 0;
}

/* What points to it, or to the end of its slot. */
static struct known_row **place_of(struct ff_known *known, ff_table table, struct ff_str key)
{
    const uint64_t hash = ff_hash_bytes(seed, key.ptr, key.len) + (uint64_t)table;
    struct known_row **place = &known->slots[hash & (FF_KNOWN_SLOTS - 1)];

    while (*place && !is_it(*place, table, key))
        place = &(*place)->next;
    return place;
}

static struct known_row *find(struct ff_known *known, ff_table table, struct ff_str key)
{
    return *place_of(known, table, key);
}

static struct known_row *find_row(struct ff_known *known, ff_table table, const void *row)
{
    uint8_t key[FF_KEY_BYTES];
    const size_t bytes = ff_row_key(table, row, key);

    return find(known, table, (struct ff_str){(const char *)key, bytes});
}

/* Nobody has changed it since, nor used its id again. */
static bool is_same(struct known_row *have, const struct ff_execution *row)
{
    const struct ff_execution *const knew = (const void *)row_of(have);

    return (knew->version == row->version || FF_MUTANT(upstreams_kept_blindly)) &&
           knew->created_at_ms == row->created_at_ms;
}

/* --- texts --- */

static struct ff_str *text_at(ff_table table, void *row, size_t col)
{
    const struct ff_col *const info = &ff_tables[table].cols[col];

    if (info->type != FF_TYPE_TEXT && info->type != FF_TYPE_BLOB)
        return NULL;
    return (struct ff_str *)(void *)((char *)row + info->offset);
}

/* Texts are there one behind the other, in the order of the columns: they get their places anew
 * wherever the row has moved to. */
static void place_texts(ff_table table, void *row, char *at)
{
    for (size_t i = 0; i < ff_tables[table].col_count; i++) {
        struct ff_str *const text = text_at(table, row, i);

        if (text && text->ptr) {
            text->ptr = at;
            at += text->len;
        }
    }
}

static size_t texts_bytes(ff_table table, void *row)
{
    size_t bytes = 0;

    for (size_t i = 0; i < ff_tables[table].col_count; i++) {
        const struct ff_str *const text = text_at(table, row, i);

        bytes += text && text->ptr ? text->len : 0;
    }
    return bytes;
}

static struct known_row *copy_of(ff_table table, void *row, struct ff_str key)
{
    const size_t row_bytes = ff_tables[table].row_bytes;
    const size_t text_bytes = texts_bytes(table, row);
    const size_t bytes = sizeof(struct known_row) + row_bytes + key.len + text_bytes + 1;
    struct known_row *const copy = ff_malloc(bytes);
    char *at;

    if (!copy)
        return NULL;
    *copy = (struct known_row){
        .table = table, .bytes = bytes, .key_bytes = key.len, .text_bytes = text_bytes};
    memcpy(copy->data, row, row_bytes);
    *(struct ff_row *)(void *)copy->data = (struct ff_row){.table = (uint8_t)table};
    memcpy(copy->data + row_bytes, key.ptr, key.len);
    at = copy->data + row_bytes + key.len;
    for (size_t i = 0; i < ff_tables[table].col_count; i++) {
        const struct ff_str *const text = text_at(table, row, i);

        if (text && text->ptr && text->len > 0) {
            memcpy(at, text->ptr, text->len);
            at += text->len;
        }
    }
    *at = '\0';
    place_texts(table, copy->data, copy->data + row_bytes + key.len);
    return copy;
}

/* --- learning --- */

/* Will somebody come back to it? */
static bool is_worth_it(const struct ff_row *row, bool graphs)
{
    const struct ff_execution *const execution = (const void *)row;
    const struct ff_edge *const edge = (const void *)row;
    const struct ff_edge_group *const group = (const void *)row;
    const struct ff_flow *const flow = (const void *)row;

    if (row->is_purged || row->is_deleted)
        return false;
    switch ((int)row->table) {
    case FF_TABLE_EXECUTION:
        return execution->state == FF_STATE_ACTIVE ||
               (graphs && !ff_uuid_is_zero(execution->flow_id) &&
                !ff_state_is_terminal(execution->state));
    case FF_TABLE_EDGE:
        return graphs && edge->outcome == FF_EDGE_UNRESOLVED;
    case FF_TABLE_EDGE_GROUP:
        return graphs && group->group_state == FF_GROUP_PENDING;
    default:
        return graphs && flow->state == FF_FLOW_RUNNING && flow->cancel_policy == 0 &&
               !flow->draining;
    }
}

static void make_room(struct ff_known *known)
{
    while (known->bytes > FF_KNOWN_BYTES_MAX) {
        drop_all(known, &known->slots[known->hand]);
        known->hand = (known->hand + 1) & (FF_KNOWN_SLOTS - 1);
    }
}

/* The edges of a member stay known if it has gone on from where we knew it. */
static void carry_edges(struct ff_known *known, struct known_row *from, struct known_row *to,
                        const struct ff_row *row)
{
    const struct ff_execution *const before = row->before;
    const struct ff_execution *const knew = (const void *)row_of(from);
    const size_t bytes = from->edge_count * sizeof *from->edges;

    if (row->table != FF_TABLE_EXECUTION || !before || row->is_new || !from->knows_edges ||
        before->created_at_ms != knew->created_at_ms || /* an id that is used again */
        (before->version != knew->version && !FF_MUTANT(edges_kept_blindly)))
        return;
    to->edges = FF_STEAL(from->edges);
    to->edge_count = from->edge_count;
    to->knows_edges = true;
    to->bytes += bytes; /* counted when it is put in */
    from->bytes -= bytes;
    known->bytes -= bytes;
}

static size_t upstream_bytes(const struct ff_upstream_out *from)
{
    return sizeof *from + from->node.len + from->result.len + from->result_type.len;
}

static char *put_text(char *at, struct ff_str from, struct ff_str *to)
{
    *to = from;
    if (!from.ptr)
        return at;
    if (from.len > 0)
        memcpy(at, from.ptr, from.len);
    to->ptr = at;
    return at + from.len;
}

/* Into memory of upstream_bytes(). */
static void put_upstream(struct ff_upstream_out *to, const struct ff_upstream_out *from)
{
    char *at = (char *)(to + 1);

    *to = *from;
    at = put_text(at, from->node, &to->node);
    at = put_text(at, from->result, &to->result);
    (void)put_text(at, from->result_type, &to->result_type);
}

/* A node that can be claimed and that this batch has not handed out: it is new, or was set free
 * over this edge. Whoever claims it need not read what it waited for. */
static void learn_upstreams(struct ff_known *known, struct known_row *member,
                            struct ff_rowset *rows, const struct ff_execution *execution,
                            const struct ff_edge *edge)
{
    struct ff_work work = {.rows = rows, .arena = rows->arena, .assumes = true};
    struct ff_task_out task;
    size_t bytes;

    if (member->knows_upstreams || ff_uuid_is_zero(execution->flow_id) ||
        !ff_state_is_claimable(execution->state))
        return;
    ff_task_upstream_by(&work, execution, edge, FF_KNOWN_RESULT_BYTES, &task);
    if (task.upstream_count == FF_UPSTREAMS_UNREAD || rows->arena->failed)
        return;
    if (task.upstream_count > 0) {
        bytes = upstream_bytes(task.upstream);
        member->upstreams = ff_malloc(bytes);
        if (!member->upstreams)
            return;
        put_upstream(member->upstreams, task.upstream);
        member->bytes += bytes;
        known->bytes += bytes;
    }
    member->knows_upstreams = true;
}

/* The node an edge leads to, if it has been set free over it. */
static void learn_downstream(struct ff_known *known, struct ff_rowset *rows,
                             const struct ff_edge *edge)
{
    const struct ff_execution key = {.partition_key = edge->partition_key,
                                     .execution_id = edge->downstream_id};
    const struct ff_entry *const entry = ff_rowset_find(rows, FF_TABLE_EXECUTION, &key);
    struct known_row *const member =
        entry && entry->found == FF_FOUND_ROW && ((const struct ff_row *)entry->row)->op != 0
            ? find(known, FF_TABLE_EXECUTION, entry->key)
            : NULL;

    if (member)
        learn_upstreams(known, member, rows, entry->row, edge);
}

static void put(struct ff_known *known, struct ff_rowset *rows, const struct ff_entry *entry,
                bool graphs)
{
    struct ff_row *const row = entry->row;
    struct known_row **const place = place_of(known, entry->table, entry->key);
    struct known_row *copy = NULL;

    if (is_worth_it(row, graphs))
        copy = copy_of(entry->table, row, entry->key);
    if (copy && *place)
        carry_edges(known, *place, copy, row);
    if (copy && row->is_new && entry->table == FF_TABLE_EXECUTION)
        copy->knows_edges = true; /* none so far; see learn_edge */
    if (*place)
        drop(known, place);
    if (!copy)
        return;
    copy->next = *place;
    *place = copy;
    known->bytes += copy->bytes;
    if (row->is_new && entry->table == FF_TABLE_EXECUTION)
        learn_upstreams(known, copy, rows, entry->row, NULL);
}

static bool add_edge(struct ff_known *known, struct known_row *member, struct ff_uuid to)
{
    size_t at = member->edge_count;
    struct ff_uuid *edges;

    if (at == FF_HOP_EDGES_KNOWN)
        return false;
    edges = ff_realloc(member->edges, (at + 1) * sizeof *edges);
    if (!edges)
        return false;
    for (; at > 0 && ff_uuid_cmp(edges[at - 1], to) > 0; at--)
        edges[at] = edges[at - 1];
    edges[at] = to;
    member->edges = edges;
    member->edge_count++;
    member->bytes += sizeof *edges;
    known->bytes += sizeof *edges;
    return true;
}

/* A new edge: of a new member, whose edges all come with it; or of an old one, which leads to more
 * now than we know. */
static void learn_edge(struct ff_known *known, struct ff_rowset *rows, const struct ff_edge *edge)
{
    const struct ff_execution key = {.partition_key = edge->partition_key,
                                     .execution_id = edge->execution_id};
    const struct ff_entry *const upstream = ff_rowset_find(rows, FF_TABLE_EXECUTION, &key);
    struct known_row *const member = find_row(known, FF_TABLE_EXECUTION, &key);
    const bool is_new = upstream && ((const struct ff_row *)upstream->row)->is_new;

    if (member && member->knows_edges)
        member->knows_edges = is_new && add_edge(known, member, edge->downstream_id);
}

void ff_known_learn(struct ff_known *known, struct ff_rowset *rows)
{
    const bool graphs = rows->entry_count <= FF_BATCH_ROWS_MAX; /* else they would be all we know */

    if (!known->slots)
        return;
    pthread_mutex_lock(&known->lock);
    for (size_t i = 0; i < FF_ARRAY_LEN(tables); i++)
        for (const struct ff_entry *entry = rows->entries[tables[i]]; entry; entry = entry->next)
            if (entry->found == FF_FOUND_ROW && ((const struct ff_row *)entry->row)->op != 0)
                put(known, rows, entry, graphs);
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_EDGE]; entry; entry = entry->next)
        if (entry->found == FF_FOUND_ROW && ((const struct ff_row *)entry->row)->is_new)
            learn_edge(known, rows, entry->row);
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_EDGE]; entry; entry = entry->next)
        if (entry->found == FF_FOUND_ROW && ((const struct ff_row *)entry->row)->op != 0)
            learn_downstream(known, rows, entry->row);
    make_room(known);
    pthread_mutex_unlock(&known->lock);
}

/* --- recalling --- */

bool ff_known_recall(struct ff_known *known, struct ff_rowset *rows, struct ff_entry *entry,
                     ff_known_fits *fits)
{
    const ff_table table = entry->table;
    struct known_row *have;
    void *row = NULL;
    char *texts = NULL;

    if (!known->slots)
        return false;
    pthread_mutex_lock(&known->lock);
    have = find(known, table, entry->key);
    if (have && (!fits || fits(row_of(have)))) {
        row = ff_arena_copy(rows->arena, row_of(have), ff_tables[table].row_bytes);
        texts = ff_arena_copy(rows->arena, have->data + key_at(table) + have->key_bytes,
                              have->text_bytes + 1);
    }
    pthread_mutex_unlock(&known->lock);
    if (!row || !texts)
        return false;
    place_texts(table, row, texts);
    ff_rowset_assume(rows, entry, row);
    return true;
}

bool ff_known_has(struct ff_known *known, ff_table table, const void *key, ff_known_fits *fits)
{
    struct known_row *have;
    bool has;

    if (!known->slots)
        return false;
    pthread_mutex_lock(&known->lock);
    have = find_row(known, table, key);
    has = have && (!fits || fits(row_of(have)));
    pthread_mutex_unlock(&known->lock);
    return has;
}

bool ff_known_edges(struct ff_known *known, const struct ff_execution *member,
                    struct ff_arena *arena, struct ff_uuid **ret, size_t *ret_count)
{
    struct known_row *have;
    struct ff_uuid *edges = NULL;

    if (!known->slots)
        return false;
    pthread_mutex_lock(&known->lock);
    have = find_row(known, FF_TABLE_EXECUTION, member);
    if (have && have->knows_edges &&
        ((const struct ff_execution *)(const void *)row_of(have))->version == member->version) {
        edges = ff_arena_array(arena, have->edge_count + 1, sizeof *edges);
        if (edges && have->edge_count > 0)
            memcpy(edges, have->edges, have->edge_count * sizeof *edges);
        *ret_count = have->edge_count;
    }
    pthread_mutex_unlock(&known->lock);
    if (edges)
        *ret = edges;
    return edges != NULL;
}

void ff_known_upstreams(struct ff_known *known, struct ff_rowset *rows, struct ff_arena *arena,
                        struct ff_task_out *task)
{
    const struct ff_execution key = {.partition_key = task->id.partition,
                                     .execution_id = task->id.uuid};
    const struct ff_entry *const entry = ff_rowset_find(rows, FF_TABLE_EXECUTION, &key);
    const struct ff_execution *const before =
        entry && entry->row ? ((const struct ff_row *)entry->row)->before : NULL;
    struct ff_upstream_out *copy = NULL;
    struct known_row *have;

    if (!known->slots || !before)
        return;
    pthread_mutex_lock(&known->lock);
    have = find(known, FF_TABLE_EXECUTION, entry->key);
    if (have && have->knows_upstreams && is_same(have, before)) {
        if (!have->upstreams)
            task->upstream_count = 0;
        else
            copy = ff_arena_alloc(arena, upstream_bytes(have->upstreams));
        if (copy)
            put_upstream(copy, have->upstreams);
    }
    pthread_mutex_unlock(&known->lock);
    if (copy) {
        task->upstream = copy;
        task->upstream_count = 1;
    }
}

/* Nobody has changed it, so the save will not prove it. Nodes that wait are left alone all the
 * time: their joins are still open. */
static bool is_unproved(const struct ff_entry *entry)
{
    const struct ff_row *const row = entry->row;

    return !row->is_dirty &&
           !(entry->table == FF_TABLE_EXECUTION &&
             ff_state_is_blocked(((const struct ff_execution *)(const void *)row)->state));
}

void ff_known_forget(struct ff_known *known, const struct ff_rowset *rows, bool all)
{
    if (!known->slots)
        return;
    pthread_mutex_lock(&known->lock);
    for (size_t i = 0; i < FF_ARRAY_LEN(tables); i++)
        for (const struct ff_entry *entry = rows->entries[tables[i]]; entry; entry = entry->next)
            if (entry->assumed && (all || is_unproved(entry)) &&
                find(known, entry->table, entry->key))
                drop(known, place_of(known, entry->table, entry->key));
    pthread_mutex_unlock(&known->lock);
}

void ff_known_clear(struct ff_known *known)
{
    pthread_mutex_lock(&known->lock);
    for (size_t i = 0; known->slots && known->bytes > 0 && i < FF_KNOWN_SLOTS; i++)
        drop_all(known, &known->slots[i]);
    pthread_mutex_unlock(&known->lock);
}
