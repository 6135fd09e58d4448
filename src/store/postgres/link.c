/* SPDX-License-Identifier: Apache-2.0
 *
 * link.c -- one connection: making it, its prepared statements, and one pipeline at a time.
 *
 * Nothing here blocks but name resolution (libpq has no other); ff_pg_link_wait is the only place
 * that sleeps. Each queued statement leaves a step behind; answers come in the order of the steps.
 * After the first error the server skips the rest up to the sync. A statement counts as prepared
 * only once the server has said so: a Parse may be skipped too.
 * Read first: README.md beside it. Tests: tests/store. */
#include "postgres-int.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#include "base/banned.h"

#define RETRY_MS 200

enum { UNPREPARED, PREPARE_SENT, PREPARED };

static const char *const own_texts[FF_PG_OWN_COUNT] = {
    [FF_PG_BEGIN] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    [FF_PG_SNAPSHOT] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    [FF_PG_COMMIT] = "COMMIT",
    [FF_PG_ROLLBACK] = "ROLLBACK",
};

static const char *table_text(int nth)
{
    const int form = FF_FORM_POSTGRES + nth / (FF_TABLE_COUNT * FF_PG_VERB_COUNT);
    const struct ff_sql_table *const table =
        &ff_sql_tables[nth / FF_PG_VERB_COUNT % FF_TABLE_COUNT];
    const char *const texts[FF_PG_VERB_COUNT] = {
        [FF_PG_LOCK] = table->lock[form],           [FF_PG_WAIT] = table->wait[form],
        [FF_PG_READ] = table->read[form],           [FF_PG_INSERT] = table->insert[form],
        [FF_PG_INSERT_PLAIN] = table->insert_plain, [FF_PG_SERIAL] = table->serial,
        [FF_PG_UPDATE] = table->update[form],       [FF_PG_REWRITE] = table->rewrite[form],
        [FF_PG_REMOVE] = table->remove[form],       [FF_PG_PURGE] = table->purge[form],
    };

    return texts[nth % FF_PG_VERB_COUNT];
}

static const char *statement_text(int statement)
{
    if (statement < FF_PG_FIRST_TABLE)
        return ff_sql_blocks[statement].text[FF_DIALECT_POSTGRES];
    if (statement < FF_PG_FIRST_OWN)
        return table_text(statement - FF_PG_FIRST_TABLE);
    return own_texts[statement - FF_PG_FIRST_OWN];
}

void ff_pg_link_init(struct ff_pg_link *link, const struct ff_pg_config *config,
                     const struct ff_clock *clock)
{
    memset(link, 0, sizeof *link);
    link->config = config;
    link->clock = clock;
}

void ff_pg_link_done(struct ff_pg_link *link)
{
    ff_pg_link_drop(link);
    ff_free(link->steps);
    link->steps = NULL;
    link->step_cap = 0;
}

void ff_pg_link_drop(struct ff_pg_link *link)
{
    if (link->conn)
        PQfinish(link->conn);
    link->conn = NULL;
    link->up = false;
    link->unflushed = false;
    link->tuned = false;
    link->step_count = link->step_done = 0;
    memset(link->prepared, UNPREPARED, sizeof link->prepared);
}

/* ---------------------------------------------------------------------------------------------
 * Connecting */

static void on_notice(void *ctx, const PGresult *result)
{
    struct ff_pg_link *const link = ctx;
    const char *const sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    /* Texts may be translated, so the code must do: inside a save the only warning of this general
     * kind is "canceling wait for synchronous replication". */
    if (sqlstate && !strcmp(sqlstate, "01000"))
        link->warned = true;
}

static void connect_failed(struct ff_pg_link *link, const char *message)
{
    link->retry_at_ms = ff_clock_mono_ms(link->clock) + RETRY_MS;
    link->failure = (struct ff_pg_failure){.failed = true, .outcome = FF_CALLED_STOP};
    (void)snprintf(link->failure.message, sizeof link->failure.message, "%s", message);
    link->failure.message[strcspn(link->failure.message, "\n")] = '\0'; /* the rest is advice */
    ff_pg_link_drop(link);
}

bool ff_pg_link_connect(struct ff_pg_link *link)
{
    const int64_t now_ms = ff_clock_mono_ms(link->clock);
    const char *keywords[FF_PG_OPTIONS_MAX];
    const char *values[FF_PG_OPTIONS_MAX];

    if (now_ms < link->retry_at_ms)
        return false; /* `failure` still says why */
    ff_pg_link_drop(link);
    memset(&link->failure, 0, sizeof link->failure);
    link->connect_by_ms = now_ms + link->config->connect_ms;
    ff_pg_config_params(link->config, keywords, values);
    link->conn = PQconnectStartParams(keywords, values, 0);
    link->polling = PGRES_POLLING_WRITING;
    if (!link->conn || PQstatus(link->conn) == CONNECTION_BAD) {
        connect_failed(link, link->conn ? PQerrorMessage(link->conn) : "out of memory");
        return false;
    }
    PQsetNoticeReceiver(link->conn, on_notice, link);
    return true;
}

ff_pg_dialled ff_pg_link_dial(struct ff_pg_link *link)
{
    const short events = link->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    struct pollfd poller = {.fd = PQsocket(link->conn), .events = events};

    if (link->up)
        return FF_PG_UP;
    if (poll(&poller, 1, 0) > 0)
        link->polling = PQconnectPoll(link->conn);
    if (link->polling == PGRES_POLLING_OK) {
        link->up = PQsetnonblocking(link->conn, 1) == 0;
        return FF_PG_UP;
    }
    if (link->polling == PGRES_POLLING_FAILED) {
        connect_failed(link, PQerrorMessage(link->conn));
        return FF_PG_DOWN;
    }
    if (ff_clock_mono_ms(link->clock) >= link->connect_by_ms) {
        connect_failed(link, "no answer in time");
        return FF_PG_DOWN;
    }
    return FF_PG_DIALLING;
}

/* ---------------------------------------------------------------------------------------------
 * The pipeline */

bool ff_pg_link_in_transaction(const struct ff_pg_link *link)
{
    const PGTransactionStatusType status =
        link->up ? PQtransactionStatus(link->conn) : PQTRANS_UNKNOWN;

    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

void ff_pg_link_begin(struct ff_pg_link *link)
{
    link->step_count = link->step_done = 0;
    link->step_seen = link->lost = link->warned = false;
    memset(&link->failure, 0, sizeof link->failure);
    if (PQpipelineStatus(link->conn) == PQ_PIPELINE_OFF && !PQenterPipelineMode(link->conn))
        link->lost = true;
}

/* Nothing is sent whose step could not be kept, least of all a COMMIT. */
static bool has_room(struct ff_pg_link *link, size_t count)
{
    const size_t cap = link->step_cap ? link->step_cap * 2 : 64;
    struct ff_pg_step *steps;

    if (link->step_cap - link->step_count >= count)
        return true;
    steps = ff_realloc(link->steps, cap * sizeof *steps);
    if (!steps)
        return false;
    link->steps = steps;
    link->step_cap = cap;
    return true;
}

static void push_step(struct ff_pg_link *link, struct ff_pg_step step)
{
    link->steps[link->step_count++] = step;
}

/* The pipeline ends in front of this step. */
static void no_memory(struct ff_pg_link *link, const struct ff_pg_step *step)
{
    link->failure.no_memory |= !link->failure.failed;
    ff_pg_link_fail(link, step, FF_CALLED_OP, "out of memory");
    link->lost = true;
}

void ff_pg_link_send(struct ff_pg_link *link, struct ff_pg_step step,
                     const struct ff_pg_params *params)
{
    static const struct ff_pg_params none = {0};
    char name[16];
    const char *text;
    int sent;

    if (link->lost)
        return;
    params = params ? params : &none;
    /* For its Parse, itself, and the sync: behind a COMMIT that must not fail. */
    if ((params->arena && params->arena->failed) || !has_room(link, 3)) {
        no_memory(link, &step);
        return;
    }
    (void)snprintf(name, sizeof name, "ff%d", step.statement);
    if (link->config->pooler) {
        text = statement_text(step.statement);
        sent = PQsendQueryParams(link->conn, text, params->count, params->types, params->values,
                                 params->lengths, params->formats, 1);
    } else {
        if (link->prepared[step.statement] == UNPREPARED) {
            text = statement_text(step.statement);
            if (!PQsendPrepare(link->conn, name, text, params->count, params->types))
                link->lost = true;
            link->prepared[step.statement] = PREPARE_SENT;
            push_step(link, (struct ff_pg_step){FF_PG_STEP_PREPARE, step.statement, 0, NULL});
        }
        sent = PQsendQueryPrepared(link->conn, name, params->count, params->values, params->lengths,
                                   params->formats, 1);
    }
    if (!sent)
        link->lost = true;
    push_step(link, step);
    link->unflushed = true;
}

void ff_pg_link_sync(struct ff_pg_link *link)
{
    const struct ff_pg_step step = {.kind = FF_PG_STEP_SYNC};

    if (link->lost)
        return;
    if (!has_room(link, 1)) { /* nothing has been sent */
        no_memory(link, &step);
        return;
    }
    if (!PQpipelineSync(link->conn))
        link->lost = true;
    push_step(link, step);
    link->unflushed = true;
}

void ff_pg_link_fail(struct ff_pg_link *link, const struct ff_pg_step *step, ff_called outcome,
                     const char *message)
{
    struct ff_pg_failure *const failure = &link->failure;

    if (failure->failed)
        return;
    failure->failed = true;
    failure->step = step->kind;
    failure->outcome = outcome;
    (void)snprintf(failure->message, sizeof failure->message, "%s", message);
}

static void take_error(struct ff_pg_link *link, const struct ff_pg_step *step,
                       const PGresult *result)
{
    const char *const sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *const severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *const message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *const constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);

    if (!sqlstate) { /* libpq's own: the connection broke */
        link->lost = true;
        return;
    }
    if (link->failure.failed)
        return;
    ff_pg_link_fail(link, step, ff_pg_classify(sqlstate, constraint),
                    message ? message : "no message");
    link->failure.fatal = !severity || strcmp(severity, "ERROR") != 0;
    (void)snprintf(link->failure.sqlstate, sizeof link->failure.sqlstate, "%s", sqlstate);
}

static void take_result(struct ff_pg_link *link, const struct ff_pg_step *step, PGresult *result)
{
    const ExecStatusType status = PQresultStatus(result);
    const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (step->kind == FF_PG_STEP_PREPARE) {
        link->prepared[step->statement] = good ? PREPARED : UNPREPARED;
        if (good)
            return;
    }
    if (good) {
        if (!link->failure.failed && step->kind != FF_PG_STEP_DONE &&
            !link->take(link->ctx, step, result))
            ff_pg_link_fail(link, step, FF_CALLED_OP, "answer cannot be read");
    } else if (status != PGRES_PIPELINE_ABORTED) {
        take_error(link, step, result);
    }
}

/* Consumes one result, or the NULL behind the results of a statement. */
static void pump_one(struct ff_pg_link *link)
{
    const struct ff_pg_step *const step = &link->steps[link->step_done];
    PGresult *const result = PQgetResult(link->conn);

    if (!result) {
        if (!link->step_seen)
            link->lost = true; /* libpq has nothing more for us */
        link->step_seen = false;
        link->step_done++;
        return;
    }
    link->step_seen = true;
    if (step->kind == FF_PG_STEP_SYNC) {
        link->lost |= PQresultStatus(result) != PGRES_PIPELINE_SYNC;
        link->step_done++;
    } else {
        take_result(link, step, result);
    }
    PQclear(result);
}

bool ff_pg_link_pump(struct ff_pg_link *link)
{
    bool readable = true;
    int left = 0;

    if (link->lost)
        return true;
    if (link->unflushed)
        left = PQflush(link->conn);
    link->unflushed = left > 0;
    /* What arrived before the end still counts: read it even if the connection is gone. */
    if (left < 0 || !PQconsumeInput(link->conn))
        readable = false;
    while (!link->lost && link->step_done < link->step_count && !PQisBusy(link->conn))
        pump_one(link);
    if (link->step_done < link->step_count && (!readable || PQstatus(link->conn) == CONNECTION_BAD))
        link->lost = true;
    return link->lost || link->step_done == link->step_count;
}

void ff_pg_link_wait(struct ff_pg_link *link, int64_t timeout_ms)
{
    struct pollfd poller = {.fd = link->conn ? PQsocket(link->conn) : -1, .events = POLLIN};

    if (poller.fd < 0)
        return;
    if (!link->up) {
        timeout_ms = ff_min_i64(timeout_ms,
                                ff_max_i64(0, link->connect_by_ms - ff_clock_mono_ms(link->clock)));
        poller.events = link->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    } else if (link->unflushed) {
        poller.events |= POLLOUT;
    }
    (void)poll(&poller, 1, (int)ff_min_i64(timeout_ms, INT32_MAX));
}
