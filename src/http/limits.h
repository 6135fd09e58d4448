/* SPDX-License-Identifier: Apache-2.0
 *
 * limits.h -- every maximum of the HTTP server, each with its reason; the rest is in
 * base/limits.h.
 *
 * Times are counted from the moment before the colon. A client that is later is cut off.
 * Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_LIMITS_H
#define FF_HTTP_LIMITS_H

#define FF_HTTP_PORT 9090 /* where an address without a port listens */

#define FF_HTTP_BODY_BYTES_MAX (8 << 20) /* one body holds a thousand submissions of 8 KiB */
#define FF_HTTP_BODIES_BYTES_MAX                                                                   \
    (256 << 20)                             /* all that are being read or worked on together ...   \
                                             */
#define FF_HTTP_BODY_FREE_BYTES  (64 << 10) /* ... but those up to this are never refused for it */
#define FF_HTTP_DRAIN_BYTES_MAX  (32 << 20) /* read and dropped so that the client hears why */
#define FF_HTTP_HEAD_BYTES_MAX   (16 << 10) /* request line and headers */
#define FF_HTTP_LINK_BYTES       (32 << 10) /* memory of a connection; twice the head */
#define FF_HTTP_PATH_BYTES_MAX   2048
#define FF_HTTP_ANSWER_BYTES_MAX (64 << 20) /* a thousand executions, each with long texts */

#define FF_HTTP_CONNECTIONS_MAX   4096 /* then 503 ... */
#define FF_HTTP_CONNECTIONS_EXTRA 64   /* ... to so many at a time; more are closed unheard */
#define FF_HTTP_FILES_BESIDE      128  /* open beside connections: the store, logs, epoll */

#define FF_HTTP_FIRST_MS 10000 /* connected: first request line */
#define FF_HTTP_IDLE_MS  75000 /* answered: next request line */
#define FF_HTTP_HEAD_MS  10000 /* request line: end of the headers */
#define FF_HTTP_BODY_MS  60000 /* headers: end of the body, by what has come of it */
#define FF_HTTP_SEND_MS  60000 /* answer is there: client has read it */
#define FF_HTTP_RATE     16    /* bytes per ms that a client must manage; added to the two above */
#define FF_HTTP_STALL_MS 60000 /* event stream: nothing could be written */

#define FF_HTTP_READY_MS       2000              /* a slower store is not one to send work to */
#define FF_HTTP_SSE_COMMENT_MS 15000             /* proxies close what is silent for a minute */
#define FF_HTTP_REPLY_KEEP_MS  INT64_C(86400000) /* stored answers of an Idempotency-Key */

#define FF_HTTP_WORK_THREADS 2 /* parse requests, write answers: no store call */
#define FF_HTTP_LOOK_THREADS 4 /* reads; more would only wait for a session */
#define FF_HTTP_HEALTH_THREADS                                                                     \
    2 /* a store that does not answer must not keep /readyz from saying so */

#define FF_HTTP_TOKENS_MAX       1000
#define FF_HTTP_TOKEN_BYTES_MIN  16 /* shorter ones can be guessed */
#define FF_HTTP_TOKEN_BYTES_MAX  512
#define FF_HTTP_TOKEN_FILE_MAX   (1 << 20)
#define FF_HTTP_REQUEST_ID_MAX   64
#define FF_HTTP_METRIC_LANES_MAX 100 /* labels are bounded */

#endif
