/* SPDX-License-Identifier: Apache-2.0
 *
 * sweep.c -- every store call of every scenario made to fail in turn, before and after.
 *
 * The engine has no threads here: the caller drives it, so a scenario makes the same calls every
 * time and each has a number. After a failure the answer must be true (success: applied; any other
 * but outcome_unknown: not applied), a repeat must bring the state a clean run has, and nothing may
 * be there twice. Read first: README.md beside it. */
#include "background.h"
#include "scenarios.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sql_ids.h"
#include "store/fault.h"

#include "base/banned.h"

#define SITES_MAX  64
#define TIMEOUT_MS 400000 /* of the hurried clock */
#define HURRY      20     /* how many times faster the engine's clock runs */
#define KINDS      FF_FAULT_KINDS

struct fault {
    size_t at; /* 0: none */
    ff_fault_verdict verdict;
};

/* What happens to the calls of one act. */
struct plan {
    bool armed;
    size_t calls;
    ff_call_kind kinds[SITES_MAX];
    struct fault faults[2];
    ff_fault_verdict resolve; /* of the first RESOLVE; FF_FAULT_RUN: nothing happens to it */
    bool resolve_seen;
    size_t hits;
};

struct sweep {
    struct test *t;
    struct plan plan;
    const struct scenario *scenario;
    struct fault faults[2];
    struct ff_fault_counts total;        /* of all scenarios, as the decorator counts */
    const char *before, *after, *undone; /* what clean runs show; NULL: no such state */
    char answer[sizeof((struct stage *)NULL)->answer];
    size_t sites[KINDS];
    bool assumes; /* every act begins with what its engine has just heard of the store */
    size_t runs;
};

static const char *const kind_names[KINDS] = {"peek",     "load",    "more", "save",
                                              "rollback", "resolve", "read"};
static const char *const verdict_names[FF_FAULT_VERDICT_COUNT] = {"", "before", "stop", "lost",
                                                                  "after"};

/* ---- the store ---- */

static ff_fault_verdict verdict_of(struct plan *plan, const struct ff_call *call)
{
    if (call->kind == FF_CALL_RESOLVE && !plan->resolve_seen) {
        plan->resolve_seen = true;
        if (plan->resolve != FF_FAULT_RUN)
            return plan->resolve;
    }
    for (size_t i = 0; i < 2; i++)
        if (plan->faults[i].at && plan->faults[i].at == plan->calls)
            return plan->faults[i].verdict;
    return FF_FAULT_RUN;
}

/* The pulse comes when its time has come, not when the scenario wants it, and what it finds out may
 * need another read. Those have their turn in coverage.c. */
static bool is_of_the_loops(const struct ff_call *call)
{
    return call->kind == FF_CALL_READ &&
           (call->read->block == FF_SQL_PULSE || call->read->block == FF_SQL_CAPSETS_ALL);
}

static ff_fault_verdict decide(void *ctx, const struct ff_call *call, uint64_t n)
{
    struct sweep *const sweep = ctx;
    struct plan *const plan = &sweep->plan;
    ff_fault_verdict verdict;

    (void)n;
    if (!plan->armed || is_of_the_loops(call))
        return FF_FAULT_RUN;
    if (plan->calls < SITES_MAX)
        plan->kinds[plan->calls] = call->kind;
    plan->calls++;
    verdict = verdict_of(plan, call);
    plan->hits += verdict != FF_FAULT_RUN;
    return verdict;
}

/* The engine rests after a STOP; with this clock it does not rest for long. Leases and delays go by
 * the store's clock, which is the real one; where the two are compared ours does not hurry. */
static struct {
    struct ff_clock real;
    int64_t real_ms, hurried_ms, factor;
} hurry = {.factor = 1};

static int64_t hurried_ms(void *ctx)
{
    const int64_t real_ms = ff_clock_mono_ms(&hurry.real);

    (void)ctx;
    hurry.hurried_ms += (real_ms - hurry.real_ms) * hurry.factor;
    hurry.real_ms = real_ms;
    return hurry.hurried_ms;
}

static struct ff_store *open_under(struct test *t, struct sweep *sweep, bool assumes)
{
    const struct ff_fault fault = {.ctx = sweep, .decide = decide};
    struct ff_engine_options options;

    ff_engine_options_default(&options);
    hurry.real = ff_clock_system();
    hurry.real_ms = hurry.hurried_ms = ff_clock_mono_ms(&hurry.real);
    options.clock.mono_ms = hurried_ms;
    options.threads = false;
    options.loops = false;
    options.cascade = false;
    options.assumes = assumes;
    options.settings.event_renewals = FF_RENEWALS_ALL;
    return open_under_faults(t, &fault, options, TIMEOUT_MS);
}

/* ---- one run ---- */

_Noreturn static void complain(const struct sweep *sweep, const char *why, const char *got,
                               const char *want)
{
    if (got)
        (void)printf("# is:\n%s# should be:\n%s", got, want);
    FAIL(sweep->t, "%s, call %zu %s, call %zu %s, resolve %s: %s", sweep->scenario->name,
         sweep->faults[0].at, verdict_names[sweep->faults[0].verdict], sweep->faults[1].at,
         verdict_names[sweep->faults[1].verdict], verdict_names[sweep->plan.resolve], why);
}

static ff_status act(struct sweep *sweep, struct stage *stage)
{
    ff_status status = sweep->assumes ? write_contact(sweep->t, stage) : FF_OK;

    if (status != FF_OK)
        return status;
    memcpy(sweep->plan.faults, sweep->faults, sizeof sweep->faults);
    sweep->plan.calls = sweep->plan.hits = 0;
    sweep->plan.resolve_seen = false;
    sweep->plan.armed = true;
    stage->answer[0] = '\0';
    status = sweep->scenario->act(sweep->t, stage);
    sweep->plan.armed = false;
    return status;
}

/* One lost connection is nothing a caller hears of; only a store that is away is. */
static bool may_fail(const struct sweep *sweep)
{
    return sweep->faults[1].at || sweep->faults[0].verdict == FF_FAULT_BEFORE_STOP;
}

/* Success means applied, anything but a doubt means not applied. */
static bool check_truth(struct sweep *sweep, ff_status status, const char *now)
{
    const bool is_after = !strcmp(now, sweep->after);
    const bool is_before = !strcmp(now, sweep->before);
    const bool is_undone = sweep->undone && !strcmp(now, sweep->undone);
    char why[512];

    if (status != FF_OK && !may_fail(sweep))
        complain(sweep, ff_status_code(status), NULL, NULL);
    if (status == FF_OK                ? is_after
        : status == FF_OUTCOME_UNKNOWN ? is_after || is_before
                                       : (is_before || is_undone) && ff_status_retryable(status))
        return is_after;
    (void)snprintf(why, sizeof why, "answered %s (%s) and the state is %s", ff_status_code(status),
                   status == FF_OK ? "" : sweep->t->err.message,
                   is_after    ? "after"
                   : is_before ? "before"
                   : is_undone ? "undone"
                               : "neither");
    complain(sweep, why, now, status == FF_OK ? sweep->after : sweep->before);
}

/* Without faults: what a caller does who was told to try again, or lost the answer. */
static void check_repeat(struct sweep *sweep, struct stage *stage, bool applied, bool undone)
{
    const struct scenario *const scenario = sweep->scenario;
    const ff_status want = applied ? scenario->again : FF_OK;
    const ff_status status = scenario->act(sweep->t, stage);
    char why[256];
    const char *now;

    if (status != want) {
        (void)snprintf(why, sizeof why, "the repeat answered %s, not %s", ff_status_code(status),
                       ff_status_code(want));
        complain(sweep, why, NULL, NULL);
    }
    if (undone || (applied && (scenario->flags & AGAIN_CHANGES)))
        return;
    now = dump_of(sweep->t, stage->ns);
    if (strcmp(now, sweep->after) != 0)
        complain(sweep, "the repeat left another state", now, sweep->after);
}

static void run_once(struct sweep *sweep, struct fault first, struct fault second)
{
    struct test *const t = sweep->t;
    struct stage stage;
    ff_status status;
    const char *now;
    bool applied;

    sweep->faults[0] = first;
    sweep->faults[1] = second;
    sweep->runs++;
    stage_init(&stage);
    sweep->scenario->given(t, &stage);
    status = act(sweep, &stage);
    now = dump_of(t, stage.ns);
    applied = check_truth(sweep, status, now);
    if (status == FF_OK && strcmp(stage.answer, sweep->answer) != 0)
        complain(sweep, "got another answer", stage.answer, sweep->answer);
    check_repeat(sweep, &stage, applied && strcmp(sweep->before, sweep->after) != 0,
                 sweep->undone && !strcmp(now, sweep->undone));
}

/* ---- a scenario ---- */

static const char *clean_state(struct sweep *sweep, bool done, bool undone)
{
    struct stage stage;

    stage_init(&stage);
    sweep->scenario->given(sweep->t, &stage);
    if (done) {
        const ff_status status = act(sweep, &stage);

        if (status != FF_OK)
            complain(sweep, sweep->t->err.message, NULL, NULL);
        memcpy(sweep->answer, stage.answer, sizeof sweep->answer);
    }
    if (undone)
        sweep->scenario->undone(sweep->t, &stage);
    return dump_of(sweep->t, stage.ns);
}

static void sweep_resolve(struct sweep *sweep, size_t at, ff_fault_verdict save)
{
    static const ff_fault_verdict verdicts[] = {FF_FAULT_BEFORE, FF_FAULT_BEFORE_STOP,
                                                FF_FAULT_AFTER};

    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        sweep->plan.resolve = verdicts[i];
        run_once(sweep, (struct fault){at, save}, (struct fault){0});
        if (sweep->plan.hits < 2)
            complain(sweep, "nobody asked whether the batch is there", NULL, NULL);
    }
    sweep->plan.resolve = FF_FAULT_RUN;
    sweep->sites[FF_CALL_RESOLVE]++;
}

static void sweep_site(struct sweep *sweep, size_t at, ff_call_kind kind)
{
    sweep->sites[kind]++;
    for (int verdict = FF_FAULT_BEFORE; verdict < FF_FAULT_PASSING_COUNT; verdict++) {
        const struct fault fault = {at, (ff_fault_verdict)verdict};

        if (verdict == FF_FAULT_BEFORE_LOST && kind != FF_CALL_SAVE)
            continue; /* the same as BEFORE */
        run_once(sweep, fault, (struct fault){0});
        if (sweep->plan.hits != 1)
            complain(sweep, "the call was not made", NULL, NULL);
    }
    if (kind == FF_CALL_SAVE) {
        sweep_resolve(sweep, at, FF_FAULT_AFTER);
        sweep_resolve(sweep, at, FF_FAULT_BEFORE_LOST);
    }
}

/* Two calls fail in one act; the second may be one that a clean run does not make. */
static void sweep_pairs(struct sweep *sweep, size_t calls)
{
    for (size_t i = 1; i <= calls; i++)
        for (size_t j = i + 1; j <= calls + 3; j++)
            for (int a = FF_FAULT_BEFORE; a < FF_FAULT_PASSING_COUNT; a++)
                for (int b = FF_FAULT_BEFORE; b < FF_FAULT_PASSING_COUNT; b++)
                    run_once(sweep, (struct fault){i, (ff_fault_verdict)a},
                             (struct fault){j, (ff_fault_verdict)b});
}

static void sweep_scenario(struct sweep *sweep, const struct scenario *scenario)
{
    ff_call_kind kinds[SITES_MAX];
    size_t calls;

    sweep->scenario = scenario;
    memset(sweep->faults, 0, sizeof sweep->faults);
    sweep->before = clean_state(sweep, false, false);
    sweep->after = clean_state(sweep, true, false);
    calls = sweep->plan.calls;
    memcpy(kinds, sweep->plan.kinds, sizeof kinds);
    sweep->undone = scenario->undone ? clean_state(sweep, true, true) : NULL;
    if (calls == 0 || calls > SITES_MAX)
        complain(sweep, "made no call, or too many", NULL, NULL);
    if (!strcmp(sweep->before, sweep->after) != ((scenario->flags & ONLY_READS) != 0) &&
        strcmp(scenario->name, "contact") != 0)
        complain(sweep, "nothing happened", sweep->after, sweep->before);
    for (size_t at = 1; at <= calls; at++)
        sweep_site(sweep, at, kinds[at - 1]);
    if (is_full_run() && !(scenario->flags & (TIMER | ONLY_READS)))
        sweep_pairs(sweep, calls);
    expect_sound(sweep->t, sweep->t->client);
}

/* ---- the table ---- */

static void print_table(const struct sweep *sweep)
{
    const uint64_t(*const hits)[FF_FAULT_VERDICT_COUNT] = sweep->total.hits;
    size_t sites = 0;

    (void)printf("# %-10s %6s %7s %7s %7s %7s\n", "call", "sites", "before", "stop", "lost",
                 "after");
    for (size_t kind = 0; kind < KINDS; kind++) {
        sites += sweep->sites[kind];
        (void)printf("# %-10s %6zu %7" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "\n",
                     kind_names[kind], sweep->sites[kind], hits[kind][FF_FAULT_BEFORE],
                     hits[kind][FF_FAULT_BEFORE_STOP], hits[kind][FF_FAULT_BEFORE_LOST],
                     hits[kind][FF_FAULT_AFTER]);
    }
    (void)printf("# %zu scenarios, %zu call sites, %zu runs\n", scenario_count, sites, sweep->runs);
}

static void sweep_one(struct test *t, void *ctx, const struct scenario *scenario)
{
    struct sweep *const sweep = ctx;
    struct ff_store *const store = open_under(t, sweep, false);

    hurry.factor = scenario->flags & TIMER ? 1 : HURRY;
    sweep_scenario(sweep, scenario);
    coverage_add(&sweep->total, store);
}

/* What is left out goes by the clock, so that has to be right. */
static void sweep_assuming(struct test *t, void *ctx, const struct scenario *scenario)
{
    struct sweep *const sweep = ctx;
    struct ff_store *const store = open_under(t, sweep, true);

    hurry.factor = 1;
    sweep->assumes = true;
    sweep_scenario(sweep, scenario);
    coverage_add(&sweep->total, store);
    EXPECT_INT(t, 0, (int64_t)sweep->sites[FF_CALL_LOAD]);
}

/* The calls that the engine makes for itself, then all that there are. */
static void sweep_all(struct test *t)
{
    struct sweep *const sweep = keep(t, sizeof *sweep);

    sweep->t = t;
    each_scenario(t, NULL, sweep_one, sweep);
    print_table(sweep);
    sweep_own_reads(t, &sweep->total);
    expect_coverage(t, &sweep->total);
}

static bool assumes(const struct scenario *scenario)
{
    return scenario->flags & ASSUMES;
}

/* A save that begins by itself, and proves what it relies on, fails as any other. */
static void sweep_assumed(struct test *t)
{
    struct sweep *const sweep = keep(t, sizeof *sweep);

    sweep->t = t;
    each_scenario(t, assumes, sweep_assuming, sweep);
    print_table(sweep);
}

const struct plain_case sweep_cases[] = {
    {"sweep/every_store_call_on_memory", TEST_STORE_MEMORY, sweep_all, false},
    {"sweep/every_store_call_on_postgres", TEST_STORE_POSTGRES, sweep_all, false},
    {"sweep/saves_without_a_load_on_postgres", TEST_STORE_POSTGRES, sweep_assumed, false},
    {"sweep/every_store_call_on_a_file", TEST_STORE_FILE, sweep_all, false},
    {0},
};
