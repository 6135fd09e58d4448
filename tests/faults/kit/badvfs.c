/* SPDX-License-Identifier: Apache-2.0
 *
 * badvfs.c -- a disk below SQLite that is full, or whose n-th sync fails.
 *
 * Wraps the default VFS: a file of ours holds the real one behind it. Only writes and syncs of the
 * database and its log are touched; everything else is passed on. */
#include "kit/badvfs.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/banned.h"

struct bad_file {
    sqlite3_file base;
    sqlite3_file *real; /* behind this struct */
};

static sqlite3_vfs bad_vfs;
static sqlite3_vfs *real_vfs;
static atomic_bool is_full;
static atomic_long sync_count, sync_fails;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct bad_file *)file)->real;
}

#define PASS(name, params, args)                                                                   \
    static int bad_##name params                                                                   \
    {                                                                                              \
        sqlite3_file *const real = real_of(file);                                                  \
                                                                                                   \
        return real->pMethods->name args;                                                          \
    }

PASS(xRead, (sqlite3_file * file, void *to, int bytes, sqlite3_int64 at), (real, to, bytes, at))
PASS(xTruncate, (sqlite3_file * file, sqlite3_int64 bytes), (real, bytes))
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

static int bad_xWrite(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    sqlite3_file *const real = real_of(file);
    sqlite3_int64 size = 0;

    if (atomic_load(&is_full) && real->pMethods->xFileSize(real, &size) == SQLITE_OK &&
        at + bytes > size)
        return SQLITE_FULL;
    return real->pMethods->xWrite(real, from, bytes, at);
}

static int bad_xSync(sqlite3_file *file, int flags)
{
    sqlite3_file *const real = real_of(file);
    const long n = atomic_fetch_add(&sync_count, 1) + 1;

    if (n == atomic_load(&sync_fails))
        return SQLITE_IOERR_FSYNC;
    return real->pMethods->xSync(real, flags);
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
    rc = real_vfs->xOpen(real_vfs, name, bad->real, flags, ret_flags);
    bad->base.pMethods = bad->real->pMethods ? &methods : NULL;
    return rc;
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

long badvfs_syncs(void)
{
    return atomic_load(&sync_count);
}
