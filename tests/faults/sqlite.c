/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlite.c -- a SQLite file that is locked, full, or whose disk does not keep what it was given.
 *
 * Locked and full are certain: nothing was applied, and all is well afterwards. A sync that fails
 * in a commit is a doubt, never a failure, and the end of the use of that file by this process. */
#include "faults.h"
#include "kit/badvfs.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define LONG_MS    60000
#define IN_TIME_MS 1000
#define SYNCS      12

static void open_with(struct test *t, const char *url, int64_t timeout_ms)
{
    const struct ff_options options = {.size = sizeof options, .timeout_ms = timeout_ms};

    EXPECT_OK(t, ff_open(url, &options, &t->client, &t->err));
}

static size_t rows_of(struct test *t)
{
    struct ff_filter filter;
    struct ff_info_list page = {0};
    size_t count;

    ff_filter_init(&filter);
    filter.limit = 1000;
    EXPECT_OK(t, ff_list(t->client, &filter, &page, &t->err));
    count = page.count;
    ff_answer_free(&page);
    return count;
}

/* ---- locked ---- */

struct call {
    ff_status status;
    atomic_bool over;
};

static void submit_one(struct test *t, size_t index, void *ctx)
{
    struct call *const call = ctx;
    const struct ff_submission item = submission();
    struct ff_submitted submitted;

    (void)index;
    call->status = when_submitted(t, &item, &submitted);
    atomic_store(&call->over, true);
}

static sqlite3 *given_locked(struct test *t)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(t->store->path, &db) != SQLITE_OK ||
        sqlite3_busy_timeout(db, LONG_MS) != SQLITE_OK ||
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        FAIL(t, "cannot lock the file: %s", sqlite3_errmsg(db));
    return db;
}

static void unlock(sqlite3 *db)
{
    (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    (void)sqlite3_close(db);
}

static void locked_file_is_waited_for(struct test *t)
{
    struct call *const call = keep(t, sizeof *call);
    struct test_thread *thread;
    struct name name;
    sqlite3 *db;

    open_with(t, t->url, LONG_MS);
    name = given_submitted(t);
    db = given_locked(t);
    thread = start_thread(t, submit_one, 0, call);
    for (int i = 0; i < 50; i++) /* reading goes on */
        EXPECT_STATE(t, name.id, "waiting");
    EXPECT(t, !atomic_load(&call->over));
    unlock(db);
    join_thread(t, thread);
    EXPECT_INT(t, FF_OK, call->status);
    EXPECT_INT(t, 2, (int64_t)rows_of(t));
}

static void locked_file_is_answered_in_time(struct test *t)
{
    const struct ff_submission item = submission();
    const struct ff_options hurried = {.size = sizeof hurried, .timeout_ms = IN_TIME_MS};
    struct ff_submitted submitted;
    struct ff_client *client;
    ff_status status;
    sqlite3 *db;

    open_with(t, t->url, LONG_MS);
    client = another_client(t, &hurried);
    db = given_locked(t);
    status = ff_submit(client, &item, 1, &submitted, &t->err);
    if (status == FF_OK)
        status = submitted.status;
    unlock(db);
    if (status != FF_TIMEOUT && status != FF_BUSY && status != FF_UNAVAILABLE)
        FAIL(t, "answered %s", ff_status_code(status));
    EXPECT_INT(t, 0, (int64_t)rows_of(t)); /* certainly not applied, also not later */
    EXPECT_OK(t, when_submitted(t, &item, &submitted));
    EXPECT_INT(t, 1, (int64_t)rows_of(t));
}

/* ---- full ---- */

/* 32 KiB each: a small disk is full soon. */
static ff_status submit_much(struct test *t)
{
    struct ff_submission item = submission();
    struct ff_submitted submitted;

    item.input = json_of(t, 32 << 10, 'x');
    return when_submitted(t, &item, &submitted);
}

static void expect_full(struct test *t, const struct held *held)
{
    size_t accepted = 0;

    while (submit_much(t) == FF_OK)
        if (++accepted > 1000)
            FAIL(t, "the disk is never full");
    EXPECT_INT(t, FF_UNAVAILABLE, t->err.status);
    EXPECT_INT(t, (int64_t)accepted + 1, (int64_t)rows_of(t));
    EXPECT_STATE(t, held->id, "active"); /* looking goes on */
    (void)printf("# full after %zu\n", accepted);
}

static void full_disk_is_unavailable(struct test *t)
{
    struct held held;

    badvfs_register();
    open_with(t, t->url, LONG_MS);
    held = given_claimed(t);
    badvfs_full(true);
    expect_full(t, &held);
    badvfs_full(false);
    WAIT_UNTIL(t, submit_much(t) == FF_OK); /* without being opened again */
}

/* The same on a real disk of 3 MiB, where this process may make one. */
static void full_tmpfs_is_unavailable(struct test *t)
{
    char dir[] = "/tmp/ff-full.XXXXXX";
    char url[128];
    char ballast[128];
    struct held held;
    FILE *file;

    if (!mkdtemp(dir))
        FAIL(t, "cannot make a directory");
    if (mount("tmpfs", dir, "tmpfs", 0, "size=3m") != 0) {
        (void)printf("# cannot mount: %s\n", strerror(errno));
        (void)rmdir(dir);
        return;
    }
    (void)snprintf(url, sizeof url, "sqlite:%s/store.db", dir);
    (void)snprintf(ballast, sizeof ballast, "%s/ballast", dir);
    open_with(t, url, LONG_MS);
    held = given_claimed(t);
    file = fopen(ballast, "w");
    for (int i = 0; file && i < 256; i++)
        (void)fprintf(file, "%4096d", i);
    EXPECT(t, file && fclose(file) == 0);
    expect_full(t, &held);
    (void)unlink(ballast);
    WAIT_UNTIL(t, submit_much(t) == FF_OK);
    expect_sound(t, t->client);
    close_client(t, &t->client);
    EXPECT_INT(t, 0, umount2(dir, MNT_DETACH));
    (void)rmdir(dir);
}

/* ---- not kept ---- */

/* Submits until the n-th sync fails. What was acknowledged must be there after reopening, what was
 * in doubt may be. */
static void lose_sync(struct test *t, long n, size_t *ret_doubts)
{
    const struct ff_options options = {
        .size = sizeof options, .timeout_ms = LONG_MS, .passive = true};
    size_t accepted = 0;
    size_t doubts = 0;
    size_t before;
    size_t after;
    ff_status status;

    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    before = rows_of(t);
    badvfs_fail_sync(n);
    while ((status = submit_much(t)) == FF_OK)
        if (++accepted > 200)
            FAIL(t, "sync %ld never failed", n);
    if (status == FF_OUTCOME_UNKNOWN)
        doubts = 1;
    else if (status != FF_UNAVAILABLE)
        FAIL(t, "sync %ld: answered %s: %s", n, ff_status_code(status), t->err.message);
    /* Whoever asks next is told at once, and nothing is tried. */
    EXPECT_INT(t, FF_UNAVAILABLE, submit_much(t));
    badvfs_fail_sync(0);
    EXPECT_INT(t, FF_UNAVAILABLE, submit_much(t));
    EXPECT_INT(t, 0, badvfs_syncs());
    close_client(t, &t->client);
    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    after = rows_of(t);
    if (after < before + accepted || after > before + accepted + doubts)
        FAIL(t, "sync %ld: %zu rows and %zu accepted made %zu", n, before, accepted, after);
    expect_sound(t, t->client);
    close_client(t, &t->client);
    *ret_doubts += doubts;
}

static void lost_sync_is_a_doubt(struct test *t)
{
    const long syncs = is_full_run() ? 150 : SYNCS;
    size_t doubts = 0;

    badvfs_register();
    for (long n = 1; n <= syncs; n++)
        lose_sync(t, n, &doubts);
    (void)printf("# %ld syncs failed, %zu of them in a commit\n", syncs, doubts);
    EXPECT(t, doubts > 0);
}

/* The n-th write fails: nothing that was acknowledged is lost, nothing that was refused is there.
 */
static void lose_write(struct test *t, long n, size_t *ret_doubts, size_t *ret_refused)
{
    const struct ff_options options = {
        .size = sizeof options, .timeout_ms = LONG_MS, .passive = true};
    size_t counts[2] = {0}; /* accepted, in doubt */
    ff_status status = FF_OK;
    size_t before, after;

    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    before = rows_of(t);
    badvfs_fail_write(n);
    for (int i = 0; i < 12 && status == FF_OK; i++) {
        status = submit_much(t);
        if (status == FF_OK || status == FF_OUTCOME_UNKNOWN)
            counts[status != FF_OK]++;
        else if (status == FF_UNAVAILABLE)
            (*ret_refused)++;
        else
            FAIL(t, "write %ld: answered %s: %s", n, ff_status_code(status), t->err.message);
    }
    badvfs_fail_write(0);
    close_client(t, &t->client);
    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    after = rows_of(t);
    if (after < before + counts[0] || after > before + counts[0] + counts[1])
        FAIL(t, "write %ld: %zu rows and %zu accepted made %zu", n, before, counts[0], after);
    expect_sound(t, t->client);
    close_client(t, &t->client);
    *ret_doubts += counts[1];
}

static void lost_write_is_never_a_lie(struct test *t)
{
    const long writes = is_full_run() ? 60 : 30;
    size_t doubts = 0;
    size_t refused = 0;

    badvfs_register();
    for (long n = 1; n <= writes; n += is_full_run() ? 1 : 3)
        lose_write(t, n, &doubts, &refused);
    (void)printf("# %zu in doubt, %zu refused\n", doubts, refused);
    EXPECT(t, doubts + refused > 0);
}

/* ---- power ---- */

/* Power goes with the n-th write, and with it all that was not synced. */
static void lose_power(struct test *t, long n, size_t *ret_doubts)
{
    const struct ff_options options = {
        .size = sizeof options, .timeout_ms = LONG_MS, .passive = true};
    size_t accepted = 0;
    size_t before, after, doubts;
    ff_status status;

    badvfs_remember(true);
    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    before = rows_of(t);
    badvfs_lose_power(n);
    while ((status = submit_much(t)) == FF_OK)
        if (++accepted > 200)
            FAIL(t, "write %ld never came", n);
    doubts = status == FF_OUTCOME_UNKNOWN ? 1 : 0;
    close_client(t, &t->client);
    badvfs_remember(false);
    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
    after = rows_of(t);
    if (after < before + accepted || after > before + accepted + doubts)
        FAIL(t, "loss %ld: %zu rows, %zu accepted and %zu in doubt made %zu", n, before, accepted,
             doubts, after);
    expect_sound(t, t->client);
    close_client(t, &t->client);
    *ret_doubts += doubts;
}

static void lost_power_loses_nothing_acknowledged(struct test *t)
{
    const long step = is_full_run() ? 1 : 5;
    long losses = 0;
    size_t doubts = 0;

    badvfs_register();
    for (long n = 1; n <= 120; n += step, losses++) /* over several commits */
        lose_power(t, n, &doubts);
    (void)printf("# power lost %ld times with %zu writes, %zu commits in doubt\n", losses,
                 badvfs_lost(), doubts);
    EXPECT(t, badvfs_lost() > (size_t)losses);
}

const struct plain_case sqlite_cases[] = {
    {"sqlite/locked_file_is_waited_for", TEST_STORE_FILE, locked_file_is_waited_for, false},
    {"sqlite/locked_file_is_answered_in_time", TEST_STORE_FILE, locked_file_is_answered_in_time,
     false},
    {"sqlite/full_disk_is_unavailable", TEST_STORE_FILE, full_disk_is_unavailable, false},
    {"sqlite/full_tmpfs_is_unavailable", TEST_STORE_FILE, full_tmpfs_is_unavailable, false},
    {"sqlite/lost_sync_is_a_doubt", TEST_STORE_FILE, lost_sync_is_a_doubt, false},
    {"sqlite/lost_write_is_never_a_lie", TEST_STORE_FILE, lost_write_is_never_a_lie, false},
    {"sqlite/lost_power_loses_nothing", TEST_STORE_FILE, lost_power_loses_nothing_acknowledged,
     false},
    {0},
};
