/* SPDX-License-Identifier: Apache-2.0
 *
 * store.c -- opening a SQLite file or a memory store, its clock, and hints from other processes.
 *
 * A memory store has one connection for everything: without a WAL a reader would make the commit
 * of a second connection fail. Tests: tests/unit/test_sqlite_store.c. */
#include "store/sqlite/sqlite-int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

#include "base/banned.h"

#define FOLDER_BYTES 4096

/* All named memory stores of this process. */
static pthread_mutex_t memories_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ff_sqlite_memory *memories;

const char *ff_sqlite_refusal(const struct ff_sqlite_store *store)
{
    if (store->pid != getpid())
        return "store was opened before a fork and cannot be used after it";
    if (atomic_load(&store->poisoned))
        return "file is no longer used after an I/O error";
    return NULL;
}

int64_t ff_sqlite_now_ms(struct ff_sqlite_store *store, int64_t stored_ms)
{
    int64_t now_ms;

    pthread_mutex_lock(&store->lock);
    const int64_t boot_ms = ff_clock_boot_ms(&store->clock);
    now_ms = ff_max_i64(ff_clock_real_ms(&store->clock), stored_ms);
    if (store->last_now_ms)
        now_ms = ff_max_i64(now_ms, store->last_now_ms + (boot_ms - store->last_boot_ms));
    store->last_now_ms = now_ms;
    store->last_boot_ms = boot_ms;
    pthread_mutex_unlock(&store->lock);
    return now_ms;
}

/* --- memory --- */

static void memory_free(struct ff_sqlite_memory *memory)
{
    ff_sqlite_conn_close(&memory->conn, false);
    pthread_cond_destroy(&memory->released);
    pthread_mutex_destroy(&memory->lock);
    ff_free(memory);
}

/* Called with the list locked. */
static struct ff_sqlite_memory *memory_new(const char *name, struct ff_error *reterr)
{
    struct ff_sqlite_memory *const memory = ff_calloc(1, sizeof *memory);
    pthread_condattr_t attr;
    char uri[160];

    if (!memory) {
        ff_fail(reterr, FF_NO_MEMORY, "cannot hold the store");
        return NULL;
    }
    pthread_mutex_init(&memory->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&memory->released, &attr);
    pthread_condattr_destroy(&attr);
    snprintf(memory->name, sizeof memory->name, "%s", name);
    snprintf(uri, sizeof uri, "file:/%s?vfs=memdb", name);
    if (ff_sqlite_conn_open(&memory->conn, uri, true, true) != SQLITE_OK ||
        ff_sqlite_exec_patiently(&memory->conn, "PRAGMA journal_mode=MEMORY") != SQLITE_OK) {
        ff_fail(reterr, FF_UNAVAILABLE, "%s", memory->conn.problem);
        memory_free(memory);
        return NULL;
    }
    memory->next = memories;
    memories = memory;
    return memory;
}

static struct ff_sqlite_memory *memory_get(const char *name, struct ff_error *reterr)
{
    struct ff_sqlite_memory *memory;

    pthread_mutex_lock(&memories_lock);
    for (memory = memories; memory; memory = memory->next)
        if (strcmp(memory->name, name) == 0)
            break;
    if (!memory)
        memory = memory_new(name, reterr);
    if (memory)
        memory->users++;
    pthread_mutex_unlock(&memories_lock);
    return memory;
}

static void memory_put(struct ff_sqlite_memory *memory)
{
    struct ff_sqlite_memory **at = &memories;

    pthread_mutex_lock(&memories_lock);
    if (--memory->users == 0) {
        while (*at != memory)
            at = &(*at)->next;
        *at = memory->next;
        memory_free(memory);
    }
    pthread_mutex_unlock(&memories_lock);
}

/* --- the store --- */

static void store_notify(struct ff_store *base)
{
    (void)base; /* the commit itself is the hint: see store_notified */
}

static bool store_notified(struct ff_store *base)
{
    struct ff_sqlite_store *const store = ff_container_of(base, struct ff_sqlite_store, base);
    int64_t version = 0;
    bool moved;

    if (store->memory || ff_sqlite_refusal(store))
        return false;
    pthread_mutex_lock(&store->lock);
    moved = ff_sqlite_number(store->home, "PRAGMA data_version", 0, &version) == SQLITE_OK &&
            version != store->seen_version;
    if (moved)
        store->seen_version = version;
    pthread_mutex_unlock(&store->lock);
    return moved;
}

/* The connection of a memory store may be in the middle of somebody's batch. */
static bool home_enter(struct ff_sqlite_store *store)
{
    struct ff_sqlite_memory *const memory = store->memory;
    struct timespec until;
    bool taken;
    int rc = 0;

    if (!memory)
        return pthread_mutex_lock(&store->lock) == 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += FF_SQLITE_PATIENCE_MS / 1000;
    pthread_mutex_lock(&memory->lock);
    while (memory->owner && rc == 0)
        rc = pthread_cond_timedwait(&memory->released, &memory->lock, &until);
    taken = memory->owner != NULL; /* whoever has it may leave once the lock is given back */
    if (taken)
        pthread_mutex_unlock(&memory->lock);
    return !taken;
}

static void home_leave(struct ff_sqlite_store *store)
{
    pthread_mutex_unlock(store->memory ? &store->memory->lock : &store->lock);
}

static ff_status store_migrate(struct ff_store *base, bool dry_run, int32_t *ret_from,
                               int32_t *ret_to, struct ff_error *reterr)
{
    struct ff_sqlite_store *const store = ff_container_of(base, struct ff_sqlite_store, base);
    const char *const refusal = ff_sqlite_refusal(store);
    ff_status status;

    if (refusal)
        return ff_fail(reterr, FF_UNAVAILABLE, "%s", refusal);
    if (!home_enter(store))
        return ff_fail(reterr, FF_UNAVAILABLE, "store is in the middle of a batch");
    status = ff_sqlite_migrate(store->home, store, dry_run, ret_from, ret_to, reterr);
    home_leave(store);
    return status;
}

static int reset_log(struct ff_sqlite_store *store)
{
    int rc = ff_sqlite_exec_patiently(store->home, "BEGIN IMMEDIATE");

    if (rc == SQLITE_OK)
        rc = ff_sqlite_reset_log(store->home, ff_clock_real_ms(&store->clock), true,
                                 atomic_load(&store->seen_id));
    if (rc == SQLITE_OK)
        rc = ff_sqlite_exec_patiently(store->home, "COMMIT");
    if (!sqlite3_get_autocommit(store->home->db))
        (void)ff_sqlite_tx(store->home, TX_ROLLBACK);
    return rc;
}

static ff_status store_restored(struct ff_store *base, struct ff_error *reterr)
{
    struct ff_sqlite_store *const store = ff_container_of(base, struct ff_sqlite_store, base);
    const char *const refusal = ff_sqlite_refusal(store);
    int rc;

    if (refusal)
        return ff_fail(reterr, FF_UNAVAILABLE, "%s", refusal);
    if (!home_enter(store))
        return ff_fail(reterr, FF_UNAVAILABLE, "store is in the middle of a batch");
    rc = reset_log(store);
    home_leave(store);
    return rc == SQLITE_OK ? FF_OK : ff_fail(reterr, FF_UNAVAILABLE, "%s", store->home->problem);
}

static void store_free(struct ff_store *base)
{
    struct ff_sqlite_store *const store = ff_container_of(base, struct ff_sqlite_store, base);

    if (store->pid == getpid()) { /* else the connections belong to the parent */
        if (store->memory) {
            memory_put(store->memory);
        } else if (store->home) {
            ff_sqlite_conn_close(store->home, atomic_load(&store->poisoned));
            ff_free(store->home);
        }
    }
    pthread_mutex_destroy(&store->lock);
    ff_free(store->path);
    ff_free(store);
}

static const struct ff_store_ops store_ops = {
    .session_new = ff_sqlite_session_new,
    .notify = store_notify,
    .notified = store_notified,
    .migrate = store_migrate,
    .free = store_free,
    .restored = store_restored,
};

static void store_freep(struct ff_sqlite_store **store)
{
    if (*store)
        store_free(&(*store)->base);
}

/* --- opening --- */

/* The directory a file is in. False: the path is too long. */
static bool folder_of(const char *path, char folder[FOLDER_BYTES])
{
    const int length = snprintf(folder, FOLDER_BYTES, "%s", path);
    char *const slash = strrchr(folder, '/');

    if (slash)
        slash[slash == folder] = '\0';
    else
        (void)snprintf(folder, FOLDER_BYTES, ".");
    return length >= 0 && length < FOLDER_BYTES;
}

/* WAL needs shared memory and locks that work, which no network file system promises. */
static ff_status check_file_system(const char *path, struct ff_error *reterr)
{
    static const struct {
        unsigned magic; /* as in linux/magic.h */
        const char *name;
    } refused[] = {{0x6969, "NFS"}, {0x517b, "SMB"}, {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"}};
    char folder[FOLDER_BYTES];
    struct statfs fs;

    if (!folder_of(path, folder))
        return ff_fail_field(reterr, FF_INVALID, "url", "path is too long");
    if (statfs(path, &fs) != 0 && statfs(folder, &fs) != 0)
        return ff_fail(reterr, FF_UNAVAILABLE, "cannot open '%s': %s", path, strerror(errno));
    for (size_t i = 0; i < FF_ARRAY_LEN(refused); i++)
        if ((unsigned)fs.f_type == refused[i].magic)
            return ff_fail(reterr, FF_INVALID,
                           "cannot use '%s': it is on %s, and SQLite needs a "
                           "local file system",
                           path, refused[i].name);
    return FF_OK;
}

/* Why the file is of no use, in words for whoever named it. */
static ff_status open_failed(const struct ff_sqlite_store *store, int rc, struct ff_error *reterr)
{
    const struct ff_sqlite_conn *const home = store->home;
    char folder[FOLDER_BYTES];
    int why = home->db ? sqlite3_system_errno(home->db) : 0;

    /* SQLite tells of its last try, which was to read a file that could not be made. */
    if (why == ENOENT && folder_of(store->path, folder) && access(folder, W_OK | X_OK) != 0)
        why = errno;
    switch (rc & 0xff) {
    case SQLITE_NOTADB:
        return ff_fail(reterr, FF_SCHEMA, "'%s' is not a SQLite file", store->path);
    case SQLITE_READONLY:
        return ff_fail(reterr, FF_UNAVAILABLE,
                       "cannot open '%s': it and its directory must be writable", store->path);
    case SQLITE_CANTOPEN:
        return ff_fail(reterr, FF_UNAVAILABLE, "cannot open '%s': %s", store->path,
                       why ? strerror(why) : sqlite3_errstr(rc));
    default:
        return ff_fail(reterr, FF_UNAVAILABLE, "cannot open '%s': %s", store->path, home->problem);
    }
}

static ff_status open_file(struct ff_sqlite_store *store, bool create, struct ff_error *reterr)
{
    const char *const path = store->path;
    int64_t id = 0, objects = 0, is_wal = 0;
    struct stat info;
    int rc;

    if (path[0] == '\0' || path[0] == ':' || strncmp(path, "file:", 5) == 0)
        return ff_fail_field(reterr, FF_INVALID, "url", "'%s' is not a path", path);
    if (!create && access(path, F_OK) != 0)
        return ff_fail(reterr, FF_NOT_FOUND, "no store at '%s': %s", path, strerror(errno));
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return ff_fail_field(reterr, FF_INVALID, "url", "'%s' is a directory", path);
    FF_TRY(check_file_system(path, reterr));
    store->home = ff_calloc(1, sizeof *store->home);
    if (!store->home)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the store");
    /* Whose file it is comes before the first write to it. Somebody else may be making it just now:
     * nothing of it is there before its name is. */
    rc = ff_sqlite_conn_open(store->home, path, false, create);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(store->home->db, FF_SQLITE_PATIENCE_MS);
    if (rc == SQLITE_OK)
        rc = ff_sqlite_number(store->home, "PRAGMA schema_version", 0, &objects);
    if (rc == SQLITE_OK)
        rc = ff_sqlite_number(store->home, "PRAGMA application_id", 0, &id);
    if (rc == SQLITE_OK && create && sqlite3_db_readonly(store->home->db, "main") == 1)
        rc = SQLITE_READONLY; /* whoever would make it means to write */
    if (rc != SQLITE_OK)
        return open_failed(store, rc, reterr);
    if (id != FF_SQLITE_APPLICATION_ID && (id != 0 || objects != 0))
        return ff_fail(reterr, FF_SCHEMA, "'%s' is a SQLite file of another program", path);
    rc = ff_sqlite_exec_patiently(store->home, "PRAGMA journal_mode=WAL");
    if (rc == SQLITE_OK)
        rc = ff_sqlite_number(
            store->home, ff_sql_blocks[FF_SQL_JOURNAL_IS_WAL].text[FF_DIALECT_SQLITE], 0, &is_wal);
    if (rc != SQLITE_OK)
        return open_failed(store, rc, reterr);
    if (!is_wal)
        return ff_fail(reterr, FF_UNAVAILABLE, "cannot open '%s': no write-ahead log here", path);
    return FF_OK;
}

static ff_status open_memory(struct ff_sqlite_store *store, const char *name,
                             struct ff_error *reterr)
{
    char unique[64];

    if (!name) {
        snprintf(unique, sizeof unique, "private-%016llx%016llx",
                 (unsigned long long)ff_random_u64(&store->random),
                 (unsigned long long)ff_random_u64(&store->random));
        name = unique;
    }
    if (name[0] == '\0' || strlen(name) > 64 ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
            strlen(name))
        return ff_fail_field(reterr, FF_INVALID, "url",
                             "name of a memory store must be 1 to 64 letters, digits, '.', '_', "
                             "'-'");
    store->memory = memory_get(name, reterr);
    if (!store->memory)
        return reterr ? reterr->status : FF_UNAVAILABLE;
    store->home = &store->memory->conn;
    return FF_OK;
}

static ff_status store_init(struct ff_sqlite_store *store, const struct ff_store_options *options,
                            struct ff_error *reterr)
{
    static const char memory[] = "memory:";
    ff_status status;

    if (strcmp(store->path, ":memory:") == 0)
        FF_TRY(open_memory(store, NULL, reterr));
    else if (strncmp(store->path, memory, sizeof memory - 1) == 0)
        FF_TRY(open_memory(store, store->path + sizeof memory - 1, reterr));
    else
        FF_TRY(open_file(store, options->create, reterr));
    store->base.facts.shared = !store->memory;
    store->base.facts.notify = !store->memory;
    store->base.facts.wake_up = store->memory ? "in process" : "data_version";
    if (options->as_it_is)
        return FF_OK;
    if (!home_enter(store))
        return ff_fail(reterr, FF_UNAVAILABLE, "store is in the middle of a batch");
    status = ff_sqlite_schema_check(store->home, store, options->migrate, reterr);
    home_leave(store);
    FF_TRY(status);
    (void)sqlite3_busy_timeout(store->home->db, 0); /* from here on sessions wait by themselves */
    (void)store_notified(&store->base);             /* from here on only what is new counts */
    return FF_OK;
}

ff_status ff_store_sqlite_open(const struct ff_store_options *options, struct ff_store **ret_store,
                               struct ff_error *reterr)
{
    static const char scheme[] = "sqlite:";
    const char *const path = options->url + sizeof scheme - 1;
    FF_AUTO(store_freep) struct ff_sqlite_store *store = NULL;

    if (strncmp(options->url, scheme, sizeof scheme - 1) != 0)
        return ff_fail_field(reterr, FF_INVALID, "url", "store url must start with '%s'", scheme);
    if (sqlite3_libversion_number() < 3040000 || !sqlite3_threadsafe())
        return ff_fail(reterr, FF_UNAVAILABLE,
                       "SQLite 3.40 or newer with threads is needed, not "
                       "%s",
                       sqlite3_libversion());
    store = ff_calloc(1, sizeof *store);
    if (!store)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the store");
    store->base.ops = &store_ops;
    store->base.facts.kind = "sqlite";
    snprintf(store->base.facts.version, sizeof store->base.facts.version, "%s",
             sqlite3_libversion());
    store->clock = options->clock;
    store->random = options->random;
    store->pid = getpid();
    pthread_mutex_init(&store->lock, NULL);
    store->path = ff_malloc(strlen(path) + 1);
    if (!store->path)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the store");
    memcpy(store->path, path, strlen(path) + 1);
    FF_TRY(store_init(store, options, reterr));
    *ret_store = &FF_STEAL(store)->base;
    return FF_OK;
}
