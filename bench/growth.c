/* SPDX-License-Identifier: Apache-2.0
 *
 * growth.c -- the same drain in a store that has been in use: many have ended, many wait, or
 * somebody holds on to an old snapshot.
 *
 * A store is filled once, through the public header, and copied for every run. */
#include "ours.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

#define FILLERS    4
#define FLOW_WIDTH 999
#define FAR_MS     (7 * 24 * 3600 * INT64_C(1000))

/* --- filling --- */

static void filler_thread(void *ctx, size_t index)
{
    struct ours *const ours = ctx;

    while (ours_work(ours, &(struct ours_worker){.index = index, .max = 256}))
        continue;
}

static void fill_finished(struct ours *ours, size_t count)
{
    const size_t step = 100000;

    for (size_t made = 0; made < count; made += step) {
        struct bench_run clock = {.store = ours->run->store}; /* nobody looks at it */

        ours_submit(ours, count - made < step ? count - made : step, BULK);
        bench_threads(&clock, FILLERS, filler_thread, ours);
    }
}

static void fill_delayed(struct ours *ours, size_t count)
{
    struct ff_submission *const items = bench_alloc(BULK, sizeof *items);
    struct ff_submitted *const answers = bench_alloc(BULK, sizeof *answers);
    struct ff_error error = {0};

    for (size_t i = 0; i < BULK; i++) {
        items[i] = ours_submission(ours->run);
        items[i].delay_ms = FAR_MS;
    }
    for (size_t made = 0; made < count; made += BULK)
        ours_check(ff_submit(ours->client, items, BULK, answers, &error), &error, "submit");
    free(items);
    free(answers);
}

/* Flows whose first node is not due for long: all others are blocked. */
static void fill_blocked(struct ours *ours, size_t count)
{
    struct ff_submission later = ours_submission(ours->run);
    const struct ff_submission work = ours_submission(ours->run);
    struct ff_flow_node *const nodes = bench_alloc(FLOW_WIDTH + 1, sizeof *nodes);
    struct ff_flow_edge *const edges = bench_alloc(FLOW_WIDTH, sizeof *edges);
    char(*const names)[24] = bench_alloc(FLOW_WIDTH + 1, sizeof *names);
    struct ff_error error = {0};
    struct ff_flow_request request;

    later.delay_ms = FAR_MS;
    for (size_t i = 0; i <= FLOW_WIDTH; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%zu", i);
        nodes[i] = (struct ff_flow_node){.name = names[i], .work = i ? &work : &later};
        if (i)
            edges[i - 1] = (struct ff_flow_edge){.from = names[0], .to = names[i]};
    }
    ff_flow_request_init(&request);
    request.nodes = nodes;
    request.node_count = FLOW_WIDTH + 1;
    request.edges = edges;
    request.edge_count = FLOW_WIDTH;
    for (size_t made = 0; made < count; made += FLOW_WIDTH) {
        struct ff_flow_made answer;

        ours_check(ff_flow_create(ours->client, &request, &answer, &error), &error,
                   "create a flow");
        ff_answer_free(&answer);
    }
    free(nodes);
    free(edges);
    free(names);
}

void bench_growth_fill(struct bench_run *run)
{
    const struct bench_backlog *const backlog = &run->scenario->backlog;
    struct ours ours;

    ours_open(&ours, run);
    fill_finished(&ours, backlog->finished / 100 * run->backlog_percent);
    fill_delayed(&ours, backlog->delayed / 100 * run->backlog_percent);
    fill_blocked(&ours, backlog->blocked / 100 * run->backlog_percent);
    ours_leave(&ours); /* the runs that begin with it audit all of it */
}

/* --- a reader that does not let go --- */

struct pin {
    PGconn *conn;
    sqlite3 *db;
};

static void pin_begin(struct pin *pin, const struct bench_run *run)
{
    char conninfo[1024];

    if (run->store == BENCH_SQLITE) {
        if (sqlite3_open(run->place, &pin->db) != SQLITE_OK ||
            sqlite3_exec(pin->db, "BEGIN; SELECT count(*) FROM ff_meta", NULL, NULL, NULL) !=
                SQLITE_OK)
            bench_die("cannot pin a snapshot: %s", sqlite3_errmsg(pin->db));
        return;
    }
    pin->conn = PQconnectdb(bench_conninfo(run, conninfo, sizeof conninfo));
    PQclear(PQexec(pin->conn, "BEGIN ISOLATION LEVEL REPEATABLE READ"));
    PQclear(PQexec(pin->conn, "SELECT 1"));
    if (PQtransactionStatus(pin->conn) != PQTRANS_INTRANS)
        bench_die("cannot pin a snapshot: %s", PQerrorMessage(pin->conn));
}

static void pin_end(struct pin *pin)
{
    sqlite3_close(pin->db);
    PQfinish(pin->conn);
}

void bench_growth_pinned(struct bench_run *run)
{
    struct pin pin = {0};
    struct ours ours;

    ours_open(&ours, run); /* makes the tables */
    pin_begin(&pin, run);
    ours_drain(&ours);
    pin_end(&pin);
    ours_close(&ours);
}
