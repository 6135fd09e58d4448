/* SPDX-License-Identifier: Apache-2.0
 *
 * trim.c -- log.trim: where the event log begins.
 *
 * ff_meta "log_floor" is the lowest id kept; readers go by it, what is below may still be there for
 * a while. The scan brings events at which the log may begin: if one of them has outlived its time,
 * or there are too many behind it, so have all before it. Never past an undispatched hop, whose
 * completion somebody may still want to look at. Tests: tests/unit/test_trim.c. */
#include <inttypes.h>

#include "base/limits.h"
#include "base/macros.h"
#include "ops/ops-int.h"
#include "sql_ids.h"

#include "base/banned.h"

#define STRETCH_ENDS_MAX 64 /* of a log that was restored more often more is kept */

static struct ff_meta floor_key(void)
{
    return (struct ff_meta){.name = FF_STR("log_floor")};
}

void ff_log_trim_need(struct ff_work *work, struct ff_log_trim_in *in)
{
    struct ff_value params[FF_SQL_LOG_TRIM_SCAN_PARAMS];
    const struct ff_in_log_trim_scan scan = {.floor_id = 0};
    const struct ff_in_log_stretches stretches = {.limit = 0};
    const struct ff_in_hop_oldest hop = {.limit = 1};
    const struct ff_meta key = floor_key();

    ff_work_want(work, FF_TABLE_META, &key, FF_WANT_LOCK);
    ff_in_log_trim_scan_values(&scan, params);
    in->scan =
        ff_work_scan(work, FF_SQL_LOG_TRIM_SCAN, params, FF_SQL_LOG_TRIM_SCAN_PARAMS, in->limit);
    ff_in_log_stretches_values(&stretches, params);
    in->stretches = ff_work_scan(work, FF_SQL_LOG_STRETCHES, params, FF_SQL_LOG_STRETCHES_PARAMS,
                                 STRETCH_ENDS_MAX);
    ff_in_hop_oldest_values(&hop, params);
    in->hop = ff_work_scan(work, FF_SQL_HOP_OLDEST, params, FF_SQL_HOP_OLDEST_PARAMS, 1);
}

/* How many ids lie behind it. A restored log jumps: what it jumped over was never there. */
static int64_t count_behind(const struct ff_scan *stretches, const struct ff_event *event)
{
    int64_t count = 0;

    for (size_t i = 0; i < stretches->row_count; i++) {
        const int64_t last_id = ((const struct ff_event *)stretches->rows[i])->event_id;
        int64_t first_id = last_id;

        if (i + 1 < stretches->row_count) {
            const int64_t next_id = ((const struct ff_event *)stretches->rows[i + 1])->event_id;

            if (next_id / FF_LOG_JUMP == last_id / FF_LOG_JUMP) {
                first_id = next_id;
                i++;
            }
        }
        if (last_id > event->event_id)
            count += last_id - ff_max_i64(first_id - 1, event->event_id);
    }
    return count;
}

static bool is_over(const struct ff_work *work, const struct ff_log_trim_in *in,
                    const struct ff_event *event)
{
    const struct ff_settings *const settings = work->settings;
    const struct ff_outbox *const hop = in->hop->row_count ? in->hop->rows[0] : NULL;

    if (hop && event->at_ms >= hop->created_at_ms)
        return false;
    if (event->at_ms < work->now_ms - settings->event_retention_ms)
        return true;
    return settings->event_count_max > 0 &&
           count_behind(in->stretches, event) >= settings->event_count_max;
}

ff_status ff_log_trim_apply(struct ff_work *work, struct ff_log_trim_in *in,
                            struct ff_log_trim_out *out, struct ff_error *reterr)
{
    const struct ff_meta key = floor_key();
    struct ff_meta *meta = ff_work_row(work, FF_TABLE_META, &key);
    int64_t old_id = 0, floor_id = 0;
    size_t over = 0;

    (void)reterr;
    *out = (struct ff_log_trim_out){0};
    if (meta && !ff_str_to_i64(meta->value, &old_id))
        old_id = 0;
    while (over < in->scan->row_count && is_over(work, in, in->scan->rows[over]))
        over++;
    if (over < 2)
        return FF_OK; /* nothing lies before it */
    floor_id = ((const struct ff_event *)in->scan->rows[over - 1])->event_id;
    if (floor_id <= old_id)
        return FF_OK;
    if (meta)
        ff_work_edit(work, meta);
    else
        meta = ff_work_insert(work, FF_TABLE_META, &key);
    meta->value = ff_arena_printf(work->arena, "%" PRId64, floor_id);
    ff_work_trim_log(work, floor_id);
    *out = (struct ff_log_trim_out){
        .floor_id = floor_id,
        .moved = (int64_t)over - 1,
        .full = (int64_t)in->scan->row_count >= in->scan->limit,
    };
    return FF_OK;
}
