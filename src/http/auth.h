/* SPDX-License-Identifier: Apache-2.0
 *
 * auth.h -- who may ask for what: tokens, scopes, namespaces, and where a request may come from.
 *
 * A token file has one token per line: NAME TOKEN SCOPES [NAMESPACES]; lists are joined by commas,
 * '#' begins a comment. Scopes are read, submit, work and admin. Only hashes of tokens are kept.
 * Tests: tests/unit/test_http.c, tests/e2e/test_http.py. */
#ifndef FF_HTTP_AUTH_H
#define FF_HTTP_AUTH_H

#include "base/arena.h"
#include "base/macros.h"
#include "base/sha256.h"

#include <flowfabric.h>

#define FF_SCOPE_NONE   0u /* nobody is asked who they are */
#define FF_SCOPE_READ   1u
#define FF_SCOPE_SUBMIT 2u
#define FF_SCOPE_WORK   4u
#define FF_SCOPE_ADMIN  8u

struct ff_token {
    const char *name; /* for logs and stored answers; never the token itself */
    uint8_t hash[FF_SHA256_BYTES];
    unsigned scopes;
    const char **namespaces; /* the first is the default */
    size_t namespace_count;  /* 0: all */
};

struct ff_tokens {
    struct ff_arena arena;
    struct ff_token *items;
    size_t count; /* 0: no token is needed */
};
void ff_tokens_init(struct ff_tokens *tokens);
void ff_tokens_done(struct ff_tokens *tokens);
/* Lines of a token file, added to those there are. `source` is named in errors; tokens never are.
 */
FF_MUST_CHECK ff_status ff_tokens_read(struct ff_tokens *tokens, struct ff_str text,
                                       const char *source, struct ff_error *reterr);
/* The file must be readable by nobody else, or be a credential from systemd. */
FF_MUST_CHECK ff_status ff_tokens_load(struct ff_tokens *tokens, const char *path,
                                       struct ff_error *reterr);

/* "Bearer <token>" to its token; NULL: none fits. Takes the same time wherever they differ. */
const struct ff_token *ff_tokens_find(const struct ff_tokens *tokens, const char *authorization);
/* The same for "Basic <base64 of name:token>", whatever the name: all that a browser can say. It
 * says so by itself to everything on this server, so this is for reading only. */
const struct ff_token *ff_tokens_find_basic(const struct ff_tokens *tokens,
                                            const char *authorization);

/* Whether a token without namespaces, or one of its namespaces, allows this one. */
bool ff_token_allows(const struct ff_token *token, const char *ns);
const char *ff_scope_name(unsigned scope);

/* The host of "host:port", "[v6]:port" or "host", lower case and without brackets, and its port
 * (0: none). False: not a host. */
FF_MUST_CHECK bool ff_host_split(struct ff_str text, char host[256], int *ret_port);
bool ff_host_is_loopback(const char *host);
bool ff_host_is_address(const char *host); /* not a name */

#endif
