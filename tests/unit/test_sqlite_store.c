/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sqlite_store.c -- rows in and out of SQLite, what its errors mean, who may use a file.
 *
 * Of src/store/sqlite and src/store/open.c. Disk faults come from a layer between SQLite and the
 * file system, which every store of this program uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/macros.h"
#include "store/sql.h"
#include "store/store.h"

/* --- the layer below: disks that fail on command --- */

static struct {
    sqlite3_vfs vfs;
    sqlite3_io_methods methods[2]; /* the main file and the rest have different ones */
    const sqlite3_io_methods *plain[2];
    int sync_rc, write_rc;
    pthread_mutex_t lock;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const sqlite3_io_methods *plain_methods(const sqlite3_file *file)
{
    return disk.plain[file->pMethods == &disk.methods[1]];
}

static int disk_sync(sqlite3_file *file, int flags)
{
    return disk.sync_rc ? disk.sync_rc : plain_methods(file)->xSync(file, flags);
}

static int disk_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    return disk.write_rc ? disk.write_rc : plain_methods(file)->xWrite(file, bytes, count, offset);
}

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret)
{
    sqlite3_vfs *const plain = vfs->pAppData;
    const int rc = plain->xOpen(plain, name, file, flags, ret);
    const int which = (flags & SQLITE_OPEN_MAIN_DB) ? 0 : 1;

    if (rc != SQLITE_OK || !file->pMethods)
        return rc;
    pthread_mutex_lock(&disk.lock);
    if (!disk.plain[which]) {
        disk.plain[which] = file->pMethods;
        disk.methods[which] = *file->pMethods;
        disk.methods[which].xSync = disk_sync;
        disk.methods[which].xWrite = disk_write;
    }
    pthread_mutex_unlock(&disk.lock);
    file->pMethods = &disk.methods[which];
    return rc;
}

static int disk_setup(void **state FF_UNUSED)
{
    sqlite3_vfs *const plain = sqlite3_vfs_find(NULL);

    disk.vfs = *plain;
    disk.vfs.zName = "test-disk";
    disk.vfs.pAppData = plain;
    disk.vfs.xOpen = disk_open;
    return sqlite3_vfs_register(&disk.vfs, 1);
}

/* --- a store, a session, a batch --- */

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

struct fixture {
    char folder[64], path[96], url[128];
    struct ff_error error;
    struct ff_store *store;
    struct ff_session *session;
    struct ff_arena arena;
    struct ff_rowset rows;
    uint32_t op;
};

static ff_status open_as(const char *url, struct ff_clock clock, bool migrate,
                         struct ff_store **ret, struct ff_error *reterr)
{
    const struct ff_store_options options = {.url = url,
                                             .create = true,
                                             .migrate = migrate,
                                             .clock = clock,
                                             .random = ff_random_system()};

    return ff_store_open(&options, ret, reterr);
}

static void open_url(struct fixture *f, const char *url)
{
    if (open_as(url, ff_clock_system(), false, &f->store, &f->error) != FF_OK)
        fail_msg("%s", f->error.message);
    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &f->session, &f->error));
}

static void close_store(struct fixture *f)
{
    if (f->session)
        f->session->ops->free(f->session);
    f->session = NULL;
    ff_store_free(f->store);
    f->store = NULL;
}

static int setup_closed(void **state)
{
    struct fixture *const f = calloc(1, sizeof *f);
    const char *const tmp = getenv("FF_TEST_TMP");

    assert_non_null(f);
    snprintf(f->folder, sizeof f->folder, "%.40s/ffXXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/store.db", f->folder);
    snprintf(f->url, sizeof f->url, "sqlite:%s", f->path);
    ff_arena_init(&f->arena, 64 << 10, 64 << 20);
    ff_rowset_init(&f->rows, &f->arena);
    *state = f;
    return 0;
}

static int setup_file(void **state)
{
    setup_closed(state);
    open_url(*state, ((struct fixture *)*state)->url);
    return 0;
}

static int setup_memory(void **state)
{
    setup_closed(state);
    open_url(*state, "sqlite::memory:");
    return 0;
}

static int teardown(void **state)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    struct fixture *const f = *state;

    disk.sync_rc = disk.write_rc = SQLITE_OK;
    close_store(f);
    for (size_t i = 0; i < FF_ARRAY_LEN(endings); i++) {
        char path[128];

        snprintf(path, sizeof path, "%s%s", f->path, endings[i]);
        unlink(path);
    }
    rmdir(f->folder);
    ff_arena_done(&f->arena);
    free(f);
    return 0;
}

static void new_batch(struct fixture *f)
{
    ff_arena_reset(&f->arena);
    ff_rowset_init(&f->rows, &f->arena);
}

static struct ff_call run(struct fixture *f, ff_call_kind kind)
{
    struct ff_call call = {.kind = kind, .rows = &f->rows};

    ff_session_run(f->session, &call, 10000);
    return call;
}

static void run_ok(struct fixture *f, ff_call_kind kind)
{
    const struct ff_call call = run(f, kind);

    if (call.outcome != FF_CALLED_OK)
        fail_msg("outcome %d: %s", (int)call.outcome, call.error.message);
}

/* Changes count only inside an op. */
static void begin_changes(struct fixture *f)
{
    run_ok(f, FF_CALL_LOAD);
    ff_rowset_op_begin(&f->rows, ++f->op);
}

static struct ff_uuid uuid_of(uint8_t n)
{
    return (struct ff_uuid){.b = {[0] = 1, [15] = n}};
}

static struct ff_execution key_of(uint8_t n)
{
    return (struct ff_execution){.partition_key = 7, .execution_id = uuid_of(n)};
}

static struct ff_entry *want_execution(struct fixture *f, uint8_t n)
{
    const struct ff_execution key = key_of(n);

    return ff_rowset_want(&f->rows, FF_TABLE_EXECUTION, &key, FF_WANT_LOCK);
}

static struct ff_execution *insert_execution(struct fixture *f, uint8_t n, int32_t priority)
{
    const struct ff_execution key = key_of(n);
    struct ff_execution *const row = ff_rowset_insert(&f->rows, FF_TABLE_EXECUTION, &key);

    row->namespace = FF_STR("default");
    row->lane = FF_STR("lane-a");
    row->kind = n % 2 ? FF_STR("odd") : FF_STR("even");
    row->submit_hash = FF_STR("hash");
    row->state = 10; /* READY_FIRST */
    row->priority = priority;
    row->created_at_ms = 1000 + n;
    return row;
}

static void given_executions(struct fixture *f, uint8_t count)
{
    new_batch(f);
    begin_changes(f);
    for (uint8_t n = 1; n <= count; n++)
        insert_execution(f, n, n);
    run_ok(f, FF_CALL_SAVE);
    new_batch(f);
}

static struct ff_meta *given_meta(struct fixture *f, const char *name, const char *value)
{
    const struct ff_meta key = {.name = ff_str_of(name)};
    struct ff_entry *entry;
    struct ff_meta *row;

    new_batch(f);
    entry = ff_rowset_want(&f->rows, FF_TABLE_META, &key, FF_WANT_LOCK);
    begin_changes(f);
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

#define ASSERT_STR(expected, str)                                                                  \
    do {                                                                                           \
        assert_int_equal(strlen(expected), (str).len);                                             \
        assert_memory_equal(expected, (str).ptr, (str).len);                                       \
    } while (0)

/* --- rows --- */

static void test_sqlite__a_row_comes_back_as_it_was_saved(void **state)
{
    struct fixture *const f = *state;
    struct ff_execution *row;
    struct ff_entry *entry;

    begin_changes(f);
    row = insert_execution(f, 1, -3);
    row->flow_id = uuid_of(9);
    row->policy = (struct ff_str){"\0\1\2", 3};
    row->input = FF_STR(""); /* empty is not absent */
    row->due_at_ms = INT64_MAX;
    row->node = FF_STR("n\xc3\xb6");
    run_ok(f, FF_CALL_SAVE);
    new_batch(f);
    entry = want_execution(f, 1);
    run_ok(f, FF_CALL_LOAD);
    assert_int_equal(FF_FOUND_ROW, entry->found);
    row = entry->row;
    assert_int_equal(-3, row->priority);
    assert_true(ff_uuid_eq(uuid_of(9), row->flow_id));
    assert_int_equal(3, row->policy.len);
    assert_memory_equal("\0\1\2", row->policy.ptr, 3);
    assert_non_null(row->input.ptr);
    assert_int_equal(0, row->input.len);
    assert_true(row->due_at_ms == INT64_MAX);
    ASSERT_STR("n\xc3\xb6", row->node);
    assert_null(row->instance_tag.ptr);
    assert_true(row->deadline_ms == FF_NULL64);
    assert_true(ff_uuid_is_zero(row->lease_id));
    run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__an_update_sends_hot_columns_only(void **state)
{
    struct fixture *const f = *state;
    struct ff_entry *entry;
    struct ff_execution *row;

    given_executions(f, 1);
    entry = want_execution(f, 1);
    begin_changes(f);
    row = entry->row;
    ff_rowset_edit(&f->rows, row);
    row->priority = 77;
    row->kind = FF_STR("changed");
    run_ok(f, FF_CALL_SAVE);
    new_batch(f);
    entry = want_execution(f, 1);
    run_ok(f, FF_CALL_LOAD);
    row = entry->row;
    assert_int_equal(77, row->priority);
    ASSERT_STR("odd", row->kind);
    run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__a_rollback_leaves_nothing(void **state)
{
    struct fixture *const f = *state;
    struct ff_entry *entry;

    begin_changes(f);
    insert_execution(f, 1, 0);
    run_ok(f, FF_CALL_ROLLBACK);
    new_batch(f);
    entry = want_execution(f, 1);
    run_ok(f, FF_CALL_LOAD);
    assert_int_equal(FF_FOUND_ABSENT, entry->found);
    run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__delete_and_purge(void **state)
{
    struct fixture *const f = *state;
    const struct ff_tag tag = {
        .partition_key = 7, .execution_id = uuid_of(2), .name = FF_STR("colour")};
    struct ff_entry *first, *second, *tagged;

    given_executions(f, 3);
    begin_changes(f);
    ((struct ff_tag *)ff_rowset_insert(&f->rows, FF_TABLE_TAG, &tag))->value = FF_STR("red");
    run_ok(f, FF_CALL_SAVE);
    new_batch(f);
    first = want_execution(f, 1);
    second = want_execution(f, 2);
    begin_changes(f);
    ff_rowset_delete(&f->rows, first->row);
    ff_rowset_purge(&f->rows, second->row);
    run_ok(f, FF_CALL_SAVE);
    new_batch(f);
    first = want_execution(f, 1);
    second = want_execution(f, 2);
    tagged = ff_rowset_want(&f->rows, FF_TABLE_TAG, &tag, FF_WANT_READ);
    run_ok(f, FF_CALL_PEEK);
    assert_int_equal(FF_FOUND_ABSENT, first->found);
    assert_int_equal(FF_FOUND_ABSENT, second->found);
    assert_int_equal(FF_FOUND_ABSENT, tagged->found);
}

static void test_sqlite__events_are_numbered_in_order(void **state)
{
    struct fixture *const f = *state;
    int64_t last = 0;

    for (int round = 0; round < 2; round++) {
        struct ff_event *events[3];
        struct ff_call save;

        new_batch(f);
        begin_changes(f);
        for (size_t i = 0; i < 3; i++) {
            events[i] = ff_rowset_event(&f->rows);
            events[i]->kind = 4;
            events[i]->type = 4;
        }
        save = run(f, FF_CALL_SAVE);
        assert_int_equal(FF_CALLED_OK, save.outcome);
        for (size_t i = 0; i < 3; i++)
            assert_true(events[i]->event_id == last + 1 + (int64_t)i);
        last = save.last_event_id;
        assert_true(last == events[2]->event_id);
    }
}

static struct ff_scan *claim_scan(struct fixture *f, struct ff_value kinds, int64_t limit)
{
    static const int64_t any_worker[] = {0};
    const struct ff_value params[] = {
        {.type = FF_VALUE_TEXT, .as.str = FF_STR("lane-a")},        {.type = FF_VALUE_NULL}, kinds,
        {.type = FF_VALUE_I64S, .count = 1, .as.i64s = any_worker}, {.type = FF_VALUE_I64},
    };

    return ff_rowset_scan(&f->rows, FF_SQL_EXECUTION_CLAIM_SCAN, params, FF_ARRAY_LEN(params),
                          limit);
}

static void test_sqlite__a_scan_keeps_order_and_limit(void **state)
{
    const struct ff_str odd[] = {FF_STR("odd"), FF_STR("x\"y")};
    const struct ff_value kinds = {.type = FF_VALUE_TEXTS, .count = 2, .as.strs = odd};
    struct fixture *const f = *state;
    struct ff_scan *scan, *odd_scan;
    struct ff_entry *known;

    given_executions(f, 9);
    known = want_execution(f, 8);
    scan = claim_scan(f, (struct ff_value){.type = FF_VALUE_NULL}, 3);
    odd_scan = claim_scan(f, kinds, 100);
    run_ok(f, FF_CALL_PEEK); /* locking scans wait for the load */
    assert_false(scan->loaded);
    run_ok(f, FF_CALL_LOAD);
    assert_true(scan->loaded);
    assert_int_equal(3, scan->row_count);
    assert_int_equal(9, ((struct ff_execution *)scan->rows[0])->priority);
    assert_ptr_equal(known->row, scan->rows[1]);
    assert_int_equal(5, odd_scan->row_count);
    assert_ptr_equal(scan->rows[0], odd_scan->rows[0]);
    run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__what_was_peeked_is_read_again_under_the_lock(void **state)
{
    struct fixture *const f = *state;
    struct fixture other = {.store = f->store};
    struct ff_entry *entry, *gone;

    given_executions(f, 2);
    ff_arena_init(&other.arena, 64 << 10, 1 << 20);
    ff_rowset_init(&other.rows, &other.arena);
    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &other.session, &f->error));
    entry = want_execution(f, 1);
    gone = want_execution(f, 2);
    run_ok(f, FF_CALL_PEEK);
    assert_int_equal(FF_FOUND_ROW, gone->found);

    struct ff_entry *const changed = want_execution(&other, 1);
    struct ff_entry *const removed = want_execution(&other, 2);
    begin_changes(&other);
    ff_rowset_edit(&other.rows, changed->row);
    ((struct ff_execution *)changed->row)->priority = 55;
    ff_rowset_delete(&other.rows, removed->row);
    run_ok(&other, FF_CALL_SAVE);

    run_ok(f, FF_CALL_LOAD);
    assert_int_equal(55, ((struct ff_execution *)entry->row)->priority);
    assert_int_equal(FF_FOUND_ABSENT, gone->found);
    assert_null(((struct ff_execution *)gone->row)->lane.ptr);
    assert_true(((struct ff_execution *)gone->row)->due_at_ms == FF_NULL64);
    run_ok(f, FF_CALL_ROLLBACK);
    other.session->ops->free(other.session);
    ff_arena_done(&other.arena);
}

static void test_sqlite__reads_give_rows_or_cells(void **state)
{
    struct fixture *const f = *state;
    const struct ff_value id[] = {{.type = FF_VALUE_I64, .as.i64 = 7},
                                  {.type = FF_VALUE_UUID, .as.uuid = uuid_of(2)}};
    const struct ff_value contact = {.type = FF_VALUE_TEXT, .as.str = FF_STR("contact")};
    struct ff_read get = {
        .block = FF_SQL_EXECUTION_GET, .params = id, .param_count = 2, .arena = &f->arena};
    struct ff_read lanes = {.block = FF_SQL_LANE_COUNTS, .arena = &f->arena};
    struct ff_read pulse = {
        .block = FF_SQL_PULSE, .params = &contact, .param_count = 1, .arena = &f->arena};

    given_executions(f, 3);
    assert_int_equal(FF_OK, ff_session_read(f->session, &get, 1000, &f->error));
    assert_int_equal(1, get.row_count);
    assert_int_equal(2, ((struct ff_execution *)get.rows[0])->priority);
    assert_int_equal(FF_OK, ff_session_read(f->session, &lanes, 1000, &f->error));
    assert_int_equal(1, lanes.row_count);
    assert_int_equal(4, lanes.col_count);
    ASSERT_STR("lane-a", lanes.cells[0].as.str);
    assert_int_equal(3, lanes.cells[2].as.i64);
    assert_int_equal(FF_OK, ff_session_read(f->session, &pulse, 1000, &f->error));
    assert_true(pulse.cells[0].as.i64 > 1600000000000);       /* ff_now_ms() */
    assert_true(pulse.cells[1].as.i64 == FF_NULL64);          /* no timer */
    assert_null(pulse.cells[pulse.col_count - 1].as.str.ptr); /* no contact */
    get.param_count = 1;
    assert_int_equal(FF_INTERNAL, ff_session_read(f->session, &get, 1000, &f->error));
}

static void test_sqlite__every_text_can_be_prepared(void **state)
{
    struct fixture *const f = *state;

    for (int block = 0; block < FF_SQL_COUNT; block++) {
        struct ff_read read = {
            .block = block, .param_count = ff_sql_blocks[block].param_count, .arena = &f->arena};
        struct ff_value *const nulls = ff_arena_array(&f->arena, 32, sizeof *nulls);
        struct ff_call call = {.kind = FF_CALL_READ, .read = &read};

        read.params = nulls;
        if (!ff_sql_blocks[block].text[FF_DIALECT_SQLITE] ||
            strncmp(ff_sql_blocks[block].text[FF_DIALECT_SQLITE], "SELECT", 6) != 0)
            continue;
        ff_session_run(f->session, &call, 1000);
        /* LIMIT NULL and the like are errors of this test, not of the text. */
        if (call.outcome != FF_CALLED_OK && !strstr(call.error.message, "datatype mismatch"))
            fail_msg("%s: %s", ff_sql_blocks[block].name, call.error.message);
    }
}

/* --- errors --- */

static void test_sqlite__a_duplicate_is_a_rerun(void **state)
{
    struct fixture *const f = *state;
    struct ff_call save;

    given_executions(f, 1);
    begin_changes(f);
    insert_execution(f, 2, 0);
    insert_execution(f, 1, 0);
    save = run(f, FF_CALL_SAVE);
    assert_int_equal(FF_CALLED_RERUN, save.outcome);
    assert_string_equal("1555", save.sqlstate);
    new_batch(f); /* the session is usable, nothing of the batch is there */
    struct ff_entry *const entry = want_execution(f, 2);
    run_ok(f, FF_CALL_LOAD);
    assert_int_equal(FF_FOUND_ABSENT, entry->found);
    run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__other_constraints_are_the_ops_fault(void **state)
{
    struct fixture *const f = *state;

    begin_changes(f);
    insert_execution(f, 1, 0)->state = 4711;
    assert_int_equal(FF_CALLED_OP, run(f, FF_CALL_SAVE).outcome);
    new_batch(f);
    begin_changes(f);
    insert_execution(f, 1, 0)->lane = ff_str_null();
    assert_int_equal(FF_CALLED_OP, run(f, FF_CALL_SAVE).outcome);
}

static void test_sqlite__a_row_that_is_not_there_cannot_be_updated(void **state)
{
    struct fixture *const f = *state;
    struct ff_entry *entry;

    given_executions(f, 1);
    entry = want_execution(f, 1);
    begin_changes(f);
    ff_rowset_edit(&f->rows, entry->row);
    ((struct ff_execution *)entry->row)->execution_id = uuid_of(99);
    assert_int_equal(FF_CALLED_OP, run(f, FF_CALL_SAVE).outcome);
}

static void test_sqlite__a_save_without_a_load_is_refused(void **state)
{
    assert_int_equal(FF_CALLED_OP, run(*state, FF_CALL_SAVE).outcome);
}

static void test_sqlite__no_memory_stops(void **state)
{
    struct fixture *const f = *state;

    begin_changes(f);
    f->arena.failed = true;
    assert_int_equal(FF_CALLED_STOP, run(f, FF_CALL_SAVE).outcome);
    new_batch(f);
    run_ok(f, FF_CALL_LOAD);
    run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__a_full_disk_stops_and_applies_nothing(void **state)
{
    struct fixture *const f = *state;
    struct ff_entry *entry;

    begin_changes(f);
    insert_execution(f, 1, 0);
    disk.write_rc = SQLITE_FULL;
    assert_int_equal(FF_CALLED_STOP, run(f, FF_CALL_SAVE).outcome);
    disk.write_rc = SQLITE_OK;
    new_batch(f);
    entry = want_execution(f, 1);
    run_ok(f, FF_CALL_LOAD); /* there is room again */
    assert_int_equal(FF_FOUND_ABSENT, entry->found);
    run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__a_failed_fsync_is_unknown_and_ends_the_file(void **state)
{
    struct fixture *const f = *state;
    struct ff_session *later;
    struct ff_call call;

    begin_changes(f);
    insert_execution(f, 1, 0);
    disk.sync_rc = SQLITE_IOERR_FSYNC;
    assert_int_equal(FF_CALLED_UNKNOWN, run(f, FF_CALL_SAVE).outcome);
    disk.sync_rc = SQLITE_OK;
    new_batch(f);
    call = run(f, FF_CALL_LOAD);
    assert_int_equal(FF_CALLED_STOP, call.outcome);
    assert_string_equal("file is no longer used after an I/O error", call.error.message);
    assert_int_equal(FF_CALLED_STOP, run(f, FF_CALL_RESOLVE).outcome);
    assert_int_equal(FF_UNAVAILABLE, f->store->ops->session_new(f->store, &later, &f->error));
}

/* --- more than one user --- */

static void test_sqlite__a_second_writer_waits_without_blocking(void **state)
{
    struct fixture *const f = *state;
    struct ff_session *second;
    struct ff_rowset rows;
    struct ff_call call = {.kind = FF_CALL_LOAD, .rows = &rows};

    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &second, &f->error));
    ff_rowset_init(&rows, &f->arena);
    run_ok(f, FF_CALL_LOAD);
    second->ops->start(second, &call);
    assert_false(second->ops->finish(second, &call));
    run_ok(f, FF_CALL_ROLLBACK);
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
    run_ok(f, FF_CALL_LOAD);
    run_ok(f, FF_CALL_ROLLBACK);
}

static void test_sqlite__readers_of_a_file_do_not_wait(void **state)
{
    struct fixture *const f = *state;
    struct ff_session *second;
    struct ff_read lanes = {.block = FF_SQL_LANE_COUNTS, .arena = &f->arena};
    struct ff_call call = {.kind = FF_CALL_READ, .read = &lanes};

    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &second, &f->error));
    begin_changes(f);
    insert_execution(f, 1, 0);
    second->ops->start(second, &call);
    assert_true(second->ops->finish(second, &call));
    assert_int_equal(FF_CALLED_OK, call.outcome);
    run_ok(f, FF_CALL_SAVE);
    second->ops->free(second);
}

/* Adds one to a counter `rounds` times, rerunning as an executor would. */
static void count_up(struct fixture *f, int rounds)
{
    const struct ff_meta key = {.name = FF_STR("counter")};

    while (rounds > 0) {
        struct ff_entry *entry;
        struct ff_call load, save;
        struct ff_meta *row;
        int64_t number = 0;

        new_batch(f);
        entry = ff_rowset_want(&f->rows, FF_TABLE_META, &key, FF_WANT_LOCK);
        load = run(f, FF_CALL_LOAD);
        if (load.outcome == FF_CALLED_RERUN)
            continue;
        assert_int_equal(FF_CALLED_OK, load.outcome);
        ff_rowset_op_begin(&f->rows, ++f->op);
        row = entry->row;
        assert_true(ff_str_to_i64(row->value, &number));
        ff_rowset_edit(&f->rows, row);
        row->value = ff_arena_printf(&f->arena, "%lld", (long long)number + 1);
        save = run(f, FF_CALL_SAVE);
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
    struct fixture f = {.store = counter->store};

    ff_arena_init(&f.arena, 64 << 10, 1 << 20);
    assert_int_equal(FF_OK, f.store->ops->session_new(f.store, &f.session, &f.error));
    count_up(&f, counter->rounds);
    f.session->ops->free(f.session);
    ff_arena_done(&f.arena);
    return NULL;
}

static void assert_counter(struct fixture *f, const char *expected)
{
    const struct ff_meta key = {.name = FF_STR("counter")};
    struct ff_entry *entry;

    new_batch(f);
    entry = ff_rowset_want(&f->rows, FF_TABLE_META, &key, FF_WANT_READ);
    run_ok(f, FF_CALL_PEEK);
    ASSERT_STR(expected, ((struct ff_meta *)entry->row)->value);
}

static void test_sqlite__threads_do_not_lose_updates(void **state)
{
    struct fixture *const f = *state;
    const struct counter counter = {f->store, 50};
    pthread_t threads[3];

    given_meta(f, "counter", "0");
    run_ok(f, FF_CALL_SAVE);
    for (size_t i = 0; i < FF_ARRAY_LEN(threads); i++)
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, counter_thread, (void *)(uintptr_t)&counter));
    for (size_t i = 0; i < FF_ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_counter(f, "150");
}

static void test_sqlite__processes_do_not_lose_updates(void **state)
{
    struct fixture *const f = *state;
    pid_t children[2];

    open_url(f, f->url);
    given_meta(f, "counter", "0");
    run_ok(f, FF_CALL_SAVE);
    close_store(f); /* nothing is open across the fork */
    for (size_t i = 0; i < FF_ARRAY_LEN(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            open_url(f, f->url);
            count_up(f, 40);
            close_store(f);
            _exit(0);
        }
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(children); i++) {
        int status = -1;

        assert_int_equal(children[i], waitpid(children[i], &status, 0));
        assert_int_equal(0, status);
    }
    open_url(f, f->url);
    assert_counter(f, "80");
}

static void test_sqlite__a_fork_ends_the_use_of_a_store(void **state)
{
    struct fixture *const f = *state;
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        struct ff_session *later;
        const bool refused = run(f, FF_CALL_LOAD).outcome == FF_CALLED_STOP &&
                             f->store->ops->session_new(f->store, &later, NULL) != FF_OK &&
                             !f->store->ops->notified(f->store);

        close_store(f); /* must not touch the parent's file */
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    given_executions(f, 1);
}

static void test_sqlite__commits_of_others_are_noticed(void **state)
{
    struct fixture *const f = *state;

    assert_false(f->store->ops->notified(f->store));
    exec_sql(f->path, "INSERT INTO ff_meta VALUES ('a', 'b')");
    assert_true(f->store->ops->notified(f->store));
    assert_false(f->store->ops->notified(f->store));
}

static void test_sqlite__memory_stores_are_shared_by_name(void **state)
{
    struct fixture *const f = *state;
    struct ff_store *same, *other;
    const struct ff_execution key = key_of(1);

    open_url(f, "sqlite:memory:shared");
    given_executions(f, 1);
    assert_int_equal(FF_OK,
                     open_as("sqlite:memory:shared", ff_clock_system(), false, &same, &f->error));
    assert_int_equal(FF_OK,
                     open_as("sqlite::memory:", ff_clock_system(), false, &other, &f->error));
    for (int i = 0; i < 2; i++) {
        struct fixture g = {.store = i ? other : same};
        struct ff_entry *entry;

        ff_arena_init(&g.arena, 64 << 10, 1 << 20);
        new_batch(&g);
        assert_int_equal(FF_OK, g.store->ops->session_new(g.store, &g.session, &g.error));
        entry = ff_rowset_want(&g.rows, FF_TABLE_EXECUTION, &key, FF_WANT_READ);
        run_ok(&g, FF_CALL_PEEK);
        assert_int_equal(i ? FF_FOUND_ABSENT : FF_FOUND_ROW, entry->found);
        close_store(&g);
        ff_arena_done(&g.arena);
    }
}

static void test_sqlite__a_memory_store_has_one_user_at_a_time(void **state)
{
    struct fixture *const f = *state;
    struct ff_session *second;
    struct ff_read lanes = {.block = FF_SQL_LANE_COUNTS, .arena = &f->arena};
    struct ff_call call = {.kind = FF_CALL_READ, .read = &lanes};

    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &second, &f->error));
    begin_changes(f);
    insert_execution(f, 1, 0);
    second->ops->start(second, &call);
    assert_false(second->ops->finish(second, &call));
    run_ok(f, FF_CALL_SAVE);
    while (!second->ops->finish(second, &call))
        second->ops->wait(second, 100);
    assert_int_equal(FF_CALLED_OK, call.outcome);
    assert_int_equal(1, lanes.row_count); /* never a batch that is not committed */
    second->ops->free(second);
}

/* --- time --- */

static int64_t load_time(struct fixture *f)
{
    struct ff_call load;

    new_batch(f);
    load = run(f, FF_CALL_LOAD);
    assert_int_equal(FF_CALLED_OK, load.outcome);
    run_ok(f, FF_CALL_ROLLBACK);
    return load.now_ms;
}

static void open_with_fake_clock(struct fixture *f)
{
    assert_int_equal(FF_OK, open_as(f->url, fake_clock, false, &f->store, &f->error));
    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &f->session, &f->error));
}

static void test_sqlite__time_never_runs_back(void **state)
{
    struct fixture *const f = *state;

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
    run_ok(f, FF_CALL_SAVE);
    close_store(f);
    fake_real_ms = 900000; /* another process, after a reboot */
    fake_boot_ms = 1;
    open_with_fake_clock(f);
    assert_int_equal(2000000, load_time(f));
}

/* --- opening and migrating --- */

static ff_status reopen(struct fixture *f, bool migrate)
{
    const ff_status status = open_as(f->url, ff_clock_system(), migrate, &f->store, &f->error);

    if (status == FF_OK)
        close_store(f);
    return status;
}

static void test_sqlite__an_empty_store_is_migrated_and_then_current(void **state)
{
    struct fixture *const f = *state;
    const int32_t newest = ff_sql_migrations[ff_sql_migration_count - 1].version;
    int32_t from = -1, to = -1;

    open_url(f, f->url);
    assert_int_equal(FF_OK, f->store->ops->migrate(f->store, true, &from, &to, &f->error));
    assert_int_equal(newest, from);
    assert_int_equal(newest, to);
    close_store(f);
    assert_int_equal(FF_OK, reopen(f, false));
}

static void test_sqlite__a_changed_migration_is_refused(void **state)
{
    struct fixture *const f = *state;

    assert_int_equal(FF_OK, reopen(f, false));
    exec_sql(f->path, "UPDATE ff_migration SET checksum = 'other'");
    assert_int_equal(FF_SCHEMA, reopen(f, true));
}

static void test_sqlite__a_newer_store_says_who_may_use_it(void **state)
{
    struct fixture *const f = *state;

    assert_int_equal(FF_OK, reopen(f, false));
    exec_sql(f->path, "INSERT INTO ff_migration VALUES (900, 'later', 'x', 1, 0)");
    assert_int_equal(FF_OK, reopen(f, true));
    exec_sql(f->path, "INSERT INTO ff_migration VALUES (901, 'later', 'x', 901, 0)");
    assert_int_equal(FF_SCHEMA, reopen(f, true));
}

static void test_sqlite__a_missing_column_is_named(void **state)
{
    struct fixture *const f = *state;

    assert_int_equal(FF_OK, reopen(f, false));
    exec_sql(f->path, "ALTER TABLE ff_tag RENAME COLUMN value TO colour");
    assert_int_equal(FF_SCHEMA, reopen(f, false));
    assert_string_equal("column 'ff_tag.value' is missing", f->error.message);
}

static void test_sqlite__foreign_files_are_left_alone(void **state)
{
    struct fixture *const f = *state;

    exec_sql(f->path, "CREATE TABLE theirs (a); PRAGMA user_version = 3");
    assert_int_equal(FF_SCHEMA, reopen(f, true));
    unlink(f->path);
    FILE *const file = fopen(f->path, "w");
    assert_non_null(file);
    for (int i = 0; i < 200; i++)
        fprintf(file, "this is not a database\n");
    fclose(file);
    assert_int_equal(FF_UNAVAILABLE, reopen(f, true));
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
    struct fixture *const f = *state;
    struct ff_store_options missing = {.url = f->url, .clock = fake_clock};

    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        assert_int_equal(FF_INVALID,
                         open_as(bad[i], ff_clock_system(), false, &f->store, &f->error));
    assert_int_equal(FF_NOT_FOUND, ff_store_open(&missing, &f->store, &f->error));
    missing.url = "sqlite:/proc/none/x.db";
    missing.create = true;
    assert_int_equal(FF_UNAVAILABLE, ff_store_open(&missing, &f->store, &f->error));
}

#define ON(setup, name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(setup_file, test_sqlite__a_row_comes_back_as_it_was_saved),
        ON(setup_memory, test_sqlite__a_row_comes_back_as_it_was_saved),
        ON(setup_memory, test_sqlite__an_update_sends_hot_columns_only),
        ON(setup_file, test_sqlite__a_rollback_leaves_nothing),
        ON(setup_memory, test_sqlite__a_rollback_leaves_nothing),
        ON(setup_memory, test_sqlite__delete_and_purge),
        ON(setup_memory, test_sqlite__events_are_numbered_in_order),
        ON(setup_memory, test_sqlite__a_scan_keeps_order_and_limit),
        ON(setup_file, test_sqlite__what_was_peeked_is_read_again_under_the_lock),
        ON(setup_memory, test_sqlite__what_was_peeked_is_read_again_under_the_lock),
        ON(setup_memory, test_sqlite__reads_give_rows_or_cells),
        ON(setup_memory, test_sqlite__every_text_can_be_prepared),
        ON(setup_file, test_sqlite__a_duplicate_is_a_rerun),
        ON(setup_memory, test_sqlite__a_duplicate_is_a_rerun),
        ON(setup_memory, test_sqlite__other_constraints_are_the_ops_fault),
        ON(setup_memory, test_sqlite__a_row_that_is_not_there_cannot_be_updated),
        ON(setup_memory, test_sqlite__a_save_without_a_load_is_refused),
        ON(setup_memory, test_sqlite__no_memory_stops),
        ON(setup_file, test_sqlite__a_full_disk_stops_and_applies_nothing),
        ON(setup_file, test_sqlite__a_failed_fsync_is_unknown_and_ends_the_file),
        ON(setup_file, test_sqlite__a_second_writer_waits_without_blocking),
        ON(setup_memory, test_sqlite__a_second_writer_waits_without_blocking),
        ON(setup_file, test_sqlite__readers_of_a_file_do_not_wait),
        ON(setup_file, test_sqlite__threads_do_not_lose_updates),
        ON(setup_memory, test_sqlite__threads_do_not_lose_updates),
        ON(setup_closed, test_sqlite__processes_do_not_lose_updates),
        ON(setup_file, test_sqlite__a_fork_ends_the_use_of_a_store),
        ON(setup_file, test_sqlite__commits_of_others_are_noticed),
        ON(setup_closed, test_sqlite__memory_stores_are_shared_by_name),
        ON(setup_memory, test_sqlite__a_memory_store_has_one_user_at_a_time),
        ON(setup_closed, test_sqlite__time_never_runs_back),
        ON(setup_closed, test_sqlite__an_empty_store_is_migrated_and_then_current),
        ON(setup_closed, test_sqlite__a_changed_migration_is_refused),
        ON(setup_closed, test_sqlite__a_newer_store_says_who_may_use_it),
        ON(setup_closed, test_sqlite__a_missing_column_is_named),
        ON(setup_closed, test_sqlite__foreign_files_are_left_alone),
        ON(setup_closed, test_sqlite__bad_urls_are_refused),
    };

    return cmocka_run_group_tests(tests, disk_setup, NULL);
}
