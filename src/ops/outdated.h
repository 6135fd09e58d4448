/* SPDX-License-Identifier: Apache-2.0
 *
 * outdated.h -- edges that tell how an older generation of their upstream has ended.
 *
 * A join that was satisfied keeps what it has counted while its node runs, whoever is replayed
 * meanwhile. When the node itself runs again its join must tell what is true now: an upstream that
 * runs is waited for, one that has ended anew counts as it has ended. Whoever gives a node a new
 * generation asks for these edges, and brings them up to date first. Tests:
 * tests/conformance/flow_replay.c. */
#ifndef FF_OPS_OUTDATED_H
#define FF_OPS_OUTDATED_H

#include "ops/work.h"

struct ff_outdated_upstream {
    struct ff_uuid id;
    int32_t generation;
};

struct ff_outdated {
    bool known; /* which they are: then they, their upstreams and how these reopened are held */
    bool wide;  /* there are more than a few */
    struct ff_outdated_upstream *upstreams; /* in the order of their ids */
    size_t count;
    bool downstream; /* set by update(): whoever ran because of the node runs again, too */
    const struct ff_scan *scan; /* set by need() */
};

void ff_outdated_need(struct ff_work *work, struct ff_exec_id node, struct ff_outdated *outdated);
/* FF_AGAIN: there are some, or others than those that are held, and they must be held first. `but`
 * is an upstream whose edge the caller moves by itself, or zero: it need not be held, and somebody
 * may want to claim it. */
FF_MUST_CHECK ff_status ff_outdated_learn(struct ff_work *work, struct ff_outdated *outdated,
                                          struct ff_uuid but, struct ff_error *reterr);
/* The join of `node`, held as its flow is, is decided anew if anything has changed; `was` is how it
 * was decided while the node ran. An upstream's reopening that has not come here yet will pass over
 * what is moved now: what it wishes for is in `downstream`. */
void ff_outdated_update(struct ff_work *work, const struct ff_flow *flow,
                        const struct ff_execution *node, struct ff_edge_group *group, int32_t was,
                        struct ff_outdated *outdated);

#endif
