/* SPDX-License-Identifier: Apache-2.0
 *
 * poison.c -- the store does not take changes of certain rows: it refuses them, or breaks down.
 *
 * Whoever asks for such a row alone is told; everybody else, every lane and every timer goes on
 * without it, and when the store takes it again it is served like all others. */
#include "faults.h"

#include <stdatomic.h>
#include <string.h>

#include "store/fault.h"

#include "base/banned.h"

#define NEIGHBOURS 60
#define BAD_ROWS   3
#define TIMEOUT_MS 60000
#define SHORT_MS   1500 /* to submit some more and to turn the poison on; see is_late */

struct poison {
    ff_fault_verdict verdict;
    atomic_bool on;
    atomic_int hits;
};

/* Every save that changes an execution of the kind "poison". */
static ff_fault_verdict decide(void *ctx, const struct ff_call *call, uint64_t n)
{
    struct poison *const poison = ctx;

    (void)n;
    if (call->kind != FF_CALL_SAVE || !atomic_load(&poison->on))
        return FF_FAULT_RUN;
    for (const struct ff_entry *entry = call->rows->entries[FF_TABLE_EXECUTION]; entry;
         entry = entry->next) {
        const struct ff_execution *const row = entry->row;

        if (entry->found == FF_FOUND_ROW && row->head.op != 0 &&
            ff_str_eq(row->kind, FF_STR("poison"))) {
            atomic_fetch_add(&poison->hits, 1);
            return poison->verdict;
        }
    }
    return FF_FAULT_RUN;
}

static struct poison *open_with(struct test *t, ff_fault_verdict verdict, int64_t retention_ms)
{
    struct poison *const poison = keep(t, sizeof *poison);
    const struct ff_fault fault = {.ctx = poison, .decide = decide};
    struct ff_engine_options options;

    poison->verdict = verdict;
    ff_engine_options_default(&options);
    if (retention_ms)
        options.settings.retention_ms = retention_ms;
    (void)open_under_faults(t, &fault, options, TIMEOUT_MS);
    return poison;
}

/* `count` executions of a kind in the lane "l". */
static void given_some(struct test *t, struct ff_submission item, const char *kind, size_t count,
                       struct name *ret)
{
    item.kind = kind;
    item.lane = "l";
    for (size_t i = 0; i < count; i++)
        ret[i] = given(t, &item);
}

static struct ff_claim_request claim_of(int32_t max)
{
    static const char *const lanes[] = {"l"};
    struct ff_claim_request r = claim_request();

    r.lanes = lanes;
    r.lane_count = 1;
    r.max = max;
    return r;
}

static int64_t errors_of(struct test *t, const char *loop)
{
    struct ff_scanner_list loops = {0};
    int64_t errors = 0;

    EXPECT_OK(t, ff_scanners(t->client, &loops, &t->err));
    for (size_t i = 0; i < loops.count; i++)
        if (!strcmp(loops.items[i].name, loop))
            errors = loops.items[i].errors;
    ff_answer_free(&loops);
    return errors;
}

/* ---- ops ---- */

static void poison_op_is_found(struct test *t, ff_fault_verdict verdict)
{
    struct poison *const poison = open_with(t, verdict, 0);
    struct ff_submission *const items = keep(t, NEIGHBOURS * sizeof *items);
    struct ff_submitted *const results = keep(t, NEIGHBOURS * sizeof *results);

    atomic_store(&poison->on, true);
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        items[i] = submission();
        items[i].kind = i == NEIGHBOURS / 2 ? "poison" : "work";
    }
    EXPECT_OK(t, ff_submit(t->client, items, NEIGHBOURS, results, &t->err));
    for (size_t i = 0; i < NEIGHBOURS; i++)
        EXPECT_INT(t, i == NEIGHBOURS / 2 ? FF_INTERNAL : FF_OK, results[i].status);
    EXPECT_INT(t, 1, stats_of(t->client).poison);
    EXPECT(t, atomic_load(&poison->hits) < NEIGHBOURS / 2); /* by halves, not one by one */
    EXPECT_INT(t, 1, (int64_t)log_lines("op failed alone"));
}

static void refused_op_is_found(struct test *t)
{
    poison_op_is_found(t, FF_FAULT_BEFORE_OP);
}

/* To save it breaks the connection, every time, and the store says that it is not there. */
static void op_that_breaks_the_connection_is_found(struct test *t)
{
    poison_op_is_found(t, FF_FAULT_BEFORE_LOST);
}

/* "Feature not supported" may be a plan that no longer fits, and go away with the connection; here
 * it does not. */
static void unsupported_op_is_found(struct test *t)
{
    struct ff_submission item = submission();
    struct ff_submitted submitted;
    struct other other;

    (void)open_with(t, FF_FAULT_RUN, 0);
    other_open(t, &other);
    (void)other_says(t, &other,
                     "CREATE FUNCTION @.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                     "IF NEW.kind = 'unheard' THEN RAISE EXCEPTION 'no' USING ERRCODE = '0A000'; "
                     "END IF; RETURN NEW; END $$");
    (void)other_says(t, &other,
                     "CREATE TRIGGER refuse BEFORE INSERT ON @.ff_execution FOR EACH ROW "
                     "EXECUTE FUNCTION @.refuse()");
    item.kind = "unheard";
    EXPECT_STATUS(t, FF_INTERNAL, when_submitted(t, &item, &submitted));
    (void)given_submitted(t);
    EXPECT_STATUS(t, FF_INTERNAL, when_submitted(t, &item, &submitted));
    (void)other_says(t, &other, "DROP FUNCTION @.refuse() CASCADE"); /* others come after us */
}

/* ---- rows that scans find ---- */

static void claims_pass_over(struct test *t, ff_fault_verdict verdict)
{
    struct poison *const poison = open_with(t, verdict, 0);
    struct name bad[BAD_ROWS];
    struct name good[2];
    const struct ff_claim_request one = claim_of(1);
    const struct ff_claim_request many = claim_of(10);
    struct held held[10];
    size_t got = 0;

    given_some(t, submission(), "poison", BAD_ROWS, bad); /* older: the head of the lane */
    given_some(t, submission(), "work", 2, good);
    atomic_store(&poison->on, true);
    EXPECT_INT(t, 1, (int64_t)when_claimed_many(t, &one, held, 10));
    EXPECT_TEXT(t, good[0].id, held[0].id);
    EXPECT_INT(t, 1, (int64_t)when_claimed_many(t, &many, held, 10));
    EXPECT_TEXT(t, good[1].id, held[0].id);
    EXPECT_INT(t, 0, (int64_t)when_claimed_many(t, &many, held, 10));
    EXPECT(t, log_lines(bad[0].id) > 0);
    EXPECT(t, log_lines(bad[BAD_ROWS - 1].id) > 0);
    atomic_store(&poison->on, false);
    WAIT_UNTIL(t, (got += when_claimed_many(t, &many, held, 10)) == BAD_ROWS);
}

static void claims_pass_over_a_refused_row(struct test *t)
{
    claims_pass_over(t, FF_FAULT_BEFORE_OP);
}

static void claims_pass_over_a_row_that_breaks_the_connection(struct test *t)
{
    claims_pass_over(t, FF_FAULT_BEFORE_LOST);
}

/* Something may have fallen due before the poison was on: all of it is said again, with more time.
 */
static bool is_late(struct test *t, int64_t began_ms, int64_t *due_ms)
{
    const bool late = test_mono_ms() - began_ms >= *due_ms;

    *due_ms *= late ? 2 : 1;
    if (*due_ms > TIMEOUT_MS)
        FAIL(t, "three calls take too long");
    return late;
}

/* One bad row and good ones fall due together: the good ones are served, the loop tells of the bad
 * one, and that is served when the store takes it again. */
static void timer_passes_over(struct test *t, struct poison *poison, const struct name *bad,
                              const struct name *good, const char *loop, const char *then)
{
    const char *const before = look(t, bad->id)->public_state;

    WAIT_UNTIL(t, is_in_state(t, good[0].id, then) && is_in_state(t, good[1].id, then));
    EXPECT_STATE(t, bad->id, before);
    WAIT_UNTIL(t, errors_of(t, loop) > 0);
    EXPECT(t, log_lines(bad->id) > 0);
    atomic_store(&poison->on, false);
    WAIT_UNTIL(t, is_in_state(t, bad->id, then));
}

/* One bad item and two good ones, due soon; `time_ms` is the member of `item` that says when. */
static void given_due_soon(struct test *t, struct poison *poison, struct ff_submission *item,
                           int64_t *time_ms, struct name *bad, struct name good[2])
{
    int64_t began_ms;

    *time_ms = SHORT_MS;
    do {
        began_ms = test_mono_ms();
        atomic_store(&poison->on, false);
        given_some(t, *item, "poison", 1, bad);
        given_some(t, *item, "work", 2, good);
        atomic_store(&poison->on, true);
    } while (is_late(t, began_ms, time_ms));
}

static void delays_pass_over(struct test *t, ff_fault_verdict verdict)
{
    struct poison *const poison = open_with(t, verdict, 0);
    struct ff_submission item = submission();
    struct name bad;
    struct name good[2];

    given_due_soon(t, poison, &item, &item.delay_ms, &bad, good);
    timer_passes_over(t, poison, &bad, good, "delayed", "waiting");
}

static void delays_pass_over_a_refused_row(struct test *t)
{
    delays_pass_over(t, FF_FAULT_BEFORE_OP);
}

static void delays_pass_over_a_row_that_breaks_the_connection(struct test *t)
{
    delays_pass_over(t, FF_FAULT_BEFORE_LOST);
}

static void deadlines_pass_over_a_refused_row(struct test *t)
{
    struct poison *const poison = open_with(t, FF_FAULT_BEFORE_OP, 0);
    struct ff_submission item = submission();
    struct name bad;
    struct name good[2];

    given_due_soon(t, poison, &item, &item.deadline_ms, &bad, good);
    timer_passes_over(t, poison, &bad, good, "execution_deadline", "expired");
}

static void leases_pass_over_a_refused_row(struct test *t)
{
    struct poison *const poison = open_with(t, FF_FAULT_BEFORE_OP, 0);
    const struct ff_policy_spec no_retry = retry_policy(0, 0);
    struct ff_claim_request r = claim_of(3);
    struct ff_submission item = submission();
    struct held held[3];
    struct name bad;
    struct name good[2];
    int64_t began_ms;

    item.policy = &no_retry;
    r.lease_ttl_ms = SHORT_MS;
    do {
        atomic_store(&poison->on, false);
        given_some(t, item, "poison", 1, &bad);
        given_some(t, item, "work", 2, good);
        began_ms = test_mono_ms();
        EXPECT_INT(t, 3, (int64_t)when_claimed_many(t, &r, held, 3));
        atomic_store(&poison->on, true);
    } while (is_late(t, began_ms, &r.lease_ttl_ms));
    timer_passes_over(t, poison, &bad, good, "lease_expiry", "expired");
}

static bool is_gone(struct test *t, const char *id)
{
    return when_looked(t, id) == FF_NOT_FOUND;
}

static void retention_passes_over_a_refused_row(struct test *t)
{
    struct poison *const poison = open_with(t, FF_FAULT_BEFORE_OP, SHORT_MS);
    struct name bad;
    struct name good[2];
    int64_t began_ms;

    given_some(t, submission(), "work", 2, good);
    do {
        atomic_store(&poison->on, false);
        given_some(t, submission(), "poison", 1, &bad);
        began_ms = test_mono_ms();
        EXPECT_OK(t, when_cancelled(t, bad.id));
        atomic_store(&poison->on, true);
    } while (test_mono_ms() - began_ms >= SHORT_MS); /* it may be gone before */
    EXPECT_OK(t, when_cancelled(t, good[0].id));
    EXPECT_OK(t, when_cancelled(t, good[1].id));
    WAIT_UNTIL(t, is_gone(t, good[0].id) && is_gone(t, good[1].id));
    EXPECT(t, !is_gone(t, bad.id));
    WAIT_UNTIL(t, errors_of(t, "retention") > 0);
    atomic_store(&poison->on, false);
    WAIT_UNTIL(t, is_gone(t, bad.id));
}

#define ON_BOTH(name)                                                                              \
    {"poison/" #name "_on_memory", TEST_STORE_MEMORY, name, false},                                \
    {                                                                                              \
        "poison/" #name "_on_postgres", TEST_STORE_POSTGRES, name, false                           \
    }

const struct plain_case poison_cases[] = {
    ON_BOTH(refused_op_is_found),
    ON_BOTH(op_that_breaks_the_connection_is_found),
    {"poison/unsupported_op_is_found", TEST_STORE_POSTGRES, unsupported_op_is_found, false},
    ON_BOTH(claims_pass_over_a_refused_row),
    ON_BOTH(claims_pass_over_a_row_that_breaks_the_connection),
    ON_BOTH(delays_pass_over_a_refused_row),
    ON_BOTH(delays_pass_over_a_row_that_breaks_the_connection),
    {"poison/deadlines_pass_over_a_refused_row", TEST_STORE_MEMORY,
     deadlines_pass_over_a_refused_row, false},
    {"poison/leases_pass_over_a_refused_row", TEST_STORE_MEMORY, leases_pass_over_a_refused_row,
     false},
    {"poison/retention_passes_over_a_refused_row", TEST_STORE_MEMORY,
     retention_passes_over_a_refused_row, false},
    {0},
};
