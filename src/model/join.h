/* SPDX-License-Identifier: Apache-2.0
 *
 * join.h -- when a node may run: how its incoming edges count, and what they decide.
 *
 * Pure. A decision falls once; later outcomes move counters and nothing else.
 * Read first: docs/internals/cascade.md. Tests: tests/unit/test_join.c. */
#ifndef FF_MODEL_JOIN_H
#define FF_MODEL_JOIN_H

#include "model/codes.h"
#include "model/rows.h"

/* What an ended upstream means for its edges: success, skip for a skipped one, fail for the rest.
 * `state` is terminal. */
ff_edge_outcome ff_edge_outcome_of(int32_t state);

/* The truth table. `total` edges, of which so many are resolved; k counts for a quorum only. */
ff_group_state ff_join_evaluate(int32_t policy, int32_t k, int32_t success, int32_t fail,
                                int32_t skip, int32_t total);
ff_group_state ff_group_evaluate(const struct ff_edge_group *group);

/* Adds one resolved edge, or takes it back with by = -1. Only moves counters. */
void ff_group_count(struct ff_edge_group *group, ff_edge_outcome outcome, int32_t by);

/* Edges that nobody has resolved. */
int32_t ff_group_open_edges(const struct ff_edge_group *group);
/* It has been decided, and whoever has not ended by then is to be cancelled, if nobody else needs
 * it. edges_asked in store/sql/flow.sql looks for the same. */
bool ff_group_cancels_rest(const struct ff_edge_group *group);

#endif
