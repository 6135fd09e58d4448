/* SPDX-License-Identifier: Apache-2.0
 *
 * api-int.h -- what the files of src/api share: the client, answers, jobs.
 *
 * Only src/api includes it, and tests that look inside. Read first: src/api/README.md. Tests:
 * tests/unit/test_api.c. */
#ifndef FF_API_API_INT_H
#define FF_API_API_INT_H

#include "api/async.h"
#include "api/client.h"
#include "engine/engine.h"
#include "model/cursor.h"
#include "model/ids.h"
#include "model/policy.h"

/* The functions behind calls.def, in process. */
const struct ff_calls *ff_calls_local(void);
size_t ff_local_close(struct ff_client *client, int64_t grace_ms);
#define FF_CALL(name, parameters, arguments) __typeof__(ff_##name) ff_local_##name;
#include "api/calls.def"
#undef FF_CALL

/* A client on an engine that somebody else has put together, for tests. ff_close ends both; NULL
 * when there is no memory (then the engine is still the caller's). */
struct ff_client *ff_client_of_engine(struct ff_engine *engine, int64_t timeout_ms);

FF_DEFINE_FREEP(struct ff_job, ff_job)

/* A copy in the job's memory; NULL stays absent. */
struct ff_str ff_job_text(struct ff_job *job, const char *text);
struct ff_str ff_job_bytes(struct ff_job *job, struct ff_str bytes);
/* Copies an array of C strings; FF_INVALID naming the field when one is NULL. */
FF_MUST_CHECK ff_status ff_job_texts(struct ff_job *job, const char *const *texts, size_t count,
                                     const char *field, struct ff_str **ret,
                                     struct ff_error *reterr);

/* Copies of tags and of what a submission says, without its id. */
struct ff_tag_in;
struct ff_submit_in;
FF_MUST_CHECK ff_status ff_job_tags(struct ff_job *job, const struct ff_tag_pair *tags,
                                    size_t count, struct ff_tag_in **ret, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_submission_in(struct ff_client *client, struct ff_job *job,
                                         const struct ff_submission *item, struct ff_submit_in *in,
                                         struct ff_error *reterr);
/* `ret_dated`: its time is the store's, as far as this process knows it. */
struct ff_uuid ff_api_mint_flow(struct ff_client *client, bool *ret_dated);

/* A canonical id, fp:N:<uuid>, a bare uuid, a unique beginning of one, or <flow>/<node>. May ask
 * the store. */
FF_MUST_CHECK ff_status ff_api_id(struct ff_client *client, const char *text,
                                  struct ff_exec_id *ret_id, struct ff_error *reterr);

/* A flow's uuid, or a unique beginning of one. May ask the store. */
FF_MUST_CHECK ff_status ff_api_flow_id(struct ff_client *client, const char *text,
                                       struct ff_uuid *ret_id, struct ff_error *reterr);

/* Run one block and keep rows and cells in `arena`. */
FF_MUST_CHECK ff_status ff_api_read(struct ff_client *client, struct ff_arena *arena, int block,
                                    const struct ff_value *params, size_t param_count,
                                    struct ff_read *ret, struct ff_error *reterr);
/* The same for `count` blocks as of one moment; `reads` have block and parameters. 0: none. */
FF_MUST_CHECK ff_status ff_api_read_together(struct ff_client *client, struct ff_arena *arena,
                                             struct ff_read *reads, size_t count,
                                             struct ff_error *reterr);
/* The store's own time at this moment. */
FF_MUST_CHECK ff_status ff_api_now(struct ff_client *client, int64_t *ret_now_ms,
                                   struct ff_error *reterr);

/* --- calls ----------------------------------------------------------------------------------- */

/* A call of one item: its status is the answer. */
FF_MUST_CHECK ff_status ff_call_one(struct ff_client *client, const struct ff_bulk_type *type,
                                    const void *item, void *result, struct ff_error *reterr);
/* What a job that came back says; fills in the text where the engine left none. */
ff_status ff_job_answer(const struct ff_job *job, struct ff_error *reterr);

/* --- parts of answers ------------------------------------------------------------------------ */

/* Everything an execution row tells; the rest (tags, input, progress, failure) stays empty. */
FF_MUST_CHECK ff_status ff_info_from_row(struct ff_arena *arena, const struct ff_execution *row,
                                         struct ff_info *info, struct ff_error *reterr);
/* An input or result: not larger than `max`, and JSON if it is said to be. Before it is copied: a
 * call must not be able to take any amount of memory. */
FF_MUST_CHECK ff_status ff_api_payload(const struct ff_client *client, struct ff_str bytes,
                                       const char *content_type, int64_t max, const char *field,
                                       struct ff_error *reterr);
/* "a,b,c" as an array; no name holds the separator. */
const char *const *ff_api_names(struct ff_arena *arena, struct ff_str joined, char separator,
                                size_t *ret_count);
void ff_info_capabilities(struct ff_arena *arena, struct ff_str tokens, struct ff_info *info);
const char *ff_failure_class_text(int32_t failure_class);
FF_MUST_CHECK ff_status ff_failure_class_of(const char *text, int32_t *ret,
                                            struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_policy_of_spec(const struct ff_policy_spec *spec,
                                          struct ff_policy *ret_policy, struct ff_error *reterr);
void ff_policy_spec_of(const struct ff_policy *policy, struct ff_policy_spec *spec);

/* One page of a list as rows. `states` NULL: by filter->state. `ret_more`: there are more rows.
 */
struct ff_list_page {
    struct ff_execution **rows;
    size_t count;
    bool more;
};
FF_MUST_CHECK ff_status ff_list_rows(struct ff_client *client, struct ff_arena *arena,
                                     const struct ff_filter *filter, const int64_t *states,
                                     size_t state_count, struct ff_list_page *ret,
                                     struct ff_error *reterr);
#define FF_LIST_CURSOR_BYTES 25
void ff_list_cursor(int64_t created_at_ms, struct ff_uuid uuid, char out[FF_CURSOR_BYTES]);
FF_MUST_CHECK ff_status ff_list_cursor_read(const char *text, int64_t *ret_created_at_ms,
                                            struct ff_uuid *ret_uuid, struct ff_error *reterr);
/* An event row as callers see it; texts in the arena. */
void ff_event_info_of_row(struct ff_arena *arena, const struct ff_event *row,
                          struct ff_event_info *out);

#endif
