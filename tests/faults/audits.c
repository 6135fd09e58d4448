/* SPDX-License-Identifier: Apache-2.0
 *
 * audits.c -- an audit takes as long as it needs, and no longer than somebody waits for it.
 *
 * A table that somebody else holds stands for one that is very large: either way the statement is
 * not done. The limit of other statements is made short by the URL. */
#include "faults.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define LONG_MS 60000

/* Statements of this client are cut off after a second, and tried again. */
static struct ff_client *given_hurried_client(struct test *t, int64_t timeout_ms)
{
    const struct ff_options options = {
        .size = sizeof options, .passive = true, .timeout_ms = timeout_ms};
    struct ff_client *client = NULL;
    char url[1200];

    (void)snprintf(url, sizeof url,
                   "%s%cpooler=transaction&options=-c%%20statement_timeout%%3D1000", t->url,
                   strchr(t->url, '?') ? '&' : '?');
    WAIT_UNTIL(t, ff_open(url, &options, &client, &t->err) == FF_OK); /* it may be cut off, too */
    return client;
}

static bool somebody_waits(struct test *t, struct other *other)
{
    return other_says(t, other,
                      "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'flowfabric' "
                      "AND wait_event_type = 'Lock'") > 0;
}

static void given_held_table(struct test *t, struct other *other)
{
    (void)other_says(t, other, "BEGIN");
    (void)other_says(t, other, "LOCK TABLE @.ff_attempt IN ACCESS EXCLUSIVE MODE");
}

struct audit {
    struct ff_client *client;
    ff_status status;
    atomic_bool over;
};

static void audit(struct test *t, size_t index, void *ctx)
{
    struct audit *const it = ctx;
    struct ff_findings found = {0};
    struct ff_error error;

    (void)t;
    (void)index;
    it->status = ff_fsck(it->client, &found, &error);
    ff_answer_free(&found);
    atomic_store(&it->over, true);
}

static void is_not_cut_off(struct test *t)
{
    struct audit *const it = keep(t, sizeof *it);
    struct ff_attempt_list attempts = {0};
    struct test_thread *thread;
    struct other holder;
    struct other looker;
    struct name id;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    id = given_submitted(t);
    it->client = given_hurried_client(t, LONG_MS);
    other_open(t, &holder);
    other_open(t, &looker);
    given_held_table(t, &holder);
    thread = start_thread(t, audit, 0, it);
    WAIT_UNTIL(t, somebody_waits(t, &looker));
    /* Begun later, and cut off as often as it was tried: the limit is at work. */
    EXPECT_STATUS(t, FF_UNAVAILABLE, ff_attempts(it->client, id.id, &attempts, &t->err));
    EXPECT(t, somebody_waits(t, &looker));
    EXPECT(t, !atomic_load(&it->over));
    (void)other_says(t, &holder, "COMMIT");
    join_thread(t, thread);
    EXPECT_STATUS(t, FF_OK, it->status);
    close_client(t, &it->client);
}

/* Every look at a policy takes longer than statements may: a view stands for a large table. Only
 * the last audit looks at policies. */
static void last_one_is_not_cut_off(struct test *t)
{
    struct ff_findings found = {0};
    struct ff_client *client;
    struct other other;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    (void)given_submitted(t);
    close_client(t, &t->client);
    client = given_hurried_client(t, LONG_MS); /* looks at the tables */
    other_open(t, &other);
    (void)other_says(t, &other, "ALTER TABLE @.ff_execution RENAME TO ff_execution_kept");
    (void)other_says(t, &other,
                     "DO $$ BEGIN EXECUTE (SELECT 'CREATE VIEW @.ff_execution AS SELECT ' || "
                     "string_agg(CASE attname WHEN 'policy' THEN 'CASE WHEN pg_sleep(1.5)::text = "
                     "''x'' THEN NULL ELSE policy END AS policy' ELSE attname::text END, ', ' "
                     "ORDER BY attnum) || ' FROM @.ff_execution_kept' FROM pg_attribute WHERE "
                     "attrelid = '@.ff_execution_kept'::regclass AND attnum > 0 AND NOT "
                     "attisdropped); END $$");
    EXPECT_OK(t, ff_fsck(client, &found, &t->err));
    EXPECT(t, found.count == 0);
    ff_answer_free(&found);
    close_client(t, &client);
    (void)other_says(t, &other, "DROP VIEW @.ff_execution");
    (void)other_says(t, &other, "ALTER TABLE @.ff_execution_kept RENAME TO ff_execution");
}

static void ends_with_who_waits_for_it(struct test *t)
{
    struct ff_findings found = {0};
    struct ff_client *client;
    struct other holder;
    struct other looker;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    client = given_hurried_client(t, 500);
    other_open(t, &holder);
    other_open(t, &looker);
    given_held_table(t, &holder);
    EXPECT(t, ff_fsck(client, &found, &t->err) != FF_OK);
    close_client(t, &client);
    WAIT_UNTIL(t, !somebody_waits(t, &looker));
    (void)other_says(t, &holder, "COMMIT");
}

const struct plain_case audit_cases[] = {
    {"audit/is_not_cut_off", TEST_STORE_POSTGRES, is_not_cut_off, false},
    {"audit/last_one_is_not_cut_off", TEST_STORE_POSTGRES, last_one_is_not_cut_off, false},
    {"audit/ends_with_who_waits_for_it", TEST_STORE_POSTGRES, ends_with_who_waits_for_it, false},
    {0},
};
