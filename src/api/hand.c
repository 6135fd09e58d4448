/* SPDX-License-Identifier: Apache-2.0
 *
 * hand.c -- one user's way to a client: calls that can be ended without touching anybody else's.
 *
 * Read first: src/api/hand.h. Tests: tests/unit/test_hand.c, tests/e2e/test_worker.py. */
#include "api/hand.h"

#include <stdatomic.h>

#include "api/client.h"
#include "base/alloc.h"

#include "base/banned.h"

struct ff_client *ff_hand_new(const struct ff_client *client)
{
    struct ff_client *const hand = ff_calloc(1, sizeof *hand);

    if (!hand)
        return NULL;
    hand->calls = client->calls;
    hand->pid = client->pid;
    hand->timeout_ms = client->timeout_ms;
    hand->engine = client->engine;
    hand->spare = client->spare;
    hand->remote = client->remote;
    hand->writes_json = client->writes_json;
    hand->trusts_json = client->trusts_json;
    return hand;
}

void ff_hand_free(struct ff_client *hand)
{
    ff_free(hand);
}

void ff_hand_end_by(struct ff_client *hand, int64_t mono_ms)
{
    atomic_store(&hand->until_ms, mono_ms);
    if (hand->calls->wake)
        hand->calls->wake(hand);
}
