/* SPDX-License-Identifier: Apache-2.0
 *
 * commit.c -- a batch commits once, and nobody is told otherwise. */
#include "store_ring.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static struct ff_store *store;
static struct ff_session *one, *two;
static struct batch a, b;

static bool given_sessions(const char *more)
{
    store = store_open(more);
    one = session_open(store);
    two = session_open(store);
    batch_init(&a);
    batch_init(&b);
    return one && two;
}

static void leave(void)
{
    batch_done(&a);
    batch_done(&b);
    if (one)
        one->ops->free(one);
    if (two)
        two->ops->free(two);
    ff_store_free(store);
    one = two = NULL;
}

#define WITH_SESSIONS(name, more)                                                                  \
    static void name##_body(void);                                                                 \
    static void name(void)                                                                         \
    {                                                                                              \
        if (given_sessions(more))                                                                  \
            name##_body();                                                                         \
        else                                                                                       \
            check_failed(__FILE__, __LINE__, "store opens");                                       \
        leave();                                                                                   \
    }                                                                                              \
    static void name##_body(void)

/* A load and an insert of ff_meta `name`, not yet saved. With `lock_wait_ms` the save waits that
 * long for a key, too. */
static bool begin_insert(struct batch *batch, struct ff_session *session, const char *name)
{
    struct ff_entry *const entry = want_meta(batch, name, FF_WANT_LOCK);
    struct ff_meta *row;

    if (batch_call(batch, session, FF_CALL_LOAD) != FF_CALLED_OK || entry->found != FF_FOUND_ABSENT)
        return false;
    ff_rowset_op_begin(&batch->rows, 1);
    row = ff_rowset_insert(&batch->rows, FF_TABLE_META, entry->row);
    row->value = FF_STR("v");
    return true;
}

WITH_SESSIONS(duplicate_key_is_rerun, "")
{
    CHECK(begin_insert(&a, one, "x") && begin_insert(&b, two, "x"));
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_OK);
    CHECK(batch_call(&b, two, FF_CALL_SAVE) == FF_CALLED_RERUN);
    CHECK(!strcmp(b.call.sqlstate, "23505"));
    CHECK(put_meta(two, "y", "still works") == FF_CALLED_OK);
}

WITH_SESSIONS(refused_row_is_op, "")
{
    struct ff_progress key = {.partition_key = 1};
    struct ff_progress *row;

    CHECK(begin_insert(&a, one, "x"));
    row = ff_rowset_insert(&a.rows, FF_TABLE_PROGRESS, &key);
    row->percent = 101;
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_OP);
    CHECK(!strcmp(a.call.sqlstate, "23514"));
    CHECK(!strcmp(stored_meta("x"), ""));
    CHECK(put_meta(one, "y", "still works") == FF_CALLED_OK);
}

/* The row that is updated has gone: our own bug, and nothing of the batch may stay. */
WITH_SESSIONS(wrong_count_is_op, "")
{
    struct ff_entry *entry;
    struct ff_meta *row;

    CHECK(put_meta(one, "x", "1") == FF_CALLED_OK);
    entry = want_meta(&a, "x", FF_WANT_LOCK);
    CHECK(begin_insert(&a, one, "other"));
    row = entry->row;
    ff_rowset_edit(&a.rows, row);
    row->name = FF_STR("elsewhere");
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_OP);
    CHECK(!strcmp(stored_meta("other"), "") && !strcmp(stored_meta("x"), "1"));
}

WITH_SESSIONS(error_at_commit_is_certain, "")
{
    (void)disturb("CREATE FUNCTION %s.no() RETURNS trigger LANGUAGE plpgsql AS "
                  "'BEGIN RAISE EXCEPTION USING ERRCODE = ''40001''; END'",
                  test_schema());
    (void)disturb("CREATE CONSTRAINT TRIGGER late AFTER INSERT ON %s.ff_meta DEFERRABLE INITIALLY "
                  "DEFERRED FOR EACH ROW EXECUTE FUNCTION %s.no()",
                  test_schema(), test_schema());
    CHECK(begin_insert(&a, one, "x"));
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_RERUN);
    CHECK(!strcmp(a.call.sqlstate, "40001") && !strcmp(stored_meta("x"), ""));
}

WITH_SESSIONS(killed_before_save_is_certain, "")
{
    CHECK(begin_insert(&a, one, "x"));
    CHECK(disturb("SELECT pg_terminate_backend(%d, 60000)::int", session_pid()) == 1);
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_STOP);
    CHECK(!strcmp(a.call.sqlstate, "57P01"));
    CHECK(put_meta(one, "y", "reconnects") == FF_CALLED_OK);
}

/* Whoever comes back may meet another copy of the store; whoever comes first knows nothing yet. */
WITH_SESSIONS(only_a_connection_made_once_more_is_told, "")
{
    CHECK(begin_insert(&a, one, "x"));
    CHECK(!a.call.reconnected);
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_OK && !a.call.reconnected);
    batch_done(&a);
    batch_init(&a);
    CHECK(begin_insert(&a, one, "y") && !a.call.reconnected);
    CHECK(disturb("SELECT pg_terminate_backend(%d, 60000)::int", session_pid()) == 1);
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_STOP && !a.call.reconnected);
    batch_done(&a);
    batch_init(&a);
    CHECK(begin_insert(&a, one, "z") && a.call.reconnected);
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_OK && !a.call.reconnected);
}

WITH_SESSIONS(killed_in_save_is_certain_before_commit, "")
{
    int pid_of_one;

    a.call.lock_wait_ms = CALL_MS; /* a slow test must not find the save over */
    pid_of_one = begin_insert(&a, one, "x") ? session_pid() : 0;
    (void)disturb("BEGIN"); /* the save waits for this row */
    (void)disturb("INSERT INTO %s.ff_meta VALUES ('x', 'w')", test_schema());
    a.call.kind = FF_CALL_SAVE;
    one->ops->start(one, &a.call);
    CHECK(!one->ops->finish(one, &a.call));
    CHECK(disturb("SELECT pg_terminate_backend(%d, 60000)::int", pid_of_one) == 1);
    while (!one->ops->finish(one, &a.call))
        one->ops->wait(one, CALL_MS);
    CHECK(a.call.outcome == FF_CALLED_STOP && !strcmp(a.call.sqlstate, "57P01"));
    (void)disturb("ROLLBACK");
    CHECK(batch_call(&a, one, FF_CALL_RESOLVE) == FF_CALLED_OK && !a.call.committed);
    CHECK(!strcmp(stored_meta("x"), ""));
}

static void lost_answer(proxy_mode mode, bool committed)
{
    char more[128];
    const char *const host = proxy_start();

    CHECK(host != NULL);
    (void)snprintf(more, sizeof more, "&host=%s", host);
    if (!given_sessions(more)) {
        check_failed(__FILE__, __LINE__, "store opens through the proxy");
    } else if (!begin_insert(&a, one, "x")) {
        check_failed(__FILE__, __LINE__, "load");
    } else {
        proxy_set(mode);
        (void)batch_call(&a, one, FF_CALL_SAVE);
        if (a.call.outcome != FF_CALLED_UNKNOWN)
            check_failed(__FILE__, __LINE__, "outcome is UNKNOWN");
        proxy_set(PROXY_PASS);
        /* Asking twice gives the same answer. */
        for (int i = 0; i < 2; i++)
            if (batch_call(&a, one, FF_CALL_RESOLVE) != FF_CALLED_OK ||
                a.call.committed != committed)
                check_failed(__FILE__, __LINE__, "RESOLVE knows");
        if ((stored_meta("x")[0] != '\0') != committed)
            check_failed(__FILE__, __LINE__, "and so does the table");
    }
    leave();
    proxy_stop();
}

static void lost_answer_to_a_commit(void)
{
    lost_answer(PROXY_DEAF, true);
}

static void lost_commit(void)
{
    lost_answer(PROXY_CUT, false);
}

/* The server says ROLLBACK to a COMMIT in an aborted transaction, and that all is well. */
static void aborted_commit(void)
{
    char more[128];
    const char *const host = proxy_start();

    CHECK(host != NULL);
    (void)snprintf(more, sizeof more, "&host=%s", host);
    if (!given_sessions(more) || !begin_insert(&a, one, "x")) {
        check_failed(__FILE__, __LINE__, "load through the proxy");
    } else {
        proxy_set(PROXY_ABORT);
        if (batch_call(&a, one, FF_CALL_SAVE) != FF_CALLED_RERUN)
            check_failed(__FILE__, __LINE__, "outcome is RERUN");
        proxy_set(PROXY_PASS);
    }
    leave();
    proxy_stop();
}

/* The old transaction still lives: RESOLVE waits for it. */
static void resolve_waits(bool save)
{
    CHECK(begin_insert(&a, one, "x"));
    b.call.kind = FF_CALL_RESOLVE;
    b.call.batch_id = a.call.batch_id;
    two->ops->start(two, &b.call);
    for (int i = 0; i < 20; i++) {
        CHECK(!two->ops->finish(two, &b.call));
        two->ops->wait(two, 10);
    }
    CHECK(batch_call(&a, one, save ? FF_CALL_SAVE : FF_CALL_ROLLBACK) == FF_CALLED_OK);
    while (!two->ops->finish(two, &b.call))
        two->ops->wait(two, CALL_MS);
    CHECK(b.call.outcome == FF_CALLED_OK && b.call.committed == save);
    CHECK(put_meta(two, "y", "goes on") == FF_CALLED_OK);
}

WITH_SESSIONS(resolve_waits_for_commit, "")
{
    resolve_waits(true);
}

WITH_SESSIONS(resolve_waits_for_rollback, "")
{
    resolve_waits(false);
}

WITH_SESSIONS(abandoned_save_is_unknown, "")
{
    a.call.lock_wait_ms = CALL_MS;
    CHECK(begin_insert(&a, one, "x"));
    (void)disturb("BEGIN");
    (void)disturb("INSERT INTO %s.ff_meta VALUES ('x', 'w')", test_schema());
    a.call.kind = FF_CALL_SAVE;
    one->ops->start(one, &a.call);
    CHECK(!one->ops->finish(one, &a.call));
    one->ops->abandon(one, &a.call);
    CHECK(a.call.outcome == FF_CALLED_UNKNOWN);
    (void)disturb("ROLLBACK");
    /* The server goes on without us and commits: RESOLVE waits for that. */
    CHECK(batch_call(&a, one, FF_CALL_RESOLVE) == FF_CALLED_OK);
    CHECK(a.call.committed == (stored_meta("x")[0] != '\0'));
}

/* Runs the call until its COMMIT waits for a standby, then cancels that wait. */
static bool cancel_wait(struct ff_session *session, struct ff_call *call)
{
    long pid = -1;

    session->ops->start(session, call);
    while (pid <= 0) {
        if (session->ops->finish(session, call))
            return false;
        session->ops->wait(session, 10);
        pid = disturb("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    }
    if (disturb("SELECT pg_cancel_backend(%ld)::int", pid) != 1)
        return false;
    while (!session->ops->finish(session, call))
        session->ops->wait(session, CALL_MS);
    return true;
}

WITH_SESSIONS(unreplicated_commit_is_unknown, "")
{
    bool waited = false;
    bool good = true;
    char name[16];

    CHECK(set_server("synchronous_standby_names", "nobody"));
    for (int i = 0; !waited && i < 200; i++) { /* until the checkpointer has heard of it */
        (void)snprintf(name, sizeof name, "x%d", i);
        batch_done(&a);
        batch_init(&a);
        good = begin_insert(&a, one, name);
        a.call.kind = FF_CALL_SAVE;
        waited = good && cancel_wait(one, &a.call);
    }
    good = waited && a.call.outcome == FF_CALLED_UNKNOWN;
    /* RESOLVE waits for the standby as well: it does not say committed before. */
    a.call.kind = FF_CALL_RESOLVE;
    good = good && cancel_wait(one, &a.call) && a.call.outcome == FF_CALLED_RERUN;
    CHECK(set_server("synchronous_standby_names", "") && good);
    CHECK(batch_call(&a, one, FF_CALL_RESOLVE) == FF_CALLED_OK && a.call.committed);
}

/* Takes the five seconds that a batch gives itself. */
WITH_SESSIONS(idle_transaction_is_ended_by_the_server, "")
{
    CHECK(begin_insert(&a, one, "x"));
    CHECK(comes_true("SELECT (count(*) = 0)::int FROM pg_stat_activity WHERE pid = %d",
                     session_pid()));
    CHECK(batch_call(&a, one, FF_CALL_SAVE) == FF_CALLED_RERUN);
    CHECK(!strcmp(a.call.sqlstate, "25P03"));
    CHECK(put_meta(one, "y", "reconnects") == FF_CALLED_OK);
}

WITH_SESSIONS(works_behind_a_pooler, "&pooler=transaction")
{
    CHECK(store->facts.pooler && !store->facts.notify);
    CHECK(put_meta(one, "x", "1") == FF_CALLED_OK && put_meta(one, "x", "2") == FF_CALLED_OK);
    CHECK(want_meta(&a, "x", FF_WANT_READ) != NULL);
    CHECK(batch_call(&a, one, FF_CALL_PEEK) == FF_CALLED_OK);
    CHECK(begin_insert(&b, one, "y"));
    CHECK(batch_call(&b, one, FF_CALL_SAVE) == FF_CALLED_OK);
    CHECK(batch_call(&b, one, FF_CALL_RESOLVE) == FF_CALLED_OK && b.call.committed);
    CHECK(!strcmp(stored_meta("x"), "2") && !strcmp(stored_meta("y"), "v"));
}

const struct test commit_tests[] = {
    {"commit__duplicate_key_is_rerun", duplicate_key_is_rerun},
    {"commit__refused_row_is_op", refused_row_is_op},
    {"commit__wrong_row_count_is_op_and_commits_nothing", wrong_count_is_op},
    {"commit__error_at_commit_is_certain", error_at_commit_is_certain},
    {"commit__session_killed_before_the_save_is_certain", killed_before_save_is_certain},
    {"commit__only_a_connection_made_once_more_is_told", only_a_connection_made_once_more_is_told},
    {"commit__session_killed_in_the_save_is_certain", killed_in_save_is_certain_before_commit},
    {"commit__lost_answer_is_unknown_then_committed", lost_answer_to_a_commit},
    {"commit__lost_commit_is_unknown_then_not", lost_commit},
    {"commit__rollback_in_answer_to_commit_is_none", aborted_commit},
    {"commit__resolve_waits_for_a_commit", resolve_waits_for_commit},
    {"commit__resolve_waits_for_a_rollback", resolve_waits_for_rollback},
    {"commit__abandoned_save_is_unknown", abandoned_save_is_unknown},
    {"commit__unreplicated_commit_is_unknown", unreplicated_commit_is_unknown},
    {"commit__idle_transaction_is_ended", idle_transaction_is_ended_by_the_server},
    {"commit__works_behind_a_pooler", works_behind_a_pooler},
    {NULL, NULL},
};
