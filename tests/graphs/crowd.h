/* SPDX-License-Identifier: Apache-2.0
 *
 * crowd.h -- many flows whose nodes say how they end, worked on by whoever is there.
 *
 * For tests/graphs only. Nobody knows in which order things will happen, so what is checked in the
 * end is what every order must lead to: see crowd_check(). */
#ifndef FF_TESTS_GRAPHS_CROWD_H
#define FF_TESTS_GRAPHS_CROWD_H

#include "play.h"

#define CROWD_LANE "crowd"

/* One flow: the graph of a model that nobody moves. */
struct member_flow {
    char flow_id[FF_UUID_BYTES];
    bool alone;     /* every order leads to the same end: no join cancels anybody */
    bool cancelled; /* somebody has cancelled members, or the flow */
    bool replayed;  /* the failed have been replayed */
    uint64_t seed;
};

struct crowd {
    struct play play; /* the flow that is looked at */
    struct member_flow *flows;
    size_t count, max;
    uint64_t next_seed;
};

struct crowd *crowd_new(struct test *t, size_t max, uint64_t seed);
/* `count` more flows. */
void crowd_add(struct crowd *crowd, struct ff_client *client, size_t count);
/* Cancels a few members and one flow. */
void crowd_trouble(struct crowd *crowd, struct ff_client *client);
/* Replays everything that has failed in flows that are over; how many there were. */
size_t crowd_replay(struct crowd *crowd, struct ff_client *client);
/* Every member of every flow has ended, and every hop is done. */
bool crowd_is_over(struct crowd *crowd, struct ff_client *client);
/* Every end is one that some order leads to; no edge was counted twice, no generation has ended
 * twice; the flows know. */
void crowd_check(struct crowd *crowd, struct ff_client *client);

/* What a worker does with whatever it gets: claims, ends what it has as its kind says, and calls
 * `done` for each. How many tasks there were; -1: there was no answer. */
int crowd_work(struct ff_client *client, int64_t lease_ttl_ms,
               void (*done)(void *ctx, const char *id), void *ctx);

#endif
