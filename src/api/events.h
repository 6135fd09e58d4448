/* SPDX-License-Identifier: Apache-2.0
 *
 * events.h -- what the calls that follow the log share.
 *
 * For src/api, and for a server that follows without blocking. Tests: tests/conformance/event_*.c.
 */
#ifndef FF_API_EVENTS_H
#define FF_API_EVENTS_H

#include "api/api-int.h"
#include "engine/follow.h"

#include <pthread.h>

/* The filter as it counts, whoever asks the log: what is given is not empty, and of two partitions
 * one given means from there on, or up to there. Texts are the caller's. */
FF_MUST_CHECK ff_status ff_event_filter_read(const struct ff_event_filter *given,
                                             struct ff_event_filter *ret, struct ff_error *reterr);
/* The same as the engine wants it; its texts are borrowed from the caller's. */
FF_MUST_CHECK ff_status ff_event_match_of(struct ff_client *client,
                                          const struct ff_event_filter *given,
                                          struct ff_event_match *ret, struct ff_error *reterr);
/* A cursor, "start", or nothing: from this moment on. */
FF_MUST_CHECK ff_status ff_event_after_of(const char *text, int64_t *ret_after,
                                          struct ff_error *reterr);
/* What was taken, as callers see it. */
FF_MUST_CHECK ff_status ff_event_infos(struct ff_arena *arena, const struct ff_followed *taken,
                                       struct ff_event_info **ret, struct ff_error *reterr);

/* One page, from a follower that is given up afterwards. Within a page nothing is missing: a notice
 * that something is (reset, gap) comes in front of it, or ends it, and then the next one finds it
 * again. Other notices mean nothing to a page. */
struct ff_event_page {
    struct ff_follow *follow;
    size_t limit;
    struct ff_followed all; /* taken so far, and the notice in front of it */
    int64_t notice_cursor;  /* where the log goes on behind that notice */
};
/* Room for the events, in this arena. */
FF_MUST_CHECK ff_status ff_event_page_init(struct ff_event_page *page, struct ff_arena *arena,
                                           int32_t limit, struct ff_error *reterr);
/* Adds what has come. `ret_all`: nothing more belongs to it of what was there at the call. */
FF_MUST_CHECK ff_status ff_event_page_gather(struct ff_event_page *page, struct ff_arena *arena,
                                             bool *ret_all, struct ff_error *reterr);

/* A follower somebody can wait for. */
struct ff_reading {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_ready;
    struct ff_follow *follow;
};
FF_MUST_CHECK ff_status ff_reading_init(struct ff_reading *reading, struct ff_client *client,
                                        struct ff_follow_in *in, struct ff_error *reterr);
void ff_reading_done(struct ff_reading *reading);
/* False: time is over. True: something may have come since the last wait. */
bool ff_reading_wait(struct ff_reading *reading, int64_t until_mono_ms);
void ff_reading_wake(struct ff_reading *reading);

#endif
