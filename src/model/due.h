/* SPDX-License-Identifier: Apache-2.0
 *
 * due.h -- when a row must be looked at again, and why.
 *
 * execution.due_at_ms is indexed and a lower bound: a renewal does not touch it, the timer looks at
 * the real times and acts or moves it on. Tests: tests/unit/test_due.c. */
#ifndef FF_MODEL_DUE_H
#define FF_MODEL_DUE_H

#include "model/policy.h"
#include "model/rows.h"

/* The earliest of lease end, attempt deadline, execution deadline and delay, as far as they apply
 * to the row's state; FF_NULL64 when nothing can fall due. */
int64_t ff_due(const struct ff_execution *execution, const struct ff_policy *policy);
/* When the running attempt has used up its time under leases; FF_NULL64: not under this lease as it
 * stands, whose end comes first. */
int64_t ff_due_attempt(const struct ff_execution *execution, const struct ff_policy *policy);

/* The rules of timer.fire in the order they are judged. */
typedef enum ff_due_rule {
    FF_DUE_NOTHING,
    FF_DUE_DEADLINE,
    FF_DUE_ATTEMPT,
    FF_DUE_LAPSE,
    FF_DUE_DELAY,
} ff_due_rule;
/* Which rule applies at `now_ms`. A time that equals now has come. */
ff_due_rule ff_due_judge(const struct ff_execution *execution, const struct ff_policy *policy,
                         int64_t now_ms);
/* Until when a lapse is not acted on, see the brake in timer/fire.c: `contact_since_ms` plus the
 * lease's TTL, at most FF_BRAKE_MS_MAX. */
int64_t ff_due_brake_end(const struct ff_execution *execution, int64_t contact_since_ms);

/* ff_meta "contact": since when and until when some process was in touch with the store. False: it
 * is not there, or not to be read. */
bool ff_contact_read(struct ff_str text, int64_t *ret_since_ms, int64_t *ret_last_ms);

#endif
