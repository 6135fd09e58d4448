/* SPDX-License-Identifier: Apache-2.0
 *
 * stream.c -- event streams. */
#include "http/stream.h"

#include "base/banned.h"

void ff_streams_look(struct ff_server *server)
{
    (void)server;
}
