/* SPDX-License-Identifier: Apache-2.0
 *
 * stream.h -- event streams: pieces of text that are sent as they come, without a thread each.
 *
 * Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_STREAM_H
#define FF_HTTP_STREAM_H

struct ff_server;

/* Comments to those that were silent, an end to all when the server stops. */
void ff_streams_look(struct ff_server *server);

#endif
