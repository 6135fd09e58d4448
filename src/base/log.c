/* SPDX-License-Identifier: Apache-2.0
 *
 * log.c -- one line per event for the operator.
 *
 * A line is built on the stack and handed to the sink in one piece, so lines of two threads never
 * mix. Pieces go in whole or not at all: a character or JSON member that does not fit ends the
 * line there, and room for the ending is always kept.
 * Tests: tests/unit/test_log.c. */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#include "base/banned.h"

#define MESSAGE_BYTES_MAX 2048

/* The longest ending: a closing quote, the note that something is missing, brace and newline. */
#define ENDING_BYTES_MAX 32
#define CUT_JSON         ",\"cut\":true"
#define CUT_TEXT         " [cut]"

struct line {
    size_t len;
    bool cut;
    char text[FF_LOG_LINE_BYTES_MAX];
};

struct event {
    enum ff_log_level level;
    bool cut; /* the message has already lost its end */
    const char *area;
    struct ff_str message;
    const struct ff_log_field *fields;
};

static void stderr_sink(void *ctx, enum ff_log_level level, struct ff_str line);

static atomic_int max_level = FF_LOG_WARN;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Everything below is read and written under `lock`. */
static ff_log_sink *current_sink = stderr_sink;
static void *current_ctx;
static enum ff_log_format current_format = FF_LOG_TEXT;
static struct ff_clock current_clock; /* without functions: the system's */

/* One write per line. Nobody can be told when it fails. */
static void stderr_sink(void *ctx FF_UNUSED, enum ff_log_level level FF_UNUSED, struct ff_str line)
{
    size_t at = 0;

    while (at < line.len) {
        const ssize_t wrote = write(STDERR_FILENO, line.ptr + at, line.len - at);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return;
        at += (size_t)wrote;
    }
}

/* Adds `s` if it fits whole; else the line ends here. */
static bool put(struct line *line, struct ff_str s)
{
    if (line->cut || line->len + s.len > sizeof line->text - ENDING_BYTES_MAX) {
        line->cut = true;
        return false;
    }
    if (s.len > 0)
        memcpy(line->text + line->len, s.ptr, s.len);
    line->len += s.len;
    return true;
}

/* For endings, which use the room kept for them. */
static void put_ending(struct line *line, struct ff_str s)
{
    assert(s.len <= sizeof line->text - line->len);
    memcpy(line->text + line->len, s.ptr, s.len);
    line->len += s.len;
}

/* C0, DEL, and C1 in its two-byte UTF-8 form; terminals act on all of them. */
static bool is_control(struct ff_str character)
{
    const unsigned char c = (unsigned char)character.ptr[0];

    if (character.len == 1)
        return c < 0x20 || c == 0x7f;
    return character.len == 2 && c == 0xc2 && (unsigned char)character.ptr[1] < 0xa0;
}

static void put_control(struct line *line, unsigned char c, enum ff_log_format format)
{
    char escape[8];

    if (c == '\n')
        put(line, FF_STR("\\n"));
    else if (c == '\t')
        put(line, FF_STR("\\t"));
    else if (c == '\r')
        put(line, FF_STR("\\r"));
    else {
        snprintf(escape, sizeof escape, format == FF_LOG_JSON ? "\\u%04x" : "\\x%02x", c);
        put(line, ff_str_of(escape));
    }
}

/* `quoted` text also escapes what would end the quotes. */
static void put_escaped(struct line *line, struct ff_str s, enum ff_log_format format, bool quoted)
{
    size_t step;

    for (size_t at = 0; at < s.len && !line->cut; at += step) {
        const size_t valid = ff_str_utf8_step(ff_str_slice(s, at, s.len));

        step = valid ? valid : 1;

        const struct ff_str character = ff_str_slice(s, at, step);
        const unsigned char last = (unsigned char)character.ptr[step - 1];

        if (!valid && format == FF_LOG_JSON)
            put(line, FF_STR("\\ufffd"));
        else if (!valid || is_control(character))
            put_control(line, last, format);
        else if (quoted && (last == '"' || last == '\\'))
            put(line, last == '"' ? FF_STR("\\\"") : FF_STR("\\\\"));
        else
            put(line, character);
    }
}

/* A JSON string; once the opening quote is in, the closing one always follows. */
static void put_json_string(struct line *line, struct ff_str prefix, struct ff_str s)
{
    if (!put(line, prefix))
        return;
    put_escaped(line, s, FF_LOG_JSON, true);
    put_ending(line, FF_STR("\""));
}

static void put_json_field(struct line *line, const struct ff_log_field *field)
{
    char piece[128];

    if (field->is_number)
        snprintf(piece, sizeof piece, ",\"%.80s\":%" PRId64, field->key, field->number);
    else if (ff_str_is_null(field->text))
        snprintf(piece, sizeof piece, ",\"%.80s\":null", field->key);
    else
        snprintf(piece, sizeof piece, ",\"%.80s\":\"", field->key);
    if (field->is_number || ff_str_is_null(field->text))
        put(line, ff_str_of(piece));
    else
        put_json_string(line, ff_str_of(piece), field->text);
}

static void write_json(struct line *line, const struct event *event, const char *time)
{
    char head[128];

    snprintf(head, sizeof head, "{\"time\":\"%s\",\"level\":\"%s\",\"area\":\"%.32s\"", time,
             ff_log_level_name(event->level), event->area);
    put(line, ff_str_of(head));
    put_json_string(line, FF_STR(",\"message\":\""), event->message);
    line->cut |= event->cut;
    for (const struct ff_log_field *field = event->fields; field && field->key; field++)
        put_json_field(line, field);
    if (line->cut)
        put_ending(line, FF_STR(CUT_JSON));
    put_ending(line, FF_STR("}\n"));
}

/* Empty values and values with spaces, quotes or equal signs would be read wrongly without
 * quotes. */
static bool needs_quotes(struct ff_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == ' ' || s.ptr[i] == '"' || s.ptr[i] == '=' || s.ptr[i] == '\\')
            return true;
    }
    return s.len == 0;
}

static void put_text_field(struct line *line, const struct ff_log_field *field)
{
    char piece[128];

    snprintf(piece, sizeof piece, " %.80s=", field->key);
    put(line, ff_str_of(piece));
    if (field->is_number) {
        snprintf(piece, sizeof piece, "%" PRId64, field->number);
        put(line, ff_str_of(piece));
    } else if (!ff_str_is_null(field->text)) {
        const bool quoted = needs_quotes(field->text);

        put(line, quoted ? FF_STR("\"") : FF_STR(""));
        put_escaped(line, field->text, FF_LOG_TEXT, quoted);
        put(line, quoted ? FF_STR("\"") : FF_STR(""));
    }
}

static void write_text(struct line *line, const struct event *event, const char *time)
{
    char head[128];

    snprintf(head, sizeof head, "%s %s %.32s: ", time, ff_log_level_name(event->level),
             event->area);
    put(line, ff_str_of(head));
    put_escaped(line, event->message, FF_LOG_TEXT, false);
    line->cut |= event->cut;
    for (const struct ff_log_field *field = event->fields; field && field->key; field++)
        put_text_field(line, field);
    if (line->cut)
        put_ending(line, FF_STR(CUT_TEXT));
    put_ending(line, FF_STR("\n"));
}

static void emit(const struct event *event)
{
    struct line line;
    char time[FF_TIME_TEXT_BYTES];

    line.len = 0;
    line.cut = false;
    pthread_mutex_lock(&lock);

    const struct ff_clock clock = current_clock.real_ms ? current_clock : ff_clock_system();

    ff_time_format_utc(ff_clock_real_ms(&clock), time);
    if (current_format == FF_LOG_JSON)
        write_json(&line, event, time);
    else
        write_text(&line, event, time);
    current_sink(current_ctx, event->level, (struct ff_str){.ptr = line.text, .len = line.len});
    pthread_mutex_unlock(&lock);
}

void ff_log_set_sink(ff_log_sink *sink, void *ctx)
{
    pthread_mutex_lock(&lock);
    current_sink = sink ? sink : stderr_sink;
    current_ctx = sink ? ctx : NULL;
    pthread_mutex_unlock(&lock);
}

void ff_log_set_format(enum ff_log_format format)
{
    pthread_mutex_lock(&lock);
    current_format = format;
    pthread_mutex_unlock(&lock);
}

void ff_log_set_level(enum ff_log_level level)
{
    atomic_store(&max_level, (int)level);
}

void ff_log_set_clock(const struct ff_clock *clock)
{
    pthread_mutex_lock(&lock);
    current_clock = clock ? *clock : (struct ff_clock){.ctx = NULL};
    pthread_mutex_unlock(&lock);
}

bool ff_log_enabled(enum ff_log_level level)
{
    return (int)level <= atomic_load_explicit(&max_level, memory_order_relaxed);
}

static const char *const level_names[] = {
    [FF_LOG_ERROR] = "error",
    [FF_LOG_WARN] = "warn",
    [FF_LOG_INFO] = "info",
    [FF_LOG_DEBUG] = "debug",
};

const char *ff_log_level_name(enum ff_log_level level)
{
    assert((size_t)level < FF_ARRAY_LEN(level_names));
    return level_names[level];
}

bool ff_log_level_parse(struct ff_str name, enum ff_log_level *ret_level)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(level_names); i++) {
        if (ff_str_eq(name, ff_str_of(level_names[i]))) {
            *ret_level = (enum ff_log_level)i;
            return true;
        }
    }
    return false;
}

void ff_log(enum ff_log_level level, const char *area, const char *fmt, ...)
{
    char message[MESSAGE_BYTES_MAX];
    struct event event = {.level = level, .area = area};
    va_list args;

    if (!ff_log_enabled(level))
        return;
    va_start(args, fmt);

    const int len = vsnprintf(message, sizeof message, fmt, args);

    va_end(args);
    event.message = len < 0 ? FF_STR("(message cannot be shown)") : ff_str_of(message);
    event.cut = len >= (int)sizeof message;
    emit(&event);
}

void ff_log_event(enum ff_log_level level, const char *area, const char *message,
                  const struct ff_log_field *fields)
{
    if (!ff_log_enabled(level))
        return;
    emit(&(struct event){
        .level = level, .area = area, .message = ff_str_of(message), .fields = fields});
}
