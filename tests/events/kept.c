/* SPDX-License-Identifier: Apache-2.0
 *
 * kept.c -- what is kept of the log, for how long, and what others read in its place.
 *
 * On Postgres whole ranges of ids go, and a range is two million long: the jump of a restored log
 * begins a new one. */
#include "events.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"

#include "base/banned.h"

#define OLD_MS  1000
#define RARE_MS 40000 /* how often it is looked at hangs on it */

static void given_forgetful(struct test *t, int64_t count_max)
{
    const struct ff_options options = {.size = sizeof options,
                                       .event_retention_ms = count_max ? RARE_MS : OLD_MS,
                                       .event_count_max = count_max};

    EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
}

/* Ranges are looked after once a minute, and soon after the start, which may be too soon. */
#define UPKEEP_MS 150000

static bool is_gap(struct test *t, const char *cursor)
{
    struct ff_event_list list = {0};
    const ff_status status = ff_events(t->client, NULL, cursor, 1, 0, &list, &t->err);

    ff_answer_free(&list);
    return status == FF_GAP;
}

static void ranges(struct test *t)
{
    struct other other;
    long number;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    other_open(t, &other);
    (void)given_completed(t);
    (void)other_says(t, &other, "SET search_path = @");
    EXPECT_INT(t, 1, other_says(t, &other, "SELECT count(to_regclass('ff_event_0000'))"));
    EXPECT_OK(t, ff_restored(t->url, &t->err));
    (void)given_completed(t);
    close_client(t, &t->client);
    given_forgetful(t, 0);
    number = other_says(t, &other, "SELECT max(event_id) / 2000000 FROM ff_event");
    EXPECT(t, number > 1000);
    for (long i = 0; i < 4; i++) /* the jump has made them */
        EXPECT_INT(t, 1,
                   other_says(t, &other, "SELECT count(to_regclass('ff_event_%ld'))", number + i));
    EXPECT_INT(t, 0, other_says(t, &other, "SELECT count(*) FROM ff_event_default"));
    WAIT_UNTIL_FOR(t, other_says(t, &other, "SELECT count(to_regclass('ff_event_0000'))") == 0,
                   UPKEEP_MS);
    EXPECT_INT(t, 0,
               other_says(t, &other, "SELECT count(*) FROM ff_event WHERE event_id < 2000000"));
    /* Ranges are dropped, rows are not deleted one by one. */
    EXPECT_INT(t, 0,
               other_says(t, &other,
                          "SELECT coalesce(sum(n_tup_del), 0) FROM pg_stat_user_tables "
                          "WHERE schemaname = '@' AND relname LIKE 'ff_event_%%'"));
}

/* Beyond all ranges there are: those of other cases may be left. */
static void when_the_log_jumps(struct test *t, struct other *other)
{
    (void)other_says(t, other,
                     "SELECT ff_log_settle(true, (max(substr(relname, 10)::int8) + 1) * 2000000) "
                     "FROM pg_class WHERE relnamespace = '@'::regnamespace "
                     "AND relname ~ '^ff_event_[0-9]+$'");
    (void)given_completed(t);
}

/* A reader of the default is in the way while the log jumps: there are no ranges for the new ids.
 */
static void given_no_ranges(struct test *t, struct other *reader, struct other *other)
{
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    other_open(t, reader);
    other_open(t, other);
    (void)other_says(t, reader, "SET search_path = @");
    (void)other_says(t, other, "SET search_path = @");
    (void)other_says(t, reader, "BEGIN");
    (void)other_says(t, reader, "LOCK TABLE ff_event_default IN ACCESS SHARE MODE");
    when_the_log_jumps(t, other);
}

/* Two jumps before ranges can be made: the default becomes one as it is, whatever it holds. */
static void whole_default(struct test *t)
{
    struct other reader, other;
    long all, oid;

    given_no_ranges(t, &reader, &other);
    when_the_log_jumps(t, &other);
    oid = other_says(t, &other, "SELECT 'ff_event_default'::regclass::oid");
    all = other_says(t, &other, "SELECT count(*) FROM ff_event WHERE event_id > 4294967296");
    EXPECT(t, all >= 6);
    EXPECT_INT(t, all,
               other_says(t, &other,
                          "SELECT count(*) FROM ff_event_default "
                          "WHERE event_id > 4294967296"));
    (void)other_says(t, &reader, "COMMIT");
    WAIT_UNTIL_FOR(t, other_says(t, &other, "SELECT count(*) FROM ff_event_default") == 0,
                   UPKEEP_MS);
    EXPECT_INT(t, all,
               other_says(t, &other,
                          "SELECT count(*) FROM ff_event WHERE tableoid = %ld "
                          "AND event_id > 4294967296",
                          oid));
    (void)given_completed(t);
    EXPECT_INT(t, 0, other_says(t, &other, "SELECT count(*) FROM ff_event_default"));
}

/* Rows alone were put back: they are below ranges that are there, and above them are others. */
static void default_around_ranges(struct test *t)
{
    struct other reader, other;
    long all;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    other_open(t, &other);
    (void)other_says(t, &other, "SET search_path = @");
    when_the_log_jumps(t, &other); /* has its ranges */
    close_client(t, &t->client);
    given_no_ranges(t, &reader, &other);
    (void)other_says(t, &other,
                     "INSERT INTO ff_event (event_id, kind, type, at_ms) "
                     "VALUES (2000000000, 4, 1, 1), (2000000001, 4, 1, 1)");
    all = other_says(t, &other, "SELECT count(*) FROM ff_event");
    EXPECT(t, other_says(t, &other, "SELECT count(*) FROM ff_event_default") >= 5);
    (void)other_says(t, &reader, "COMMIT");
    WAIT_UNTIL(t, (other_says(t, &other, "SELECT ff_log_upkeep()"),
                   other_says(t, &other, "SELECT count(*) FROM ff_event_default") == 0));
    EXPECT_INT(t, all, other_says(t, &other, "SELECT count(*) FROM ff_event"));
    (void)other_says(t, &other, "DELETE FROM ff_event WHERE event_id IN (2000000000, 2000000001)");
}

/* Ranges change between the choice of one and the insert: nothing is wrong with the operation. Here
 * there is none for as long as it tries. */
static void row_between_ranges(struct test *t)
{
    struct other reader, other;
    struct name made;

    given_no_ranges(t, &reader, &other);
    made = given_submitted(t);
    (void)other_says(t, &reader, "ALTER TABLE ff_event DETACH PARTITION ff_event_default");
    (void)other_says(t, &reader, "COMMIT");
    EXPECT_STATUS(t, FF_BUSY, when_cancelled(t, made.id));
    (void)other_says(t, &other, "ALTER TABLE ff_event ATTACH PARTITION ff_event_default DEFAULT");
    EXPECT_OK(t, when_cancelled(t, made.id));
}

static void is_over(void *ctx)
{
    atomic_store((atomic_bool *)ctx, true);
}

static void write_until(struct test *t, size_t index, void *ctx)
{
    (void)index;
    while (!atomic_load((atomic_bool *)ctx))
        EXPECT_OK(t, when_cancelled(t, given_submitted(t).id));
}

/* The log jumps, ranges are made and others dropped, and no writer hears of it. */
static void jumps_beside_writers(struct test *t)
{
    enum { WRITERS = 4, JUMPS = 8 };
    atomic_bool *const over = keep(t, sizeof *over);
    struct test_thread *threads[WRITERS];
    struct other other;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    other_open(t, &other);
    (void)other_says(t, &other, "SET search_path = @");
    before_end(t, is_over, over);
    for (size_t i = 0; i < WRITERS; i++)
        threads[i] = start_thread(t, write_until, i, over);
    for (int i = 0; i < JUMPS; i++) {
        const long before = other_says(t, &other, "SELECT ff_log_settle(true, 0)");

        WAIT_UNTIL(t, other_says(t, &other, "SELECT count(*) FROM ff_event WHERE event_id > %ld",
                                 before) > 100);
        WAIT_UNTIL_FOR(t, other_says(t, &other, "SELECT count(*) FROM ff_event_default") == 0,
                       UPKEEP_MS);
    }
    is_over(over);
    for (size_t i = 0; i < WRITERS; i++)
        join_thread(t, threads[i]);
}

/* What waits for it is still delivered; then it hears what is gone, and where the log goes on. */
static void stays_behind(struct test *t)
{
    const struct ff_options forgetful = {.size = sizeof forgetful, .event_retention_ms = OLD_MS};
    struct tally tally = {.ids = ids_new(t)}, read = {.ids = ids_new(t)};
    struct ff_subscription *sub, *quick;
    char oldest[FF_CURSOR_BYTES];

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    sub = given_subscribed(t, NULL, "start");
    quick = given_subscribed(t, NULL, "start");
    given_events(t, 1000);
    take_until(t, quick, &read, log_end(t)); /* so the other has as much as may wait for it */
    (void)another_client(t, &forgetful);
    EXPECT_OK(t, ff_restored(t->url, &t->err));
    (void)given_completed(t);
    WAIT_UNTIL_FOR(t, is_gap(t, "020000000000000001"), 60000);
    (void)snprintf(oldest, sizeof oldest, "%s", t->err.oldest);
    WAIT_UNTIL(t, (take_once(t, sub, 1, 20, &tally), tally.gaps > 0));
    EXPECT_INT(t, FF_FOLLOW_EVENTS_MAX, (int64_t)tally.ids->count);
    EXPECT(t, strcmp(tally.cursor, oldest) >= 0); /* it may have moved on */
    EXPECT(t, !is_gap(t, tally.cursor));
    take_until(t, sub, &tally, log_end(t));
    for (size_t i = 1; i < tally.ids->count; i++)
        EXPECT(t, tally.ids->items[i] > tally.ids->items[i - 1]);
}

/* So many are kept, and not fewer because the log was restored and jumped meanwhile. */
static void by_count(struct test *t)
{
    enum { KEPT = 1200 };

    given_forgetful(t, KEPT);
    given_events(t, 500);
    EXPECT_OK(t, ff_restored(t->url, &t->err));
    given_events(t, 500);
    EXPECT(t, test_store_rows(t->store, "ff_event") > 2000);
    WAIT_UNTIL_FOR(t, is_gap(t, "020000000000000001"), 60000);
    WAIT_UNTIL_FOR(t, test_store_rows(t->store, "ff_event") <= KEPT + 1, 60000);
    EXPECT(t, test_store_rows(t->store, "ff_event") >= KEPT);
}

/* The same by whole ranges: the one in front goes when there are enough behind it, and not before.
 */
static void by_count_of_ranges(struct test *t)
{
    enum { KEPT = 100 };

    given_forgetful(t, KEPT);
    (void)given_completed(t);
    EXPECT_OK(t, ff_restored(t->url, &t->err));
    (void)given_completed(t);
    EXPECT(t, !is_gap(t, "020000000000000001"));
    given_events(t, 500);
    WAIT_UNTIL_FOR(t, is_gap(t, "020000000000000001"), 60000);
    EXPECT(t, test_store_rows(t->store, "ff_event") >= KEPT);
}

/* The views other programs know, by the columns they ask for. */
static void views(struct test *t)
{
    const struct ff_tag_pair tag = {"instance", "blue"};
    struct ff_submission s = submission();
    struct ff_claim_request r = claim_request();
    struct held held;

    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    s.tags = &tag;
    s.tag_count = 1;
    (void)given(t, &s);
    held = given_claim(t, &r);
    EXPECT_OK(t, when_revoked(t, held.id));
    held = given_claim(t, &r);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_INT(t, 2,
               test_store_rows(t->store, "ff_lease_event WHERE event_type = 'acquired' "
                                         "AND event_id > 0 AND execution_id IS NOT NULL "
                                         "AND lease_id IS NOT NULL AND occurred_at_ms > 0 "
                                         "AND partition_key BETWEEN 0 AND 255 "
                                         "AND namespace = 'default' AND instance_tag = 'blue'"));
    EXPECT_INT(t, 1,
               test_store_rows(t->store,
                               "ff_lease_event WHERE event_type = 'revoked' AND lease_epoch = 1 "
                               "AND worker_id = '" WORKER "' AND worker_instance_id = '" INSTANCE
                               "' AND prev_owner = '" INSTANCE "'"));
    EXPECT_INT(t, 1,
               test_store_rows(t->store, "ff_completion_event WHERE outcome = 'success' "
                                         "AND event_id > 0 AND execution_id IS NOT NULL "
                                         "AND flow_id IS NULL AND partition_key >= 0 "
                                         "AND namespace = 'default' AND instance_tag = 'blue' "
                                         "AND occurred_at_ms > 0 "
                                         "AND committed_at_ms >= occurred_at_ms "
                                         "AND dispatched_at_ms IS NOT NULL"));
}

const struct plain_case kept_cases[] = {
    {"kept/ranges_are_made_ahead_and_dropped", TEST_STORE_POSTGRES, ranges, false},
    {"kept/nothing_stays_in_the_default", TEST_STORE_POSTGRES, whole_default, false},
    {"kept/default_around_ranges", TEST_STORE_POSTGRES, default_around_ranges, false},
    {"kept/row_between_ranges_is_tried_again", TEST_STORE_POSTGRES, row_between_ranges, false},
    {"kept/jumps_beside_writers", TEST_STORE_POSTGRES, jumps_beside_writers, false},
    {"kept/reader_that_stays_behind_hears_of_the_gap", TEST_STORE_POSTGRES, stays_behind, false},
    {"kept/reader_that_stays_behind_hears_of_the_gap", TEST_STORE_FILE, stays_behind, false},
    {"kept/by_count", TEST_STORE_FILE, by_count, true},
    {"kept/by_count", TEST_STORE_POSTGRES, by_count_of_ranges, true},
    {"kept/views_for_other_programs", TEST_STORE_POSTGRES, views, false},
    {"kept/views_for_other_programs", TEST_STORE_FILE, views, false},
    {0},
};
