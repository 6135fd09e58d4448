/* SPDX-License-Identifier: Apache-2.0
 *
 * restored.c -- an older copy is put back under a running engine, and nobody says so.
 *
 * A subscriber has seen what the copy does not know; writers go on. The log must jump, the
 * subscriber must hear of it, and no id may be given out twice. Work that is accepted afterwards
 * can be done, also by those who start later. */
#include "events.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

struct reader {
    struct ff_subscription *sub;
    struct tally tally;
};

static struct reader given_reader(struct test *t)
{
    struct reader r = {.tally = {.ids = ids_new(t)}};

    r.sub = given_subscribed(t, NULL, "start");
    return r;
}

static void when_some_happen(struct test *t, struct reader *r)
{
    for (int i = 0; i < 3; i++)
        (void)given_completed(t);
    take_until(t, r->sub, &r->tally, log_end(t));
}

/* What was there when the copy was made, and then more that it does not know. */
static void expect_reset(struct test *t, struct reader *r)
{
    WAIT_UNTIL_FOR(t, is_served(t), 60000);
    (void)given_completed(t);
    take_until(t, r->sub, &r->tally, log_end(t));
    EXPECT(t, r->tally.resets >= 1);
    EXPECT(t, r->tally.ids->items[r->tally.ids->count - 1] > JUMP);
    expect_distinct(t, r->tally.ids);
    r->tally.resets = 0;
    when_some_happen(t, r);
    EXPECT_INT(t, 0, r->tally.resets);
    expect_distinct(t, r->tally.ids);
}

/* ---- sets of capabilities ---- */

#define SETS "sets" /* a lane of its own */

static void given_needing(struct test *t, const char *capability)
{
    struct ff_submission item = submission();

    item.lane = SETS;
    item.required_capabilities = &capability;
    item.required_capability_count = 1;
    (void)given(t, &item);
}

static bool serves(struct test *t, const char *capability)
{
    static const char *const lanes[] = {SETS};
    struct ff_claim_request request = claim_request();
    struct held held;

    request.lanes = lanes;
    request.lane_count = 1;
    request.capabilities = &capability;
    request.capability_count = 1;
    return claims_one(t, &request, &held);
}

/* The engine knows a set which the copy does not, and somebody else brings another one. */
static void expect_sets(struct test *t, const char *url)
{
    struct ff_client *const own = t->client;
    struct ff_client *newcomer = NULL;

    WAIT_UNTIL_FOR(t, is_served(t), 60000);
    given_needing(t, "gpu");
    given_needing(t, "gpu");
    (void)given_completed(t); /* of a file only who has seen the ids knows that they are gone */
    EXPECT_OK(t, ff_open(url, NULL, &newcomer, &t->err));
    expect_sound(t, newcomer);
    t->client = newcomer;
    given_needing(t, "disk");
    EXPECT(t, serves(t, "gpu"));
    t->client = own;
    WAIT_UNTIL(t, serves(t, "disk"));
    EXPECT(t, serves(t, "gpu"));
    close_client(t, &newcomer);
}

/* ---- the snapshot of a disk ---- */

static void server_remove(void *memory)
{
    if (*(const char *)memory)
        (void)run_tool("pg-private", "stop", memory, "");
}

/* Same server, same timeline, same tables: only the numbers tell. */
static void snapshot(struct test *t)
{
    char *const dir = keep_until(t, 64, server_remove);
    struct reader r;
    char url[256];

    EXPECT_OK(t, ff_migrate(t->url, false, NULL, NULL, &t->err)); /* the audit looks there */
    (void)snprintf(dir, 64, "/tmp/ff-ev-s.%d", (int)getpid());
    EXPECT_INT(t, 0, run_tool("pg-private", "start", dir, ""));
    (void)snprintf(url, sizeof url, "postgres://postgres@/postgres?host=%s&port=5432", dir);
    EXPECT_OK(t, ff_open(url, NULL, &t->client, &t->err));
    r = given_reader(t);
    when_some_happen(t, &r);
    EXPECT_INT(t, 0, run_tool("pg-private", "snapshot", dir, ""));
    WAIT_UNTIL_FOR(t, is_served(t), 60000);
    when_some_happen(t, &r);
    EXPECT_INT(t, 0, r.tally.resets);
    given_needing(t, "gpu");
    EXPECT_INT(t, 0, run_tool("pg-private", "putback", dir, ""));
    expect_sets(t, url);
    expect_reset(t, &r);
    close_client(t, &t->client);
}

/* ---- a dump ---- */

static int pg_tool(struct test *t, const char *tool, const char *args)
{
    char command[1024];

    (void)snprintf(command, sizeof command,
                   "%s/%s -h %s -p 5432 -U postgres -d postgres %s >/dev/null 2>&1 </dev/null",
                   getenv("FF_TEST_PG_BIN"), tool, getenv("FF_TEST_PG_DIR"), args);
    (void)t;
    return system(command);
}

struct dump {
    char path[512];
};

static void dump_remove(void *memory)
{
    (void)unlink(((const struct dump *)memory)->path);
}

static void given_dump(struct test *t, struct dump *dump)
{
    char args[700];

    (void)snprintf(dump->path, sizeof dump->path, "/tmp/ff-ev-dump.%d", (int)getpid());
    (void)snprintf(args, sizeof args, "-n %s -f %s", t->store->schema, dump->path);
    EXPECT_INT(t, 0, pg_tool(t, "pg_dump", args));
}

/* All at once: whoever uses the tables waits for it, and finds others in their place. */
static bool is_restored(struct test *t, const struct dump *dump)
{
    char args[800];

    (void)snprintf(args, sizeof args, "-1 -v ON_ERROR_STOP=1 -c 'DROP SCHEMA %s CASCADE' -f %s",
                   t->store->schema, dump->path);
    return pg_tool(t, "psql", args) == 0;
}

static void complete_one(struct test *t, size_t index, void *ctx)
{
    (void)index;
    (void)ctx;
    (void)given_completed(t);
}

/* The engine's connections live on, with what they knew about the tables of before. */
static void dump_under_a_live_engine(struct test *t)
{
    struct dump *const dump = keep_until(t, sizeof *dump, dump_remove);
    struct test_thread *thread;
    struct other other;
    struct reader r;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    r = given_reader(t);
    when_some_happen(t, &r);
    given_dump(t, dump);
    when_some_happen(t, &r);
    given_needing(t, "gpu");
    WAIT_UNTIL(t, is_restored(t, dump)); /* it may be the victim of a deadlock */
    expect_sets(t, t->url);
    expect_reset(t, &r);

    /* Readers look for the key of the schema as it is now: do writers hold that one? */
    other_open(t, &other);
    (void)other_says(t, &other, "SET search_path = @");
    (void)other_says(t, &other, "SELECT pg_advisory_lock(ff_log_key())");
    thread = start_thread(t, complete_one, 0, NULL);
    WAIT_UNTIL(t,
               other_says(t, &other,
                          "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' "
                          "AND NOT granted AND mode = 'ShareLock' AND classid = 17990 AND objid = "
                          "(SELECT oid FROM pg_namespace WHERE nspname = '@')") > 0);
    (void)other_says(t, &other, "SELECT pg_advisory_unlock(ff_log_key())");
    join_thread(t, thread);
    take_until(t, r.sub, &r.tally, log_end(t));
    expect_distinct(t, r.tally.ids);
}

/* ---- a file ---- */

static bool copy_file(const char *from, const char *to)
{
    sqlite3 *source = NULL, *target = NULL;
    sqlite3_backup *backup = NULL;
    bool done = false;

    if (sqlite3_open(from, &source) == SQLITE_OK && sqlite3_open(to, &target) == SQLITE_OK)
        backup = sqlite3_backup_init(target, "main", source, "main");
    if (backup)
        done = sqlite3_backup_step(backup, -1) == SQLITE_DONE;
    done &= backup && sqlite3_backup_finish(backup) == SQLITE_OK;
    (void)sqlite3_close(source);
    (void)sqlite3_close(target);
    return done;
}

/* `.restore` of the shell, as an operator does it. */
static void file(struct test *t)
{
    struct dump *const copy = keep_until(t, sizeof *copy, dump_remove);
    struct reader r;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    r = given_reader(t);
    when_some_happen(t, &r);
    (void)snprintf(copy->path, sizeof copy->path, "%.480s.copy", t->store->path);
    EXPECT(t, copy_file(t->store->path, copy->path));
    when_some_happen(t, &r);
    given_needing(t, "gpu");
    WAIT_UNTIL(t, copy_file(copy->path, t->store->path)); /* somebody may be writing */
    expect_sets(t, t->url);
    expect_reset(t, &r);
}

/* ---- a switch that does not happen ---- */

/* Whatever ends the transaction that would have made the numbers serial: nothing of it stays. */
static void unfinished_switch(struct test *t)
{
    struct ff_client *serial = NULL;
    struct other other;
    char url[1100];

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    (void)given_completed(t);
    other_open(t, &other);
    (void)other_says(t, &other, "SET search_path = @");
    (void)other_says(t, &other, "BEGIN");
    (void)other_says(t, &other, "SELECT ff_log_serial()");
    (void)other_says(t, &other, "ROLLBACK");
    (void)given_completed(t);
    given_reopened(t, NULL);
    (void)given_completed(t);
    EXPECT_INT(t, 0,
               other_says(t, &other, "SELECT count(*) FROM ff_meta WHERE name = 'log_counter'"));

    /* And one that does: whoever numbers as before is refused, and goes on as they all do now. */
    (void)snprintf(url, sizeof url, "%s&log=serial", t->url);
    EXPECT_OK(t, ff_open(url, NULL, &serial, &t->err));
    EXPECT_INT(t, 1,
               other_says(t, &other, "SELECT count(*) FROM ff_meta WHERE name = 'log_counter'"));
    const struct held held = given_claimed(t);
    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_INT(t, 1,
               other_says(t, &other,
                          "SELECT CASE WHEN (SELECT max(event_id) FROM @.ff_event) = "
                          "(SELECT value::int8 FROM @.ff_meta WHERE name = 'log_counter') "
                          "THEN 1 ELSE 0 END"));
    close_client(t, &serial);
}

const struct plain_case restored_cases[] = {
    {"restored/snapshot_of_a_disk", TEST_STORE_POSTGRES, snapshot, false},
    {"restored/dump_under_a_live_engine", TEST_STORE_POSTGRES, dump_under_a_live_engine, false},
    {"restored/file_under_a_live_engine", TEST_STORE_FILE, file, false},
    {"restored/switch_to_serial_numbers_that_is_rolled_back", TEST_STORE_POSTGRES,
     unfinished_switch, false},
    {0},
};
