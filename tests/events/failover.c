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

/* Two servers of this case alone. */
struct servers {
    char first[DIR_BYTES], second[DIR_BYTES], pooler[DIR_BYTES];
};

static int pg_private(const char *verb, const char *dir, const char *of)
{
    return run_tool("pg-private", verb, dir, of);
}

static void servers_stop(void *memory)
{
    const struct servers *const servers = memory;

    if (servers->pooler[0])
        (void)run_tool("pgbouncer-private", "stop", servers->pooler, "");
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

static void given_servers(struct test *t, struct servers *servers)
{
    (void)snprintf(servers->first, DIR_BYTES, "/tmp/ff-ev-a.%d", (int)getpid());
    (void)snprintf(servers->second, DIR_BYTES, "/tmp/ff-ev-b.%d", (int)getpid());
    if (pg_private("start", servers->first, "") != 0 ||
        pg_private("replica", servers->second, servers->first) != 0)
        FAIL(t, "cannot start two servers");
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

/* What follows a promotion: the subscriber, who has seen events the second server never will, hears
 * of it and goes on; nothing is given out twice. */
static void expect_promoted(struct test *t, const struct servers *servers,
                            struct ff_subscription *sub, struct tally *tally)
{
    const int64_t lost_id = tally->ids->items[tally->ids->count - 1];
    char lost_cursor[FF_CURSOR_BYTES], sql[160];
    struct ff_subscription *late;
    PGconn *second;

    (void)snprintf(lost_cursor, sizeof lost_cursor, "%s", tally->cursor);
    WAIT_UNTIL_FOR(t, is_served(t), 60000);
    const struct held held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    take_until(t, sub, tally, log_end(t));
    second = connected(t, servers->second);
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM flowfabric.ff_event WHERE event_id = %lld",
                   (long long)lost_id);
    EXPECT_INT(t, 0, number(second, sql));
    PQfinish(second);
    EXPECT_INT(t, 1, tally->resets);
    EXPECT(t, tally->ids->items[tally->ids->count - 1] > JUMP);
    expect_distinct(t, tally->ids);
    late = given_subscribed(t, NULL, lost_cursor);
    EXPECT_TEXT(t, "reset", next_delivery(t, late)->notice);
    EXPECT_NEXT(t, late, "log.reset");
}

/* Events that both have, then some that only the first one has. */
static struct ff_subscription *given_lost_events(struct test *t, const struct servers *servers,
                                                 struct tally *tally)
{
    struct ff_subscription *const sub = given_subscribed(t, NULL, "start");
    size_t kept;

    for (int i = 0; i < 5; i++)
        (void)given_completed(t);
    take_until(t, sub, tally, log_end(t));
    when_cut_off(t, servers);
    kept = tally->ids->count;
    for (int i = 0; i < 5; i++)
        (void)given_completed(t);
    take_until(t, sub, tally, log_end(t));
    EXPECT(t, tally->ids->count >= kept + 10);
    return sub;
}

static void promoted_while_behind(struct test *t)
{
    struct servers *const servers = keep_until(t, sizeof *servers, servers_stop);
    struct tally tally = {.ids = ids_new(t)};
    struct ff_subscription *sub;
    char url[512];

    EXPECT_OK(t, ff_migrate(t->url, false, NULL, NULL, &t->err)); /* the audit looks there */
    given_servers(t, servers);
    (void)snprintf(url, sizeof url, "postgres://postgres@/postgres?host=%s,%s&port=5432",
                   servers->first, servers->second);
    EXPECT_OK(t, ff_open(url, NULL, &t->client, &t->err));
    sub = given_lost_events(t, servers, &tally);
    EXPECT_INT(t, 0, pg_private("stop", servers->first, ""));
    servers->first[0] = '\0';
    EXPECT_INT(t, 0, pg_private("promote", servers->second, ""));
    expect_promoted(t, servers, sub, &tally);
    EXPECT(t, tally.disconnected >= 1);
    close_client(t, &t->client);
}

static bool is_behind_pooler(const char *url, const char *server)
{
    PGconn *const conn = PQconnectdb(url);
    PGresult *const result = PQexec(conn, "SHOW unix_socket_directories");
    const bool is = PQntuples(result) == 1 && !strcmp(PQgetvalue(result, 0, 0), server);

    PQclear(result);
    PQfinish(conn);
    return is;
}

/* The same, but nobody's connection breaks: a pooler stands between, and its server is another one
 * from one transaction to the next. */
static void promoted_behind_a_pooler(struct test *t)
{
    struct servers *const servers = keep_until(t, sizeof *servers, servers_stop);
    struct tally tally = {.ids = ids_new(t)};
    struct ff_subscription *sub;
    char url[512];

    EXPECT_OK(t, ff_migrate(t->url, false, NULL, NULL, &t->err));
    given_servers(t, servers);
    (void)snprintf(servers->pooler, DIR_BYTES, "/tmp/ff-ev-p.%d", (int)getpid());
    EXPECT_INT(t, 0, run_tool("pgbouncer-private", "start", servers->pooler, servers->first));
    (void)snprintf(url, sizeof url, "postgres://postgres@/postgres?host=%s&port=6432",
                   servers->pooler);
    EXPECT_OK(t, ff_open(url, NULL, &t->client, &t->err));
    sub = given_lost_events(t, servers, &tally);
    EXPECT_INT(t, 0, pg_private("promote", servers->second, ""));
    EXPECT_INT(t, 0, run_tool("pgbouncer-private", "point", servers->pooler, servers->second));
    WAIT_UNTIL(t, is_behind_pooler(url, servers->second));
    expect_promoted(t, servers, sub, &tally);
    close_client(t, &t->client);
}

const struct plain_case failover_cases[] = {
    {"failover/replica_is_promoted_while_behind", TEST_STORE_POSTGRES, promoted_while_behind,
     false},
    {"failover/replica_is_promoted_behind_a_pooler", TEST_STORE_POSTGRES, promoted_behind_a_pooler,
     false},
    {0},
};
