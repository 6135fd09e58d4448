/* SPDX-License-Identifier: Apache-2.0
 *
 * lease.c -- who may act on a running execution, and what those hear who may not.
 *
 * Tests: tests/unit/test_lease.c. */
#include "model/lease.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/mutant.h"

#include "base/banned.h"

struct ff_uuid ff_lease_id(struct ff_uuid random, bool of_member)
{
    uint8_t *const last = &random.b[sizeof random.b - 1];

    *last = (uint8_t)((*last & 0xfeU) | (of_member ? 1U : 0U));
    return random;
}

bool ff_lease_is_of_member(struct ff_uuid lease_id)
{
    return (lease_id.b[sizeof lease_id.b - 1] & 1U) != 0;
}

struct ff_ending ff_ending_of(ff_end end)
{
    return (struct ff_ending){
        .end = end, .retry_at_ms = FF_NULL64, .failure_class = FF_NULL32, .lease_event = 0};
}

static bool is_live(const struct ff_execution *execution, const struct ff_lease_said *said)
{
    return ff_state_is_leased(execution->state) &&
           (FF_MUTANT(no_epoch_check) || (said->lease_epoch == execution->lease_epoch &&
                                          ff_uuid_eq(said->lease_id, execution->lease_id)));
}

static bool is_last(const struct ff_execution *execution, const struct ff_lease_said *said)
{
    return execution->last_end != FF_END_NONE && said->lease_epoch == execution->last_epoch &&
           ff_uuid_eq(said->lease_id, execution->last_lease_id);
}

ff_state ff_lease_last_state(const struct ff_execution *execution)
{
    const bool later = execution->last_retry_at_ms != FF_NULL64;

    switch ((ff_end)execution->last_end) {
    case FF_END_COMPLETED:
        return FF_STATE_SUCCESS;
    case FF_END_FAILED:
        return FF_STATE_FAILED;
    case FF_END_RETRY:
        return later ? FF_STATE_DELAYED_RETRY : FF_STATE_READY_RETRY;
    case FF_END_DELAYED:
        return later ? FF_STATE_DELAYED_WORKER : FF_STATE_READY_RESUMED;
    case FF_END_RELEASED:
        return FF_STATE_READY_RESUMED;
    case FF_END_CANCELLED:
        return FF_STATE_CANCELLED;
    case FF_END_EXPIRED:
        return FF_STATE_EXPIRED;
    case FF_END_NONE:
    case FF_END_REVOKED:
    case FF_END_LAPSED:
    case FF_END_SUSPENDED:
        break;
    }
    return (ff_state)execution->state;
}

/* NOT_ACTIVE, with the outcome of the tenancy if it was the caller's, else of the execution. */
static ff_status not_active(const struct ff_execution *execution, bool own, struct ff_error *reterr)
{
    const int32_t last = (int32_t)ff_lease_last_state(execution);
    const int32_t state = own && ff_state_is_terminal(last) ? last : execution->state;

    (void)ff_fail(reterr, FF_NOT_ACTIVE, "execution is not active, it is %s",
                  ff_state_public_name(state));
    if (reterr && ff_state_is_terminal(state)) {
        const char *const outcome = ff_state_outcome_name(state);

        memcpy(reterr->outcome, outcome, strlen(outcome) + 1);
    }
    return FF_NOT_ACTIVE;
}

ff_status ff_lease_check(const struct ff_execution *execution, const struct ff_lease_said *said,
                         bool *ret_repeat, struct ff_error *reterr)
{
    const bool own = is_last(execution, said);

    *ret_repeat = false;
    if (is_live(execution, said))
        return FF_OK;
    if (own && !ff_str_is_null(said->hash) && ff_str_eq(said->hash, execution->last_hash)) {
        *ret_repeat = true;
        return FF_OK;
    }
    if (own && execution->last_end == FF_END_REVOKED)
        return ff_fail(reterr, FF_LEASE_REVOKED, "lease was revoked");
    if (own && execution->last_end == FF_END_LAPSED)
        return ff_fail(reterr, FF_STALE_LEASE, "lease has lapsed");
    /* Not the last tenancy: an older one, or one that never was. Whoever holds a lease now, or has
     * held one since, has the better right. */
    if (!own &&
        (ff_state_is_leased(execution->state) || said->lease_epoch < execution->lease_epoch))
        return ff_fail(reterr, FF_STALE_LEASE, "lease is not the current one");
    if (own && !ff_str_is_null(said->hash) && !ff_str_is_null(execution->last_hash))
        return ff_fail(reterr, FF_CONFLICT, "the holder of this lease has said otherwise before");
    /* It gave the execution back, and somebody else has it now. */
    if (ff_state_is_leased(execution->state) &&
        !ff_state_is_terminal((int32_t)ff_lease_last_state(execution)))
        return ff_fail(reterr, FF_STALE_LEASE, "somebody else holds the lease now");
    return not_active(execution, own, reterr);
}

static void fill_attempt(const struct ff_execution *execution, struct ff_attempt *attempt,
                         const struct ff_ending *how, int64_t at_ms)
{
    attempt->generation = execution->generation;
    attempt->attempt_index = execution->attempt_index;
    attempt->attempt_type = execution->attempt_type;
    attempt->outcome = (int32_t)how->end;
    attempt->lease_id = execution->lease_id;
    attempt->worker_id = execution->worker_id;
    attempt->worker_instance_id = execution->worker_instance_id;
    attempt->started_at_ms = execution->lease_acquired_at_ms;
    attempt->ended_at_ms = at_ms;
    attempt->failure_class = how->failure_class;
    attempt->failure_message = how->failure_message;
}

/* Time counts while the lease was held: not after it had lapsed. */
static int64_t spent_ms(const struct ff_execution *execution, int64_t at_ms)
{
    const int64_t until_ms = ff_min_i64(at_ms, execution->lease_expires_at_ms);

    return ff_max_i64(until_ms - execution->lease_acquired_at_ms, 0);
}

bool ff_lease_revive(struct ff_execution *execution, int64_t now_ms)
{
    const int64_t gap_ms = now_ms - execution->lease_expires_at_ms;

    if (gap_ms <= 0)
        return false;
    execution->attempt_spent_ms -= gap_ms;
    return true;
}

void ff_lease_close(struct ff_execution *execution, struct ff_attempt *attempt,
                    const struct ff_ending *how, int64_t at_ms)
{
    assert(ff_state_is_leased(execution->state));
    assert((attempt == NULL) == (how->end == FF_END_COMPLETED));
    if (attempt)
        fill_attempt(execution, attempt, how, at_ms);
    if (how->same_attempt)
        execution->attempt_spent_ms = ff_max_i64(
            ff_add_i64_clamped(execution->attempt_spent_ms, spent_ms(execution, at_ms)), 0);
    else
        execution->attempt_spent_ms = 0;
    execution->last_lease_id = execution->lease_id;
    execution->last_epoch = execution->lease_epoch;
    execution->last_end = (int32_t)how->end;
    execution->last_hash = how->hash;
    execution->last_retry_at_ms = how->retry_at_ms;
    execution->lease_id = (struct ff_uuid){.b = {0}};
    execution->lease_ttl_ms = FF_NULL64;
    execution->lease_renewed_at_ms = FF_NULL64;
    execution->lease_expires_at_ms = FF_NULL64;
    if (attempt)
        ff_attempt_forget(execution);
    if (!how->owner_follows && !FF_MUTANT(epoch_stays_when_nobody_owns))
        execution->lease_epoch++;
}

bool ff_attempt_is_kept(const struct ff_execution *execution)
{
    return execution->state == FF_STATE_SUCCESS && execution->lease_acquired_at_ms != FF_NULL64 &&
           !ff_str_is_null(execution->worker_id) && !ff_str_is_null(execution->worker_instance_id);
}

void ff_attempt_kept(const struct ff_execution *execution, struct ff_attempt *attempt)
{
    attempt->partition_key = execution->partition_key;
    attempt->execution_id = execution->execution_id;
    attempt->lease_epoch = execution->last_epoch;
    attempt->generation = execution->generation;
    attempt->attempt_index = execution->attempt_index;
    attempt->attempt_type = execution->attempt_type;
    attempt->outcome = execution->last_end;
    attempt->lease_id = execution->last_lease_id;
    attempt->worker_id = execution->worker_id;
    attempt->worker_instance_id = execution->worker_instance_id;
    attempt->started_at_ms = execution->lease_acquired_at_ms;
    attempt->ended_at_ms = execution->finished_at_ms;
    attempt->failure_class = FF_NULL32;
    attempt->failure_message = ff_str_null();
}

void ff_attempt_forget(struct ff_execution *execution)
{
    execution->lease_acquired_at_ms = FF_NULL64;
    execution->worker_id = ff_str_null();
    execution->worker_instance_id = ff_str_null();
}
