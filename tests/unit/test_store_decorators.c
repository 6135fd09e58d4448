/* SPDX-License-Identifier: Apache-2.0
 *
 * test_store_decorators.c -- a store that counts and a store that lies.
 *
 * Of src/store/trace and src/store/fault, over SQLite in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/macros.h"
#include "store/fault.h"
#include "store/sql.h"
#include "store/store.h"
#include "store/trace.h"

struct fixture {
    struct ff_store *store;
    struct ff_session *session;
    struct ff_arena arena;
    struct ff_rowset rows;
    uint8_t batch; /* of the batch ids */
    /* what the fault store is told */
    ff_call_kind kind;
    ff_fault_verdict verdict;
    int traced;
};

static ff_fault_verdict decide(void *ctx, const struct ff_call *call, uint64_t n)
{
    struct fixture *const f = ctx;
    const ff_fault_verdict verdict = call->kind == f->kind ? f->verdict : FF_FAULT_RUN;

    assert_true(n > 0);
    if (call->kind == f->kind)
        f->verdict = FF_FAULT_RUN; /* once */
    return verdict;
}

static void on_call(void *ctx, const struct ff_call *call, int64_t micros)
{
    struct fixture *const f = ctx;

    assert_int_equal(FF_CALLED_OK, call->outcome);
    assert_true(micros >= 0);
    f->traced++;
}

static struct ff_store *open_inner(void)
{
    const struct ff_store_options options = {
        .url = "sqlite::memory:", .clock = ff_clock_system(), .random = ff_random_system()};
    struct ff_store *store = NULL;
    struct ff_error error;

    if (ff_store_open(&options, &store, &error) != FF_OK)
        fail_msg("%s", error.message);
    return store;
}

static void set_up(struct fixture *f, struct ff_store *store)
{
    struct ff_error error;

    assert_non_null(store);
    f->store = store;
    assert_int_equal(FF_OK, store->ops->session_new(store, &f->session, &error));
    ff_arena_init(&f->arena, 64 << 10, 4 << 20);
}

static void tear_down(struct fixture *f)
{
    f->session->ops->free(f->session);
    ff_store_free(f->store);
    ff_arena_done(&f->arena);
}

static struct ff_uuid batch_id(const struct fixture *f)
{
    return (struct ff_uuid){.b = {[0] = 9, [15] = f->batch}};
}

static ff_called run(struct fixture *f, ff_call_kind kind)
{
    struct ff_call call = {.kind = kind, .rows = &f->rows, .batch_id = batch_id(f)};

    ff_session_run(f->session, &call, 5000);
    return call.outcome;
}

static ff_called load(struct fixture *f)
{
    f->batch++;
    ff_arena_reset(&f->arena);
    ff_rowset_init(&f->rows, &f->arena);
    return run(f, FF_CALL_LOAD);
}

/* A batch that adds one meta row of this name. */
static ff_called save_meta(struct fixture *f, const char *name)
{
    const struct ff_meta key = {.name = ff_str_of(name)};

    ff_rowset_op_begin(&f->rows, 1);
    ((struct ff_meta *)ff_rowset_insert(&f->rows, FF_TABLE_META, &key))->value = FF_STR("x");
    return run(f, FF_CALL_SAVE);
}

static bool meta_is_there(struct fixture *f, const char *name)
{
    const struct ff_meta key = {.name = ff_str_of(name)};
    struct ff_entry *entry;

    ff_arena_reset(&f->arena);
    ff_rowset_init(&f->rows, &f->arena);
    entry = ff_rowset_want(&f->rows, FF_TABLE_META, &key, FF_WANT_READ);
    assert_int_equal(FF_CALLED_OK, run(f, FF_CALL_PEEK));
    return entry->found == FF_FOUND_ROW;
}

static void set_up_fault(struct fixture *f)
{
    *f = (struct fixture){0};
    set_up(f, ff_store_fault_new(open_inner(), &(struct ff_fault){f, decide}));
}

static void inject(struct fixture *f, ff_call_kind kind, ff_fault_verdict verdict)
{
    f->kind = kind;
    f->verdict = verdict;
}

static void test_fault__failed_calls_leave_the_session_usable(void **state FF_UNUSED)
{
    struct fixture f;

    set_up_fault(&f);
    inject(&f, FF_CALL_LOAD, FF_FAULT_BEFORE);
    assert_int_equal(FF_CALLED_RERUN, load(&f));
    inject(&f, FF_CALL_LOAD, FF_FAULT_BEFORE_STOP);
    assert_int_equal(FF_CALLED_STOP, load(&f));
    inject(&f, FF_CALL_LOAD, FF_FAULT_AFTER);
    assert_int_equal(FF_CALLED_RERUN, load(&f));
    assert_int_equal(FF_CALLED_OK, load(&f));
    inject(&f, FF_CALL_ROLLBACK, FF_FAULT_BEFORE);
    assert_int_equal(FF_CALLED_RERUN, run(&f, FF_CALL_ROLLBACK));
    assert_int_equal(FF_CALLED_OK, load(&f));
    inject(&f, FF_CALL_SAVE, FF_FAULT_BEFORE);
    assert_int_equal(FF_CALLED_RERUN, save_meta(&f, "a"));
    assert_false(meta_is_there(&f, "a"));
    assert_int_equal(FF_CALLED_OK, load(&f));
    assert_int_equal(FF_CALLED_OK, save_meta(&f, "a"));
    assert_true(meta_is_there(&f, "a"));
    tear_down(&f);
}

static void test_fault__resolve_tells_what_happened(void **state FF_UNUSED)
{
    struct fixture f;
    struct ff_call resolve = {.kind = FF_CALL_RESOLVE};
    struct ff_fault_counts counts;

    set_up_fault(&f);
    assert_int_equal(FF_CALLED_OK, load(&f));
    inject(&f, FF_CALL_SAVE, FF_FAULT_AFTER);
    assert_int_equal(FF_CALLED_UNKNOWN, save_meta(&f, "a"));
    resolve.batch_id = batch_id(&f);
    inject(&f, FF_CALL_RESOLVE, FF_FAULT_AFTER); /* even this may have to be asked twice */
    ff_session_run(f.session, &resolve, 1000);
    assert_int_equal(FF_CALLED_RERUN, resolve.outcome);
    ff_session_run(f.session, &resolve, 1000);
    assert_int_equal(FF_CALLED_OK, resolve.outcome);
    assert_true(resolve.committed);
    assert_true(meta_is_there(&f, "a"));

    assert_int_equal(FF_CALLED_OK, load(&f));
    inject(&f, FF_CALL_SAVE, FF_FAULT_BEFORE_LOST);
    assert_int_equal(FF_CALLED_UNKNOWN, save_meta(&f, "b"));
    resolve.batch_id = batch_id(&f);
    ff_session_run(f.session, &resolve, 1000);
    assert_int_equal(FF_CALLED_OK, resolve.outcome);
    assert_false(resolve.committed);
    assert_false(meta_is_there(&f, "b"));

    /* The save failed by itself and the lie came on top: certainly not committed. */
    assert_int_equal(FF_CALLED_OK, load(&f));
    inject(&f, FF_CALL_SAVE, FF_FAULT_AFTER);
    assert_int_equal(FF_CALLED_UNKNOWN, save_meta(&f, "a"));
    resolve.batch_id = batch_id(&f);
    ff_session_run(f.session, &resolve, 1000);
    assert_false(resolve.committed);

    ff_store_fault_counts(f.store, &counts);
    assert_int_equal(2, counts.hits[FF_CALL_SAVE][FF_FAULT_AFTER]);
    assert_int_equal(1, counts.hits[FF_CALL_SAVE][FF_FAULT_BEFORE_LOST]);
    assert_int_equal(1, counts.hits[FF_CALL_RESOLVE][FF_FAULT_AFTER]);
    assert_int_equal(12, counts.calls);
    tear_down(&f);
}

static void test_trace__counts_and_tells(void **state FF_UNUSED)
{
    struct fixture f = {0};
    struct ff_trace_counts counts;
    struct ff_read lanes = {.block = FF_SQL_LANES_ALL, .arena = &f.arena};
    struct ff_error error;

    set_up(&f, ff_store_trace_new(open_inner(), &(struct ff_trace){&f, on_call}));
    assert_int_equal(FF_CALLED_OK, load(&f));
    assert_int_equal(FF_CALLED_OK, save_meta(&f, "a"));
    assert_int_equal(FF_OK, ff_session_read(f.session, &lanes, 1000, &error));
    ff_store_trace_counts(f.store, &counts);
    assert_int_equal(3, f.traced);
    assert_int_equal(1, counts.calls[FF_CALL_LOAD]);
    assert_int_equal(1, counts.calls[FF_CALL_SAVE]);
    assert_int_equal(1, counts.calls[FF_CALL_READ]);
    assert_int_equal(0, counts.failed[FF_CALL_SAVE]);
    assert_int_equal(1, counts.rows);               /* saved */
    assert_int_equal(2 + 2 + 1, counts.statements); /* begin, clock; insert, commit; read */
    assert_string_equal("sqlite", f.store->facts.kind);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault__failed_calls_leave_the_session_usable),
        cmocka_unit_test(test_fault__resolve_tells_what_happened),
        cmocka_unit_test(test_trace__counts_and_tells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
