/* SPDX-License-Identifier: Apache-2.0
 *
 * bench.c -- ff bench: how fast is this store or server, here and now.
 *
 * One caller: many at once, many taken and completed, then one at a time. What it makes is ordinary
 * work in a lane of its own, done when it ends. Tests: tests/unit/test_cli.c. */
#include "cli/cli.h"

#include <stdlib.h>

#include "base/wait.h"

#include "base/banned.h"

#define LANE        "ff-bench"
#define COUNT       1000
#define COUNT_MAX   100000
#define BULK        1000
#define PER_CLAIM   100
#define SINGLES_MAX 200
#define WAIT_MS     5000

struct bench {
    struct ff_cli *cli;
    struct ff_submission items[BULK];
    struct ff_submitted submitted[BULK];
    struct ff_completion words[PER_CLAIM];
    struct ff_task_result heard[PER_CLAIM];
    int64_t single_us[SINGLES_MAX];
    struct ff_error error;
};

static ff_status submit(struct bench *bench, size_t count)
{
    const ff_status status =
        ff_submit(bench->cli->client, bench->items, count, bench->submitted, &bench->error);

    for (size_t i = 0; status == FF_OK && i < count; i++) {
        if (bench->submitted[i].status == FF_OK)
            continue;
        bench->error = bench->submitted[i].error;
        return bench->submitted[i].status;
    }
    return status;
}

/* Takes up to `max` and completes them; *ret_count 0: nothing came in time. */
static ff_status work(struct bench *bench, size_t max, size_t *ret_count)
{
    static const char *const lanes[] = {LANE};
    const struct ff_claim_request request = {.size = sizeof request,
                                             .worker_id = LANE,
                                             .worker_instance_id = LANE,
                                             .lanes = lanes,
                                             .lane_count = 1,
                                             .max = (int32_t)max,
                                             .wait_ms = WAIT_MS};
    struct ff_tasks tasks = {0};
    ff_status status = ff_claim(bench->cli->client, &request, &tasks, &bench->error);

    if (status != FF_OK)
        return status;
    for (size_t i = 0; i < tasks.count; i++)
        bench->words[i] = (struct ff_completion){.lease = ff_task_lease(&tasks.items[i])};
    if (tasks.count)
        status =
            ff_complete(bench->cli->client, bench->words, tasks.count, bench->heard, &bench->error);
    for (size_t i = 0; status == FF_OK && i < tasks.count; i++)
        if (bench->heard[i].status != FF_OK) {
            bench->error = bench->heard[i].error;
            status = bench->heard[i].status;
        }
    *ret_count = tasks.count;
    ff_answer_free(&tasks);
    return status;
}

static ff_status submit_all(struct bench *bench, size_t count)
{
    ff_status status = FF_OK;

    for (size_t sent = 0; status == FF_OK && sent < count; sent += BULK)
        status = submit(bench, count - sent < BULK ? count - sent : BULK);
    return status;
}

/* Until `count` are done, or nothing is left: somebody else serves the lane, too. */
static ff_status drain(struct bench *bench, size_t count)
{
    ff_status status = FF_OK;
    size_t part = 1;

    for (size_t done = 0; status == FF_OK && part > 0 && done < count; done += part)
        status = work(bench, PER_CLAIM, &part);
    return status;
}

static ff_status singles(struct bench *bench, size_t count)
{
    ff_status status = FF_OK;
    size_t part;

    for (size_t i = 0; status == FF_OK && i < count; i++) {
        const int64_t from_us = ff_wait_now_us();

        status = submit(bench, 1);
        if (status == FF_OK)
            status = work(bench, 1, &part);
        bench->single_us[i] = ff_wait_now_us() - from_us;
    }
    return status;
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static double per_s(size_t count, int64_t us)
{
    return (double)count * 1e6 / (double)(us > 0 ? us : 1);
}

static int print(struct bench *bench, size_t count, const int64_t *took_us)
{
    const size_t single_count = count < SINGLES_MAX ? count : SINGLES_MAX;
    const double p50_ms = (double)bench->single_us[single_count / 2] / 1000;
    const double p95_ms = (double)bench->single_us[single_count * 95 / 100] / 1000;
    struct ff_cli *const cli = bench->cli;

    if (ff_cli_has(cli, FF_OPT_JSON))
        return ff_cli_json(cli,
                           json_pack("{s:I, s:f, s:f, s:f, s:f}", "executions", (json_int_t)count,
                                     "submit_per_s", per_s(count, took_us[0]), "drain_per_s",
                                     per_s(count, took_us[1]), "single_p50_ms", p50_ms,
                                     "single_p95_ms", p95_ms));
    (void)fprintf(cli->out, "submit, %d per call     %10.0f/s\n", BULK, per_s(count, took_us[0]));
    (void)fprintf(cli->out, "drain, %d per call       %10.0f/s\n", PER_CLAIM,
                  per_s(count, took_us[1]));
    (void)fprintf(cli->out, "submit, claim, complete  %10.2f ms p50, %.2f ms p95\n", p50_ms,
                  p95_ms);
    return FF_EXIT_OK;
}

static int measure(struct bench *bench, size_t count)
{
    const size_t single_count = count < SINGLES_MAX ? count : SINGLES_MAX;
    int64_t from_us = ff_wait_now_us();
    int64_t took_us[2];
    ff_status status = submit_all(bench, count);

    took_us[0] = ff_wait_now_us() - from_us;
    from_us = ff_wait_now_us();
    if (status == FF_OK)
        status = drain(bench, count);
    took_us[1] = ff_wait_now_us() - from_us;
    if (status == FF_OK)
        status = singles(bench, single_count);
    if (status != FF_OK)
        return ff_cli_fail(bench->cli, "measure", status, &bench->error);
    qsort(bench->single_us, single_count, sizeof bench->single_us[0], by_time);
    return print(bench, count, took_us);
}

int ff_run_bench(struct ff_cli *cli)
{
    struct bench *const bench = ff_arena_alloc(&cli->arena, sizeof *bench);
    int64_t count;
    int code = ff_cli_number(cli, FF_OPT_COUNT_OF, COUNT, &count);

    if (code == FF_EXIT_OK && (count < 1 || count > COUNT_MAX))
        code = ff_cli_usage(cli, "--count is 1 to %d", COUNT_MAX);
    if (code == FF_EXIT_OK)
        code = bench ? ff_cli_open(cli, false) : ff_status_exit(FF_NO_MEMORY);
    if (code != FF_EXIT_OK)
        return code;
    bench->cli = cli;
    for (size_t i = 0; i < BULK; i++) {
        ff_submission_init(&bench->items[i]);
        bench->items[i].kind = LANE;
        bench->items[i].lane = LANE;
    }
    return measure(bench, (size_t)count);
}
