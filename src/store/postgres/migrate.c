/* SPDX-License-Identifier: Apache-2.0
 *
 * migrate.c -- bringing the schema up to this binary, and checking that it fits.
 *
 * Forward only, all in one transaction, under an advisory lock: several servers may start at once.
 * A store that is newer than the binary is fine as long as its last migration says so. Runs on a
 * blocking connection at start-up; works behind a pooler because it is one transaction.
 * Read first: README.md beside it. Tests: tests/store. */
#include "postgres-int.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mutant.h"
#include "store/ledger.h"

#include "base/banned.h"

static void result_free(PGresult **result)
{
    PQclear(*result);
}

#define AUTO_RESULT FF_AUTO(result_free) PGresult *

/* The server goes, or somebody else migrates for long: another time it may go well. What it says
 * last comes before the connection is seen to be gone. */
static bool is_away(PGconn *conn, const PGresult *result)
{
    return PQstatus(conn) != CONNECTION_OK ||
           ff_pg_may_pass(PQresultErrorField(result, PG_DIAG_SQLSTATE));
}

/* Text in, text out. */
static ff_status query(PGconn *conn, const char *text, const char *const *values, int count,
                       PGresult **ret, struct ff_error *reterr)
{
    PGresult *const result =
        count ? PQexecParams(conn, text, count, NULL, values, NULL, NULL, 0) : PQexec(conn, text);
    const ExecStatusType status = PQresultStatus(result);
    const char *message;
    ff_status failed;

    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        *ret = result;
        return FF_OK;
    }
    message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    failed = ff_fail(reterr, is_away(conn, result) ? FF_UNAVAILABLE : FF_SCHEMA, "%s",
                     message ? message : "connection lost");
    PQclear(result);
    return failed;
}

static ff_status run(PGconn *conn, const char *text, struct ff_error *reterr)
{
    AUTO_RESULT result = NULL;

    return query(conn, text, NULL, 0, &result, reterr);
}

/* A block; `value` NULL: it takes no parameter. */
static ff_status ask(PGconn *conn, int block, const char *value, PGresult **ret,
                     struct ff_error *reterr)
{
    return query(conn, ff_sql_blocks[block].text[FF_DIALECT_POSTGRES], &value, value ? 1 : 0, ret,
                 reterr);
}

static int32_t number_at(const PGresult *result, int row, int col)
{
    int64_t number = 0;

    if (!ff_str_to_i64(ff_str_of(PQgetvalue(result, row, col)), &number))
        return 0;
    return (int32_t)number;
}

/* ---------------------------------------------------------------------------------------------
 * The ledger */

static ff_status read_ledger(PGconn *conn, const struct ff_pg_config *config,
                             struct ff_ledger *ledger, struct ff_error *reterr)
{
    AUTO_RESULT exists = NULL;
    AUTO_RESULT lines = NULL;

    *ledger = (struct ff_ledger){0};
    FF_TRY(ask(conn, FF_SQL_LEDGER_EXISTS, config->schema, &exists, reterr));
    if (PQntuples(exists) == 0)
        return FF_OK;
    if (ask(conn, FF_SQL_MIGRATIONS_APPLIED, NULL, &lines, reterr) != FF_OK) {
        const struct ff_error cause = reterr ? *reterr : (struct ff_error){.status = FF_SCHEMA};

        return ff_fail(reterr, cause.status, "cannot read schema '%s': %s", config->schema,
                       cause.message); /* not ours to use, most of the time */
    }
    for (int row = 0; row < PQntuples(lines); row++)
        FF_TRY(ff_ledger_line(ledger, number_at(lines, row, 0), PQgetvalue(lines, row, 2),
                              number_at(lines, row, 3), reterr));
    return ff_ledger_check(ledger, reterr);
}

static ff_status apply_one(PGconn *conn, const struct ff_sql_migration *migration,
                           struct ff_error *reterr)
{
    char version[16];
    char oldest[16];
    const char *const values[] = {version, migration->name, migration->checksum, oldest, NULL};
    AUTO_RESULT now = NULL;
    AUTO_RESULT done = NULL;
    const char *all[FF_ARRAY_LEN(values)];

    (void)snprintf(version, sizeof version, "%d", migration->version);
    (void)snprintf(oldest, sizeof oldest, "%d", migration->oldest_binary);
    if (run(conn, migration->text[FF_DIALECT_POSTGRES], reterr) != FF_OK) {
        const struct ff_error cause = reterr ? *reterr : (struct ff_error){.status = FF_SCHEMA};

        return ff_fail(reterr, cause.status, "migration %d '%s': %s", migration->version,
                       migration->name, cause.message);
    }
    FF_TRY(ask(conn, FF_SQL_CLOCK, NULL, &now, reterr));
    memcpy(all, values, sizeof all);
    all[4] = PQgetvalue(now, 0, 0);
    return query(conn, ff_sql_blocks[FF_SQL_MIGRATION_RECORD].text[FF_DIALECT_POSTGRES], all,
                 (int)FF_ARRAY_LEN(all), &done, reterr);
}

/* Inside the transaction. */
static ff_status apply(PGconn *conn, const struct ff_pg_config *config,
                       struct ff_pg_migrate *migrate, struct ff_error *reterr)
{
    char text[256];
    AUTO_RESULT locked = NULL;
    AUTO_RESULT exists = NULL;
    struct ff_ledger ledger;

    FF_TRY(ask(conn, FF_SQL_MIGRATE_LOCK, config->schema, &locked, reterr));
    FF_TRY(read_ledger(conn, config, &ledger, reterr)); /* somebody may have been faster */
    migrate->from = ledger.version;
    FF_TRY(ask(conn, FF_SQL_SCHEMA_EXISTS, config->schema, &exists, reterr));
    if (PQntuples(exists) == 0) { /* an identifier cannot be a parameter */
        (void)snprintf(text, sizeof text, "CREATE SCHEMA %s", config->schema);
        FF_TRY(run(conn, text, reterr));
    }
    for (int32_t i = migrate->from; i < ff_sql_migration_count; i++)
        FF_TRY(apply_one(conn, &ff_sql_migrations[i], reterr));
    if (FF_MUTANT(sequence_cache))
        FF_TRY(run(conn, "ALTER SEQUENCE ff_event_id_seq CACHE 16", reterr));
    return FF_OK;
}

static ff_status migrate_inside(PGconn *conn, const struct ff_pg_config *config,
                                struct ff_pg_migrate *migrate, struct ff_error *reterr)
{
    const int32_t known = ff_ledger_newest();
    struct ff_ledger ledger;

    FF_TRY(read_ledger(conn, config, &ledger, reterr));
    migrate->from = ledger.version;
    migrate->to = migrate->from < known ? known : migrate->from;
    if (migrate->dry_run || migrate->from >= known)
        return FF_OK;
    if (migrate->from > 0 && !migrate->apply)
        return ff_ledger_is_old(&ledger, reterr);
    if (migrate->from == 0 && migrate->must_exist)
        return ff_fail(reterr, FF_NOT_FOUND, "no store in this database: schema '%s' is not there",
                       config->schema);
    return apply(conn, config, migrate, reterr);
}

ff_status ff_pg_migrate_run(PGconn *conn, const struct ff_pg_config *config,
                            struct ff_pg_migrate *migrate, struct ff_error *reterr)
{
    char text[512];
    ff_status status;
    AUTO_RESULT done = NULL;

    (void)snprintf(text, sizeof text,
                   "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = %s; "
                   "SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '60s'; "
                   "SET LOCAL statement_timeout = 0; SET LOCAL client_min_messages = warning; "
                   "SET LOCAL idle_in_transaction_session_timeout = '60s'",
                   config->search_path);
    FF_TRY(run(conn, text, reterr));
    status = migrate_inside(conn, config, migrate, reterr);
    if (status != FF_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return status;
    }
    FF_TRY(query(conn, "COMMIT", NULL, 0, &done, reterr));
    if (strcmp(PQcmdStatus(done), "COMMIT") != 0)
        return ff_fail(reterr, FF_SCHEMA, "migration was rolled back");
    return FF_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The live columns */

static ff_status check_column(const PGresult *live, const struct ff_table_info *table,
                              const struct ff_col *col, struct ff_error *reterr)
{
    for (int row = 0; row < PQntuples(live); row++) {
        if (strcmp(PQgetvalue(live, row, 0), table->name) != 0 ||
            strcmp(PQgetvalue(live, row, 1), col->name) != 0)
            continue;
        if (number_at(live, row, 2) != (int32_t)ff_pg_type_oid(col->type))
            return ff_fail(reterr, FF_SCHEMA, "column '%s.%s' has another type than we expect",
                           table->name, col->name);
        if ((PQgetvalue(live, row, 3)[0] == '1') == col->optional)
            return ff_fail(reterr, FF_SCHEMA, "column '%s.%s' %s", table->name, col->name,
                           col->optional ? "must allow NULL" : "must not allow NULL");
        return FF_OK;
    }
    return ff_fail(reterr, FF_SCHEMA, "column '%s.%s' is missing in the store", table->name,
                   col->name);
}

ff_status ff_pg_schema_check(PGconn *conn, const struct ff_pg_config *config,
                             struct ff_error *reterr)
{
    AUTO_RESULT live = NULL;

    FF_TRY(ask(conn, FF_SQL_COLUMNS_LIVE, config->schema, &live, reterr));
    for (int table = 0; table < FF_TABLE_COUNT; table++)
        for (int col = 0; col < ff_tables[table].col_count; col++)
            FF_TRY(check_column(live, &ff_tables[table], &ff_tables[table].cols[col], reterr));
    return FF_OK;
}
