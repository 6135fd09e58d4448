/* SPDX-License-Identifier: Apache-2.0
 *
 * client.h -- what a client is: a table of calls, filled in process or by a server far away.
 *
 * The exported functions (calls.c) check the client and go through its table; src/api fills the
 * table of clients that run the engine themselves. Read first: src/api/README.md, calls.def.
 * Tests: tests/unit/test_api.c. */
#ifndef FF_API_CLIENT_H
#define FF_API_CLIENT_H

#include "base/arena.h"
#include "base/macros.h"
#include "base/str.h"

#include <flowfabric.h>

#include <sys/types.h>

#define FF_CALL_LIST(...) __VA_ARGS__

/* NULL in a table: this kind of client cannot do it, and says so (FF_UNSUPPORTED). */
struct ff_calls {
    size_t (*close)(struct ff_client *client, int64_t grace_ms); /* frees it, too */
    void (*wake)(struct ff_client *client); /* until_ms has changed; NULL: nobody looks at it */
#define FF_CALL(name, parameters, arguments) __typeof__(ff_##name) *(name);
#include "api/calls.def"
#undef FF_CALL
};

struct ff_client {
    const struct ff_calls *calls;
    pid_t pid; /* who opened it: threads and connections do not survive a fork */
    int64_t timeout_ms;
    struct ff_engine *engine; /* in process only */
    struct ff_spare *spare;   /* in process only: jobs for the next call */
    struct ff_remote *remote; /* of a server only */
    struct ff_arena strings;  /* copies of the options' texts */
    _Atomic uint64_t minted;  /* the ordered beginning of the last id: time and a counter */
    _Atomic int64_t inside;   /* calls under way */
    _Atomic bool closing;     /* no more calls may begin */
    _Atomic int64_t until_ms; /* of a hand: when calls to a server end; monotonic, 0: no end */
    bool writes_json;         /* JSON without a content type is our own text: a server's */
    bool trusts_json;         /* see ff_options */
};

/* The two ways to open one. The second is src/remote's: ff_open chooses by the url. */
FF_MUST_CHECK ff_status ff_local_open(const char *url, const struct ff_options *options,
                                      struct ff_client **ret_client, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_remote_open(const char *url, const struct ff_options *options,
                                       struct ff_client **ret_client, struct ff_error *reterr);

/* FF_INVALID for NULL, FF_CLOSED after a fork. Every exported call starts with it. */
FF_MUST_CHECK ff_status ff_client_check(const struct ff_client *client, struct ff_error *reterr);
/* For `close`, before it frees: waits until the calls of other threads have returned. */
void ff_client_wait_for_calls(const struct ff_client *client);

/* The memory of one answer; freed by ff_answer_free. */
struct ff_memory {
    struct ff_arena arena;
};
struct ff_memory *ff_memory_new(void);
void ff_memory_free(struct ff_memory *memory);
FF_DEFINE_FREEP(struct ff_memory, ff_memory)

/* Copies for the public structs: NUL-terminated, NULL for absent. */
const char *ff_api_text(struct ff_arena *arena, struct ff_str s);
/* A required text: FF_INVALID naming the field when it is NULL. */
FF_MUST_CHECK ff_status ff_api_need(const char *text, const char *field, struct ff_error *reterr);
/* A struct of the caller, maybe an older and shorter one, into one of ours (already filled with
 * defaults). FF_INVALID when `size` was not set. */
FF_MUST_CHECK ff_status ff_api_sized(void *out, size_t out_bytes, const void *given, size_t size,
                                     struct ff_error *reterr);
/* A filter of the caller, checked, with its defaults. NULL: everything. */
FF_MUST_CHECK ff_status ff_filter_take(const struct ff_filter *given, struct ff_filter *ret,
                                       struct ff_error *reterr);

#endif
