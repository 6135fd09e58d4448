/* SPDX-License-Identifier: Apache-2.0
 *
 * admin.c -- looking after a store by hand: what it is like, and what may go now.
 *
 * Tests: tests/conformance/store_admin.c. */
#include "api/api-int.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "ops/background.h"

#include "base/banned.h"

/* ---- gc ----------------------------------------------------------------------------------------
 */

struct swept {
    ff_status status;
    struct ff_error error;
    int64_t removed;
    bool full;
};

static ff_status sweep_fill(struct ff_client *client, struct ff_job *job, const void *items,
                            size_t index, struct ff_error *reterr)
{
    struct ff_retention_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

    (void)client;
    if (!in)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    in->limit = FF_RETENTION_SCAN_ROWS;
    in->retention_ms = ((const int64_t *)items)[index];
    job->in = in;
    return FF_OK;
}

static ff_status sweep_take(struct ff_client *client, const struct ff_job *job, void *result,
                            struct ff_error *reterr)
{
    const struct ff_retention_out *const out = job->out;
    struct swept *const swept = result;

    (void)client;
    (void)reterr;
    swept->removed = out->removed;
    swept->full = out->full;
    return FF_OK;
}

ff_status ff_local_gc(struct ff_client *client, int64_t older_than_ms, int64_t *ret_removed,
                      struct ff_error *reterr)
{
    static const struct ff_bulk_type type = {
        .op = FF_OP_RETENTION_SWEEP,
        .max = 1,
        .result_bytes = sizeof(struct swept),
        .fill = sweep_fill,
        .take = sweep_take,
    };
    int64_t removed = 0;
    struct swept swept;

    if (older_than_ms != FF_ABSENT_MS && (older_than_ms < 0 || older_than_ms > FF_DURATION_MS_MAX))
        return ff_fail_field(reterr, FF_INVALID, "older_than_ms", "older_than_ms is out of range");
    do {
        FF_TRY(ff_call_one(client, &type, &older_than_ms, &swept, reterr));
        removed += swept.removed;
    } while (swept.full);
    if (ret_removed)
        *ret_removed = removed;
    return FF_OK;
}

/* ---- doctor -----------------------------------------------------------------------------------
 */

#define CHECKS_MAX    16
#define SKEW_MS_MAX   1000 /* of the store's clock against ours */
#define ANSWER_MS_MAX 20   /* of a read: slower stores make every batch slow */
#define TRIES         5

struct doctor {
    struct ff_client *client;
    struct ff_arena *arena;
    struct ff_diagnosis *diagnosis;
};

static void add(struct doctor *doctor, const char *name, const char *advice, struct ff_str value)
{
    struct ff_diagnosis *const diagnosis = doctor->diagnosis;

    if (diagnosis->count < CHECKS_MAX)
        diagnosis->items[diagnosis->count++] =
            (struct ff_check){.name = name, .value = value.ptr ? value.ptr : "", .advice = advice};
}

static void add_facts(struct doctor *doctor)
{
    const struct ff_store_facts *const facts = ff_engine_facts(doctor->client->engine);

    add(doctor, "version", NULL, ff_str_of(ff_version()));
    add(doctor, "store", NULL,
        ff_arena_printf(doctor->arena, "%s %s", facts->kind, facts->version));
    add(doctor, "wake_up",
        facts->notify || !facts->shared
            ? NULL
            : "other processes hear of work by polling: LISTEN does not reach us",
        ff_str_of(facts->wake_up));
    add(doctor, "pooler",
        facts->pooler ? "a pooler in transaction mode: connect to the database itself for prepared "
                        "statements and hints"
                      : NULL,
        ff_str_of(facts->pooler ? "yes" : "no"));
    add(doctor, "log",
        facts->serial_log ? "event ids come from one counter: commits wait for it" : NULL,
        ff_str_of(facts->serial_log ? "serial" : "concurrent"));
    add(doctor, "settings",
        facts->warnings[0] ? ff_api_text(doctor->arena, ff_str_of(facts->warnings)) : NULL,
        ff_str_of(facts->warnings[0] ? "see advice" : "as they should be"));
}

static ff_status add_times(struct doctor *doctor, struct ff_error *reterr)
{
    const struct ff_clock clock = ff_clock_system();
    int64_t best_ms = INT64_MAX, skew_ms = 0;

    for (int i = 0; i < TRIES; i++) {
        const int64_t from_ms = ff_clock_mono_ms(&clock);
        int64_t now_ms = 0;

        FF_TRY(ff_api_now(doctor->client, &now_ms, reterr));
        const int64_t took_ms = ff_clock_mono_ms(&clock) - from_ms;
        if (took_ms < best_ms) {
            best_ms = took_ms;
            skew_ms = now_ms - ff_clock_real_ms(&clock);
        }
    }
    add(doctor, "answer_ms",
        best_ms > ANSWER_MS_MAX ? "the store is far away or slow: every batch takes two of these"
                                : NULL,
        ff_arena_printf(doctor->arena, "%" PRId64, best_ms));
    add(doctor, "clock_skew_ms",
        skew_ms > SKEW_MS_MAX || skew_ms < -SKEW_MS_MAX
            ? "the clocks of this machine and of the store differ: run a time service on both"
            : NULL,
        ff_arena_printf(doctor->arena, "%" PRId64, skew_ms));
    return FF_OK;
}

ff_status ff_local_doctor(struct ff_client *client, struct ff_diagnosis *ret,
                          struct ff_error *reterr)
{
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();
    struct ff_diagnosis diagnosis = {0};

    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the diagnosis");
    struct doctor doctor = {.client = client, .arena = &memory->arena, .diagnosis = &diagnosis};
    diagnosis.items = ff_arena_array(&memory->arena, CHECKS_MAX, sizeof *diagnosis.items);
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    add_facts(&doctor);
    FF_TRY(add_times(&doctor, reterr));
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    *ret = diagnosis;
    ret->memory = FF_STEAL(memory);
    return FF_OK;
}
