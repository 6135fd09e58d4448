/* SPDX-License-Identifier: Apache-2.0
 *
 * tap.c -- placeholder. */
#include "sim.h"

struct ff_store *sim_tap_open(struct sim *sim, struct node *node)
{
    (void)sim, (void)node;
    return NULL;
}

void sim_tap_compare(struct sim *sim)
{
    (void)sim;
}

void sim_tap_done(struct sim *sim)
{
    (void)sim;
}
