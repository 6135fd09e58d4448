/* SPDX-License-Identifier: Apache-2.0
 *
 * known.c -- a small table of rows, each in one piece of memory with all its texts.
 *
 * Tests: tests/unit/test_known.c. */
#include "engine/known.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "model/states.h"

#include "base/banned.h"

struct known_row {
    struct ff_execution row;
    size_t text_bytes;
    char texts[];
};

void ff_known_init(struct ff_known *known)
{
    pthread_mutex_init(&known->lock, NULL);
    known->slots = ff_calloc(FF_KNOWN_ROWS, sizeof *known->slots);
}

void ff_known_done(struct ff_known *known)
{
    for (size_t i = 0; known->slots && i < FF_KNOWN_ROWS; i++)
        ff_free(known->slots[i]);
    ff_free(known->slots);
    pthread_mutex_destroy(&known->lock);
}

static struct known_row **slot_of(struct ff_known *known, const struct ff_execution *row)
{
    static const struct ff_hash_seed seed = {0};

    return &known->slots[ff_hash_bytes(seed, row->execution_id.b, sizeof row->execution_id.b) &
                         (FF_KNOWN_ROWS - 1)];
}

static bool is_it(const struct known_row *have, const struct ff_execution *row)
{
    return have && ff_uuid_eq(have->row.execution_id, row->execution_id) &&
           have->row.partition_key == row->partition_key;
}

/* --- texts --- */

static struct ff_str *text_at(struct ff_execution *row, size_t col)
{
    const struct ff_col *const info = &ff_tables[FF_TABLE_EXECUTION].cols[col];

    if (info->type != FF_TYPE_TEXT && info->type != FF_TYPE_BLOB)
        return NULL;
    return (struct ff_str *)(void *)((char *)row + info->offset);
}

/* Texts are there one behind the other, in the order of the columns: they get their places anew
 * wherever the row has moved to. */
static void place_texts(struct ff_execution *row, char *at)
{
    for (size_t i = 0; i < ff_tables[FF_TABLE_EXECUTION].col_count; i++) {
        struct ff_str *const text = text_at(row, i);

        if (text && text->ptr) {
            text->ptr = at;
            at += text->len;
        }
    }
}

static struct known_row *copy_of(const struct ff_execution *row)
{
    struct ff_execution bare = *row;
    struct known_row *copy;
    size_t bytes = 0;
    char *at;

    bare.head = (struct ff_row){.table = FF_TABLE_EXECUTION};
    for (size_t i = 0; i < ff_tables[FF_TABLE_EXECUTION].col_count; i++) {
        const struct ff_str *const text = text_at(&bare, i);

        bytes += text && text->ptr ? text->len : 0;
    }
    copy = ff_malloc(sizeof *copy + bytes + 1);
    if (!copy)
        return NULL;
    at = copy->texts;
    for (size_t i = 0; i < ff_tables[FF_TABLE_EXECUTION].col_count; i++) {
        const struct ff_str *const text = text_at(&bare, i);

        if (text && text->ptr && text->len > 0) {
            memcpy(at, text->ptr, text->len);
            at += text->len;
        }
    }
    *at = '\0';
    copy->row = bare;
    copy->text_bytes = bytes;
    place_texts(&copy->row, copy->texts);
    return copy;
}

/* --- learning and recalling --- */

static void put(struct ff_known *known, const struct ff_execution *row, struct known_row *copy)
{
    struct known_row **const slot = slot_of(known, row);

    if (!copy && !is_it(*slot, row))
        return;
    ff_free(*slot);
    *slot = copy;
}

void ff_known_learn(struct ff_known *known, const struct ff_rowset *rows)
{
    if (!known->slots)
        return;
    pthread_mutex_lock(&known->lock);
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_EXECUTION]; entry;
         entry = entry->next) {
        const struct ff_execution *const row = entry->row;
        const bool runs = row->state == FF_STATE_ACTIVE && !row->head.is_purged;

        if (entry->found == FF_FOUND_ROW && row->head.op != 0)
            put(known, row, runs ? copy_of(row) : NULL);
    }
    pthread_mutex_unlock(&known->lock);
}

bool ff_known_recall(struct ff_known *known, struct ff_rowset *rows, struct ff_entry *entry)
{
    const struct known_row *have;
    struct ff_execution row;
    char *texts = NULL;

    if (!known->slots)
        return false;
    pthread_mutex_lock(&known->lock);
    have = *slot_of(known, entry->row);
    if (is_it(have, entry->row)) {
        row = have->row;
        texts = ff_arena_copy(rows->arena, have->texts, have->text_bytes + 1);
    }
    pthread_mutex_unlock(&known->lock);
    if (!texts)
        return false;
    place_texts(&row, texts);
    ff_rowset_assume(rows, entry, &row);
    return true;
}

void ff_known_forget(struct ff_known *known, const struct ff_rowset *rows, bool all)
{
    if (!known->slots)
        return;
    pthread_mutex_lock(&known->lock);
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_EXECUTION]; entry;
         entry = entry->next)
        if (entry->assumed && (all || !((const struct ff_row *)entry->row)->is_dirty))
            put(known, entry->row, NULL);
    pthread_mutex_unlock(&known->lock);
}
