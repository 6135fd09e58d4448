/* SPDX-License-Identifier: Apache-2.0
 *
 * stores.c -- fresh stores for tests: a name in memory, a file in FF_TEST_TMP, a Postgres schema.
 *
 * Read first: tests/support/README.md. */
#include "support/stores.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/server.h"

#include "base/banned.h"

#define SCHEMAS_MAX     64
#define SERVER_GRACE_MS 60000
#define BUSY_MS         60000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char own_dir[64]; /* made when FF_TEST_TMP does not say where */
static atomic_uint last_number;
/* Schemas that are empty again. Making one takes half a second and a hundred files. */
static char free_schemas[SCHEMAS_MAX][64];
static size_t free_count;

const char *test_store_name(test_store_kind kind)
{
    static const char *const names[TEST_STORE_KINDS] = {
        [TEST_STORE_MEMORY] = "memory",
        [TEST_STORE_FILE] = "file",
        [TEST_STORE_POSTGRES] = "postgres",
        [TEST_STORE_HTTP] = "http",
    };

    return names[kind];
}

static const char *directory(void)
{
    const char *const given = getenv("FF_TEST_TMP");

    if (given && given[0])
        return given;
    pthread_mutex_lock(&lock);
    if (!own_dir[0]) {
        char name[] = "/tmp/ff-stores.XXXXXX";

        if (mkdtemp(name))
            memcpy(own_dir, name, sizeof name);
    }
    pthread_mutex_unlock(&lock);
    return own_dir[0] ? own_dir : NULL;
}

void test_stores_done(void)
{
    if (own_dir[0])
        (void)rmdir(own_dir);
}

static bool file_new(struct test_store *store, unsigned number, char *why, size_t why_bytes)
{
    const char *const dir = directory();

    if (!dir) {
        (void)snprintf(why, why_bytes, "cannot make a temporary directory");
        return false;
    }
    (void)snprintf(store->path, sizeof store->path, "%s/t%d-%u.db", dir, (int)getpid(), number);
    (void)snprintf(store->url, sizeof store->url, "sqlite:%s", store->path);
    return true;
}

static bool schema_reused(struct test_store *store)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    if (free_count) {
        memcpy(store->schema, free_schemas[--free_count], sizeof store->schema);
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static bool schema_new(struct test_store *store, unsigned number, char *why, size_t why_bytes)
{
    const char *const server = getenv("FF_TEST_PG");

    if (!server || !server[0]) {
        (void)snprintf(why, why_bytes,
                       "FF_TEST_PG is not set; run inside 'tests/support/pg-private run --'");
        return false;
    }
    if (!schema_reused(store))
        (void)snprintf(store->schema, sizeof store->schema, "t%d_%u", (int)getpid(), number);
    (void)snprintf(store->url, sizeof store->url, "%s%cschema=%s", server,
                   strchr(server, '?') ? '&' : '?', store->schema);
    return true;
}

/* The same cases through a client of a server: its engine is in this process, its port any. */
static bool server_new(struct test_store *store, char *why, size_t why_bytes)
{
    static const struct ff_tokens none = {0};
    struct ff_server_options options = {.listen = "127.0.0.1:0", .tokens = &none};
    struct ff_error error;

    if (ff_open(store->url, NULL, &store->served, &error) != FF_OK) {
        (void)snprintf(why, why_bytes, "cannot open the store: %s", error.message);
        return false;
    }
    options.client = store->served;
    if (ff_server_new(&options, &store->server, &error) != FF_OK) {
        (void)snprintf(why, why_bytes, "cannot serve: %s", error.message);
        (void)ff_close(store->served, 0);
        return false;
    }
    (void)snprintf(store->below, sizeof store->below, "%s", store->url);
    (void)snprintf(store->url, sizeof store->url, "%s", ff_server_url(store->server));
    return true;
}

static void server_done(struct test_store *store)
{
    if (ff_server_drain(store->server, SERVER_GRACE_MS) == 0)
        ff_server_free(store->server);
    (void)ff_close(store->served, SERVER_GRACE_MS);
}

bool test_store_new(test_store_kind kind, struct test_store *ret, char *why, size_t why_bytes)
{
    const unsigned number = ++last_number;

    memset(ret, 0, sizeof *ret);
    ret->kind = kind;
    if (kind == TEST_STORE_FILE)
        return file_new(ret, number, why, why_bytes);
    if (kind == TEST_STORE_POSTGRES)
        return schema_new(ret, number, why, why_bytes);
    (void)snprintf(ret->path, sizeof ret->path, "t%d-%u", (int)getpid(), number);
    (void)snprintf(ret->url, sizeof ret->url, "sqlite:memory:%s", ret->path);
    return kind != TEST_STORE_HTTP || server_new(ret, why, why_bytes);
}

void test_store_remove(const struct test_store *store)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[sizeof store->path + 16];

    if (store->kind != TEST_STORE_FILE)
        return;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", store->path, endings[i]);
        (void)unlink(name);
    }
}

/* One statement on a connection of its own; the test's own clients are closed by now. */
static bool postgres_run(const char *sql)
{
    PGconn *const conn = PQconnectdb(getenv("FF_TEST_PG"));
    PGresult *const result = PQexec(conn, sql);
    const bool ok = PQresultStatus(result) == PGRES_COMMAND_OK;

    if (!ok)
        (void)fprintf(stderr, "%s", PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
    return ok;
}

/* Everything but the ledger, and from that what a test has added. */
static void empty_schema(const char *schema)
{
    char sql[1024];

    (void)snprintf(sql, sizeof sql,
                   "DO $$ DECLARE r record; BEGIN"
                   " FOR r IN SELECT tablename FROM pg_tables WHERE schemaname = '%s'"
                   " AND tablename <> 'ff_migration' LOOP"
                   " EXECUTE format('DELETE FROM %%I.%%I', '%s', r.tablename); END LOOP;"
                   " DELETE FROM %s.ff_migration WHERE name = 'from the future';"
                   " ALTER SEQUENCE %s.ff_event_id_seq NO MAXVALUE;"
                   " PERFORM setval('%s.ff_event_id_seq', 1, false); END $$",
                   schema, schema, schema, schema, schema);
    if (!postgres_run(sql))
        return;
    pthread_mutex_lock(&lock);
    if (free_count < SCHEMAS_MAX)
        (void)snprintf(free_schemas[free_count++], sizeof free_schemas[0], "%s", schema);
    pthread_mutex_unlock(&lock);
}

void test_store_done(struct test_store *store, bool passed)
{
    if (store->kind == TEST_STORE_HTTP)
        server_done(store);
    test_store_remove(store);
    if (store->kind == TEST_STORE_POSTGRES && passed)
        empty_schema(store->schema);
}

bool test_store_is_memory(const struct test_store *store)
{
    return store->kind == TEST_STORE_MEMORY;
}

/* ---- looking at rows ---- */

static long postgres_rows(const char *sql)
{
    PGconn *const conn = PQconnectdb(getenv("FF_TEST_PG"));
    PGresult *const result = PQexec(conn, sql);
    const long rows =
        PQresultStatus(result) == PGRES_TUPLES_OK ? strtol(PQgetvalue(result, 0, 0), NULL, 10) : -1;

    PQclear(result);
    PQfinish(conn);
    return rows;
}

static long sqlite_rows(const char *path, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;
    long rows = -1;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        rows = (long)sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return rows;
}

long test_store_rows(const struct test_store *store, const char *what)
{
    char sql[512];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s%s%s", store->schema,
                   store->schema[0] ? "." : "", what);
    return store->kind == TEST_STORE_POSTGRES ? postgres_rows(sql) : sqlite_rows(store->path, sql);
}

/* ---- a store from the future ---- */

static void future_sql(const char *schema, bool fits, char *out, size_t out_bytes)
{
    char table[96];

    (void)snprintf(table, sizeof table, "%s%sff_migration", schema, schema[0] ? "." : "");
    (void)snprintf(out, out_bytes,
                   "INSERT INTO %s (version, name, checksum, oldest_binary, applied_at_ms)"
                   " SELECT max(version) + 1, 'from the future', 'none', %s, 1 FROM %s",
                   table, fits ? "1" : "max(version) + 1", table);
}

static bool postgres_future(const struct test_store *store, bool fits)
{
    char sql[512];

    future_sql(store->schema, fits, sql, sizeof sql);
    return postgres_run(sql);
}

static bool sqlite_future(const struct test_store *store, bool fits)
{
    char name[sizeof store->path + 64];
    char sql[512];
    sqlite3 *db = NULL;
    bool ok;

    if (store->kind == TEST_STORE_MEMORY)
        (void)snprintf(name, sizeof name, "file:/%s?vfs=memdb", store->path);
    else
        (void)snprintf(name, sizeof name, "%s", store->path);
    future_sql("", fits, sql, sizeof sql);
    ok = sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL) == SQLITE_OK &&
         sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK &&
         sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    if (!ok)
        (void)fprintf(stderr, "%s\n", db ? sqlite3_errmsg(db) : "no memory");
    (void)sqlite3_close(db);
    return ok;
}

bool test_store_from_the_future(const struct test_store *store, bool fits)
{
    return store->kind == TEST_STORE_POSTGRES ? postgres_future(store, fits)
                                              : sqlite_future(store, fits);
}
