/* SPDX-License-Identifier: Apache-2.0
 *
 * foresee.h -- hops that need not look: what surrounds a member of a flow, from memory.
 *
 * Before a member ends, its edges, their joins and nodes, and its flow are assumed to be as this
 * process has last saved them (known.h). Its end and its hop then need nothing from the store: the
 * save proves all of it, or nothing is applied and the batch is run again in the ordinary way.
 * docs/decisions/0012-hops-that-need-not-look.md. Tests: tests/unit/test_known.c, tests/sim. */
#ifndef FF_ENGINE_FORESEE_H
#define FF_ENGINE_FORESEE_H

#include "engine/batch.h"

struct ff_engine;

/* Before the load: edges and joins that ends of this batch ask for are answered from memory, where
 * all that their hops will need is known, too. */
void ff_foresee(struct ff_engine *engine, struct ff_batch *batch);
/* Riders have named their rows. True: all of them are known, nobody has to ask. */
bool ff_foresee_riders(struct ff_engine *engine, struct ff_batch *batch);
/* Nothing of the batch was applied: somebody else works on the same flows. */
void ff_foresee_failed(struct ff_engine *engine, const struct ff_batch *batch);

#endif
