/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlite_fixture.h -- a SQLite store in a folder of its own, a session, a batch, a disk that fails.
 *
 * For the tests of src/store/sqlite. Uses cmocka: a step that does not work fails the test. */
#ifndef FF_TESTS_SQLITE_FIXTURE_H
#define FF_TESTS_SQLITE_FIXTURE_H

#include "base/arena.h"
#include "model/rowset.h"
#include "store/store.h"

struct fx {
    char folder[64], path[96], url[128];
    struct ff_error error;
    struct ff_store *store;
    struct ff_session *session;
    struct ff_arena arena;
    struct ff_rowset rows;
    uint32_t op;
};

/* What fsync and write of every file answer, and fsync of the main file alone, which only a
 * checkpoint does; 0: what the disk says. */
extern int fx_disk_sync_rc, fx_disk_write_rc, fx_disk_main_sync_rc;
/* Group setup: puts the disk below SQLite. */
int fx_disk_setup(void **state);

ff_status fx_open_as(const char *url, struct ff_clock clock, bool migrate, struct ff_store **ret,
                     struct ff_error *reterr);
void fx_open_url(struct fx *f, const char *url);
void fx_close_store(struct fx *f);
/* `state` is a struct fx *; closed: nothing is opened yet. */
int fx_setup_closed(void **state);
int fx_setup_file(void **state);
int fx_setup_memory(void **state);
int fx_teardown(void **state);
void fx_new_batch(struct fx *f);
struct ff_call fx_run(struct fx *f, ff_call_kind kind);
/* Fails the test on any other outcome. */
void fx_run_ok(struct fx *f, ff_call_kind kind);
/* A load, and an op in which changes count. */
void fx_begin_changes(struct fx *f);
struct ff_uuid fx_uuid_of(uint8_t n);
struct ff_execution fx_key_of(uint8_t n);
struct ff_entry *fx_want_execution(struct fx *f, uint8_t n);
/* In partition 7, lane "lane-a", of kind "odd" or "even", ready. */
struct ff_execution *fx_insert_execution(struct fx *f, uint8_t n, int32_t priority);
void fx_given_executions(struct fx *f, uint8_t count);

#define ASSERT_STR(expected, str)                                                                  \
    do {                                                                                           \
        assert_int_equal(strlen(expected), (str).len);                                             \
        assert_memory_equal(expected, (str).ptr, (str).len);                                       \
    } while (0)

#endif
