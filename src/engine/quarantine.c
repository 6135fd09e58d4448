/* SPDX-License-Identifier: Apache-2.0
 *
 * quarantine.c -- rows the store refuses to change, and how scans get past them.
 *
 * A row comes back after a rest, because what was wrong may have been put right; when it is refused
 * again it rests twice as long, when it is not it is forgotten. Tests: tests/faults/poison.c. */
#include "engine/quarantine.h"

#include "base/hash.h"
#include "base/macros.h"
#include "store/sql.h"

#include "base/banned.h"

#define REST_FIRST_MS 2000
#define REST_MAX_MS   600000

static uint64_t hash_row(const struct ff_row *row)
{
    const struct ff_hash_seed seed = {(uint64_t)row->entry->table, 0};

    return ff_hash_bytes(seed, row->entry->key.ptr, row->entry->key.len) | 1; /* never 0 */
}

static bool is_resting(const struct ff_quarantine *quarantine, const struct ff_row *row,
                       int64_t mono_ms)
{
    const uint64_t hash = hash_row(row);

    for (size_t i = 0; i < FF_QUARANTINE_ROWS; i++)
        if (quarantine->rows[i].row == hash)
            return quarantine->rows[i].until_mono_ms > mono_ms;
    return false;
}

/* Who has not been refused again for long is as good as any. */
static void forget(struct ff_quarantine *quarantine, int64_t mono_ms)
{
    for (size_t i = 0; i < FF_QUARANTINE_ROWS; i++) {
        struct ff_quarantined *const at = &quarantine->rows[i];

        if (at->row && mono_ms - at->until_mono_ms > REST_MAX_MS) {
            *at = (struct ff_quarantined){0};
            quarantine->count--;
        }
    }
}

static bool may_miss_rows(const struct ff_scan *scan)
{
    return ff_sql_blocks[scan->block].locks;
}

size_t ff_quarantine_widen(struct ff_quarantine *quarantine, struct ff_rowset *rows,
                           int64_t mono_ms)
{
    size_t count;

    forget(quarantine, mono_ms);
    count = quarantine->count;
    for (struct ff_scan *scan = rows->scans; scan; scan = scan->next)
        if (may_miss_rows(scan))
            scan->limit += (int64_t)count;
    return count;
}

void ff_quarantine_sift(const struct ff_quarantine *quarantine, struct ff_rowset *rows,
                        size_t widened, size_t rows_max, int64_t mono_ms)
{
    for (struct ff_scan *scan = rows->scans; scan; scan = scan->next) {
        size_t kept = 0;

        if (!may_miss_rows(scan))
            continue;
        for (size_t i = 0; i < scan->row_count; i++)
            if (!is_resting(quarantine, scan->rows[i], mono_ms))
                scan->rows[kept++] = scan->rows[i];
        scan->passed = scan->row_count - kept;
        scan->limit -= (int64_t)widened;
        kept = ff_min_size(kept, (size_t)scan->limit);
        if (kept > rows_max) {
            kept = rows_max;
            scan->limit = (int64_t)kept; /* it is full: there is more */
        }
        rows_max -= kept;
        scan->row_count = kept;
    }
}

size_t ff_quarantine_suspects(const struct ff_rowset *rows, const struct ff_row **ret_first)
{
    size_t count = 0;

    *ret_first = NULL;
    for (const struct ff_scan *scan = rows->scans; scan; scan = scan->next) {
        if (!may_miss_rows(scan) || scan->row_count == 0)
            continue;
        if (!*ret_first)
            *ret_first = scan->rows[0];
        count += scan->row_count;
    }
    return count;
}

bool ff_quarantine_add(struct ff_quarantine *quarantine, const struct ff_row *row, int64_t mono_ms)
{
    const uint64_t hash = hash_row(row);
    struct ff_quarantined *at = &quarantine->rows[0];

    for (size_t i = 0; i < FF_QUARANTINE_ROWS && at->row != hash; i++)
        if (quarantine->rows[i].row == hash ||
            quarantine->rows[i].until_mono_ms < at->until_mono_ms)
            at = &quarantine->rows[i];
    if (at->row != hash) { /* a free place, or that of one whose rest is over */
        if (at->until_mono_ms > mono_ms)
            return false;
        quarantine->count += at->row ? 0 : 1;
        *at = (struct ff_quarantined){.row = hash, .rest_ms = REST_FIRST_MS / 2};
    }
    at->rest_ms = ff_min_i64(at->rest_ms * 2, REST_MAX_MS);
    at->until_mono_ms = ff_add_i64_clamped(mono_ms, at->rest_ms);
    return true;
}
