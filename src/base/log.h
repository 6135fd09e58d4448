/* SPDX-License-Identifier: Apache-2.0
 *
 * log.h -- one line per event for the operator, as text or as JSON.
 *
 * Only engine, http and cli log; everyone else returns a status. Thread safe. Until told
 * otherwise: text on stderr, warnings and errors only. A line is at most FF_LOG_LINE_BYTES_MAX
 * long; what does not fit is cut and the line says so. Control characters never reach the sink.
 * Tests: tests/unit/test_log.c. */
#ifndef FF_BASE_LOG_H
#define FF_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "flowfabric.h"

#define FF_LOG_LINE_BYTES_MAX 4096

struct ff_clock;

enum ff_log_level {
    FF_LOG_ERROR, /* somebody must act */
    FF_LOG_WARN,  /* somebody should look */
    FF_LOG_INFO,  /* what an operator wants to know on a normal day */
    FF_LOG_DEBUG,
};

enum ff_log_format {
    FF_LOG_TEXT, /* 2026-01-31T23:59:59.999Z warn engine: store is slow latency_ms=210 */
    FF_LOG_JSON, /* {"time":"...","level":"warn","area":"engine","message":"...","latency_ms":210}
                  */
};

/* Made by ff_log_str and ff_log_i64. Keys are C identifiers, written as they are. */
struct ff_log_field {
    const char *key;
    struct ff_str text;
    int64_t number;
    bool is_number;
};

/* Gets one whole line, newline included. Called with the logger's lock held: it must not log. */
typedef void ff_log_sink(void *ctx, enum ff_log_level level, struct ff_str line);

/* NULL puts stderr back. After return the old sink is not called any more. */
void ff_log_set_sink(ff_log_sink *sink, void *ctx);
void ff_log_set_format(enum ff_log_format format);
void ff_log_set_level(enum ff_log_level level);

/* Where the time stamps come from; NULL puts the system clock back. Copied. */
void ff_log_set_clock(const struct ff_clock *clock);

/* For messages that are expensive to prepare. */
bool ff_log_enabled(enum ff_log_level level);

/* "error", "warn", "info", "debug". */
const char *ff_log_level_name(enum ff_log_level level);
FF_MUST_CHECK bool ff_log_level_parse(struct ff_str name, enum ff_log_level *ret_level);

/* `area` is the folder that speaks: "engine", "http", "cli". */
void ff_log(enum ff_log_level level, const char *area, const char *fmt, ...) FF_PRINTF(3, 4);

/* ff_log_event(FF_LOG_WARN, "engine", "store is slow",
 *              FF_LOG_FIELDS(ff_log_i64("latency_ms", 210))); */
void ff_log_event(enum ff_log_level level, const char *area, const char *message,
                  const struct ff_log_field *fields);

#define FF_LOG_FIELDS(...) ((const struct ff_log_field[]){__VA_ARGS__, {.key = NULL, .number = 0}})

static inline struct ff_log_field ff_log_str(const char *key, struct ff_str text)
{
    return (struct ff_log_field){.key = key, .text = text};
}

static inline struct ff_log_field ff_log_i64(const char *key, int64_t number)
{
    return (struct ff_log_field){.key = key, .number = number, .is_number = true};
}

#endif
