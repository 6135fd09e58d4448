/* SPDX-License-Identifier: Apache-2.0
 *
 * domain.h -- what tests say: given something was submitted, when it is claimed, expect a state.
 *
 * All of it goes through flowfabric.h and nothing else. `given_` must succeed or the test fails;
 * `when_` returns the status of the one item it is about, with t->err or t->answer filled in.
 * Read first: tests/support/README.md. */
#ifndef FF_TESTS_SUPPORT_DOMAIN_H
#define FF_TESTS_SUPPORT_DOMAIN_H

#include "support/runner.h"

#define WORKER   "worker-1"
#define INSTANCE "instance-1"

/* The id of an execution. */
struct name {
    char id[FF_ID_BYTES];
};

/* A task in somebody's hands: what ff_claim said, copied. */
struct held {
    char id[FF_ID_BYTES];
    char lease_id[FF_UUID_BYTES];
    int64_t epoch, ttl_ms, expires_at_ms, deadline_at_ms;
    int32_t generation, attempt_index;
    char attempt_type[16];
    char kind[136], lane[72], ns[136];
};

/* ---- submitting ---- */

struct ff_submission submission(void); /* of kind "work", else defaults */
struct ff_policy_spec policy(void);    /* the default one */
struct ff_policy_spec retry_policy(int32_t max_retries, int64_t delay_ms); /* fixed, no jitter */
struct ff_policy_spec reclaim_policy(int32_t max_reclaim_count);

ff_status when_submitted(struct test *t, const struct ff_submission *s, struct ff_submitted *ret);
struct name given(struct test *t, const struct ff_submission *s); /* created, not a duplicate */
struct name given_submitted(struct test *t);
struct name given_submitted_with(struct test *t, const struct ff_policy_spec *p);
struct name given_priority(struct test *t, int64_t priority);

/* ---- claiming ---- */

struct ff_claim_request claim_request(void); /* one from lane "default" */
/* Up to `max` tasks; how many there were. */
size_t when_claimed_many(struct test *t, const struct ff_claim_request *r, struct held *ret,
                         size_t max);
ff_status when_asked(struct test *t, const struct ff_claim_request *r); /* the tasks are dropped */
bool claims_one(struct test *t, const struct ff_claim_request *r, struct held *ret);
struct held given_claim(struct test *t, const struct ff_claim_request *r); /* exactly one */
struct held given_claimed_next(struct test *t);
struct held given_claimed(struct test *t); /* submitted and claimed, 30 s */
struct held given_claimed_with(struct test *t, const struct ff_policy_spec *p, int64_t ttl_ms);
struct held held_of(const struct ff_task *task);
bool nothing_to_claim(struct test *t);
/* Waits until the engine has acted on the lapse of this lease. */
void given_lapsed(struct test *t, const struct held *held);

/* ---- what a worker says ---- */

struct ff_lease lease_of(const struct held *held);
ff_status when_renewed(struct test *t, const struct held *held, int64_t ttl_ms);
ff_status when_completed(struct test *t, const struct held *held, const char *result);
ff_status when_failed(struct test *t, const struct held *held, const char *failure_class);
ff_status when_failed_as(struct test *t, const struct ff_failure *failure);
ff_status when_progressed(struct test *t, const struct held *held, int32_t percent,
                          const char *message);
ff_status when_delayed(struct test *t, const struct held *held, int64_t delay_ms);
ff_status when_delayed_until(struct test *t, const struct held *held, int64_t until_ms);
ff_status when_released(struct test *t, const struct held *held, const char *reason);
struct ff_failure failure_of(const struct held *held, const char *failure_class);

/* ---- what an operator says ---- */

ff_status when_cancelled(struct test *t, const char *id);
ff_status when_replayed(struct test *t, const char *id);
ff_status when_revoked(struct test *t, const char *id);
ff_status when_prioritised(struct test *t, const char *id, int64_t priority);
struct name given_completed(struct test *t); /* submitted, claimed, completed */

/* ---- looking ---- */

const struct ff_info *look(struct test *t, const char *id); /* kept to the end of the test */
const struct ff_info_list *list(struct test *t, const struct ff_filter *filter);
const struct ff_attempt_list *attempts(struct test *t, const char *id);
const struct ff_event_list *history(struct test *t, const char *id); /* the first 1,000 */
bool is_in_state(struct test *t, const char *id, const char *public_state);
ff_status when_looked(struct test *t, const char *id); /* the answer is dropped */
/* The last event of this kind and type; the test fails if there is none. */
const struct ff_event_info *last_event(struct test *t, const char *id, const char *kind,
                                       const char *type);
/* The store's time, told by an execution that is submitted for that on a lane of its own. */
int64_t store_now_ms(struct test *t);

#define EXPECT_STATE(t, id, want) expect_state((t), __FILE__, __LINE__, (id), (want))
void expect_state(struct test *t, const char *file, int line, const char *id, const char *want);

/* All dimensions: "runnable unowned eligible_now pending_first_attempt none waiting_for_worker". */
#define EXPECT_VECTOR(t, id, want) expect_vector((t), __FILE__, __LINE__, (id), (want))
void expect_vector(struct test *t, const char *file, int line, const char *id, const char *want);

/* Everything in the log about it, in order: "acquired expired completion.failed". Lease events are
 * named by their type alone; `submitted` is left out. */
#define EXPECT_EVENTS(t, id, want) expect_events((t), __FILE__, __LINE__, (id), (want))
void expect_events(struct test *t, const char *file, int line, const char *id, const char *want);

/* Every tenancy: "0:initial:retry 1:retry:running", that is index, type, outcome. */
#define EXPECT_ATTEMPTS(t, id, want) expect_attempts((t), __FILE__, __LINE__, (id), (want))
void expect_attempts(struct test *t, const char *file, int line, const char *id, const char *want);

/* ff_fsck finds nothing. */
void expect_sound(struct test *t, struct ff_client *client);

/* No execution at all: nothing refused left a row behind. */
#define EXPECT_NO_ROWS(t) expect_rows((t), __FILE__, __LINE__, 0)
#define EXPECT_ROWS(t, n) expect_rows((t), __FILE__, __LINE__, (n))
void expect_rows(struct test *t, const char *file, int line, size_t want);

#endif
