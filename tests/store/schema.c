/* SPDX-License-Identifier: Apache-2.0
 *
 * schema.c -- migrations: once, by one, forward only, and never silently wrong. */
#include "store_ring.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sql.h"

#include "base/banned.h"

enum { RACERS = 6 };

static ff_status open_status(struct ff_error *reterr)
{
    const struct ff_store_options options = {.url = test_url(""), .create = true};
    struct ff_store *store = NULL;
    const ff_status status = ff_store_open(&options, &store, reterr);

    ff_store_free(status == FF_OK ? store : NULL);
    return status;
}

static void racing_processes_migrate_once(void)
{
    int good = 0;

    (void)fflush(stdout);
    for (int i = 0; i < RACERS; i++)
        if (fork() == 0)
            _exit(open_status(NULL) == FF_OK ? 0 : 1);
    for (int i = 0; i < RACERS; i++) {
        int status = 1;

        (void)wait(&status);
        good += status == 0;
    }
    CHECK(good == RACERS);
    CHECK(disturb("SELECT count(*) FROM %s.ff_migration", test_schema()) == ff_sql_migration_count);
}

static void changed_migration_is_refused(void)
{
    struct ff_error error;

    CHECK(open_status(NULL) == FF_OK);
    (void)disturb("UPDATE %s.ff_migration SET checksum = 'x' WHERE version = 1", test_schema());
    CHECK(open_status(&error) == FF_SCHEMA);
    CHECK(strstr(error.message, "migration 1"));
}

static void newer_store_opens_if_it_says_so(void)
{
    const int32_t next = ff_sql_migration_count + 1;

    CHECK(open_status(NULL) == FF_OK);
    (void)disturb("INSERT INTO %s.ff_migration VALUES (%d, 'next', 'y', %d, 0)", test_schema(),
                  next, ff_sql_migration_count);
    CHECK(open_status(NULL) == FF_OK);
    (void)disturb("UPDATE %s.ff_migration SET oldest_binary = %d WHERE version = %d", test_schema(),
                  next, next);
    CHECK(open_status(NULL) == FF_SCHEMA);
}

static void missing_column_is_named(void)
{
    struct ff_error error;

    CHECK(open_status(NULL) == FF_OK);
    (void)disturb("ALTER TABLE %s.ff_worker ALTER seen_at_ms DROP NOT NULL", test_schema());
    CHECK(open_status(&error) == FF_SCHEMA && strstr(error.message, "ff_worker.seen_at_ms"));
    (void)disturb("ALTER TABLE %s.ff_worker DROP seen_at_ms", test_schema());
    CHECK(open_status(&error) == FF_SCHEMA && strstr(error.message, "ff_worker.seen_at_ms"));
}

static void dry_run_changes_nothing(void)
{
    struct ff_store *const store = store_open("");
    int32_t from = -1;
    int32_t to = -1;
    ff_status status = FF_INTERNAL;

    if (store)
        status = store->ops->migrate(store, true, &from, &to, NULL);
    ff_store_free(store);
    CHECK(status == FF_OK && from == ff_sql_migration_count && to == from);
}

/* Every statement the generator made is one the server understands. */
static int refused(const char *name, const char *text)
{
    PGresult *const result = text ? PQprepare(disturber(), "", text, 0, NULL) : NULL;
    const bool bad = text && PQresultStatus(result) != PGRES_COMMAND_OK;

    if (bad)
        printf("# %s: %s", name, PQresultErrorMessage(result));
    PQclear(result);
    return bad;
}

static int refused_of_table(int nth)
{
    const struct ff_sql_table *const table = &ff_sql_tables[nth];
    const char *const name = ff_tables[nth].name;
    int bad = refused(name, table->insert_plain);

    for (int form = FF_FORM_POSTGRES; form < FF_FORM_COUNT; form++) {
        const char *const texts[] = {table->lock[form],   table->wait[form],   table->read[form],
                                     table->insert[form], table->update[form], table->rewrite[form],
                                     table->remove[form], table->purge[form]};

        for (size_t i = 0; i < FF_ARRAY_LEN(texts); i++)
            bad += refused(name, texts[i]);
    }
    return bad;
}

static void every_statement_can_be_prepared(void)
{
    int bad = 0;

    CHECK(open_status(NULL) == FF_OK);
    (void)disturb("SET search_path = %s", test_schema());
    for (int i = 0; i < FF_SQL_COUNT; i++)
        bad += refused(ff_sql_blocks[i].name, ff_sql_blocks[i].text[FF_DIALECT_POSTGRES]);
    for (int i = 0; i < FF_TABLE_COUNT; i++)
        bad += refused_of_table(i);
    (void)disturb("RESET search_path");
    CHECK(bad == 0);
}

/* Whether the plan that a session keeps for a statement walks along a partition, or a table. */
static bool walks(const struct ff_sql_block *block)
{
    static const char nulls[] = "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL";
    const int null_bytes = 6 * block->param_count - 2;
    char execute[128];
    PGresult *plan;
    bool found = false;

    PQclear(PQprepare(disturber(), "looked_at", block->text[FF_DIALECT_POSTGRES], 0, NULL));
    (void)snprintf(execute, sizeof execute, "EXPLAIN EXECUTE looked_at (%.*s)", null_bytes, nulls);
    plan = PQexec(disturber(), execute);
    for (int i = 0; i < PQntuples(plan); i++) {
        const char *const line = PQgetvalue(plan, i, 0);

        if (strstr(line, "Seq Scan on ff_") || strstr(line, "Index Cond: (partition_key = $1)") ||
            strstr(line, "Index Cond: (partition_key = n.partition_key)"))
            found = true;
    }
    if (found || PQntuples(plan) == 0)
        printf("# %s walks\n", block->name);
    found = found || PQntuples(plan) == 0;
    PQclear(plan);
    (void)disturb("DEALLOCATE looked_at");
    return found;
}

/* A plan is kept from when the tables were empty until the next ANALYZE: rows of an execution must
 * be found by their whole key from the beginning. */
static void surroundings_are_found_by_key(void)
{
    const int ids[] = {FF_SQL_UPSTREAMS,          FF_SQL_UPSTREAMS_WITH,   FF_SQL_SIBLING_NEEDED,
                       FF_SQL_FAILED_UPSTREAMS,   FF_SQL_FAILED_ANCESTORS, FF_SQL_HOPS_ABOUT,
                       FF_SQL_OUTDATED_UPSTREAMS, FF_SQL_FLOW_BROKEN_LEAF, FF_SQL_FLOW_MEMBERS,
                       FF_SQL_FLOW_MEMBERS_ALIVE, FF_SQL_FLOW_COUNTS,      FF_SQL_FLOW_NODES,
                       FF_SQL_FLOW_EDGES,         FF_SQL_FLOW_JOINS,       FF_SQL_FLOW_LIST};
    size_t walking = 0;

    CHECK(open_status(NULL) == FF_OK);
    (void)disturb("SET search_path = %s", test_schema());
    (void)disturb("SET plan_cache_mode = force_generic_plan");
    (void)disturb("SET enable_seqscan = off");
    for (size_t i = 0; i < FF_ARRAY_LEN(ids); i++)
        walking += walks(&ff_sql_blocks[ids[i]]);
    (void)disturb("RESET enable_seqscan");
    /* Claims read it on sessions that nobody has told how to plan. */
    walking += walks(&ff_sql_blocks[FF_SQL_UPSTREAMS]);
    (void)disturb("RESET plan_cache_mode");
    (void)disturb("RESET search_path");
    CHECK(walking == 0);
}

static void server_that_may_lose_commits_is_refused(void)
{
    struct ff_store *store;
    ff_status status;
    bool warned;

    CHECK(set_server("fsync", "off"));
    status = open_status(NULL);
    store = store_open("&unsafe=1");
    warned = store && strstr(store->facts.warnings, "fsync");
    ff_store_free(store);
    CHECK(set_server("fsync", "on"));
    CHECK(status == FF_UNAVAILABLE && warned);
}

/* `ff ls` with the wrong database in mind used to leave a schema there. */
static void who_only_looks_makes_none(void)
{
    const struct ff_store_options look = {.url = test_url("")};
    struct ff_store *store = NULL;
    struct ff_error error;

    CHECK(ff_store_open(&look, &store, &error) == FF_NOT_FOUND);
    CHECK(strstr(error.message, test_schema()));
    CHECK(disturb("SELECT count(*) FROM pg_namespace WHERE nspname = '%s'", test_schema()) == 0);
    CHECK(open_status(NULL) == FF_OK);
    CHECK(ff_store_open(&look, &store, &error) == FF_OK);
    ff_store_free(store);
}

/* Each costs every statement that writes the table: that the state is legal, and no more. */
static void checks_are_few(void)
{
    CHECK(open_status(NULL) == FF_OK);
    CHECK(disturb("SELECT count(*) FROM pg_constraint c, pg_namespace n WHERE contype = 'c' "
                  "AND n.oid = connamespace AND n.nspname = '%s' "
                  "AND conrelid::regclass::text ~ '(flow|execution|attempt|outbox|edge|cancel)'",
                  test_schema()) == 1);
    CHECK(disturb("SELECT count(*) FROM pg_constraint WHERE contype = 'c' "
                  "AND conrelid = '%s.ff_execution'::regclass "
                  "AND pg_get_constraintdef(oid) LIKE '%%state%%'",
                  test_schema()) == 1);
}

static void schema_name_is_checked(void)
{
    const struct ff_store_options options = {.url = "postgres://h/d?schema=a%20b"};
    struct ff_store *store = NULL;

    CHECK(ff_store_open(&options, &store, NULL) == FF_INVALID);
}

const struct test schema_tests[] = {
    {"schema__racing_processes_migrate_once", racing_processes_migrate_once},
    {"schema__changed_migration_is_refused", changed_migration_is_refused},
    {"schema__newer_store_opens_if_it_says_so", newer_store_opens_if_it_says_so},
    {"schema__missing_column_is_named", missing_column_is_named},
    {"schema__dry_run_changes_nothing", dry_run_changes_nothing},
    {"schema__every_statement_can_be_prepared", every_statement_can_be_prepared},
    {"schema__surroundings_are_found_by_key", surroundings_are_found_by_key},
    {"schema__server_that_may_lose_commits_is_refused", server_that_may_lose_commits_is_refused},
    {"schema__who_only_looks_makes_none", who_only_looks_makes_none},
    {"schema__checks_are_few", checks_are_few},
    {"schema__name_is_checked", schema_name_is_checked},
    {NULL, NULL},
};
