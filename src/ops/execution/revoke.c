/* SPDX-License-Identifier: Apache-2.0
 *
 * revoke.c -- execution.revoke: take a lease away from its holder.
 *
 * Back to waiting as a new attempt, without using a retry; the next claimer gets a higher epoch.
 * Revoking again before anybody claimed gives the first answer, also if its flow let nobody claim
 * it again and it was cancelled. Tests: tests/unit/test_ops.c. */
#include "base/error.h"
#include "base/macros.h"
#include "model/events.h"
#include "ops/ops-int.h"
#include "ops/task.h"

#include "base/banned.h"

void ff_execution_revoke_need(struct ff_work *work, struct ff_revoke_in *in)
{
    ff_work_lock_execution(work, in->id);
}

static void revoke(struct ff_work *work, struct ff_execution *execution,
                   const struct ff_revoke_in *in)
{
    struct ff_ending how = ff_ending_of(FF_END_REVOKED);

    how.lease_event = FF_EVENT_LEASE_REVOKED;
    how.lease_note = ff_str_empty(in->by) ? FF_STR(FF_BY_OPERATOR) : in->by;
    how.failure_message = in->reason;
    ff_execution_yield_or_cancel(work, execution, FF_STATE_READY_RETRY, &how);
}

/* By an earlier call, and nothing has happened since. */
static bool is_revoked(const struct ff_execution *execution)
{
    return execution->last_end == FF_END_REVOKED && (execution->state == FF_STATE_READY_RETRY ||
                                                     (execution->state == FF_STATE_CANCELLED &&
                                                      (execution->flags & FF_EXEC_NO_NEW_ATTEMPT)));
}

ff_status ff_execution_revoke_apply(struct ff_work *work, struct ff_revoke_in *in,
                                    struct ff_revoke_out *out, struct ff_error *reterr)
{
    struct ff_execution *execution;

    FF_TRY(ff_find_execution(work, in->id, &execution, reterr));
    if (ff_state_is_leased(execution->state))
        revoke(work, execution, in);
    else if (!is_revoked(execution)) {
        if (ff_state_is_terminal(execution->state))
            return ff_fail_terminal(execution, reterr);
        return ff_fail(reterr, FF_NOT_LEASED, "nobody holds a lease, execution is %s",
                       ff_state_public_name(execution->state));
    }
    *out = (struct ff_revoke_out){.lease_id = execution->last_lease_id,
                                  .lease_epoch = execution->last_epoch,
                                  .state = execution->state};
    return FF_OK;
}
