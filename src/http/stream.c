/* SPDX-License-Identifier: Apache-2.0
 *
 * stream.c -- event streams: pieces of text that are sent as they come, without a thread each.
 *
 * One piece is made when the last one has been read, so a slow reader costs one piece and what the
 * follower keeps for it. While a piece is made its connection is suspended: whoever makes it need
 * not fear that the stream ends meanwhile. Tests: tests/e2e/test_http_events.py. */
#include "http/stream.h"

#include <string.h>

#include "api/events.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "http/limits.h"
#include "http/server-int.h"
#include "model/cursor.h"

#include "base/banned.h"

#define STREAM_TYPE  "text/event-stream"
#define PIECE_EVENTS 64
#define CHUNK_BYTES  4096
#define RESUME_MAX   64

struct ff_stream {
    struct ff_step step; /* first */
    struct ff_list_node node;
    struct ff_request *request;
    struct ff_follow *follow;
    pthread_mutex_t lock; /* of the rest; inside of the server's and the follower's */
    struct ff_arena arena;
    struct ff_str piece;
    size_t at;      /* bytes of it that have gone */
    bool suspended; /* the connection sleeps until there is a piece */
    bool making;    /* somebody makes one; implies suspended */
    bool ready;     /* the follower has something */
    bool over;      /* the stream ends after this piece */
    bool quiet;     /* it has been silent: the next piece says at least how far it is */
    int64_t sent_mono_ms;
    int64_t cursor, told; /* how far it is, and how far the client knows */
};

/* ---- text --------------------------------------------------------------------------------------
 */

static void add_event(struct ff_strbuf *out, const struct ff_event_info *event)
{
    json_t *const json = ff_json_event(event);

    if (!json) {
        out->problem = FF_NO_MEMORY;
        return;
    }
    ff_strbuf_addf(out, "id: %s\nevent: %s.%s\ndata: ", event->cursor, event->kind, event->type);
    ff_json_write(out, json);
    ff_strbuf_adds(out, "\n\n");
    json_decref(json);
}

ff_status ff_stream_text(struct ff_arena *arena, const struct ff_followed *taken,
                         struct ff_str *ret, struct ff_error *reterr)
{
    struct ff_strbuf out = ff_strbuf_in(arena, FF_HTTP_ANSWER_BYTES_MAX);
    struct ff_event_info *infos = NULL;
    char cursor[FF_EVENT_CURSOR_BYTES];

    if (taken->notice != FF_NOTICE_NONE) {
        ff_event_cursor(taken->cursor, cursor);
        ff_strbuf_addf(&out,
                       "id: %s\nevent: notice\ndata: {\"notice\":\"%s\",\"cursor\":\"%s\"}\n\n",
                       cursor, ff_notice_name(taken->notice), cursor);
    }
    FF_TRY(ff_event_infos(arena, taken, &infos, reterr));
    for (size_t i = 0; i < taken->count; i++)
        add_event(&out, &infos[i]);
    return ff_strbuf_take(&out, ret, reterr);
}

/* ---- making pieces, on a pool -----------------------------------------------------------------
 */

/* What a stream that was silent says: nothing, but how far it is. */
static struct ff_str place_text(struct ff_stream *stream)
{
    char cursor[FF_EVENT_CURSOR_BYTES];
    struct ff_str text;

    if (stream->told == stream->cursor)
        return FF_STR(": \n\n");
    ff_event_cursor(stream->cursor, cursor);
    text = ff_arena_printf(&stream->arena, ": \nid: %s\n\n", cursor);
    if (text.len)
        stream->told = stream->cursor;
    return text;
}

static void make_piece(struct ff_stream *stream)
{
    struct ff_followed taken = {0};
    struct ff_error error;
    struct ff_str text = {0};

    ff_arena_reset(&stream->arena);
    ff_status status = ff_follow_take(stream->follow, &stream->arena, PIECE_EVENTS, &taken, &error);
    if (status == FF_OK)
        status = ff_stream_text(&stream->arena, &taken, &text, &error);
    pthread_mutex_lock(&stream->lock);
    stream->piece = text;
    stream->at = 0;
    if (status == FF_OK) {
        stream->cursor = taken.cursor;
        stream->ready = stream->ready || taken.more;
        if (taken.count) /* what was filtered out behind it is told once it is quiet */
            stream->told = taken.items[taken.count - 1].event_id;
        else if (taken.notice)
            stream->told = taken.cursor;
        else if (stream->quiet)
            stream->piece = place_text(stream);
        stream->quiet = false;
    } else {
        stream->over = true; /* the client comes back with the cursor it has */
    }
    pthread_mutex_unlock(&stream->lock);
}

static void run_making(struct ff_step *step)
{
    struct ff_stream *const stream = (struct ff_stream *)(void *)step;
    struct MHD_Connection *const connection = stream->request->connection;
    bool resumes = false, again;

    do {
        pthread_mutex_lock(&stream->lock);
        stream->ready = false;
        pthread_mutex_unlock(&stream->lock);
        make_piece(stream);
        pthread_mutex_lock(&stream->lock);
        resumes = stream->piece.len > 0 || stream->over;
        again = !resumes && stream->ready;
        if (!again) {
            stream->making = false;
            stream->suspended = !resumes;
        }
        pthread_mutex_unlock(&stream->lock);
    } while (again);
    if (resumes)
        MHD_resume_connection(connection);
}

/* Under the stream's lock. */
static void start_making(struct ff_stream *stream)
{
    stream->making = true;
    stream->step.run = run_making;
    ff_pool_add(stream->request->server->look, &stream->step);
}

void ff_stream_ready(struct ff_request *request)
{
    struct ff_stream *const stream = request->state;

    pthread_mutex_lock(&stream->lock);
    stream->ready = true;
    if (stream->suspended && !stream->making)
        start_making(stream);
    pthread_mutex_unlock(&stream->lock);
}

/* ---- sending, on libmicrohttpd's thread -------------------------------------------------------
 */

static ssize_t send_piece(void *ctx, uint64_t position, char *out, size_t max)
{
    struct ff_stream *const stream = ctx;
    struct ff_request *const request = stream->request;
    ssize_t sent = 0;

    (void)position;
    pthread_mutex_lock(&stream->lock);
    if (stream->at < stream->piece.len) {
        const size_t bytes = ff_min_size(max, stream->piece.len - stream->at);

        memcpy(out, stream->piece.ptr + stream->at, bytes);
        stream->at += bytes;
        stream->sent_mono_ms = ff_server_mono_ms(request->server);
        sent = (ssize_t)bytes;
    } else if (stream->over) {
        sent = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        stream->suspended = true;
        MHD_suspend_connection(request->connection);
        if (stream->ready)
            start_making(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    if (sent)
        ff_link_allow(request->server, request->conn, FF_HTTP_STALL_MS);
    return sent;
}

static void stream_free(struct ff_request *request)
{
    struct ff_stream *const stream = request->state;
    struct ff_server *const server = request->server;

    pthread_mutex_lock(&server->lock);
    ff_list_remove(&stream->node);
    pthread_mutex_unlock(&server->lock);
    server->metrics.streams--;
    ff_follow_free(stream->follow);
    ff_arena_done(&stream->arena);
    pthread_mutex_destroy(&stream->lock);
}

/* Without a body, and so without an end of one: libmicrohttpd would send the last chunk of a body
 * of unknown size after a HEAD, too, where the next answer is expected. */
static bool answer_head(struct ff_request *request, struct ff_follow *follow)
{
    ff_follow_free(follow);
    return ff_answer_bytes(request, 200, STREAM_TYPE, ff_str_null());
}

bool ff_answer_stream(struct ff_request *request, struct ff_follow *follow, struct ff_str first)
{
    struct ff_stream *const stream = ff_arena_alloc(&request->arena, sizeof *stream);
    struct ff_server *const server = request->server;
    struct MHD_Response *response;

    if (strcmp(request->method, "HEAD") == 0)
        return answer_head(request, follow);
    if (!stream) {
        ff_follow_free(follow);
        return ff_answer_fail(request, FF_NO_MEMORY, NULL, "cannot hold the stream");
    }
    ff_arena_init(&stream->arena, CHUNK_BYTES, FF_HTTP_ANSWER_BYTES_MAX);
    pthread_mutex_init(&stream->lock, NULL);
    stream->request = request;
    stream->follow = follow;
    stream->piece = first;
    stream->ready = true; /* there may be more */
    stream->sent_mono_ms = ff_server_mono_ms(server);
    request->state = stream;
    request->drop = stream_free;
    request->streaming = true;
    pthread_mutex_lock(&server->lock);
    ff_list_push_back(&server->streams, &stream->node);
    pthread_mutex_unlock(&server->lock);
    server->metrics.streams++;
    response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK_BYTES, send_piece, stream, NULL);
    (void)ff_answer_response(request, 200, response);
    ff_answer_header(request, MHD_HTTP_HEADER_CONTENT_TYPE, STREAM_TYPE);
    ff_answer_header(request, "X-Accel-Buffering", "no");
    return true;
}

/* ---- looking after them, on the watcher's thread ----------------------------------------------
 */

/* One that has been silent for long makes a piece; one that ends is only to be woken. */
static bool nudge(struct ff_stream *stream, int64_t now_ms, bool is_over)
{
    bool resumes = false;

    pthread_mutex_lock(&stream->lock);
    stream->over = stream->over || is_over;
    if (stream->suspended && !stream->making && is_over) {
        stream->suspended = false;
        resumes = true;
    } else if (stream->suspended && !stream->making &&
               now_ms - stream->sent_mono_ms >= stream->request->server->sse_comment_ms) {
        stream->quiet = true;
        start_making(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    return resumes;
}

void ff_streams_look(struct ff_server *server)
{
    const int64_t now_ms = ff_server_mono_ms(server);
    struct MHD_Connection *sleeping[RESUME_MAX];
    size_t count = 0;

    pthread_mutex_lock(&server->lock);
    FF_LIST_FOR_EACH(node, &server->streams)
    {
        struct ff_stream *const stream = ff_list_item(node, struct ff_stream, node);

        if (count < RESUME_MAX && nudge(stream, now_ms, server->draining))
            sleeping[count++] = stream->request->connection;
    }
    pthread_mutex_unlock(&server->lock);
    /* They cannot end before they are resumed. */
    for (size_t i = 0; i < count; i++)
        MHD_resume_connection(sleeping[i]);
}
