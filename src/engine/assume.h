/* SPDX-License-Identifier: Apache-2.0
 *
 * assume.h -- what a batch relies on without having looked, so that it need not ask the store
 * first.
 *
 * Rows of running executions are taken from memory (known.h), lanes that claims wait for count as
 * open, sets of capabilities that were seen as written down, and if then nothing is left to ask for
 * there is no load at all: the time is the store's as far as we know it. The save proves all of it
 * or applies nothing, and then the batch is run again in the ordinary way.
 * docs/decisions/0011-the-save-proves-what-was-assumed.md. Tests: tests/unit/test_known.c,
 * tests/sim. */
#ifndef FF_ENGINE_ASSUME_H
#define FF_ENGINE_ASSUME_H

#include "engine/batch.h"

struct ff_engine;

/* Before the load. True: there is nothing to load, and the batch decides now. `rides`: hops of this
 * batch may go along. */
bool ff_assume(struct ff_engine *engine, struct ff_batch *batch, bool rides);
/* Hops and claims that go along have named what they need. True: nobody has to ask for it. */
bool ff_assume_riders(struct ff_engine *engine, struct ff_batch *batch);
/* All jobs have decided: what none of them changes will not be proved, and is forgotten. */
void ff_assume_decided(struct ff_engine *engine, struct ff_batch *batch);
/* Nothing of the batch was applied. `disproved`: perhaps because something was not as assumed; not
 * so if only a key was taken. False: it had assumed nothing. */
bool ff_assume_failed(struct ff_engine *engine, struct ff_batch *batch, bool disproved);

#endif
