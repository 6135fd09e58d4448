/* SPDX-License-Identifier: Apache-2.0
 *
 * json.h -- the contract's JSON: strict reading, exact writing, and the shapes of all answers.
 *
 * For the CLI and the HTTP server; not exported. Readers name the field they refuse; writers return
 * a new reference, or NULL without memory. Values are kept as values: 64-bit integers, doubles in
 * the shortest form that reads back equal, members in their order.
 * Read first: src/api/README.md. Tests: tests/unit/test_json.c. */
#ifndef FF_API_JSON_H
#define FF_API_JSON_H

#include "base/arena.h"
#include "base/macros.h"
#include "base/strbuf.h"

#include <flowfabric.h>
#include <jansson.h>

static inline void ff_json_freep(json_t **json)
{
    json_decref(*json);
}

/* --- text ------------------------------------------------------------------------------------ */

/* One JSON value and nothing else. FF_INVALID: not JSON, duplicate keys, NUL, numbers beyond 64
 * bits or what a double holds, nested deeper than FF_JSON_DEPTH_MAX. */
FF_MUST_CHECK ff_status ff_json_parse(struct ff_str text, json_t **ret_json,
                                      struct ff_error *reterr);
/* Bytes that are said to be JSON (NULL: no content type) must be; FF_INVALID names the field. */
FF_MUST_CHECK ff_status ff_json_check(struct ff_str bytes, const char *content_type,
                                      const char *field, struct ff_error *reterr);
/* A digest that is equal for equal values, whatever the order of members; absent if it is not said
 * to be JSON. */
FF_MUST_CHECK ff_status ff_json_same(struct ff_str bytes, const char *content_type,
                                     struct ff_arena *arena, struct ff_str *ret,
                                     struct ff_error *reterr);
/* Compact, on one line. */
void ff_json_write(struct ff_strbuf *out, const json_t *json);
FF_MUST_CHECK ff_status ff_json_text(const json_t *json, struct ff_arena *arena, size_t max_bytes,
                                     struct ff_str *ret_text, struct ff_error *reterr);

/* --- reading (json-read.c)
 * ------------------------------------------------------------------- */

/* Texts and arrays of the result live in `arena`. FF_UNKNOWN_FIELD, FF_INVALID and FF_TOO_LARGE
 * name the field by its path. A member that is null counts as absent. */
FF_MUST_CHECK ff_status ff_json_submission(const json_t *json, struct ff_arena *arena,
                                           struct ff_submission *ret, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_json_policy(const json_t *json, struct ff_arena *arena,
                                       struct ff_policy_spec *ret, struct ff_error *reterr);
/* The body of flow.create, and of flow.grow (the flow is named elsewhere). */
FF_MUST_CHECK ff_status ff_json_flow(const json_t *json, struct ff_arena *arena,
                                     struct ff_flow_request *ret, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_json_growth(const json_t *json, struct ff_arena *arena,
                                       struct ff_flow_request *ret, struct ff_error *reterr);
/* The body of flow.cancel; read by ff_shape_flow_cancel. */
struct ff_json_flow_cancel {
    const char *reason, *policy; /* NULL: not given */
};

/* --- writing (json-write.c, json-info.c, json-flow.c)
 * ----------------------------------------------------- */

json_t *ff_json_problem(ff_status status, const struct ff_error *error);
/* {"error": problem} for a failed item. */
json_t *ff_json_submitted(const struct ff_submitted *submitted);
json_t *ff_json_info(const struct ff_info *info);
json_t *ff_json_summary(const struct ff_info *info);
json_t *ff_json_list(const struct ff_info_list *list);
json_t *ff_json_attempts(const struct ff_attempt_list *list);
json_t *ff_json_event(const struct ff_event_info *event);
/* How the JSON calls note, num_a and num_b of such an event. */
struct ff_json_event_names {
    const char *note, *num_a, *num_b;
};
struct ff_json_event_names ff_json_event_names(const char *kind, const char *type);
json_t *ff_json_events(const struct ff_event_list *list);
json_t *ff_json_explanation(const struct ff_explanation *explanation);
json_t *ff_json_lanes(const struct ff_lane_list *list);
json_t *ff_json_workers(const struct ff_worker_list *list);
json_t *ff_json_scanners(const struct ff_scanner_list *list);
/* The detail of a finding that stands for all that are not told. */
#define FF_FINDING_MORE "there are more than 100 of these, the others are not told"
json_t *ff_json_findings(const struct ff_findings *findings);
json_t *ff_json_flow_made(const struct ff_flow_made *flow);
json_t *ff_json_flow_info(const struct ff_flow_info *info);
json_t *ff_json_flows(const struct ff_flow_info_list *list);
json_t *ff_json_flow_cancelled(const struct ff_flow_cancelled *cancelled);
json_t *ff_json_bulk_result(const struct ff_bulk_result *result);
json_t *ff_json_tasks(const struct ff_tasks *tasks);
json_t *ff_json_task_result(const struct ff_task_result *result);

/* --- for the writers ------------------------------------------------------------------------- */

/* An object being built; `failed` once anything had no memory. */
struct ff_json_maker {
    json_t *object;
    bool failed;
};
struct ff_json_maker ff_json_make(void);
/* Takes the reference; NULL counts as no memory. */
void ff_json_put(struct ff_json_maker *maker, const char *name, json_t *value);
void ff_json_put_text(struct ff_json_maker *maker, const char *name, const char *text);
void ff_json_put_i64(struct ff_json_maker *maker, const char *name, int64_t value);
/* FF_ABSENT_MS is null. */
void ff_json_put_ms(struct ff_json_maker *maker, const char *name, int64_t value);
void ff_json_put_bool(struct ff_json_maker *maker, const char *name, bool value);
/* <name>, or <name>_base64 and <name>_content_type for what is not JSON. False: it should be. */
bool ff_json_put_bytes(struct ff_json_maker *maker, const char *name, struct ff_str bytes,
                       const char *content_type);
void ff_json_put_texts(struct ff_json_maker *maker, const char *name, const char *const *texts,
                       size_t count);
void ff_json_put_tags(struct ff_json_maker *maker, const struct ff_tag_pair *tags, size_t count);
json_t *ff_json_made(struct ff_json_maker *maker);
/* An array of `count` items written by `write`. */
#define FF_JSON_ARRAY(items, count, write)                                                         \
    ff_json_array_of((items), (count), sizeof *(items), write)
typedef json_t *ff_json_item_fn(const void *item);
json_t *ff_json_array_of(const void *items, size_t count, size_t item_bytes,
                         ff_json_item_fn *write);

#endif
