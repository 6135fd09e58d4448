/* SPDX-License-Identifier: Apache-2.0
 *
 * lowwater.c -- hints that keep claims from walking over dead index entries again and again.
 *
 * A hint moves up when a full scan was handed out whole, and down to any row of its lane that this
 * process leaves claimable; scans under way are told, too, so that they do not move it up past such
 * a row. A batch that failed may have held any row: all hints go. Tests:
 * tests/unit/test_lowwater.c. */
#include "engine/lowwater.h"

#include <string.h>

#include "base/hash.h"
#include "model/states.h"
#include "sql_ids.h"

#include "base/banned.h"

#define SCANS_MAX   16
#define FRESH_MS    250
#define FIRST_PARAM (FF_SQL_EXECUTION_CLAIM_SCAN_PARAMS - 4) /* the place, then the limit */

/* A scan between load and the end of its batch; lives in the batch's arena. */
struct begun {
    struct ff_list_node link;
    const struct ff_rowset *rows;
    struct ff_scan *scan;
    uint64_t hash, lane;
    bool limited; /* the hint must not rise above `limit` ... */
    bool dropped; /* ... or at all */
    struct ff_place limit;
};

void ff_lowwater_init(struct ff_lowwater *water)
{
    memset(water, 0, sizeof *water);
    pthread_mutex_init(&water->lock, NULL);
    ff_list_init(&water->begun);
}

void ff_lowwater_done(struct ff_lowwater *water)
{
    pthread_mutex_destroy(&water->lock);
}

/* --- places and names --- */

static struct ff_place place_of(const struct ff_execution *row)
{
    return (struct ff_place){-(int64_t)row->priority, row->created_at_ms, row->execution_id};
}

static bool is_before(const struct ff_place *a, const struct ff_place *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms;
    return ff_uuid_cmp(a->id, b->id) < 0;
}

static uint64_t hash_text(uint64_t hash, struct ff_str text)
{
    const struct ff_hash_seed seed = {hash, text.ptr ? 1 : 2};

    return ff_hash_bytes(seed, text.ptr, text.len);
}

static uint64_t hash_value(uint64_t hash, const struct ff_value *value)
{
    switch (value->type) {
    case FF_VALUE_TEXT:
        return hash_text(hash, value->as.str);
    case FF_VALUE_TEXTS:
        for (size_t i = 0; i < value->count; i++)
            hash = hash_text(hash, value->as.strs[i]);
        break;
    case FF_VALUE_I64S:
        return ff_hash_bytes((struct ff_hash_seed){hash, 3}, value->as.i64s,
                             value->count * sizeof *value->as.i64s);
    case FF_VALUE_NULL:
    case FF_VALUE_I64:
    case FF_VALUE_BLOB:
    case FF_VALUE_UUID:
    case FF_VALUE_UUIDS: /* no scan of a lane takes any of these */
        break;
    }
    return hash_text(hash, ff_str_null());
}

/* Lane, namespace, kinds and sets stand in front of the place. */
static uint64_t hash_scan(const struct ff_scan *scan)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < FIRST_PARAM; i++)
        hash = hash_value(hash, &scan->params[i]);
    return hash ? hash : 1;
}

static struct ff_low *low_of(struct ff_lowwater *water, uint64_t hash)
{
    return &water->lows[hash % FF_LOWS];
}

/* --- before the load --- */

static void begin_at(struct ff_scan *scan, const struct ff_place *at)
{
    struct ff_value *const params = scan->params + FIRST_PARAM;

    params[0] = (struct ff_value){.type = FF_VALUE_I64, .as.i64 = at->rank};
    params[1] = (struct ff_value){.type = FF_VALUE_I64, .as.i64 = at->created_ms};
    params[2] = (struct ff_value){.type = FF_VALUE_UUID, .as.uuid = at->id};
    scan->shortened = true;
}

static void begin(struct ff_lowwater *water, const struct ff_rowset *rows, struct ff_scan *scan,
                  int64_t mono_ms)
{
    struct begun *const begun = ff_arena_alloc(rows->arena, sizeof *begun);
    struct ff_low *low;

    if (!begun)
        return;
    *begun = (struct begun){.rows = rows,
                            .scan = scan,
                            .hash = hash_scan(scan),
                            .lane = hash_text(0, scan->params[0].as.str)};
    low = low_of(water, begun->hash);
    if (low->scan != begun->hash)
        *low = (struct ff_low){.scan = begun->hash, .lane = begun->lane};
    if (low->known && low->scans < SCANS_MAX - 1 && mono_ms - low->since_mono_ms < FRESH_MS) {
        low->scans++;
        begin_at(scan, &low->at);
    } else {
        low->scans = 0;
        low->since_mono_ms = mono_ms;
    }
    ff_list_push_back(&water->begun, &begun->link);
}

void ff_lowwater_begin(struct ff_lowwater *water, struct ff_rowset *rows, int64_t mono_ms)
{
    pthread_mutex_lock(&water->lock);
    for (struct ff_scan *scan = rows->scans; scan; scan = scan->next)
        if (scan->block == FF_SQL_EXECUTION_CLAIM_SCAN)
            begin(water, rows, scan, mono_ms);
    pthread_mutex_unlock(&water->lock);
}

/* --- after the commit --- */

/* A row of ours can be claimed: no hint of its lane may lie behind it. */
static void lower(struct ff_lowwater *water, const struct ff_execution *row)
{
    const uint64_t lane = hash_text(0, row->lane);
    const struct ff_place place = place_of(row);

    for (size_t i = 0; i < FF_LOWS; i++) {
        struct ff_low *const low = &water->lows[i];

        if (low->known && low->lane == lane && is_before(&place, &low->at))
            low->at = place;
    }
    FF_LIST_FOR_EACH(node, &water->begun)
    {
        struct begun *const begun = ff_list_item(node, struct begun, link);

        if (begun->lane == lane && (!begun->limited || is_before(&place, &begun->limit))) {
            begun->limited = true;
            begun->limit = place;
        }
    }
}

static void forget_all(struct ff_lowwater *water)
{
    for (size_t i = 0; i < FF_LOWS; i++)
        water->lows[i].known = false;
    FF_LIST_FOR_EACH(node, &water->begun)
    ff_list_item(node, struct begun, link)->dropped = true;
}

/* A full scan moves the hint to its last row, unless something came up before it meanwhile. */
static void raise(struct ff_lowwater *water, const struct begun *begun)
{
    struct ff_low *const low = low_of(water, begun->hash);
    const struct ff_scan *const scan = begun->scan;

    if (low->scan != begun->hash)
        return;
    low->known = scan->loaded && !begun->dropped && scan->row_count > 0 &&
                 (int64_t)scan->row_count >= scan->limit;
    if (!low->known)
        return;
    low->at = place_of(scan->rows[scan->row_count - 1]);
    if (begun->limited && is_before(&begun->limit, &low->at))
        low->at = begun->limit;
}

void ff_lowwater_end(struct ff_lowwater *water, struct ff_rowset *rows, bool certain)
{
    pthread_mutex_lock(&water->lock);
    if (!certain)
        forget_all(water);
    for (const struct ff_entry *entry = rows->entries[FF_TABLE_EXECUTION]; certain && entry;
         entry = entry->next) {
        const struct ff_execution *const row = entry->row;

        if (entry->want == FF_WANT_LOCK && entry->found == FF_FOUND_ROW &&
            ff_state_is_claimable(row->state))
            lower(water, row);
    }
    FF_LIST_FOR_EACH(node, &water->begun)
    {
        const struct begun *const begun = ff_list_item(node, struct begun, link);

        if (begun->rows != rows)
            continue;
        ff_list_remove(node);
        raise(water, begun);
    }
    pthread_mutex_unlock(&water->lock);
}
