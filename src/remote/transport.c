/* SPDX-License-Identifier: Apache-2.0
 *
 * transport.c -- bytes to the server and back, over connections that are kept.
 *
 * A handle of libcurl holds one connection and serves one call at a time; the free ones wait in a
 * list, and those at work are in another: whoever only waits is woken when nobody wants the answer
 * any more. A body is sent by a callback that cannot rewind: libcurl would otherwise send a request
 * a second time by itself when a kept connection breaks, and nobody could tell whether it was done
 * twice. Read first: src/remote/README.md. Tests: tests/conformance --store http. */
#include "remote/remote-int.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/str.h"

#include "base/banned.h"

#define ANSWER_BYTES_MAX  (64 << 20)
#define CONNECT_MS_MAX    5000
#define IDLE_HANDLES_MAX  64
#define CONNECTION_AGE_S  20 /* before the server closes it for being idle */
#define AUTHORIZATION_MAX 4096
#define POLL_MS           60000 /* nothing depends on it: libcurl knows its own times */

struct handle {
    struct ff_list_node link; /* in `idle` or `busy` */
    CURL *curl;
    CURLM *multi; /* has its connection, and can be woken */
};

struct ff_remote {
    char *url; /* without the last '/' */
    char *ca;  /* a file of certificates to trust instead of the system's; NULL: none */
    struct curl_slist *headers;
    _Atomic size_t users;
    _Atomic bool closed; /* those who only wait give up */
    pthread_mutex_t lock;
    struct ff_list idle, busy;
    size_t idle_count;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* ---- a server ----------------------------------------------------------------------------------
 */

static void handle_free(struct handle *handle)
{
    curl_easy_cleanup(handle->curl);
    curl_multi_cleanup(handle->multi);
    ff_free(handle);
}

struct ff_remote *ff_remote_ref(struct ff_remote *remote)
{
    atomic_fetch_add(&remote->users, 1);
    return remote;
}

void ff_remote_close_all(struct ff_remote *remote)
{
    atomic_store(&remote->closed, true);
    ff_remote_wake(remote);
}

bool ff_remote_is_closed(const struct ff_remote *remote)
{
    return atomic_load(&remote->closed);
}

void ff_remote_wake(struct ff_remote *remote)
{
    pthread_mutex_lock(&remote->lock);
    FF_LIST_FOR_EACH(node, &remote->busy)
    {
        (void)curl_multi_wakeup(ff_list_item(node, struct handle, link)->multi);
    }
    pthread_mutex_unlock(&remote->lock);
}

void ff_remote_free(struct ff_remote *remote)
{
    struct ff_list_node *node;

    if (!remote || atomic_fetch_sub(&remote->users, 1) > 1)
        return;
    while ((node = ff_list_pop_front(&remote->idle)))
        handle_free(ff_list_item(node, struct handle, link));
    curl_slist_free_all(remote->headers);
    pthread_mutex_destroy(&remote->lock);
    ff_free(remote->url);
    ff_free(remote->ca);
    ff_free(remote);
}
FF_DEFINE_FREEP(struct ff_remote, ff_remote)

static ff_status add_header(struct ff_remote *remote, const char *line, struct ff_error *reterr)
{
    struct curl_slist *const longer = curl_slist_append(remote->headers, line);

    if (!longer)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the headers");
    remote->headers = longer;
    return FF_OK;
}

static ff_status add_token(struct ff_remote *remote, const char *token, struct ff_error *reterr)
{
    char line[AUTHORIZATION_MAX];

    if (!token || !token[0])
        return FF_OK;
    if (strlen(token) > sizeof line - 64 || !ff_str_is_printable_ascii(ff_str_of(token)))
        return ff_fail_field(reterr, FF_INVALID, "token", "the token cannot be sent in a header");
    (void)snprintf(line, sizeof line, "Authorization: Bearer %s", token);
    const ff_status status = add_header(remote, line, reterr);
    explicit_bzero(line, sizeof line);
    return status;
}

static ff_status check_url(const char *url, struct ff_error *reterr)
{
    CURLU *const parts = curl_url();
    char *found = NULL;
    bool ok = parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK;

    /* Secrets in a URL end up in logs, and a query would swallow our paths. */
    for (int i = 0; ok && i < 3; i++) {
        const CURLUPart not_here[] = {CURLUPART_USER, CURLUPART_QUERY, CURLUPART_FRAGMENT};

        ok = curl_url_get(parts, not_here[i], &found, 0) != CURLUE_OK;
        curl_free(found);
        found = NULL;
    }
    curl_url_cleanup(parts);
    if (ok)
        return FF_OK;
    return ff_fail_field(
        reterr, FF_INVALID, "url",
        "the url of a server is http://host:port, without user, query or fragment");
}

static char *copy_of(const char *text, size_t len)
{
    char *const copy = ff_malloc(len + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

ff_status ff_remote_new(const char *url, const char *token, struct ff_remote **ret,
                        struct ff_error *reterr)
{
    size_t len = strlen(url);

    (void)pthread_once(&once, start_curl);
    FF_TRY(check_url(url, reterr));
    FF_AUTO(ff_remote_freep) struct ff_remote *remote = ff_calloc(1, sizeof *remote);
    if (!remote)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a client");
    remote->users = 1;
    pthread_mutex_init(&remote->lock, NULL);
    ff_list_init(&remote->idle);
    ff_list_init(&remote->busy);
    while (len && url[len - 1] == '/')
        len--;
    const char *const ca = getenv("FF_TLS_CA");
    if (ca && ca[0] && strncmp(url, "https:", 6) == 0 && access(ca, R_OK) != 0)
        return ff_fail_field(reterr, FF_INVALID, "FF_TLS_CA", "cannot read FF_TLS_CA '%s': %s", ca,
                             strerror(errno));
    remote->url = copy_of(url, len);
    remote->ca = ca && ca[0] ? copy_of(ca, strlen(ca)) : NULL;
    if (!remote->url || (ca && ca[0] && !remote->ca))
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a client");
    FF_TRY(add_header(remote, "Content-Type: application/json", reterr));
    FF_TRY(add_header(remote, "Accept: application/json", reterr));
    FF_TRY(add_header(remote, "Expect:", reterr));
    FF_TRY(add_token(remote, token, reterr));
    *ret = FF_STEAL(remote);
    return FF_OK;
}

/* ---- handles -----------------------------------------------------------------------------------
 */

static struct handle *handle_new(void)
{
    struct handle *const handle = ff_calloc(1, sizeof *handle);

    if (!handle)
        return NULL;
    handle->curl = curl_easy_init();
    handle->multi = curl_multi_init();
    if (handle->curl && handle->multi)
        return handle;
    handle_free(handle);
    return NULL;
}

static struct handle *borrow(struct ff_remote *remote)
{
    struct ff_list_node *node;
    struct handle *handle;

    pthread_mutex_lock(&remote->lock);
    node = ff_list_pop_front(&remote->idle);
    remote->idle_count -= node != NULL;
    pthread_mutex_unlock(&remote->lock);
    handle = node ? ff_list_item(node, struct handle, link) : handle_new();
    if (!handle)
        return NULL;
    pthread_mutex_lock(&remote->lock);
    ff_list_push_back(&remote->busy, &handle->link);
    pthread_mutex_unlock(&remote->lock);
    return handle;
}

static void give_back(struct ff_remote *remote, struct handle *handle)
{
    bool kept;

    curl_easy_reset(handle->curl);
    pthread_mutex_lock(&remote->lock);
    ff_list_remove(&handle->link);
    kept = remote->idle_count < IDLE_HANDLES_MAX;
    if (kept) {
        ff_list_push_front(&remote->idle, &handle->link);
        remote->idle_count++;
    }
    pthread_mutex_unlock(&remote->lock);
    if (!kept)
        handle_free(handle);
}

/* ---- one trip ----------------------------------------------------------------------------------
 */

struct trip_state {
    struct ff_trip *trip;
    struct ff_arena *arena;
    size_t sent;
    char *data;
    size_t len, cap;
    bool too_large, no_memory; /* for what the server says */
};

static size_t on_read(char *to, size_t size, size_t count, void *ctx)
{
    struct trip_state *const state = ctx;
    const struct ff_str rest = ff_str_slice(state->trip->body, state->sent, size * count);

    memcpy(to, rest.ptr, rest.len);
    state->sent += rest.len;
    return rest.len;
}

static size_t on_write(char *from, size_t size, size_t count, void *ctx)
{
    struct trip_state *const state = ctx;
    const size_t len = size * count;

    if (state->len + len > ANSWER_BYTES_MAX) {
        state->too_large = true;
        return 0;
    }
    if (state->len + len + 1 > state->cap) {
        const size_t cap = ff_max_size(2 * state->cap, state->len + len + 4096);
        char *const bigger = ff_arena_grow(state->arena, state->data, state->cap, cap);

        if (!bigger) {
            state->no_memory = true;
            return 0;
        }
        state->data = bigger;
        state->cap = cap;
    }
    memcpy(state->data + state->len, from, len);
    state->len += len;
    state->data[state->len] = '\0';
    return len;
}

/* A claim that waits has been given nothing yet, and whoever looks changes nothing. */
static bool is_unwanted(const struct ff_remote *remote, const struct ff_trip *trip)
{
    return trip->waiter && (atomic_load(&trip->waiter->closing) || ff_remote_is_closed(remote));
}

/* Until its end, or until it looks again. */
static int64_t left_ms(const struct ff_trip *trip)
{
    const struct ff_clock clock = ff_clock_system();
    const int64_t until_ms = atomic_load(trip->until_ms);

    return until_ms ? ff_min_i64(until_ms - ff_clock_mono_ms(&clock), POLL_MS) : POLL_MS;
}

/* As curl_easy_perform, but can be woken. */
static CURLcode go(const struct ff_remote *remote, const struct handle *handle,
                   const struct ff_trip *trip)
{
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    const CURLMsg *message;
    int64_t ms;
    int running = 1, left;

    if (curl_multi_add_handle(handle->multi, handle->curl) != CURLM_OK)
        return CURLE_OUT_OF_MEMORY;
    while (running && !is_unwanted(remote, trip)) {
        if ((ms = left_ms(trip)) <= 0) {
            code = CURLE_OPERATION_TIMEDOUT;
            break;
        }
        if (curl_multi_perform(handle->multi, &running) != CURLM_OK ||
            (running && curl_multi_poll(handle->multi, NULL, 0, (int)ms, NULL) != CURLM_OK)) {
            code = CURLE_OUT_OF_MEMORY;
            break;
        }
    }
    while ((message = curl_multi_info_read(handle->multi, &left)))
        if (message->msg == CURLMSG_DONE)
            code = message->data.result;
    (void)curl_multi_remove_handle(handle->multi, handle->curl);
    return code;
}

/* Whether the server can have seen the request at all. */
static bool was_sent(CURL *curl)
{
    curl_off_t before_us = 0;

    /* The moment just before the request goes out. */
    return curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &before_us) != CURLE_OK ||
           before_us > 0;
}

static ff_status explain(CURL *curl, CURLcode code, const struct trip_state *state, const char *why,
                         struct ff_error *reterr)
{
    /* The server had closed a kept connection, and we do not say anything twice. */
    const char *const text = code == CURLE_SEND_FAIL_REWIND ? "connection closed"
                             : why[0]                       ? why
                                                            : curl_easy_strerror(code);

    if (state->too_large && !state->trip->body.ptr)
        return ff_fail(reterr, FF_TOO_LARGE, "the answer has more than %d bytes", ANSWER_BYTES_MAX);
    if (state->no_memory && !state->trip->body.ptr)
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for the answer");
    if ((code == CURLE_OUT_OF_MEMORY || code == CURLE_WRITE_ERROR) && !was_sent(curl))
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for the call");
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return ff_fail(reterr, FF_CLOSED, "client is being closed");
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return ff_fail(reterr, FF_UNAVAILABLE,
                       "the server is not trusted: %s (FF_TLS_CA names a file of certificates)",
                       text);
    if (!was_sent(curl))
        return ff_fail(reterr, FF_UNAVAILABLE, "the server is away: %s", text);
    if (!state->trip->body.ptr)
        return ff_fail(reterr, code == CURLE_OPERATION_TIMEDOUT ? FF_TIMEOUT : FF_UNAVAILABLE,
                       "the server did not answer: %s", text);
    (void)ff_fail(reterr, FF_OUTCOME_UNKNOWN, "the server did not say whether this was done: %s",
                  text);
    if (reterr)
        reterr->repeatable = state->trip->repeatable;
    return FF_OUTCOME_UNKNOWN;
}

static ff_status perform(struct ff_remote *remote, const struct handle *handle,
                         struct trip_state *state, struct ff_error *reterr)
{
    CURL *const curl = handle->curl;
    struct ff_trip *const trip = state->trip;
    const struct ff_str url = ff_arena_printf(state->arena, "%s%s", remote->url, trip->path);
    char why[CURL_ERROR_SIZE] = "";
    const char *type = NULL;

    FF_TRY(ff_arena_check(state->arena, reterr));
    (void)curl_easy_setopt(curl, CURLOPT_URL, url.ptr);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, remote->headers);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    if (remote->ca)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, remote->ca);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)trip->timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                           (long)ff_min_i64(trip->timeout_ms, CONNECT_MS_MAX));
    (void)curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, (long)CONNECTION_AGE_S);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_write);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, state);
    if (trip->body.ptr) {
        (void)curl_easy_setopt(curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)trip->body.len);
        (void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
        (void)curl_easy_setopt(curl, CURLOPT_READDATA, state);
    }
    const CURLcode code = go(remote, handle, trip);
    if (code != CURLE_OK)
        return explain(curl, code, state, why, reterr);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &trip->http);
    (void)curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    trip->content_type = ff_arena_str(state->arena, ff_str_of(type)).ptr;
    if (state->arena->failed) {
        state->no_memory = true;
        return explain(curl, CURLE_OUT_OF_MEMORY, state, why, reterr);
    }
    trip->bytes = (struct ff_str){state->data ? state->data : "", state->len};
    return FF_OK;
}

ff_status ff_remote_trip(struct ff_remote *remote, struct ff_trip *trip, struct ff_arena *arena,
                         struct ff_error *reterr)
{
    struct trip_state state = {.trip = trip, .arena = arena};
    struct handle *const handle = borrow(remote);

    if (!handle)
        return ff_fail(reterr, FF_NO_MEMORY, "no memory for a connection");
    const ff_status status = perform(remote, handle, &state, reterr);
    give_back(remote, handle);
    return status;
}
