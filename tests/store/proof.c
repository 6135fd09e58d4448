/* SPDX-License-Identifier: Apache-2.0
 *
 * proof.c -- a save proves what was assumed, or applies nothing. */
#include "store_fixture.h"

#include <string.h>

#include "base/banned.h"

/* Everything in one round trip. */
static ff_called save_alone(struct batch *batch)
{
    ff_called outcome;

    batch->call.begins = true;
    outcome = batch_call(batch, session, FF_CALL_SAVE);
    batch->call.begins = false;
    return outcome;
}

static void renew(struct batch *batch)
{
    batch_done(batch);
    batch_init(batch);
}

static ff_called given_execution(uint32_t nth)
{
    ff_rowset_op_begin(&a.rows, 1);
    (void)new_execution(&a, nth);
    return save_alone(&a);
}

/* Somebody believes the execution to be at this version, and ends it. */
static ff_called when_assumed(uint32_t nth, int64_t version, int64_t lease_expires_at_ms)
{
    struct ff_execution assumed;
    struct ff_entry *entry;

    renew(&b);
    ff_rowset_op_begin(&b.rows, 1);
    assumed = *new_execution(&b, nth); /* for its columns only */
    renew(&b);
    entry = ff_rowset_want(&b.rows, FF_TABLE_EXECUTION, &assumed, FF_WANT_LOCK);
    assumed.head = (struct ff_row){.table = FF_TABLE_EXECUTION};
    assumed.version = version;
    assumed.lease_expires_at_ms = lease_expires_at_ms;
    ff_rowset_assume(&b.rows, entry, &assumed);
    ff_rowset_op_begin(&b.rows, 1);
    ff_rowset_edit(&b.rows, entry->row);
    ((struct ff_execution *)entry->row)->version = version + 1;
    ((struct ff_execution *)entry->row)->priority = 5; /* warm */
    return save_alone(&b);
}

static bool stands(uint32_t nth, int64_t version)
{
    return disturb(
               "SELECT count(*) FROM %s.ff_execution WHERE version = %lld AND created_at_ms = %u",
               test_schema(), (long long)version, 1000 + nth) == 1;
}

WITH_STORE(save_alone_is_marked)
{
    CHECK(store->facts.proves);
    CHECK(given_execution(1) == FF_CALLED_OK);
    CHECK(stands(1, 1));
    CHECK(batch_call(&a, session, FF_CALL_RESOLVE) == FF_CALLED_OK && a.call.committed);
}

/* Nothing of a save is on its way before its connection has the settings of batches. Whoever may
 * not set them is told for certain that nothing was applied. */
static void refused_settings_save_nothing(void)
{
    static const char set_config[] = "EXECUTE ON FUNCTION pg_catalog.set_config(text, text, bool)";

    (void)disturb("CREATE ROLE ff_plain LOGIN");
    (void)disturb("CREATE SCHEMA %s AUTHORIZATION ff_plain", test_schema());
    store = store_open("&user=ff_plain");
    session = session_open(store);
    batch_init(&a);
    batch_init(&b);
    (void)disturb("REVOKE %s FROM PUBLIC", set_config);
    if (!session || given_execution(1) != FF_CALLED_STOP || strcmp(a.call.sqlstate, "42501") != 0)
        check_failed(__FILE__, __LINE__, "the settings are refused");
    else if (stands(1, 1))
        check_failed(__FILE__, __LINE__, "nothing is saved");
    (void)disturb("GRANT %s TO PUBLIC", set_config);
    renew(&a);
    if (session && (given_execution(2) != FF_CALLED_OK || !stands(2, 1)))
        check_failed(__FILE__, __LINE__, "it works when they are allowed again");
    leave();
}

WITH_STORE(what_is_true_is_saved)
{
    CHECK(given_execution(1) == FF_CALLED_OK);
    CHECK(when_assumed(1, 1, FF_NULL64) == FF_CALLED_OK);
    CHECK(stands(1, 2));
}

WITH_STORE(what_is_not_true_is_not)
{
    CHECK(given_execution(1) == FF_CALLED_OK);
    CHECK(when_assumed(1, 2, FF_NULL64) == FF_CALLED_OP);
    CHECK(when_assumed(1, 1, 12345) == FF_CALLED_OP); /* renewed since, or never */
    CHECK(when_assumed(2, 1, FF_NULL64) == FF_CALLED_OP);
    CHECK(stands(1, 1));
    CHECK(batch_call(&b, session, FF_CALL_RESOLVE) == FF_CALLED_OK && !b.call.committed);
}

WITH_STORE(held_row_is_waited_for)
{
    CHECK(given_execution(1) == FF_CALLED_OK);
    (void)disturb("BEGIN");
    (void)disturb("UPDATE %s.ff_execution SET priority = 1", test_schema());
    CHECK(when_assumed(1, 1, FF_NULL64) == FF_CALLED_HELD);
    (void)disturb("ROLLBACK");
    CHECK(when_assumed(1, 1, FF_NULL64) == FF_CALLED_OK);
}

/* Work was handed out in two lanes that nobody has looked at. */
static ff_called when_lanes_are_assumed(uint32_t nth)
{
    static const char *const names[] = {"open", "main"};

    renew(&b);
    for (size_t i = 0; i < 2; i++) {
        const struct ff_lane key = {.lane = ff_str_of(names[i])};

        ff_rowset_assume(&b.rows, ff_rowset_want(&b.rows, FF_TABLE_LANE, &key, FF_WANT_READ), NULL);
    }
    ff_rowset_op_begin(&b.rows, 1);
    (void)new_execution(&b, nth);
    return save_alone(&b);
}

WITH_STORE(paused_lane_is_seen)
{
    CHECK(when_lanes_are_assumed(1) == FF_CALLED_OK);
    (void)disturb("INSERT INTO %s.ff_lane VALUES ('main', 1, NULL, 0), ('other', 1, NULL, 0)",
                  test_schema());
    CHECK(when_lanes_are_assumed(2) == FF_CALLED_OP);
    (void)disturb("UPDATE %s.ff_lane SET paused = 0 WHERE lane = 'main'", test_schema());
    CHECK(when_lanes_are_assumed(2) == FF_CALLED_OK);
    CHECK(stands(1, 1) && stands(2, 1));
}

/* Work that asks for two sets of capabilities which nobody has looked at. */
static ff_called when_capsets_are_assumed(uint32_t nth)
{
    renew(&b);
    for (int64_t id = 1; id <= 2; id++) {
        const struct ff_capset set = {.capset_id = id, .tokens = FF_STR("gpu")};

        ff_rowset_assume(&b.rows, ff_rowset_want(&b.rows, FF_TABLE_CAPSET, &set, FF_WANT_READ),
                         &set);
    }
    ff_rowset_op_begin(&b.rows, 1);
    new_execution(&b, nth)->capset_id = 1;
    return save_alone(&b);
}

WITH_STORE(lost_capset_is_missed)
{
    (void)disturb("INSERT INTO %s.ff_capset VALUES (1, 'gpu', 0), (3, 'disk', 0)", test_schema());
    CHECK(when_capsets_are_assumed(1) == FF_CALLED_OP);
    (void)disturb("INSERT INTO %s.ff_capset VALUES (2, 'net', 0)", test_schema());
    CHECK(when_capsets_are_assumed(1) == FF_CALLED_OK);
    CHECK(stands(1, 1));
}

/* A save that is still on its way when it is asked about never arrives. */
WITH_STORE(buried_batch_never_commits)
{
    CHECK(batch_call(&a, session, FF_CALL_RESOLVE) == FF_CALLED_OK && !a.call.committed);
    CHECK(given_execution(1) == FF_CALLED_RERUN);
    CHECK(!strcmp(a.call.sqlstate, "23505") && !stands(1, 1));
    CHECK(batch_call(&a, session, FF_CALL_RESOLVE) == FF_CALLED_OK && !a.call.committed);
}

static ff_called when_told(struct batch *batch)
{
    struct ff_event *event;

    renew(batch);
    ff_rowset_op_begin(&batch->rows, 1);
    event = ff_rowset_event(&batch->rows);
    event->kind = event->type = 1;
    event->at_ms = 5;
    return save_alone(batch);
}

/* As with a load before it: readers of the log know of everybody who has an id. */
WITH_STORE(ids_are_taken_under_the_lock)
{
    (void)disturb("BEGIN");
    CHECK(disturb("SELECT count(pg_advisory_xact_lock((x'4646'::int8 << 32) + oid::int8)) FROM "
                  "pg_namespace WHERE nspname = '%s'",
                  test_schema()) == 1);
    CHECK(when_told(&a) == FF_CALLED_HELD);
    (void)disturb("ROLLBACK");
    CHECK(disturb("SELECT is_called::int FROM %s.ff_event_id_seq", test_schema()) == 0);
    CHECK(when_told(&a) == FF_CALLED_OK && a.call.last_event_id == 1);
}

const struct test proof_tests[] = {
    {"proof__save_alone_is_marked", save_alone_is_marked},
    {"proof__refused_settings_save_nothing", refused_settings_save_nothing},
    {"proof__what_is_true_is_saved", what_is_true_is_saved},
    {"proof__what_is_not_true_is_not", what_is_not_true_is_not},
    {"proof__held_row_is_waited_for", held_row_is_waited_for},
    {"proof__paused_lane_is_seen", paused_lane_is_seen},
    {"proof__lost_capset_is_missed", lost_capset_is_missed},
    {"proof__ids_are_taken_under_the_lock", ids_are_taken_under_the_lock},
    {"proof__buried_batch_never_commits", buried_batch_never_commits},
    {NULL, NULL},
};
