/* SPDX-License-Identifier: Apache-2.0
 *
 * store.c -- opening a Postgres store: settings, schema, and whether a pooler stands in between.
 *
 * Opening blocks (connect_timeout, statement_timeout); nothing else here does.
 * Read first: README.md beside it. Tests: tests/store. */
#include "postgres-int.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#include "base/banned.h"

#define SERVER_VERSION_MIN 130000

static void conn_finish(PGconn **conn)
{
    PQfinish(*conn);
}

#define AUTO_CONN FF_AUTO(conn_finish) PGconn *

/* ---------------------------------------------------------------------------------------------
 * Looking at the server */

static ff_status open_conn(struct ff_pg_config *config, PGconn **ret, struct ff_error *reterr)
{
    const char *keywords[FF_PG_OPTIONS_MAX];
    const char *values[FF_PG_OPTIONS_MAX];
    PGconn *conn;
    char message[256];

    ff_pg_config_params(config, keywords, values);
    conn = PQconnectdbParams(keywords, values, 0);
    if (PQstatus(conn) == CONNECTION_OK) {
        *ret = conn;
        return FF_OK;
    }
    (void)snprintf(message, sizeof message, "%s", PQerrorMessage(conn));
    message[strcspn(message, "\n")] = '\0';
    PQfinish(conn);
    if (config->probe && !config->pooler && strstr(message, "startup parameter")) {
        config->pooler = true; /* a pooler that refuses options says so in these words */
        return open_conn(config, ret, reterr);
    }
    return ff_fail(reterr, FF_UNAVAILABLE, "cannot connect: %s", message);
}

static bool is_on(const PGresult *facts, int col)
{
    return !strcmp(PQgetvalue(facts, 0, col), "on");
}

/* The process id in the start-up packet is invented by a pooler; and one that ignores our options
 * leaves the search path as it was. */
static bool looks_pooled(const struct ff_pg_config *config, const PGconn *conn,
                         const PGresult *facts)
{
    char pid[16];

    (void)snprintf(pid, sizeof pid, "%d", PQbackendPID(conn));
    return strcmp(PQgetvalue(facts, 0, FF_OUT_SERVER_FACTS_SEARCH_PATH), config->search_path) !=
               0 ||
           strcmp(PQgetvalue(facts, 0, FF_OUT_SERVER_FACTS_PID), pid) != 0;
}

static void warn(struct ff_store_facts *facts, bool wrong, const char *text)
{
    const size_t len = strlen(facts->warnings);

    if (wrong)
        (void)snprintf(facts->warnings + len, sizeof facts->warnings - len, "%s%s", len ? "; " : "",
                       text);
}

static ff_status check_server(struct ff_pg_store *pg, const PGconn *conn, const PGresult *facts,
                              struct ff_error *reterr)
{
    const int version = PQserverVersion(conn);

    if (version < SERVER_VERSION_MIN)
        return ff_fail(reterr, FF_SCHEMA, "Postgres 13 or later is needed, this is %d",
                       version / 10000);
    if (!pg->config.unsafe && (!is_on(facts, FF_OUT_SERVER_FACTS_FSYNC) ||
                               !is_on(facts, FF_OUT_SERVER_FACTS_FULL_PAGE_WRITES)))
        return ff_fail(reterr, FF_UNAVAILABLE,
                       "the server may lose commits: set fsync and full_page_writes to on");
    pg->store.facts.warnings[0] = '\0';
    warn(&pg->store.facts, !is_on(facts, FF_OUT_SERVER_FACTS_FSYNC),
         "fsync is off: a crash loses the store");
    warn(&pg->store.facts, !is_on(facts, FF_OUT_SERVER_FACTS_FULL_PAGE_WRITES),
         "full_page_writes is off");
    warn(&pg->store.facts, !is_on(facts, FF_OUT_SERVER_FACTS_DATA_CHECKSUMS),
         "data_checksums is off");
    warn(&pg->store.facts, !is_on(facts, FF_OUT_SERVER_FACTS_AUTOVACUUM),
         "autovacuum is off: the store will slow down");
    warn(&pg->store.facts, !is_on(facts, FF_OUT_SERVER_FACTS_TRACK_ACTIVITIES),
         "track_activities is off: stuck sessions cannot be found");
    (void)snprintf(pg->store.facts.version, sizeof pg->store.facts.version, "%d.%d",
                   version / 10000, version % 10000);
    return FF_OK;
}

/* Connects, finds out about a pooler (then connects anew as one does behind it) and settings. */
static ff_status look(struct ff_pg_store *pg, PGconn **conn, struct ff_error *reterr)
{
    struct ff_pg_config *const config = &pg->config;
    PGresult *facts;
    ff_status status;

    FF_TRY(open_conn(config, conn, reterr));
    facts = PQexec(*conn, ff_sql_blocks[FF_SQL_SERVER_FACTS].text[FF_DIALECT_POSTGRES]);
    if (PQresultStatus(facts) != PGRES_TUPLES_OK) {
        status = ff_fail(reterr, FF_UNAVAILABLE, "server does not answer: %s",
                         PQresultErrorMessage(facts));
    } else if (config->probe && !config->pooler && looks_pooled(config, *conn, facts)) {
        config->pooler = true;
        PQclear(facts);
        PQfinish(*conn);
        *conn = NULL;
        return look(pg, conn, reterr);
    } else {
        status = check_server(pg, *conn, facts, reterr);
    }
    PQclear(facts);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * How events are numbered */

/* Runs a block without parameters; up to two numbers of its one row. */
static ff_status ask(PGconn *conn, int block, int64_t ret[2], struct ff_error *reterr)
{
    PGresult *const result = PQexec(conn, ff_sql_blocks[block].text[FF_DIALECT_POSTGRES]);
    bool good = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    const char *const problem = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    for (int i = 0; good && i < PQnfields(result) && i < 2; i++)
        good = ff_str_to_i64(ff_str_of(PQgetvalue(result, 0, i)), &ret[i]);
    if (!good)
        (void)ff_fail(reterr, FF_UNAVAILABLE, "cannot look at the event log: %s",
                      problem ? problem : "connection lost");
    PQclear(result);
    return good ? FF_OK : FF_UNAVAILABLE;
}

/* Behind a pooler the path ends with the transaction. */
static bool begin(PGconn *conn, const struct ff_pg_config *config)
{
    char text[FF_PG_SCHEMA_BYTES + 64];
    PGresult *result;
    bool good;

    (void)snprintf(text, sizeof text, "BEGIN; SET LOCAL search_path = %s", config->search_path);
    result = PQexec(conn, text);
    good = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return good;
}

static void end(PGconn *conn, const char *how)
{
    PQclear(PQexec(conn, how));
}

/* Is the log still the same? Every session asks again when it connects. */
static ff_status settle(struct ff_pg_store *pg, PGconn *conn, const char *forced,
                        struct ff_error *reterr)
{
    char known_id[24];
    const char *const values[FF_SQL_LOG_SETTLE_PARAMS] = {forced, known_id};
    PGresult *result;
    bool good;

    (void)snprintf(known_id, sizeof known_id, "%lld", (long long)atomic_load(&pg->seen_id));
    (void)begin(conn, &pg->config);
    result = PQexecParams(conn, ff_sql_blocks[FF_SQL_LOG_SETTLE].text[FF_DIALECT_POSTGRES],
                          FF_SQL_LOG_SETTLE_PARAMS, NULL, values, NULL, NULL, 0);
    good = PQresultStatus(result) == PGRES_TUPLES_OK;
    if (!good)
        (void)ff_fail(reterr, FF_UNAVAILABLE, "cannot look at the event log: %s",
                      PQresultErrorMessage(result));
    PQclear(result);
    end(conn, good ? "COMMIT" : "ROLLBACK");
    return good ? FF_OK : FF_UNAVAILABLE;
}

/* What a server was seen to do. */
typedef enum proof {
    PROOF_NONE, /* could not be found out now: the next one tries again */
    PROOF_GOOD,
    PROOF_BAD,
} proof;

/* On two sessions: ids follow each other, and one sees the lock the other holds. */
static ff_status prove(struct ff_pg_store *pg, PGconn *conn, proof *ret, struct ff_error *reterr)
{
    int64_t first[2] = {0}, second[2] = {0};
    AUTO_CONN other = NULL;

    FF_TRY(open_conn(&pg->config, &other, reterr));
    if (begin(conn, &pg->config) && ask(conn, FF_SQL_LOG_PROBE, first, NULL) == FF_OK &&
        begin(other, &pg->config)) {
        const bool answered = ask(other, FF_SQL_LOG_WATCH, second, NULL) == FF_OK;

        end(other, "ROLLBACK");
        if (answered) /* a refusal may pass, and what it would lead to is for good */
            *ret = second[0] == first[0] + 1 && second[1] > 0 ? PROOF_GOOD : PROOF_BAD;
    }
    end(conn, "ROLLBACK");
    return FF_OK;
}

static ff_status log_mode(struct ff_pg_store *pg, PGconn *conn, struct ff_error *reterr)
{
    int64_t mode[2] = {0}, ignored[2];
    proof seen = PROOF_NONE;
    bool is_serial, is_proven;

    if (!begin(conn, &pg->config))
        return ff_fail(reterr, FF_UNAVAILABLE, "server does not answer");
    FF_TRY(ask(conn, FF_SQL_LOG_MODE, mode, reterr));
    end(conn, "COMMIT");
    is_serial = mode[0] != 0;
    is_proven = mode[1] != 0;
    if (!is_serial && !is_proven && !pg->config.serial)
        FF_TRY(prove(pg, conn, &seen, reterr));
    (void)begin(conn, &pg->config);
    if (!is_serial && (pg->config.serial || seen == PROOF_BAD))
        FF_TRY(ask(conn, FF_SQL_LOG_SERIAL, ignored, reterr));
    else if (seen == PROOF_GOOD)
        (void)ask(conn, FF_SQL_LOG_PROVEN, ignored, NULL); /* or the next one proves it again */
    end(conn, "COMMIT");
    pg->config.serial = is_serial || pg->config.serial || seen == PROOF_BAD;
    pg->store.facts.serial_log = pg->config.serial;
    return FF_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The store */

static void pg_store_notify(struct ff_store *store)
{
    if (store->facts.notify)
        ff_pg_hints_notify(&ff_container_of(store, struct ff_pg_store, store)->hints);
}

static bool pg_store_notified(struct ff_store *store)
{
    return store->facts.notify &&
           ff_pg_hints_notified(&ff_container_of(store, struct ff_pg_store, store)->hints);
}

static ff_status pg_store_migrate(struct ff_store *store, bool dry_run, int32_t *ret_from,
                                  int32_t *ret_to, struct ff_error *reterr)
{
    struct ff_pg_store *const pg = ff_container_of(store, struct ff_pg_store, store);
    struct ff_pg_migrate migrate = {.apply = true, .dry_run = dry_run};
    AUTO_CONN conn = NULL;

    FF_TRY(open_conn(&pg->config, &conn, reterr));
    FF_TRY(ff_pg_migrate_run(conn, &pg->config, &migrate, reterr));
    *ret_from = migrate.from;
    *ret_to = migrate.to;
    return FF_OK;
}

static ff_status pg_store_restored(struct ff_store *store, struct ff_error *reterr)
{
    struct ff_pg_store *const pg = ff_container_of(store, struct ff_pg_store, store);
    AUTO_CONN conn = NULL;

    FF_TRY(open_conn(&pg->config, &conn, reterr));
    return settle(pg, conn, "1", reterr);
}

static void pg_store_free(struct ff_store *store)
{
    struct ff_pg_store *const pg = ff_container_of(store, struct ff_pg_store, store);

    ff_pg_hints_done(&pg->hints);
    ff_pg_config_done(&pg->config);
    ff_free(pg);
}

static const struct ff_store_ops store_ops = {
    .session_new = ff_pg_session_new,
    .notify = pg_store_notify,
    .notified = pg_store_notified,
    .migrate = pg_store_migrate,
    .free = pg_store_free,
    .restored = pg_store_restored,
};

static ff_status prepare(struct ff_pg_store *pg, const struct ff_store_options *options,
                         struct ff_error *reterr)
{
    struct ff_pg_migrate migrate = {.apply = options->migrate, .must_exist = !options->create};
    AUTO_CONN conn = NULL;

    FF_TRY(look(pg, &conn, reterr));
    if (!options->as_it_is) {
        FF_TRY(ff_pg_migrate_run(conn, &pg->config, &migrate, reterr));
        FF_TRY(ff_pg_schema_check(conn, &pg->config, reterr));
        FF_TRY(settle(pg, conn, "0", reterr));
        FF_TRY(log_mode(pg, conn, reterr));
    }
    pg->store.facts.kind = "postgres";
    pg->store.facts.shared = true;
    pg->store.facts.row_locks = true;
    pg->store.facts.upkeep = true;
    pg->store.facts.dead_rows = true;
    pg->store.facts.proves = true;
    pg->store.facts.pooler = pg->config.pooler;
    pg->store.facts.notify = !pg->config.pooler; /* LISTEN needs a session of its own */
    pg->store.facts.wake_up = pg->store.facts.notify ? "notify" : "polling";
    return FF_OK;
}

ff_status ff_store_postgres_open(const struct ff_store_options *options,
                                 struct ff_store **ret_store, struct ff_error *reterr)
{
    struct ff_pg_store *const pg = ff_calloc(1, sizeof *pg);
    ff_status status;

    if (!pg)
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for a store");
    pg->store.ops = &store_ops;
    pg->clock = options->clock.mono_ms ? options->clock : ff_clock_system();
    ff_pg_hints_init(&pg->hints, &pg->config, &pg->clock);
    status = ff_pg_config_init(&pg->config, options->url, reterr);
    if (status == FF_OK)
        status = prepare(pg, options, reterr);
    if (status != FF_OK) {
        pg_store_free(&pg->store);
        return status;
    }
    *ret_store = &pg->store;
    return FF_OK;
}
