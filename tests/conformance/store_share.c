/* SPDX-License-Identifier: Apache-2.0
 *
 * store_share.c -- two engines on one store, many threads on both.
 *
 * Deeper races: tests/hammer and tests/isolation. */
#include "support/domain.h"

#include <stdatomic.h>
#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(store_share, work_may_pass_from_client_to_client)
{
    struct ff_client *const first = t->client;
    struct ff_client *const second = another_client(t, NULL);
    struct held held;

    (void)given_submitted(t);
    t->client = second;
    held = given_claimed_next(t);
    t->client = first;
    EXPECT_STATE(t, held.id, "active");
    EXPECT_OK(t, when_renewed(t, &held, 0));
    t->client = second;
    EXPECT_OK(t, when_failed(t, &held, "permanent"));
    t->client = first;
    EXPECT_STATE(t, held.id, "failed");
    EXPECT_OK(t, when_replayed(t, held.id));
    t->client = second;
    held = given_claimed_next(t);
    t->client = first;
    EXPECT_OK(t, when_completed(t, &held, "1"));
}

/* A renewal that does not move the end of the lease changes it all the same: whoever remembers the
 * lease as it was must not bring that back. */
FF_CONFORMANCE(store_share, renewals_build_on_each_other)
{
    struct ff_client *const first = t->client;
    const struct ff_policy_spec p = policy();
    const struct held held = given_claimed_with(t, &p, 60000);

    t->client = another_client(t, NULL);
    EXPECT_OK(t, when_renewed(t, &held, 1000)); /* would end earlier */
    t->client = first;
    EXPECT_OK(t, when_renewed(t, &held, 0));
    EXPECT_INT(t, held.expires_at_ms, t->answer.lease_expires_at_ms);
}

/* A client keeps rows of what it has handed out in mind. Others have moved on: a word is not
 * refused by what it remembers. */
FF_CONFORMANCE(store_share, nobody_is_refused_by_what_a_client_remembers)
{
    struct ff_client *const first = t->client;
    struct ff_client *const second = another_client(t, NULL);
    const struct held old = given_claimed(t);
    struct held held;

    t->client = second;
    EXPECT_OK(t, when_revoked(t, old.id));
    held = given_claimed_next(t);
    EXPECT_TEXT(t, old.id, held.id);
    t->client = first;
    EXPECT_OK(t, when_completed(t, &held, "1"));
    EXPECT_STATUS(t, FF_STALE_LEASE, when_completed(t, &old, "2"));
    EXPECT_STATE(t, old.id, "completed");
}

/* Nor is it believed: in memory the old owner still has its lease. */
FF_CONFORMANCE(store_share, nobody_is_believed_by_what_a_client_remembers)
{
    struct ff_client *const first = t->client;
    struct ff_client *const second = another_client(t, NULL);
    const struct held old = given_claimed(t);
    struct held held;

    t->client = second;
    EXPECT_OK(t, when_revoked(t, old.id));
    held = given_claimed_next(t);
    t->client = first;
    EXPECT_STATUS(t, FF_LEASE_REVOKED, when_renewed(t, &old, 0)); /* an end meets its attempt */
    EXPECT_OK(t, when_completed(t, &held, "1"));
}

FF_CONFORMANCE(store_share, closing_one_leaves_the_other)
{
    struct ff_client *other = another_client(t, NULL);
    const struct held held = given_claimed(t);

    close_client(t, &other);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_STATE(t, given_submitted(t).id, "waiting");
}

#define THREADS 8
#define EACH    25

struct factory {
    atomic_int completed, again;
};

/* Half of the threads hand in work, all of them do it; one in five tasks fails once. */
static void run_shift(struct test *t, size_t index, void *ctx)
{
    struct factory *const factory = ctx;
    const struct ff_policy_spec p = retry_policy(3, 0);
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();
    struct held held[4];

    if (index % 2)
        t->client = t->others[0];
    s.policy = &p;
    for (int i = 0; i < EACH && index < THREADS / 2; i++)
        (void)given(t, &s);
    r.max = 4;
    r.wait_ms = 50;
    while (atomic_load(&factory->completed) < EACH * THREADS / 2) {
        const size_t count = when_claimed_many(t, &r, held, 4);

        for (size_t i = 0; i < count; i++) {
            if (held[i].attempt_index == 0 && held[i].id[5] == '1') {
                EXPECT_OK(t, when_failed(t, &held[i], "transient"));
                atomic_fetch_add(&factory->again, 1);
            } else {
                EXPECT_OK(t, when_completed(t, &held[i], "1"));
                atomic_fetch_add(&factory->completed, 1);
            }
        }
    }
}

FF_CONFORMANCE(store_share, many_threads_on_two_clients_finish_all_work_once)
{
    struct factory *const factory = keep(t, sizeof *factory);
    struct ff_filter f;
    const struct ff_info_list *all;

    (void)another_client(t, NULL);
    in_threads(t, THREADS, run_shift, factory);
    ff_filter_init(&f);
    f.limit = 1000;
    all = list(t, &f);
    EXPECT_INT(t, EACH * THREADS / 2, (int64_t)all->count);
    for (size_t i = 0; i < all->count; i++) {
        EXPECT_TEXT(t, "completed", all->items[i].public_state);
        EXPECT_INT(t, all->items[i].retry_count + 1, all->items[i].attempt_count);
    }
}

static void submit_many(struct test *t, size_t index, void *ctx)
{
    (void)ctx;
    if (index % 2)
        t->client = t->others[0];
    for (int i = 0; i < 40; i++)
        (void)given_submitted(t);
}

/* Two writers on one file get in each other's way, and nobody notices. */
FF_CONFORMANCE(store_share, writers_of_two_clients_do_not_fail_each_other)
{
    (void)another_client(t, NULL);
    in_threads(t, 6, submit_many, NULL);
    EXPECT_ROWS(t, 240);
}

static struct held given_short_lease(struct test *t, const char *ns, const char *instance)
{
    const struct ff_tag_pair tags[] = {{"instance", instance}};
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();

    s.ns = ns;
    s.tags = tags;
    s.tag_count = 1;
    (void)given(t, &s);
    r.lease_ttl_ms = 100;
    return given_claim(t, &r);
}

/* An engine that looks after one tenant leaves the others alone. */
FF_CONFORMANCE_SLOW(store_share, timers_of_one_namespace_leave_others_alone)
{
    const struct ff_options mine = {.size = sizeof mine, .scan_ns = "mine"};
    struct held own, foreign;

    given_options(t, &mine);
    foreign = given_short_lease(t, "theirs", "i");
    own = given_short_lease(t, "mine", "i");
    given_lapsed(t, &own);
    own = given_short_lease(t, "mine", "i");
    given_lapsed(t, &own);
    EXPECT_EVENTS(t, foreign.id, "acquired");
    EXPECT_OK(t, when_completed(t, &foreign, NULL));
}

FF_CONFORMANCE_SLOW(store_share, timers_of_one_instance_leave_others_alone)
{
    const struct ff_options mine = {.size = sizeof mine, .scan_instance = "i-1"};
    struct held own, foreign;

    given_options(t, &mine);
    foreign = given_short_lease(t, "default", "i-2");
    own = given_short_lease(t, "default", "i-1");
    given_lapsed(t, &own);
    own = given_short_lease(t, "default", "i-1");
    given_lapsed(t, &own);
    EXPECT_EVENTS(t, foreign.id, "acquired");
    EXPECT_OK(t, when_completed(t, &foreign, NULL));
}

/* A tool that looks in does not disturb: it reads, and its engine has no timers. */
FF_CONFORMANCE(store_share, passive_client_sees_everything)
{
    const struct ff_options quiet = {.size = sizeof quiet, .passive = true};
    struct ff_client *const tool = another_client(t, &quiet);
    const struct name name = given_submitted(t);
    struct ff_findings findings = {0};

    EXPECT_OK(t, ff_fsck(tool, &findings, &t->err));
    EXPECT_INT(t, 0, (int64_t)findings.count);
    ff_answer_free(&findings);
    EXPECT_OK(t, ff_cancel(tool, name.id, NULL, NULL, &t->err));
    EXPECT_STATE(t, name.id, "cancelled");
}
