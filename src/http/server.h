/* SPDX-License-Identifier: Apache-2.0
 *
 * server.h -- the HTTP server: starting, draining, ending.
 *
 * Read first: src/http/README.md. Tests: tests/e2e/test_http.py. */
#ifndef FF_HTTP_SERVER_H
#define FF_HTTP_SERVER_H

#include "http/auth.h"

#include <flowfabric.h>

struct ff_server_options {
    struct ff_client *client; /* in process; must outlive the server */
    const char *listen;       /* "127.0.0.1:9090"; port 0: any */
    const char *const *hosts; /* further names that a Host header may say */
    size_t host_count;
    const struct ff_tokens *tokens;  /* never NULL; empty: all may do all, on loopback only */
    struct ff_str tls_cert, tls_key; /* PEM, with a NUL behind; ptr NULL: no TLS */
    int64_t body_bytes_max;          /* 0: FF_HTTP_BODY_BYTES_MAX */
    int64_t bodies_bytes_max;        /* 0: FF_HTTP_BODIES_BYTES_MAX */
    int64_t connections_max;         /* 0: FF_HTTP_CONNECTIONS_MAX */
    int64_t sse_comment_ms;          /* 0: FF_HTTP_SSE_COMMENT_MS */
};

struct ff_server;
/* Listens when it returns. FF_INVALID without tokens on an address that others can reach. */
FF_MUST_CHECK ff_status ff_server_new(const struct ff_server_options *options,
                                      struct ff_server **ret, struct ff_error *reterr);
/* "http://127.0.0.1:9090", as it can be called from this machine. */
const char *ff_server_url(const struct ff_server *server);
/* Takes no new connections, ends waits and streams, and gives requests under way up to grace_ms.
 * Returns how many were not done then. */
size_t ff_server_drain(struct ff_server *server, int64_t grace_ms);
/* After a drain that left nothing. NULL is allowed. */
void ff_server_free(struct ff_server *server);

#endif
