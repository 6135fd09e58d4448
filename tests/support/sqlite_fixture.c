/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlite_fixture.c -- a SQLite store in a folder of its own, a session, a batch, a disk that fails.
 */
#include "support/sqlite_fixture.h"

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
#include <unistd.h>

#include "base/macros.h"
#include "store/sql.h"

/* --- the layer below: disks that fail on command --- */

int fx_disk_sync_rc, fx_disk_write_rc, fx_disk_main_sync_rc;

static struct {
    sqlite3_vfs vfs;
    sqlite3_io_methods methods[2]; /* the main file and the rest have different ones */
    const sqlite3_io_methods *plain[2];
    pthread_mutex_t lock;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const sqlite3_io_methods *plain_methods(const sqlite3_file *file)
{
    return disk.plain[file->pMethods == &disk.methods[1]];
}

static int disk_sync(sqlite3_file *file, int flags)
{
    if (fx_disk_main_sync_rc && file->pMethods == &disk.methods[0])
        return fx_disk_main_sync_rc;
    return fx_disk_sync_rc ? fx_disk_sync_rc : plain_methods(file)->xSync(file, flags);
}

static int disk_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    return fx_disk_write_rc ? fx_disk_write_rc
                            : plain_methods(file)->xWrite(file, bytes, count, offset);
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

int fx_disk_setup(void **state FF_UNUSED)
{
    sqlite3_vfs *const plain = sqlite3_vfs_find(NULL);

    disk.vfs = *plain;
    disk.vfs.zName = "test-disk";
    disk.vfs.pAppData = plain;
    disk.vfs.xOpen = disk_open;
    return sqlite3_vfs_register(&disk.vfs, 1);
}

/* --- a store, a session, a batch --- */

ff_status fx_open_as(const char *url, struct ff_clock clock, bool migrate, struct ff_store **ret,
                     struct ff_error *reterr)
{
    const struct ff_store_options options = {.url = url,
                                             .create = true,
                                             .migrate = migrate,
                                             .clock = clock,
                                             .random = ff_random_system()};

    return ff_store_open(&options, ret, reterr);
}

void fx_open_url(struct fx *f, const char *url)
{
    if (fx_open_as(url, ff_clock_system(), false, &f->store, &f->error) != FF_OK)
        fail_msg("%s", f->error.message);
    assert_int_equal(FF_OK, f->store->ops->session_new(f->store, &f->session, &f->error));
}

void fx_close_store(struct fx *f)
{
    if (f->session)
        f->session->ops->free(f->session);
    f->session = NULL;
    ff_store_free(f->store);
    f->store = NULL;
}

int fx_setup_closed(void **state)
{
    struct fx *const f = calloc(1, sizeof *f);
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

int fx_setup_file(void **state)
{
    fx_setup_closed(state);
    fx_open_url(*state, ((struct fx *)*state)->url);
    return 0;
}

int fx_setup_memory(void **state)
{
    fx_setup_closed(state);
    fx_open_url(*state, "sqlite::memory:");
    return 0;
}

int fx_teardown(void **state)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    struct fx *const f = *state;

    fx_disk_sync_rc = fx_disk_write_rc = fx_disk_main_sync_rc = SQLITE_OK;
    fx_close_store(f);
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

void fx_new_batch(struct fx *f)
{
    ff_arena_reset(&f->arena);
    ff_rowset_init(&f->rows, &f->arena);
}

struct ff_call fx_run(struct fx *f, ff_call_kind kind)
{
    struct ff_call call = {.kind = kind, .rows = &f->rows};

    ff_session_run(f->session, &call, 10000);
    return call;
}

void fx_run_ok(struct fx *f, ff_call_kind kind)
{
    const struct ff_call call = fx_run(f, kind);

    if (call.outcome != FF_CALLED_OK)
        fail_msg("outcome %d: %s", (int)call.outcome, call.error.message);
}

/* Changes count only inside an op. */
void fx_begin_changes(struct fx *f)
{
    fx_run_ok(f, FF_CALL_LOAD);
    ff_rowset_op_begin(&f->rows, ++f->op);
}

struct ff_uuid fx_uuid_of(uint8_t n)
{
    return (struct ff_uuid){.b = {[0] = 1, [15] = n}};
}

struct ff_execution fx_key_of(uint8_t n)
{
    return (struct ff_execution){.partition_key = 7, .execution_id = fx_uuid_of(n)};
}

struct ff_entry *fx_want_execution(struct fx *f, uint8_t n)
{
    const struct ff_execution key = fx_key_of(n);

    return ff_rowset_want(&f->rows, FF_TABLE_EXECUTION, &key, FF_WANT_LOCK);
}

struct ff_execution *fx_insert_execution(struct fx *f, uint8_t n, int32_t priority)
{
    const struct ff_execution key = fx_key_of(n);
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

void fx_given_executions(struct fx *f, uint8_t count)
{
    fx_new_batch(f);
    fx_begin_changes(f);
    for (uint8_t n = 1; n <= count; n++)
        fx_insert_execution(f, n, n);
    fx_run_ok(f, FF_CALL_SAVE);
    fx_new_batch(f);
}
