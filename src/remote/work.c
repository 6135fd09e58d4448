/* SPDX-License-Identifier: Apache-2.0
 *
 * work.c -- submitting, claiming, and what a worker says: many items in one request.
 *
 * Items that cannot be written keep their own error and are left out of the request. A call with
 * more bytes than a server takes in one body becomes several: what is likely to be too much is
 * never sent, and what the server (or a proxy before it) finds too large is halved.
 * Read first: src/remote/README.md. Tests: tests/conformance --store http. */
#include "remote/remote-int.h"

#include <string.h>

#include "api/async.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

#include "base/banned.h"

#define BODY_INPUT_BYTES                                                                           \
    (4 << 20) /* of inputs or results in one request: base64 makes them more                       \
               */

struct bulk {
    const char *path, *list; /* "/v1/executions", "executions" */
    size_t max, result_bytes;
    bool always_repeatable; /* the engine recognises a worker's last word */
    size_t (*bytes)(const void *items, size_t index); /* NULL: small */
    bool (*is_repeatable)(const void *items, size_t index);
    ff_status (*write)(struct ff_writing *out, const void *items, size_t index,
                       struct ff_error *reterr);
    void (*take)(const json_t *json, void *result);
};

static struct ff_item_head *head_of(const struct bulk *bulk, void *results, size_t index)
{
    return (struct ff_item_head *)(void *)((char *)results + index * bulk->result_bytes);
}

/* What is being sent: which items, and how many of them. */
struct part {
    size_t from, end;
    size_t most; /* items in one request: fewer once more of them were too large */
    size_t places[FF_SUBMIT_MAX];
    size_t count;
};

/* Writes items from part->from on until there are enough, or enough bytes. */
static ff_status write_part(const struct bulk *bulk, struct part *part, const void *items,
                            size_t count, void *results, json_t *array)
{
    size_t bytes = 0;

    part->count = 0;
    for (part->end = part->from; part->end < count && part->count < part->most; part->end++) {
        const size_t i = part->end;
        struct ff_item_head *const head = head_of(bulk, results, i);
        struct ff_writing out = {.made = ff_json_make()};
        json_t *json = NULL;

        bytes += bulk->bytes ? bulk->bytes(items, i) : 0;
        if (bytes > BODY_INPUT_BYTES && part->count) {
            json_decref(out.made.object);
            break;
        }
        head->status = bulk->write(&out, items, i, &head->error);
        if (head->status != FF_OK) {
            json_decref(out.made.object);
            continue;
        }
        head->status = ff_written(&out, &json, &head->error);
        if (head->status != FF_OK)
            continue;
        if (json_array_append_new(array, json) != 0)
            return FF_NO_MEMORY;
        part->places[part->count++] = i;
    }
    return FF_OK;
}

static bool repeatable(const struct bulk *bulk, const struct part *part, const void *items)
{
    bool all = true;

    for (size_t i = 0; !bulk->always_repeatable && i < part->count; i++)
        all = all && bulk->is_repeatable(items, part->places[i]);
    return all;
}

static void take_results(const struct bulk *bulk, const struct part *part, const json_t *list,
                         void *results)
{
    for (size_t i = 0; i < part->count; i++) {
        struct ff_item_head *const head = head_of(bulk, results, part->places[i]);
        const json_t *const one = json_array_get(list, i);
        const json_t *const problem = json_object_get(one, "error");

        if (problem)
            head->status = ff_problem_read(problem, 0, &head->error);
        else if (json_is_object(one))
            bulk->take(one, head);
        else
            head->status =
                ff_fail(&head->error, FF_OUTCOME_UNKNOWN, "the server's answer left this out");
    }
}

static ff_status send_part(struct ff_client *client, const struct bulk *bulk, struct part *part,
                           const void *items, size_t count, void *results, struct ff_error *reterr)
{
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, bulk->path, reterr));
    json_t *const array = json_array();
    if (!array || write_part(bulk, part, items, count, results, array) != FF_OK) {
        json_decref(array);
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold %zu items", count);
    }
    ff_json_put(&ask.body.made, bulk->list, array);
    if (!part->count)
        return FF_OK;
    ask.repeatable = repeatable(bulk, part, items);
    FF_TRY(ff_ask_post(&ask, reterr));
    take_results(bulk, part, json_object_get(ask.answer, "results"), results);
    return FF_OK;
}

static ff_status check(const struct bulk *bulk, const void *items, size_t count,
                       const void *results, struct ff_error *reterr)
{
    if (!count)
        return ff_fail_field(reterr, FF_INVALID, "count", "a call needs at least one item");
    if (count > bulk->max)
        return ff_fail_field(reterr, FF_TOO_LARGE, "count",
                             "%zu items in one call, at most %zu are allowed", count, bulk->max);
    if (!items || !results)
        return ff_fail_field(reterr, FF_INVALID, items ? "ret_items" : "items",
                             "items or the place for their results are missing");
    return FF_OK;
}

/* Unless it has an error of its own. */
static void fail_item(struct ff_item_head *head, ff_status status, const struct ff_error *error)
{
    if (head->status != FF_OK)
        return;
    head->status = status;
    head->error = *error;
}

/* True: the part was too large as a whole, and half of it is said again. Of one item that is the
 * answer; the others may go together again without it. */
static bool halve(struct part *part, ff_status status, size_t count)
{
    const bool again = status == FF_TOO_LARGE && part->count > 1;

    if (status == FF_TOO_LARGE)
        part->most = again ? part->count / 2 : count;
    if (again)
        part->end = part->from;
    return again;
}

/* What is too large alone is the item's own answer, as a store gives it. */
static bool is_for_all(ff_status status)
{
    return status != FF_OUTCOME_UNKNOWN && status != FF_TOO_LARGE;
}

static ff_status bulk_call(struct ff_client *client, const struct bulk *bulk, const void *items,
                           size_t count, void *results, struct ff_error *reterr)
{
    ff_status answer = FF_OK;
    struct ff_error error = {0};

    FF_TRY(check(bulk, items, count, results, reterr));
    struct part *const part = ff_calloc(1, sizeof *part);
    if (!part)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold %zu items", count);
    memset(results, 0, count * bulk->result_bytes);
    for (part->most = count; part->from < count; part->from = part->end) {
        const ff_status status = send_part(client, bulk, part, items, count, results, &error);

        if (status == FF_OK)
            continue;
        if (halve(part, status, count))
            continue;
        if (status == FF_NO_MEMORY) /* nothing of this part was sent, nor will be of the next */
            part->end = count;
        /* Nothing was accepted, and there is one answer for all; later it is each item's. */
        if (part->from == 0 && part->end >= count && is_for_all(status))
            answer = status;
        for (size_t i = part->from; i < part->end; i++)
            fail_item(head_of(bulk, results, i), status, &error);
        answer = status == FF_OUTCOME_UNKNOWN ? status : answer;
    }
    ff_free(part);
    if (answer != FF_OK && reterr)
        *reterr = error;
    return answer;
}

/* ---- submitting --------------------------------------------------------------------------------
 */

/* The stride of the caller's array is the caller's. */
static const struct ff_submission *submission_at(const void *items, size_t index)
{
    const struct ff_submission *const first = items;

    return (const struct ff_submission *)(const void *)((const char *)items + index * first->size);
}

static size_t submission_bytes(const void *items, size_t index)
{
    const struct ff_submission *const first = items;

    if (first->size < offsetof(struct ff_submission, input_content_type))
        return 0;
    return submission_at(items, index)->input.len;
}

static ff_status submission_take(const void *items, size_t index, struct ff_submission *ret,
                                 struct ff_error *reterr)
{
    const struct ff_submission *const first = items;

    ff_submission_init(ret);
    FF_TRY(ff_api_sized(ret, sizeof *ret, submission_at(items, index), first->size, reterr));
    if (ret->size != first->size)
        return ff_fail_field(reterr, FF_INVALID, "size", "items of one call differ in size");
    return FF_OK;
}

static bool submission_repeatable(const void *items, size_t index)
{
    struct ff_submission item;

    return submission_take(items, index, &item, NULL) == FF_OK &&
           (item.execution_id || item.idempotency_key);
}

static ff_status submission_write(struct ff_writing *out, const void *items, size_t index,
                                  struct ff_error *reterr)
{
    struct ff_submission item;

    FF_TRY(submission_take(items, index, &item, reterr));
    return ff_write_submission(out, &item, reterr);
}

static void submitted_take(const json_t *json, void *result)
{
    struct ff_submitted *const submitted = result;
    const char *const id = json_string_value(json_object_get(json, "execution_id"));

    (void)snprintf(submitted->execution_id, sizeof submitted->execution_id, "%s", id ? id : "");
    submitted->public_state = ff_remote_state(json);
    submitted->created = json_is_true(json_object_get(json, "created"));
}

ff_status ff_remote_submit(struct ff_client *client, const struct ff_submission *items,
                           size_t count, struct ff_submitted *ret_items, struct ff_error *reterr)
{
    static const struct bulk bulk = {
        .path = "/v1/executions",
        .list = "executions",
        .max = FF_SUBMIT_MAX,
        .result_bytes = sizeof *ret_items,
        .bytes = submission_bytes,
        .is_repeatable = submission_repeatable,
        .write = submission_write,
        .take = submitted_take,
    };

    return bulk_call(client, &bulk, items, count, ret_items, reterr);
}

/* ---- claiming ----------------------------------------------------------------------------------
 */

ff_status ff_remote_claim(struct ff_client *client, const struct ff_claim_request *request,
                          struct ff_tasks *ret_tasks, struct ff_error *reterr)
{
    struct ff_claim_request given = {.size = sizeof given};
    FF_AUTO(ff_ask_done) struct ff_ask ask = {0};

    FF_TRY(ff_ask_init(&ask, client, "/v1/workers/", reterr));
    if (!request || !ret_tasks)
        return ff_fail_field(reterr, FF_INVALID, request ? "ret_tasks" : "request",
                             "there is no request, or no place for the tasks");
    FF_TRY(ff_api_sized(&given, sizeof given, request, request->size, reterr));
    FF_TRY(ff_ask_path(&ask, given.worker_id, "worker_id", reterr));
    FF_TRY(ff_api_need(given.worker_instance_id, "worker_instance_id", reterr));
    ff_ask_rest(&ask, "/claim");
    ff_write_text(&ask.body, "worker_instance_id", given.worker_instance_id);
    ff_write_texts(&ask.body, "lanes", given.lanes, given.lane_count);
    ff_write_texts(&ask.body, "kinds", given.kinds, given.kind_count);
    ff_write_text(&ask.body, "namespace", given.ns);
    ff_write_texts(&ask.body, "capabilities", given.capabilities, given.capability_count);
    ff_write_i64(&ask.body, "max", given.max ? given.max : FF_ABSENT_MS);
    ff_write_i64(&ask.body, "lease_ttl_ms", given.lease_ttl_ms ? given.lease_ttl_ms : FF_ABSENT_MS);
    ff_write_i64(&ask.body, "wait_ms", given.wait_ms);
    ff_write_text(&ask.body, "request_id", given.request_id);
    ask.wait_ms = ff_max_i64(ff_min_i64(given.wait_ms, FF_WAIT_MS_MAX), 0);
    ask.repeatable = given.request_id != NULL;
    FF_TRY(ff_ask_post(&ask, reterr));
    return ff_ask_take(&ask, &ff_answer_tasks, ret_tasks, reterr);
}

/* ---- what a worker says ------------------------------------------------------------------------
 */

static ff_status lease_write(struct ff_writing *out, const struct ff_lease *lease,
                             struct ff_error *reterr)
{
    FF_TRY(ff_api_need(lease->execution_id, "execution_id", reterr));
    FF_TRY(ff_api_need(lease->lease_id, "lease_id", reterr));
    ff_write_text(out, "execution_id", lease->execution_id);
    ff_write_text(out, "lease_id", lease->lease_id);
    ff_write_i64(out, "lease_epoch", lease->lease_epoch);
    return FF_OK;
}

static int64_t number_of(const json_t *json, const char *name)
{
    const json_t *const number = json_object_get(json, name);

    return json_is_integer(number) ? json_integer_value(number) : FF_ABSENT_MS;
}

static void task_take(const json_t *json, void *result)
{
    struct ff_task_result *const task = result;

    task->public_state = ff_remote_state(json);
    task->lease_expires_at_ms = number_of(json, "lease_expires_at_ms");
    task->retry_at_ms = number_of(json, "retry_at_ms");
}

#define TASK_BULK(verb, write_, ...)                                                               \
    static const struct bulk bulk = {.path = "/v1/tasks/" verb,                                    \
                                     .list = "tasks",                                              \
                                     .max = FF_TASKS_MAX,                                          \
                                     .result_bytes = sizeof(struct ff_task_result),                \
                                     .always_repeatable = true,                                    \
                                     .write = write_,                                              \
                                     .take = task_take,                                            \
                                     __VA_ARGS__}

static ff_status renewal_write(struct ff_writing *out, const void *items, size_t index,
                               struct ff_error *reterr)
{
    const struct ff_renewal *const item = (const struct ff_renewal *)items + index;

    FF_TRY(lease_write(out, &item->lease, reterr));
    ff_write_i64(out, "lease_ttl_ms", item->lease_ttl_ms ? item->lease_ttl_ms : FF_ABSENT_MS);
    return FF_OK;
}

ff_status ff_remote_renew(struct ff_client *client, const struct ff_renewal *items, size_t count,
                          struct ff_task_result *ret_items, struct ff_error *reterr)
{
    TASK_BULK("renew", renewal_write, .bytes = NULL);

    return bulk_call(client, &bulk, items, count, ret_items, reterr);
}

static size_t completion_bytes(const void *items, size_t index)
{
    return ((const struct ff_completion *)items + index)->result.len;
}

static ff_status completion_write(struct ff_writing *out, const void *items, size_t index,
                                  struct ff_error *reterr)
{
    const struct ff_completion *const item = (const struct ff_completion *)items + index;

    FF_TRY(lease_write(out, &item->lease, reterr));
    ff_write_bytes(out, "result", item->result, item->result_content_type);
    return FF_OK;
}

ff_status ff_remote_complete(struct ff_client *client, const struct ff_completion *items,
                             size_t count, struct ff_task_result *ret_items,
                             struct ff_error *reterr)
{
    TASK_BULK("complete", completion_write, .bytes = completion_bytes);

    return bulk_call(client, &bulk, items, count, ret_items, reterr);
}

static ff_status failure_write(struct ff_writing *out, const void *items, size_t index,
                               struct ff_error *reterr)
{
    const struct ff_failure *const item = (const struct ff_failure *)items + index;

    FF_TRY(lease_write(out, &item->lease, reterr));
    FF_TRY(ff_api_need(item->message, "message", reterr));
    ff_write_text(out, "message", item->message);
    ff_write_text(out, "class", item->failure_class);
    ff_write_i64(out, "retry_after_ms", item->retry_after_ms);
    return FF_OK;
}

ff_status ff_remote_fail_task(struct ff_client *client, const struct ff_failure *items,
                              size_t count, struct ff_task_result *ret_items,
                              struct ff_error *reterr)
{
    TASK_BULK("fail", failure_write, .bytes = NULL);

    return bulk_call(client, &bulk, items, count, ret_items, reterr);
}

static ff_status progress_write(struct ff_writing *out, const void *items, size_t index,
                                struct ff_error *reterr)
{
    const struct ff_progress_note *const item = (const struct ff_progress_note *)items + index;

    FF_TRY(lease_write(out, &item->lease, reterr));
    ff_write_i64(out, "percent", item->percent == -1 ? FF_ABSENT_MS : item->percent);
    ff_write_text(out, "message", item->message);
    return FF_OK;
}

ff_status ff_remote_progress(struct ff_client *client, const struct ff_progress_note *items,
                             size_t count, struct ff_task_result *ret_items,
                             struct ff_error *reterr)
{
    TASK_BULK("progress", progress_write, .bytes = NULL);

    return bulk_call(client, &bulk, items, count, ret_items, reterr);
}

static ff_status postponement_write(struct ff_writing *out, const void *items, size_t index,
                                    struct ff_error *reterr)
{
    const struct ff_postponement *const item = (const struct ff_postponement *)items + index;

    FF_TRY(lease_write(out, &item->lease, reterr));
    ff_write_i64(out, "delay_ms", item->delay_ms);
    ff_write_i64(out, "delay_until_ms", item->delay_until_ms);
    return FF_OK;
}

ff_status ff_remote_delay(struct ff_client *client, const struct ff_postponement *items,
                          size_t count, struct ff_task_result *ret_items, struct ff_error *reterr)
{
    TASK_BULK("delay", postponement_write, .bytes = NULL);

    return bulk_call(client, &bulk, items, count, ret_items, reterr);
}

static ff_status giveback_write(struct ff_writing *out, const void *items, size_t index,
                                struct ff_error *reterr)
{
    const struct ff_giveback *const item = (const struct ff_giveback *)items + index;

    FF_TRY(lease_write(out, &item->lease, reterr));
    ff_write_text(out, "reason", item->reason);
    return FF_OK;
}

ff_status ff_remote_release(struct ff_client *client, const struct ff_giveback *items, size_t count,
                            struct ff_task_result *ret_items, struct ff_error *reterr)
{
    TASK_BULK("release", giveback_write, .bytes = NULL);

    return bulk_call(client, &bulk, items, count, ret_items, reterr);
}
