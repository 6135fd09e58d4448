/* SPDX-License-Identifier: Apache-2.0
 *
 * handover.h -- work that a batch frees goes to claims that wait, in the very same transaction.
 *
 * A claim that is parked has found nothing; what becomes claimable before it is woken is dealt out
 * here, without a scan, and is born (or freed) under its lease. Whatever keeps a claim from it
 * (another lane, a paused one, a failing batch) leaves it to the wake-up after the commit, which
 * is always there. docs/decisions/0010-one-transaction-per-step.md says what it is good for.
 * Tests: tests/conformance/execution_claim_wait.c, tests/sim. */
#ifndef FF_ENGINE_HANDOVER_H
#define FF_ENGINE_HANDOVER_H

#include "engine/batch.h"

struct ff_engine;

/* Before a load: whether the lanes are paused that claims wait for. */
void ff_handover_need(struct ff_engine *engine, struct ff_batch *batch);
/* After every job has decided and before the save: claims that wait join the batch. */
void ff_handover(struct ff_engine *engine, struct ff_batch *batch, const struct ff_batch_env *env);

#endif
