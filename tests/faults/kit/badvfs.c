/* SPDX-License-Identifier: Apache-2.0
 *
 * badvfs.c -- a disk below SQLite that is full, whose n-th sync or write fails, or that loses
 * power.
 *
 * Wraps the default VFS: a file of ours holds the real one behind it. Only writes and syncs of the
 * database and its log are touched; everything else is passed on. */
#include "kit/badvfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

#include "base/banned.h"

struct bad_file {
    sqlite3_file base;
    struct disk_file *disk; /* NULL: not the database, not its log */
    sqlite3_file *real;     /* behind this struct */
};

static sqlite3_vfs bad_vfs;
static sqlite3_vfs *real_vfs;
static atomic_bool is_full, is_off;
static atomic_long sync_count, sync_fails, write_count, write_fails;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct bad_file *)file)->real;
}

/* --- what would be lost --- */

/* One write that no sync has followed yet. */
struct unsynced {
    sqlite3_int64 at;
    int bytes;
    sqlite3_int64 size_before;
    char *before, *after; /* `after` NULL: the file was cut to `at` bytes */
};

/* A file as all its handles share it. */
struct disk_file {
    char path[512];
    struct unsynced *writes;
    size_t count, cap;
};

#define FILES_MAX 8

static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static struct disk_file disk[FILES_MAX];
static size_t disk_count;
static bool remembers; /* only while a case wants to lose power */
static long off_after; /* writes; 0: never */
static uint64_t losses;
static size_t lost_count;

static struct disk_file *disk_file_of(const char *path)
{
    for (size_t i = 0; i < disk_count; i++)
        if (strcmp(disk[i].path, path) == 0)
            return &disk[i];
    if (disk_count == FILES_MAX || strlen(path) >= sizeof disk[0].path)
        abort();
    memcpy(disk[disk_count].path, path, strlen(path) + 1);
    return &disk[disk_count++];
}

static void forget(struct disk_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        free(file->writes[i].before);
        free(file->writes[i].after);
    }
    file->count = 0;
}

static char *copy_of(const void *bytes, size_t len)
{
    char *const copy = malloc(len + 1);

    if (!copy)
        abort();
    if (bytes)
        memcpy(copy, bytes, len);
    return copy;
}

/* Called with the lock, before the write happens. */
static void remember(struct bad_file *bad, const void *from, int bytes, sqlite3_int64 at)
{
    struct disk_file *const file = bad->disk;
    sqlite3_file *const real = bad->real;
    struct unsynced *write;

    if (file->count == file->cap) {
        file->cap = 2 * file->cap + 64;
        file->writes = realloc(file->writes, file->cap * sizeof *file->writes);
        if (!file->writes)
            abort();
    }
    write = &file->writes[file->count++];
    *write = (struct unsynced){.at = at, .bytes = bytes};
    (void)real->pMethods->xFileSize(real, &write->size_before);
    if (!from)
        write->bytes = at < write->size_before ? (int)(write->size_before - at) : 0;
    write->before = copy_of(NULL, (size_t)write->bytes);
    memset(write->before, 0, (size_t)write->bytes);
    (void)real->pMethods->xRead(real, write->before, write->bytes, at);
    write->after = from ? copy_of(from, (size_t)bytes) : NULL;
}

static void put_back(int fd, const struct unsynced *write)
{
    const sqlite3_int64 end = write->at + write->bytes;
    const sqlite3_int64 kept = end < write->size_before ? end : write->size_before;

    if (kept > write->at &&
        pwrite(fd, write->before, (size_t)(kept - write->at), write->at) != kept - write->at)
        abort();
    if (ftruncate(fd, write->size_before) != 0)
        abort();
}

/* Nothing is left of what was not synced, but for what chance has saved: disks write in any order.
 */
static void lose_power(struct disk_file *file, struct ff_prng *prng)
{
    const int fd = open(file->path, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        forget(file);
        return;
    }
    for (size_t i = file->count; i-- > 0;)
        put_back(fd, &file->writes[i]);
    for (size_t i = 0; i < file->count; i++) {
        const struct unsynced *const write = &file->writes[i];

        if (ff_prng_below(prng, 2) == 0)
            continue;
        if (write->after ? pwrite(fd, write->after, (size_t)write->bytes, write->at) < 0
                         : ftruncate(fd, write->at) != 0)
            abort();
    }
    (void)close(fd);
    forget(file);
}

void badvfs_remember(bool on)
{
    (void)pthread_mutex_lock(&disk_lock);
    remembers = on;
    off_after = 0;
    atomic_store(&is_off, false);
    for (size_t i = 0; i < disk_count; i++)
        forget(&disk[i]);
    disk_count = 0;
    (void)pthread_mutex_unlock(&disk_lock);
}

void badvfs_lose_power(long n)
{
    (void)pthread_mutex_lock(&disk_lock);
    off_after = n;
    (void)pthread_mutex_unlock(&disk_lock);
}

size_t badvfs_lost(void)
{
    return lost_count;
}

/* Called with the lock. */
static void count_down(void)
{
    struct ff_prng prng;

    if (off_after == 0 || --off_after > 0)
        return;
    ff_prng_init(&prng, ++losses);
    atomic_store(&is_off, true);
    for (size_t i = 0; i < disk_count; i++) {
        lost_count += disk[i].count;
        lose_power(&disk[i], &prng);
    }
}

/* --- the file --- */

#define PASS(name, params, args)                                                                   \
    static int bad_##name params                                                                   \
    {                                                                                              \
        sqlite3_file *const real = real_of(file);                                                  \
                                                                                                   \
        return real->pMethods->name args;                                                          \
    }

PASS(xRead, (sqlite3_file * file, void *to, int bytes, sqlite3_int64 at), (real, to, bytes, at))
PASS(xFileSize, (sqlite3_file * file, sqlite3_int64 *ret), (real, ret))
PASS(xLock, (sqlite3_file * file, int level), (real, level))
PASS(xUnlock, (sqlite3_file * file, int level), (real, level))
PASS(xCheckReservedLock, (sqlite3_file * file, int *ret), (real, ret))
PASS(xFileControl, (sqlite3_file * file, int op, void *arg), (real, op, arg))
PASS(xSectorSize, (sqlite3_file * file), (real))
PASS(xDeviceCharacteristics, (sqlite3_file * file), (real))
PASS(xShmMap, (sqlite3_file * file, int page, int bytes, int extend, void volatile **ret),
     (real, page, bytes, extend, ret))
PASS(xShmLock, (sqlite3_file * file, int from, int count, int flags), (real, from, count, flags))
PASS(xShmUnmap, (sqlite3_file * file, int and_delete), (real, and_delete))

static void bad_xShmBarrier(sqlite3_file *file)
{
    sqlite3_file *const real = real_of(file);

    real->pMethods->xShmBarrier(real);
}

static int bad_xClose(sqlite3_file *file)
{
    sqlite3_file *const real = real_of(file);

    return real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
}

static int bad_xTruncate(sqlite3_file *file, sqlite3_int64 bytes)
{
    struct bad_file *const bad = (struct bad_file *)file;
    int rc = SQLITE_IOERR_TRUNCATE;

    (void)pthread_mutex_lock(&disk_lock);
    if (!atomic_load(&is_off)) {
        if (remembers && bad->disk)
            remember(bad, NULL, 0, bytes);
        rc = bad->real->pMethods->xTruncate(bad->real, bytes);
    }
    (void)pthread_mutex_unlock(&disk_lock);
    return rc;
}

static int write_remembered(struct bad_file *bad, const void *from, int bytes, sqlite3_int64 at)
{
    int rc = SQLITE_IOERR_WRITE;

    (void)pthread_mutex_lock(&disk_lock);
    if (!atomic_load(&is_off)) {
        remember(bad, from, bytes, at);
        rc = bad->real->pMethods->xWrite(bad->real, from, bytes, at);
        count_down();
    }
    (void)pthread_mutex_unlock(&disk_lock);
    return rc;
}

static int bad_xWrite(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    struct bad_file *const bad = (struct bad_file *)file;
    sqlite3_file *const real = bad->real;
    sqlite3_int64 size = 0;

    if (atomic_fetch_add(&write_count, 1) + 1 == atomic_load(&write_fails))
        return SQLITE_IOERR_WRITE;
    if (remembers && bad->disk)
        return write_remembered(bad, from, bytes, at);
    if (atomic_load(&is_full) && real->pMethods->xFileSize(real, &size) == SQLITE_OK &&
        at + bytes > size)
        return SQLITE_FULL;
    return real->pMethods->xWrite(real, from, bytes, at);
}

static int bad_xSync(sqlite3_file *file, int flags)
{
    sqlite3_file *const real = real_of(file);
    const long n = atomic_fetch_add(&sync_count, 1) + 1;

    struct disk_file *const disk_file = ((struct bad_file *)file)->disk;
    int rc = SQLITE_IOERR_FSYNC;

    if (n == atomic_load(&sync_fails))
        return rc;
    if (!remembers || !disk_file)
        return real->pMethods->xSync(real, flags);
    (void)pthread_mutex_lock(&disk_lock);
    if (!atomic_load(&is_off)) {
        rc = real->pMethods->xSync(real, flags);
        forget(disk_file);
    }
    (void)pthread_mutex_unlock(&disk_lock);
    return rc;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = bad_xClose,
    .xRead = bad_xRead,
    .xWrite = bad_xWrite,
    .xTruncate = bad_xTruncate,
    .xSync = bad_xSync,
    .xFileSize = bad_xFileSize,
    .xLock = bad_xLock,
    .xUnlock = bad_xUnlock,
    .xCheckReservedLock = bad_xCheckReservedLock,
    .xFileControl = bad_xFileControl,
    .xSectorSize = bad_xSectorSize,
    .xDeviceCharacteristics = bad_xDeviceCharacteristics,
    .xShmMap = bad_xShmMap,
    .xShmLock = bad_xShmLock,
    .xShmBarrier = bad_xShmBarrier,
    .xShmUnmap = bad_xShmUnmap,
};

static int bad_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
    struct bad_file *const bad = (struct bad_file *)file;
    int rc;

    (void)vfs;
    bad->real = (sqlite3_file *)(bad + 1);
    bad->disk = NULL;
    if (remembers && flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) {
        (void)pthread_mutex_lock(&disk_lock);
        bad->disk = disk_file_of(name);
        (void)pthread_mutex_unlock(&disk_lock);
    }
    rc = real_vfs->xOpen(real_vfs, name, bad->real, flags, ret_flags);
    bad->base.pMethods = bad->real->pMethods ? &methods : NULL;
    return rc;
}

/* Without power no file goes, either. */
static int bad_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    (void)vfs;
    return atomic_load(&is_off) ? SQLITE_IOERR_DELETE : real_vfs->xDelete(real_vfs, name, sync_dir);
}

void badvfs_register(void)
{
    if (real_vfs)
        return;
    real_vfs = sqlite3_vfs_find(NULL);
    memcpy(&bad_vfs, real_vfs, sizeof bad_vfs);
    bad_vfs.zName = "bad";
    bad_vfs.szOsFile = (int)sizeof(struct bad_file) + real_vfs->szOsFile;
    bad_vfs.xOpen = bad_open;
    bad_vfs.xDelete = bad_delete;
    (void)sqlite3_vfs_register(&bad_vfs, 1);
}

void badvfs_full(bool full)
{
    atomic_store(&is_full, full);
}

void badvfs_fail_sync(long n)
{
    atomic_store(&sync_count, 0);
    atomic_store(&sync_fails, n);
}

void badvfs_fail_write(long n)
{
    atomic_store(&write_count, 0);
    atomic_store(&write_fails, n);
}

long badvfs_syncs(void)
{
    return atomic_load(&sync_count);
}
