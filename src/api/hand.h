/* SPDX-License-Identifier: Apache-2.0
 *
 * hand.h -- one user's way to a client: calls that can be ended without touching anybody else's.
 *
 * For src/worker, which has to leave in time although its client is shared and goes on. Read first:
 * src/api/client.h. Tests: tests/unit/test_hand.c, tests/e2e/test_worker.py. */
#ifndef FF_API_HAND_H
#define FF_API_HAND_H

#include <flowfabric.h>

/* A client for all calls but ff_close: it uses the engine or the connections of `client`, which
 * must outlive it. NULL: no memory. */
struct ff_client *ff_hand_new(const struct ff_client *client);
/* No call of it may be under way. */
void ff_hand_free(struct ff_client *hand);
/* Its calls to a server, those under way and later ones, end at this time of the monotonic clock at
 * the latest, like one whose timeout_ms is over. In process the engine answers in time anyhow: what
 * has begun there has its own time limit. May be said again. */
void ff_hand_end_by(struct ff_client *hand, int64_t mono_ms);

#endif
