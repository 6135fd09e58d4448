/* SPDX-License-Identifier: Apache-2.0
 *
 * stream.h -- event streams: pieces of text that are sent as they come, without a thread each.
 *
 * Tests: tests/e2e/test_http_events.py. */
#ifndef FF_HTTP_STREAM_H
#define FF_HTTP_STREAM_H

#include "engine/follow.h"
#include "http/request.h"

struct ff_server;

/* Answers with the events of `follow` as they come, and owns it from now on. `first` is what was
 * taken of it already, as text. */
bool ff_answer_stream(struct ff_request *request, struct ff_follow *follow, struct ff_str first);
/* A follower's `ready`; the context is the request. */
void ff_stream_ready(struct ff_request *request);
/* What was taken of a follower as text of an event stream. */
FF_MUST_CHECK ff_status ff_stream_text(struct ff_arena *arena, const struct ff_followed *taken,
                                       struct ff_str *ret, struct ff_error *reterr);

/* Comments to those that were silent, an end to all when the server stops. */
void ff_streams_look(struct ff_server *server);

#endif
