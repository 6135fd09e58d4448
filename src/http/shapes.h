/* SPDX-License-Identifier: Apache-2.0
 *
 * shapes.h -- what the bodies and queries of requests hold.
 *
 * Private to src/http. Tests: tests/e2e/test_http.py, by way of /openapi.json. */
#ifndef FF_HTTP_SHAPES_H
#define FF_HTTP_SHAPES_H

#include "api/fields.h"

#include <flowfabric.h>

/* A bulk call: each item is read by itself. */
struct ff_items {
    const json_t *items;
};
struct ff_reason_body {
    const char *reason;
};
struct ff_priority_body {
    int64_t priority;
};
struct ff_tags_body {
    const struct ff_tag_pair *set;
    size_t set_count;
    const char *const *remove;
    size_t remove_count;
};
struct ff_where_body {
    struct ff_filter filter;
    const char *tag;
    const char *reason;
};
struct ff_filter_query {
    struct ff_filter filter;
    const char *tag; /* "name:value" or "name" */
};
struct ff_wait_query {
    int64_t wait_ms;
};
struct ff_result_query {
    int32_t generation; /* -1: the live one */
};
struct ff_page_query {
    int32_t limit;
    const char *cursor;
};
struct ff_event_query {
    struct ff_event_filter filter;
    const char *after, *kinds; /* joined by commas */
    const char *partition;     /* one, or two joined by '-' */
    int32_t limit;
    int64_t wait_ms;
};
struct ff_verbose_query {
    bool verbose;
};

extern const struct ff_shape ff_shape_submissions, ff_shape_reason, ff_shape_replay,
    ff_shape_priority, ff_shape_tags, ff_shape_where, ff_shape_claim;
extern const struct ff_shape ff_shape_renewal, ff_shape_completion, ff_shape_failure,
    ff_shape_progress, ff_shape_postponement, ff_shape_giveback;
extern const struct ff_shape ff_shape_renewals, ff_shape_completions, ff_shape_failures,
    ff_shape_progresses, ff_shape_postponements, ff_shape_givebacks;
extern const struct ff_shape ff_shape_filter_query, ff_shape_wait_query, ff_shape_result_query,
    ff_shape_page_query, ff_shape_verbose_query, ff_shape_flow_query, ff_shape_event_query;

#endif
