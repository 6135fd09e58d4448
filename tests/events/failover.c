/* SPDX-License-Identifier: Apache-2.0
 *
 * failover.c -- an asynchronous replica is promoted while it is behind: events that a subscriber
 * has seen are gone, and no id is given out twice. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define DIR_BYTES 64
#define JUMP      INT64_C(4294967296)

/* Two servers of this case alone. */
struct servers {
    char first[DIR_BYTES], second[DIR_BYTES];
};

static int pg_private(const char *verb, const char *dir, const char *of)
{
    char self[512], command[1024];
    const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *at;

    if (len <= 0)
        return -1;
    self[len] = '\0';
    for (int i = 0; i < 4 && (at = strrchr(self, '/')); i++)
        *at = '\0'; /* build/asan/tests/ff-events */
    (void)snprintf(command, sizeof command,
                   "%s/tests/support/pg-private %s %s %s >/dev/null 2>&1 </dev/null", self, verb,
                   dir, of);
    return system(command);
}

static void servers_stop(void *memory)
{
    const struct servers *const servers = memory;

    if (servers->first[0])
        (void)pg_private("stop", servers->first, "");
    if (servers->second[0])
        (void)pg_private("stop", servers->second, "");
}

static PGconn *connected(struct test *t, const char *dir)
{
    char info[256];
    PGconn *conn;

    (void)snprintf(info, sizeof info, "host=%s port=5432 user=postgres dbname=postgres", dir);
    conn = PQconnectdb(info);
    if (PQstatus(conn) != CONNECTION_OK)
        FAIL(t, "cannot connect to %s: %s", dir, PQerrorMessage(conn));
    return conn;
}

static long number(PGconn *conn, const char *sql)
{
    PGresult *const result = PQexec(conn, sql);
    const long got = PQntuples(result) == 1 ? strtol(PQgetvalue(result, 0, 0), NULL, 10) : -1;

    PQclear(result);
    return got;
}

/* While the server is away calls are refused: until one is not. */
static bool is_served(struct test *t)
{
    const struct ff_submission s = submission();
    struct ff_submitted made;

    return ff_submit(t->client, &s, 1, &made, &t->err) == FF_OK && made.status == FF_OK;
}

static void given_servers(struct test *t, struct servers *servers, char *url, size_t url_bytes)
{
    (void)snprintf(servers->first, DIR_BYTES, "/tmp/ff-ev-a.%d", (int)getpid());
    (void)snprintf(servers->second, DIR_BYTES, "/tmp/ff-ev-b.%d", (int)getpid());
    if (pg_private("start", servers->first, "") != 0 ||
        pg_private("replica", servers->second, servers->first) != 0)
        FAIL(t, "cannot start two servers");
    (void)snprintf(url, url_bytes, "postgres://postgres@/postgres?host=%s,%s&port=5432",
                   servers->first, servers->second);
}

/* The second has everything so far, and nothing of what comes. */
static void when_cut_off(struct test *t, const struct servers *servers)
{
    PGconn *const first = connected(t, servers->first);
    PGconn *const second = connected(t, servers->second);

    WAIT_UNTIL(t, number(first, "SELECT count(*) FROM pg_stat_replication "
                                "WHERE replay_lsn >= pg_current_wal_lsn()") == 1);
    PQclear(PQexec(second, "ALTER SYSTEM SET primary_conninfo = ''"));
    PQclear(PQexec(second, "SELECT pg_reload_conf()"));
    WAIT_UNTIL(t, number(first, "SELECT count(*) FROM pg_stat_replication") == 0);
    PQfinish(first);
    PQfinish(second);
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void promoted_while_behind(struct test *t)
{
    struct servers *const servers = keep_until(t, sizeof *servers, servers_stop);
    struct tally tally = {.ids = ids_new(t)};
    struct ff_subscription *sub, *late;
    char url[512], lost_cursor[FF_CURSOR_BYTES], sql[160];
    size_t kept;
    int64_t lost_id;
    PGconn *second;

    EXPECT_OK(t, ff_migrate(t->url, false, NULL, NULL, &t->err)); /* the audit looks there */
    given_servers(t, servers, url, sizeof url);
    EXPECT_OK(t, ff_open(url, NULL, &t->client, &t->err));
    sub = given_subscribed(t, NULL, "start");
    for (int i = 0; i < 5; i++)
        (void)given_completed(t);
    take_until(t, sub, &tally, log_end(t));
    when_cut_off(t, servers);
    kept = tally.ids->count;
    for (int i = 0; i < 5; i++)
        (void)given_completed(t);
    take_until(t, sub, &tally, log_end(t));
    EXPECT(t, tally.ids->count >= kept + 10);
    lost_id = tally.ids->items[tally.ids->count - 1];
    (void)snprintf(lost_cursor, sizeof lost_cursor, "%s", tally.cursor);
    EXPECT_INT(t, 0, pg_private("stop", servers->first, ""));
    servers->first[0] = '\0';
    EXPECT_INT(t, 0, pg_private("promote", servers->second, ""));
    WAIT_UNTIL_FOR(t, is_served(t), 60000);
    const struct held held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    take_until(t, sub, &tally, log_end(t));

    second = connected(t, servers->second);
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM flowfabric.ff_event WHERE event_id = %lld",
                   (long long)lost_id);
    EXPECT_INT(t, 0, number(second, sql)); /* the subscriber has seen it, the store never will */
    PQfinish(second);
    EXPECT(t, tally.disconnected >= 1);
    EXPECT_INT(t, 1, tally.resets);
    EXPECT(t, tally.ids->items[tally.ids->count - 1] > JUMP);
    qsort(tally.ids->items, tally.ids->count, sizeof *tally.ids->items, compare_ids);
    for (size_t i = 1; i < tally.ids->count; i++)
        EXPECT(t, tally.ids->items[i] != tally.ids->items[i - 1]);
    late = given_subscribed(t, NULL, lost_cursor);
    EXPECT_TEXT(t, "reset", next_delivery(t, late)->notice);
    EXPECT_NEXT(t, late, "log.reset");
    close_client(t, &t->client);
}

const struct plain_case failover_cases[] = {
    {"failover/replica_is_promoted_while_behind", TEST_STORE_POSTGRES, promoted_while_behind,
     false},
    {0},
};
