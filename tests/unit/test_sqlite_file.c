/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sqlite_file.c -- who may use a SQLite file or memory, when, at which schema and what time.
 *
 * Of src/store/sqlite and src/store/open.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "store/sql.h"
#include "support/sqlite_fixture.h"

static int64_t fake_mono_ms, fake_real_ms, fake_boot_ms;

static int64_t read_fake(void *ctx)
{
    return *(const int64_t *)ctx;
}

static int64_t fake_mono(void *ctx FF_UNUSED)
{
    return read_fake(&fake_mono_ms);
}

static int64_t fake_real(void *ctx FF_UNUSED)
{
    return read_fake(&fake_real_ms);
}

static int64_t fake_boot(void *ctx FF_UNUSED)
{
    return read_fake(&fake_boot_ms);
}

static const struct ff_clock fake_clock = {NULL, fake_mono, fake_real, fake_boot};

static struct ff_meta *given_meta(struct fx *f, const char *name, const char *value)
{
    const struct ff_meta key = {.name = ff_str_of(name)};
    struct ff_entry *entry;
    struct ff_meta *row;

    fx_new_batch(f);
    entry = ff_rowset_want(&f->rows, FF_TABLE_META, &key, FF_WANT_LOCK);
    fx_begin_changes(f);
    row = entry->row;
    if (entry->found == FF_FOUND_ROW)
        ff_rowset_edit(&f->rows, row);
    else
        row = ff_rowset_insert(&f->rows, FF_TABLE_META, &key);
    row->value = ff_str_of(value);
    return row;
}

static void exec_sql(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(SQLITE_OK, sqlite3_open(path, &db));
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* --- more than one user --- */

static void test_sqlite__a_second_writer_waits_without_blocking(void **state)
{
    struct fx *const f = *state;
    struct ff_session *second;
    struct ff_rowset rows;
    struct ff_call call = {.kind = FF_CALL_LOAD, .rows = &rows};

    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &second, &f->error));
    ff_rowset_init(&rows, &f->arena);
    fx_run_ok(f, FF_CALL_LOAD);
    second->ops->start(second, &call);
    assert_false(second->ops->finish(second, &call));
    fx_run_ok(f, FF_CALL_ROLLBACK);
    while (!second->ops->finish(second, &call))
        second->ops->wait(second, 100);
    assert_int_equal(FF_CALLED_OK, call.outcome);

    struct ff_call impatient = {.kind = FF_CALL_LOAD, .rows = &f->rows, .lock_wait_ms = 30};
    ff_session_run(f->session, &impatient, 10000);
    assert_int_equal(FF_CALLED_RERUN, impatient.outcome);
    impatient.lock_wait_ms = 0;
    ff_session_run(f->session, &impatient, 10); /* abandoned */
    assert_int_equal(FF_CALLED_RERUN, impatient.outcome);
    second->ops->free(second); /* its transaction ends with it */
    fx_run_ok(f, FF_CALL_LOAD);
    fx_run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__readers_of_a_file_do_not_wait(void **state)
{
    struct fx *const f = *state;
    struct ff_session *second;
    struct ff_read lanes = {.block = FF_SQL_LANE_COUNTS, .arena = &f->arena};
    struct ff_call call = {.kind = FF_CALL_READ, .read = &lanes};

    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &second, &f->error));
    fx_begin_changes(f);
    fx_insert_execution(f, 1, 0);
    second->ops->start(second, &call);
    assert_true(second->ops->finish(second, &call));
    assert_int_equal(FF_CALLED_OK, call.outcome);
    fx_run_ok(f, FF_CALL_SAVE);
    second->ops->free(second);
}

/* Adds one to a counter `rounds` times, rerunning as an executor would. */
static void count_up(struct fx *f, int rounds)
{
    const struct ff_meta key = {.name = FF_STR("counter")};

    while (rounds > 0) {
        struct ff_entry *entry;
        struct ff_call load, save;
        struct ff_meta *row;
        int64_t number = 0;

        fx_new_batch(f);
        entry = ff_rowset_want(&f->rows, FF_TABLE_META, &key, FF_WANT_LOCK);
        load = fx_run(f, FF_CALL_LOAD);
        if (load.outcome == FF_CALLED_RERUN)
            continue;
        assert_int_equal(FF_CALLED_OK, load.outcome);
        ff_rowset_op_begin(&f->rows, ++f->op);
        row = entry->row;
        assert_true(ff_str_to_i64(row->value, &number));
        ff_rowset_edit(&f->rows, row);
        row->value = ff_arena_printf(&f->arena, "%lld", (long long)number + 1);
        save = fx_run(f, FF_CALL_SAVE);
        assert_int_equal(FF_CALLED_OK, save.outcome);
        rounds--;
    }
}

struct counter {
    struct ff_store *store;
    int rounds;
};

static void *counter_thread(void *ctx)
{
    const struct counter *const counter = ctx;
    struct fx f = {.store = counter->store};

    ff_arena_init(&f.arena, 64 << 10, 1 << 20);
    assert_int_equal(FF_OK, f.store->ops->session_new(f.store, &f.session, &f.error));
    count_up(&f, counter->rounds);
    f.session->ops->free(f.session);
    ff_arena_done(&f.arena);
    return NULL;
}

static void assert_counter(struct fx *f, const char *expected)
{
    const struct ff_meta key = {.name = FF_STR("counter")};
    struct ff_entry *entry;

    fx_new_batch(f);
    entry = ff_rowset_want(&f->rows, FF_TABLE_META, &key, FF_WANT_READ);
    fx_run_ok(f, FF_CALL_PEEK);
    ASSERT_STR(expected, ((struct ff_meta *)entry->row)->value);
}

static void test_sqlite__threads_do_not_lose_updates(void **state)
{
    struct fx *const f = *state;
    const struct counter counter = {f->store, 50};
    pthread_t threads[3];

    given_meta(f, "counter", "0");
    fx_run_ok(f, FF_CALL_SAVE);
    for (size_t i = 0; i < FF_ARRAY_LEN(threads); i++)
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, counter_thread, (void *)(uintptr_t)&counter));
    for (size_t i = 0; i < FF_ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_counter(f, "150");
}

static void test_sqlite__processes_do_not_lose_updates(void **state)
{
    struct fx *const f = *state;
    pid_t children[2];

    fx_open_url(f, f->url);
    given_meta(f, "counter", "0");
    fx_run_ok(f, FF_CALL_SAVE);
    fx_close_store(f); /* nothing is open across the fork */
    for (size_t i = 0; i < FF_ARRAY_LEN(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            fx_open_url(f, f->url);
            count_up(f, 40);
            fx_close_store(f);
            _exit(0);
        }
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(children); i++) {
        int status = -1;

        assert_int_equal(children[i], waitpid(children[i], &status, 0));
        assert_int_equal(0, status);
    }
    fx_open_url(f, f->url);
    assert_counter(f, "80");
}

/* A server, a worker and a caller that are started together find no file, or half of one. */
static void test_sqlite__a_new_file_is_made_by_many_at_once(void **state)
{
    struct fx *const f = *state;

    for (int round = 0; round < 10; round++) {
        pid_t children[4];
        int start[2];
        char url[sizeof f->url + 12];

        (void)snprintf(url, sizeof url, "%s%d", f->url, round);
        assert_int_equal(0, pipe(start));
        for (size_t i = 0; i < FF_ARRAY_LEN(children); i++) {
            children[i] = fork();
            if (children[i] == 0) {
                char nothing;

                (void)close(start[1]);
                if (read(start[0], &nothing, 1) != 0)
                    _exit(1);
                fx_open_url(f, url);
                fx_close_store(f);
                _exit(0);
            }
        }
        (void)close(start[1]); /* all at once */
        (void)close(start[0]);
        for (size_t i = 0; i < FF_ARRAY_LEN(children); i++) {
            int status = -1;

            assert_int_equal(children[i], waitpid(children[i], &status, 0));
            assert_int_equal(0, status);
        }
    }
}

static void test_sqlite__a_fork_ends_the_use_of_a_store(void **state)
{
    struct fx *const f = *state;
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        struct ff_session *later;
        const bool refused = fx_run(f, FF_CALL_LOAD).outcome == FF_CALLED_STOP &&
                             f->store->ops->session_new(f->store, &later, NULL) != FF_OK &&
                             !f->store->ops->notified(f->store);

        fx_close_store(f); /* must not touch the parent's file */
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    fx_given_executions(f, 1);
}

static void test_sqlite__commits_of_others_are_noticed(void **state)
{
    struct fx *const f = *state;

    assert_false(f->store->ops->notified(f->store));
    exec_sql(f->path, "INSERT INTO ff_meta VALUES ('a', 'b')");
    assert_true(f->store->ops->notified(f->store));
    assert_false(f->store->ops->notified(f->store));
}

static void test_sqlite__memory_stores_are_shared_by_name(void **state)
{
    struct fx *const f = *state;
    struct ff_store *same, *other;
    const struct ff_execution key = fx_key_of(1);

    fx_open_url(f, "sqlite:memory:shared");
    fx_given_executions(f, 1);
    assert_int_equal(
        FF_OK, fx_open_as("sqlite:memory:shared", ff_clock_system(), false, &same, &f->error));
    assert_int_equal(FF_OK,
                     fx_open_as("sqlite::memory:", ff_clock_system(), false, &other, &f->error));
    for (int i = 0; i < 2; i++) {
        struct fx g = {.store = i ? other : same};
        struct ff_entry *entry;

        ff_arena_init(&g.arena, 64 << 10, 1 << 20);
        fx_new_batch(&g);
        assert_int_equal(FF_OK, g.store->ops->session_new(g.store, &g.session, &g.error));
        entry = ff_rowset_want(&g.rows, FF_TABLE_EXECUTION, &key, FF_WANT_READ);
        fx_run_ok(&g, FF_CALL_PEEK);
        assert_int_equal(i ? FF_FOUND_ABSENT : FF_FOUND_ROW, entry->found);
        fx_close_store(&g);
        ff_arena_done(&g.arena);
    }
}

static void test_sqlite__a_memory_store_has_one_user_at_a_time(void **state)
{
    struct fx *const f = *state;
    struct ff_session *second;
    struct ff_read lanes = {.block = FF_SQL_LANE_COUNTS, .arena = &f->arena};
    struct ff_call call = {.kind = FF_CALL_READ, .read = &lanes};

    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &second, &f->error));
    fx_begin_changes(f);
    fx_insert_execution(f, 1, 0);
    second->ops->start(second, &call);
    assert_false(second->ops->finish(second, &call));
    fx_run_ok(f, FF_CALL_SAVE);
    while (!second->ops->finish(second, &call))
        second->ops->wait(second, 100);
    assert_int_equal(FF_CALLED_OK, call.outcome);
    assert_int_equal(1, lanes.row_count); /* never a batch that is not committed */
    second->ops->free(second);
}

/* --- time --- */

static int64_t load_time(struct fx *f)
{
    struct ff_call load;

    fx_new_batch(f);
    load = fx_run(f, FF_CALL_LOAD);
    assert_int_equal(FF_CALLED_OK, load.outcome);
    fx_run_ok(f, FF_CALL_ROLLBACK);
    return load.now_ms;
}

static void open_with_fake_clock(struct fx *f)
{
    assert_int_equal(FF_OK, fx_open_as(f->url, fake_clock, false, &f->store, &f->error));
    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &f->session, &f->error));
}

static void test_sqlite__time_never_runs_back(void **state)
{
    struct fx *const f = *state;

    fake_real_ms = 1000000;
    fake_boot_ms = 500;
    open_with_fake_clock(f);
    assert_int_equal(1000000, load_time(f));
    fake_real_ms = 900000; /* the wall clock was set back; 7 ms have passed */
    fake_boot_ms = 507;
    assert_int_equal(1000007, load_time(f));
    fake_real_ms = 2000000;
    assert_int_equal(2000000, load_time(f));
    given_meta(f, "a", "b");
    fx_run_ok(f, FF_CALL_SAVE);
    fx_close_store(f);
    fake_real_ms = 900000; /* another process, after a reboot */
    fake_boot_ms = 1;
    open_with_fake_clock(f);
    assert_int_equal(2000000, load_time(f));
}

/* --- opening and migrating --- */

static ff_status reopen(struct fx *f, bool migrate)
{
    const ff_status status = fx_open_as(f->url, ff_clock_system(), migrate, &f->store, &f->error);

    if (status == FF_OK)
        fx_close_store(f);
    return status;
}

static void test_sqlite__an_empty_store_is_migrated_and_then_current(void **state)
{
    struct fx *const f = *state;
    const int32_t newest = ff_sql_migrations[ff_sql_migration_count - 1].version;
    int32_t from = -1, to = -1;

    fx_open_url(f, f->url);
    assert_int_equal(FF_OK, f->store->ops->migrate(f->store, true, &from, &to, &f->error));
    assert_int_equal(newest, from);
    assert_int_equal(newest, to);
    fx_close_store(f);
    assert_int_equal(FF_OK, reopen(f, false));
}

static void test_sqlite__a_changed_migration_is_refused(void **state)
{
    struct fx *const f = *state;

    assert_int_equal(FF_OK, reopen(f, false));
    exec_sql(f->path, "UPDATE ff_migration SET checksum = 'other'");
    assert_int_equal(FF_SCHEMA, reopen(f, true));
}

static void test_sqlite__a_newer_store_says_who_may_use_it(void **state)
{
    struct fx *const f = *state;

    assert_int_equal(FF_OK, reopen(f, false));
    exec_sql(f->path, "INSERT INTO ff_migration "
                      "SELECT max(version) + 1, 'later', 'x', 1, 0 FROM ff_migration");
    assert_int_equal(FF_OK, reopen(f, true));
    exec_sql(f->path,
             "INSERT INTO ff_migration "
             "SELECT max(version) + 1, 'later', 'x', max(version) + 1, 0 FROM ff_migration");
    assert_int_equal(FF_SCHEMA, reopen(f, true));
}

static void test_sqlite__a_missing_column_is_named(void **state)
{
    struct fx *const f = *state;

    assert_int_equal(FF_OK, reopen(f, false));
    exec_sql(f->path, "ALTER TABLE ff_tag RENAME COLUMN value TO colour");
    assert_int_equal(FF_SCHEMA, reopen(f, false));
    assert_string_equal("column 'ff_tag.value' is missing", f->error.message);
}

static void test_sqlite__foreign_files_are_left_alone(void **state)
{
    struct fx *const f = *state;

    exec_sql(f->path, "CREATE TABLE theirs (a); PRAGMA user_version = 3");
    assert_int_equal(FF_SCHEMA, reopen(f, true));
    unlink(f->path);
    FILE *const file = fopen(f->path, "w");
    assert_non_null(file);
    for (int i = 0; i < 200; i++)
        fprintf(file, "this is not a database\n");
    fclose(file);
    assert_int_equal(FF_SCHEMA, reopen(f, true));
}

static void test_sqlite__bad_urls_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "mysql://x",
        "sqlite:",
        "sqlite:file:x?mode=memory",
        "sqlite:memory:",
        "sqlite:memory:a?b",
    };
    struct fx *const f = *state;
    struct ff_store_options missing = {.url = f->url, .clock = fake_clock};

    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        assert_int_equal(FF_INVALID,
                         fx_open_as(bad[i], ff_clock_system(), false, &f->store, &f->error));
    assert_int_equal(FF_NOT_FOUND, ff_store_open(&missing, &f->store, &f->error));
    missing.url = "sqlite:/proc/none/x.db";
    missing.create = true;
    assert_int_equal(FF_UNAVAILABLE, ff_store_open(&missing, &f->store, &f->error));
}

#define ON(setup, name) cmocka_unit_test_setup_teardown(name, setup, fx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(fx_setup_file, test_sqlite__a_second_writer_waits_without_blocking),
        ON(fx_setup_memory, test_sqlite__a_second_writer_waits_without_blocking),
        ON(fx_setup_file, test_sqlite__readers_of_a_file_do_not_wait),
        ON(fx_setup_file, test_sqlite__threads_do_not_lose_updates),
        ON(fx_setup_memory, test_sqlite__threads_do_not_lose_updates),
        ON(fx_setup_closed, test_sqlite__processes_do_not_lose_updates),
        ON(fx_setup_closed, test_sqlite__a_new_file_is_made_by_many_at_once),
        ON(fx_setup_file, test_sqlite__a_fork_ends_the_use_of_a_store),
        ON(fx_setup_file, test_sqlite__commits_of_others_are_noticed),
        ON(fx_setup_closed, test_sqlite__memory_stores_are_shared_by_name),
        ON(fx_setup_memory, test_sqlite__a_memory_store_has_one_user_at_a_time),
        ON(fx_setup_closed, test_sqlite__time_never_runs_back),
        ON(fx_setup_closed, test_sqlite__an_empty_store_is_migrated_and_then_current),
        ON(fx_setup_closed, test_sqlite__a_changed_migration_is_refused),
        ON(fx_setup_closed, test_sqlite__a_newer_store_says_who_may_use_it),
        ON(fx_setup_closed, test_sqlite__a_missing_column_is_named),
        ON(fx_setup_closed, test_sqlite__foreign_files_are_left_alone),
        ON(fx_setup_closed, test_sqlite__bad_urls_are_refused),
    };

    return cmocka_run_group_tests(tests, fx_disk_setup, NULL);
}
