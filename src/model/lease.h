/* SPDX-License-Identifier: Apache-2.0
 *
 * lease.h -- who may act on a running execution, and what those hear who may not.
 *
 * Pure: no clock, no store; times come from the caller. The epoch belongs to the execution and
 * rises whenever the owner changes, for life. The row remembers its last ended tenancy, so that a
 * worker whose answer got lost may say its last word again.
 * Tests: tests/unit/test_lease.c. */
#ifndef FF_MODEL_LEASE_H
#define FF_MODEL_LEASE_H

#include "model/codes.h"
#include "model/rows.h"
#include "model/states.h"

#include <flowfabric.h>

#define FF_WORD_HASH_BYTES 16

/* What a worker names itself by, and the hash of what it says (kind of word included). `hash` is
 * null for renew and progress: they end nothing, so they are never anyone's last word. */
struct ff_lease_said {
    struct ff_uuid lease_id;
    int64_t lease_epoch;
    struct ff_str hash;
};

/* A lease id out of random bits. Its last bit says whether its execution is a member of a flow, so
 * that a word under the lease is known for what it is before anybody has looked. Only a hint: ids
 * of versions that did not know this say it by chance. */
struct ff_uuid ff_lease_id(struct ff_uuid random, bool of_member);
bool ff_lease_is_of_member(struct ff_uuid lease_id);

/* How a tenancy ends. Start from ff_ending_of(). */
struct ff_ending {
    ff_end end;
    struct ff_str hash;    /* of the worker's last word; null if it said none */
    int64_t retry_at_ms;   /* part of the answer to that word; FF_NULL64: none */
    bool same_attempt;     /* the attempt goes on under a later lease */
    bool owner_follows;    /* the next owner takes over in the same step (reclaim) */
    int32_t failure_class; /* FF_NULL32: none */
    struct ff_str failure_message;
    int32_t lease_event;      /* FF_EVENT_LEASE_*; 0: none */
    struct ff_str lease_note; /* of that event: the reason, or who took it away */
};
struct ff_ending ff_ending_of(ff_end end);

/* FF_OK and *ret_repeat false: the lease is live, go on (also when it has lapsed and nothing has
 * acted on it). FF_OK and *ret_repeat true: an exact repeat of the last word; answer it again with
 * ff_lease_last_state(). Else, in this order: LEASE_REVOKED, STALE_LEASE, CONFLICT, NOT_ACTIVE
 * (with `outcome`). */
FF_MUST_CHECK ff_status ff_lease_check(const struct ff_execution *execution,
                                       const struct ff_lease_said *said, bool *ret_repeat,
                                       struct ff_error *reterr);
/* The state the last ended tenancy left behind, whatever has happened since. */
ff_state ff_lease_last_state(const struct ff_execution *execution);

/* Before a renewal: what has passed since the lease lapsed does not count as time of the attempt.
 * attempt_spent_ms, the time under earlier leases of the attempt, is lowered by it, below zero if
 * need be. True: it had lapsed. */
bool ff_lease_revive(struct ff_execution *execution, int64_t now_ms);

/* Ends the tenancy on the row: fills in `attempt` (its key excepted), remembers it as the last one,
 * clears the live lease, raises the epoch unless the next owner does, counts the time spent.
 * `attempt` is NULL for a completion and for nothing else: the row itself keeps that one. */
void ff_lease_close(struct ff_execution *execution, struct ff_attempt *attempt,
                    const struct ff_ending *how, int64_t at_ms);

/* The attempt that completed an execution gets no row in ff_attempt: who it was and when it began
 * stays where the lease had it, and the last tenancy tells the rest. When a new generation begins
 * it moves to the table. A row that was completed by a version that did not know this keeps
 * nothing, and its attempt is in the table: never in both. */
bool ff_attempt_is_kept(const struct ff_execution *execution);
/* That attempt as a row of ff_attempt, its key included. */
void ff_attempt_kept(const struct ff_execution *execution, struct ff_attempt *attempt);
/* The row keeps it no longer. */
void ff_attempt_forget(struct ff_execution *execution);

#endif
