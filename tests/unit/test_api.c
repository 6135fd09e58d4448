/* SPDX-License-Identifier: Apache-2.0
 *
 * test_api.c -- the public calls over a SQLite store in memory: checks, ids, cursors, answers.
 *
 * Of src/api. The rules themselves are tested by tests/conformance. No sleep. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/client.h"
#include "base/macros.h"

#include <flowfabric.h>

struct fixture {
    struct ff_client *client;
    struct ff_error error;
};

static int setup(void **state)
{
    struct fixture *const f = calloc(1, sizeof *f);
    const struct ff_options options = {.size = sizeof options, .passive = true};

    if (!f || ff_open("sqlite::memory:", &options, &f->client, &f->error) != FF_OK) {
        (void)fprintf(stderr, "%s\n", f ? f->error.message : "no memory");
        free(f);
        return -1;
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *const f = *state;

    (void)ff_close(f->client, 1000);
    free(f);
    return 0;
}

#define EXPECT(status, call)                                                                       \
    do {                                                                                           \
        memset(&f->error, 0, sizeof f->error);                                                     \
        const ff_status got_ = (call);                                                             \
        if (got_ != (status))                                                                      \
            fail_msg("%s: %s (%s), expected %s", #call, ff_status_code(got_), f->error.message,    \
                     ff_status_code(status));                                                      \
    } while (0)

static struct ff_submission a_submission(const char *kind)
{
    struct ff_submission submission;

    ff_submission_init(&submission);
    submission.kind = kind;
    return submission;
}

static struct ff_submitted given_submitted(struct fixture *f, const struct ff_submission *item)
{
    struct ff_submitted result;

    EXPECT(FF_OK, ff_submit(f->client, item, 1, &result, &f->error));
    if (result.status != FF_OK)
        fail_msg("submit: %s", result.error.message);
    return result;
}

static struct ff_tasks given_claimed(struct fixture *f, int32_t max)
{
    const struct ff_claim_request request = {
        .size = sizeof request, .worker_id = "w", .worker_instance_id = "w-1", .max = max};
    struct ff_tasks tasks = {0};

    EXPECT(FF_OK, ff_claim(f->client, &request, &tasks, &f->error));
    return tasks;
}

static void test_api__statuses_have_words(void **state FF_UNUSED)
{
    for (ff_status status = FF_OK; status < FF_STATUS_COUNT; status++) {
        assert_true(ff_status_code(status)[0]);
        assert_true(ff_status_text(status)[0]);
        assert_true(ff_status_http(status) >= 200 && ff_status_http(status) < 600);
    }
    assert_int_equal(0, ff_status_exit(FF_OK));
    assert_string_equal("internal", ff_status_code((ff_status)999));
    assert_string_equal("0.1.0", ff_version());
}

static void test_api__missing_things_are_named(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission nameless = a_submission(NULL);
    struct ff_submission sizeless = a_submission("k");
    struct ff_submitted result;
    struct ff_tasks tasks;
    struct ff_claim_request claim = {.size = sizeof claim, .worker_id = "w"};
    struct ff_info_list list;

    EXPECT(FF_INVALID, ff_submit(NULL, &nameless, 1, &result, &f->error));
    EXPECT(FF_INVALID, ff_submit(f->client, &nameless, 0, &result, &f->error));
    EXPECT(FF_TOO_LARGE, ff_submit(f->client, &nameless, 1001, &result, &f->error));
    EXPECT(FF_INVALID, ff_submit(f->client, NULL, 1, &result, &f->error));
    EXPECT(FF_OK, ff_submit(f->client, &nameless, 1, &result, &f->error));
    assert_int_equal(FF_INVALID, result.status);
    assert_string_equal("kind", result.error.field);
    sizeless.size = 0;
    EXPECT(FF_OK, ff_submit(f->client, &sizeless, 1, &result, &f->error));
    assert_string_equal("size", result.error.field);
    EXPECT(FF_INVALID, ff_claim(f->client, &claim, &tasks, &f->error));
    assert_string_equal("worker_instance_id", f->error.field);
    claim.worker_instance_id = "i";
    claim.wait_ms = 60001;
    EXPECT(FF_INVALID, ff_claim(f->client, &claim, &tasks, &f->error));
    assert_string_equal("wait_ms", f->error.field);
    EXPECT(FF_INVALID, ff_get(f->client, NULL, &list, &f->error));
    assert_string_equal("execution_id", f->error.field);
    EXPECT(FF_INVALID, ff_open("mysql://x", NULL, &f->client, &f->error));
}

static void test_api__one_bad_item_does_not_fail_others(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission items[3] = {a_submission("a"), a_submission(NULL), a_submission("c")};
    struct ff_submitted results[3];

    EXPECT(FF_OK, ff_submit(f->client, items, 3, results, &f->error));
    assert_int_equal(FF_OK, results[0].status);
    assert_int_equal(FF_INVALID, results[1].status);
    assert_int_equal(FF_OK, results[2].status);
    assert_true(results[2].created);
    assert_string_equal("waiting", results[2].public_state);
}

/* A caller compiled against a later header passes larger structs. */
static void test_api__stride_of_items_is_the_callers(void **state)
{
    struct fixture *const f = *state;
    struct {
        struct ff_submission known;
        int64_t later;
    } items[2] = {{a_submission("a"), 1}, {a_submission("b"), 2}};
    struct ff_submitted results[2];
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};

    items[0].known.size = items[1].known.size = sizeof items[0];
    EXPECT(FF_OK, ff_submit(f->client, &items[0].known, 2, results, &f->error));
    assert_int_equal(FF_OK, results[1].status);
    EXPECT(FF_OK, ff_get(f->client, results[1].execution_id, &whole, &f->error));
    assert_string_equal("b", whole.items[0].kind);
}

static void test_api__everything_comes_back(void **state)
{
    static const struct ff_tag_pair tags[] = {{"colour", "red"}, {"instance", "i7"}};
    static const char *const needs[] = {"gpu", "eu"};
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("render");
    struct ff_policy_spec policy;
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};

    ff_policy_init(&policy);
    policy.has_retry_policy = true;
    policy.max_retries = 2;
    policy.backoff = "fixed";
    policy.delay_ms = 70;
    policy.attempt_timeout_ms = 5000;
    item.policy = &policy;
    item.lane = "l";
    item.ns = "n";
    item.input = (struct ff_str){"{\"a\":1}", 7};
    item.priority = 99999;
    item.tags = tags;
    item.tag_count = 2;
    item.required_capabilities = needs;
    item.required_capability_count = 2;
    item.deadline_ms = 3600000;
    const struct ff_submitted submitted = given_submitted(f, &item);

    EXPECT(FF_OK, ff_get(f->client, submitted.execution_id, &whole, &f->error));
    const struct ff_info *const info = &whole.items[0];
    assert_string_equal(submitted.execution_id, info->execution_id);
    assert_string_equal("render", info->kind);
    assert_string_equal("l", info->lane);
    assert_string_equal("n", info->ns);
    assert_string_equal("i7", info->instance_tag);
    assert_int_equal(9000, info->priority);
    assert_int_equal(7, info->input.len);
    assert_string_equal("{\"a\":1}", info->input.ptr);
    assert_int_equal(2, info->tag_count);
    assert_string_equal("colour", info->tags[0].name);
    assert_int_equal(2, info->required_capability_count);
    assert_string_equal("eu", info->required_capabilities[0]);
    assert_string_equal("fixed", info->policy.backoff);
    assert_int_equal(70, info->policy.delay_ms);
    assert_int_equal(2, info->policy.max_retries);
    assert_int_equal(5000, info->policy.attempt_timeout_ms);
    assert_int_equal(info->changed_at_ms + 3600000, info->deadline_at_ms);
    assert_true(info->started_at_ms == FF_ABSENT_MS);
    assert_string_equal("runnable", info->lifecycle_phase);
    assert_string_equal("none", info->terminal_outcome);
    assert_false(info->has_lease);
    assert_false(info->finished);
}

static void test_api__large_inputs_and_tags_reach_the_worker(void **state)
{
    static const struct ff_tag_pair tags[] = {{"a", "1"}};
    struct fixture *const f = *state;
    struct ff_submission items[2] = {a_submission("small"), a_submission("large")};
    struct ff_submitted results[2];
    static char large[5000];
    struct ff_task_result done;

    memset(large, 'x', sizeof large);
    large[0] = large[sizeof large - 1] = '"';
    items[0].input = (struct ff_str){"7", 1};
    items[0].tags = tags;
    items[0].tag_count = 1;
    items[0].priority = 1;
    items[1].input = (struct ff_str){large, sizeof large};
    EXPECT(FF_OK, ff_submit(f->client, items, 2, results, &f->error));
    FF_AUTO(ff_answer_free) struct ff_tasks tasks = given_claimed(f, 10);
    assert_int_equal(2, tasks.count);
    assert_string_equal("small", tasks.items[0].kind);
    assert_string_equal("7", tasks.items[0].input.ptr);
    assert_int_equal(1, tasks.items[0].tag_count);
    assert_string_equal("a", tasks.items[0].tags[0].name);
    assert_int_equal(sizeof large, tasks.items[1].input.len);
    assert_memory_equal(large, tasks.items[1].input.ptr, sizeof large);
    assert_int_equal(0, tasks.items[1].tag_count);
    assert_string_equal("initial", tasks.items[1].attempt_type);

    const struct ff_completion completion = {.lease = ff_task_lease(&tasks.items[1]),
                                             .result = {"\x00\x01", 2},
                                             .result_content_type = "application/octet-stream"};
    FF_AUTO(ff_answer_free) struct ff_bytes result = {0};
    EXPECT(FF_NO_RESULT, ff_result(f->client, results[1].execution_id, &result, &f->error));
    EXPECT(FF_OK, ff_complete(f->client, &completion, 1, &done, &f->error));
    assert_int_equal(FF_OK, done.status);
    assert_string_equal("completed", done.public_state);
    EXPECT(FF_OK, ff_result(f->client, results[1].execution_id, &result, &f->error));
    assert_int_equal(2, result.data.len);
    assert_memory_equal("\x00\x01", result.data.ptr, 2);
    assert_string_equal("application/octet-stream", result.content_type);
}

static void test_api__replay_with_a_new_input_hands_out_that_one(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("k");
    struct ff_replay_request replay;
    const char *public_state = NULL;
    int32_t generation = 0;

    item.input = (struct ff_str){"1", 1};
    const struct ff_submitted submitted = given_submitted(f, &item);
    EXPECT(FF_OK, ff_cancel(f->client, submitted.execution_id, "no", &public_state, &f->error));
    assert_string_equal("cancelled", public_state);
    ff_replay_init(&replay);
    replay.execution_id = submitted.execution_id;
    replay.has_input = true;
    replay.input = (struct ff_str){"2", 1};
    EXPECT(FF_OK, ff_replay(f->client, &replay, &public_state, &generation, &f->error));
    assert_int_equal(1, generation);
    FF_AUTO(ff_answer_free) struct ff_tasks tasks = given_claimed(f, 1);
    assert_int_equal(1, tasks.count);
    assert_string_equal("2", tasks.items[0].input.ptr);
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    EXPECT(FF_OK, ff_get(f->client, submitted.execution_id, &whole, &f->error));
    assert_string_equal("2", whole.items[0].input.ptr);
}

static void test_api__ids_in_every_form(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("k");
    char text[64];

    item.execution_id = "{fp:7}:aaaabbbb-0000-4000-8000-000000000001";
    (void)given_submitted(f, &item);
    item.execution_id = "{fp:9}:aaaabbbb-0000-4000-8000-000000000002";
    (void)given_submitted(f, &item);
    static const char *const good[] = {
        "{fp:7}:aaaabbbb-0000-4000-8000-000000000001",
        "fp:7:aaaabbbb-0000-4000-8000-000000000001",
        "aaaabbbb-0000-4000-8000-000000000001",
        "AAAABBBB-0000-4000-8000-000000000001",
        "aaaabbbb000040008000000000000001",
    };
    for (size_t i = 0; i < FF_ARRAY_LEN(good); i++) {
        FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};

        EXPECT(FF_OK, ff_get(f->client, good[i], &whole, &f->error));
        assert_string_equal(good[0], whole.items[0].execution_id);
    }
    struct ff_info_list none;
    EXPECT(FF_INVALID, ff_get(f->client, "aaaa", &none, &f->error));
    assert_non_null(strstr(f->error.message, "000000000001"));
    assert_non_null(strstr(f->error.message, "000000000002"));
    EXPECT(FF_INVALID, ff_get(f->client, "aaa", &none, &f->error));
    EXPECT(FF_NOT_FOUND, ff_get(f->client, "bbbb", &none, &f->error));
    EXPECT(FF_INVALID,
           ff_get(f->client, "{fp:256}:aaaabbbb-0000-4000-8000-000000000001", &none, &f->error));
    (void)snprintf(text, sizeof text, "{fp:8}:%s", good[2]);
    EXPECT(FF_NOT_FOUND, ff_get(f->client, text, &none, &f->error));
}

static void test_api__pages_see_every_row_once(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission items[15];
    struct ff_submitted results[15];
    char seen[15][FF_ID_BYTES];
    char cursor[FF_CURSOR_BYTES] = "";
    struct ff_filter filter;
    size_t count = 0, pages = 0;

    for (size_t i = 0; i < 15; i++)
        items[i] = a_submission("k");
    EXPECT(FF_OK, ff_submit(f->client, items, 15, results, &f->error));
    ff_filter_init(&filter);
    filter.limit = 5;
    do {
        FF_AUTO(ff_answer_free) struct ff_info_list list = {0};

        filter.cursor = cursor;
        EXPECT(FF_OK, ff_list(f->client, &filter, &list, &f->error));
        for (size_t i = 0; i < list.count; i++) {
            for (size_t j = 0; j < count; j++)
                assert_string_not_equal(seen[j], list.items[i].execution_id);
            memcpy(seen[count++], list.items[i].execution_id, FF_ID_BYTES);
        }
        memcpy(cursor, list.next_cursor, sizeof cursor);
        pages++;
    } while (cursor[0]);
    assert_int_equal(15, count);
    assert_int_equal(3, pages);
}

static void test_api__filters_and_their_mistakes(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("k");
    struct ff_filter filter;
    struct ff_info_list list = {0};

    item.lane = "a";
    (void)given_submitted(f, &item);
    ff_filter_init(&filter);
    filter.limit = -1;
    EXPECT(FF_OK, ff_list(f->client, &filter, &list, &f->error));
    assert_int_equal(0, list.count);
    ff_answer_free(&list);
    filter.limit = 0;
    filter.lane = "b";
    EXPECT(FF_OK, ff_list(f->client, &filter, &list, &f->error));
    assert_int_equal(0, list.count);
    ff_answer_free(&list);
    filter.lane = "a";
    filter.state = "waiting";
    EXPECT(FF_OK, ff_list(f->client, &filter, &list, &f->error));
    assert_int_equal(1, list.count);
    ff_answer_free(&list);
    filter.state = "sleeping";
    EXPECT(FF_INVALID, ff_list(f->client, &filter, &list, &f->error));
    assert_string_equal("state", f->error.field);
    filter.state = NULL;
    filter.cursor = "zz";
    EXPECT(FF_BAD_CURSOR, ff_list(f->client, &filter, &list, &f->error));
    filter.cursor = NULL;
    filter.limit = 1001;
    EXPECT(FF_INVALID, ff_list(f->client, &filter, &list, &f->error));
}

static void test_api__history_begins_with_submitted(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("k");
    const struct ff_submitted submitted = given_submitted(f, &item);
    FF_AUTO(ff_answer_free) struct ff_tasks tasks = given_claimed(f, 1);
    FF_AUTO(ff_answer_free) struct ff_event_list first = {0};
    FF_AUTO(ff_answer_free) struct ff_event_list rest = {0};

    EXPECT(FF_OK, ff_history(f->client, submitted.execution_id, NULL, 1, &first, &f->error));
    assert_int_equal(1, first.count);
    assert_string_equal("submitted", first.items[0].type);
    assert_true(first.next_cursor[0]);
    EXPECT(FF_OK,
           ff_history(f->client, submitted.execution_id, first.next_cursor, 10, &rest, &f->error));
    assert_int_equal(1, rest.count);
    assert_string_equal("lease", rest.items[0].kind);
    assert_string_equal("acquired", rest.items[0].type);
    assert_string_equal("w", rest.items[0].worker_id);
    assert_false(rest.next_cursor[0]);
    EXPECT(FF_BAD_CURSOR,
           ff_history(f->client, submitted.execution_id, "01", 10, &rest, &f->error));
}

static void test_api__attempts_end_with_the_live_one(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("k");
    const struct ff_submitted submitted = given_submitted(f, &item);
    FF_AUTO(ff_answer_free) struct ff_tasks tasks = given_claimed(f, 1);
    const struct ff_failure failure = {.lease = ff_task_lease(&tasks.items[0]),
                                       .message = "boom",
                                       .failure_class = "transient",
                                       .retry_after_ms = 0};
    struct ff_task_result result;

    EXPECT(FF_OK, ff_fail_task(f->client, &failure, 1, &result, &f->error));
    if (result.status != FF_OK)
        fail_msg("%s", result.error.message);
    FF_AUTO(ff_answer_free) struct ff_attempt_list list = {0};
    EXPECT(FF_OK, ff_attempts(f->client, submitted.execution_id, &list, &f->error));
    assert_int_equal(1, list.count);
    assert_string_equal("boom", list.items[0].failure_message);
    assert_string_equal("transient", list.items[0].failure_class);
    assert_non_null(list.items[0].outcome);
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    EXPECT(FF_OK, ff_get(f->client, submitted.execution_id, &whole, &f->error));
    assert_string_equal("boom", whole.items[0].failure_message);
}

static bool explains(struct fixture *f, const char *id, const char *code, const char *word)
{
    FF_AUTO(ff_answer_free) struct ff_explanation told = {0};

    EXPECT(FF_OK, ff_explain(f->client, id, &told, &f->error));
    for (size_t i = 0; i < told.count; i++) {
        if (strcmp(told.items[i].code, code) == 0 && strstr(told.items[i].detail, word))
            return true;
    }
    for (size_t i = 0; i < told.count; i++)
        print_message("%s: %s\n", told.items[i].code, told.items[i].detail);
    return false;
}

/* The registry is written in the background. */
static void await_worker(struct fixture *f)
{
    for (int i = 0; i < 500; i++) {
        FF_AUTO(ff_answer_free) struct ff_worker_list workers = {0};

        EXPECT(FF_OK, ff_workers(f->client, &workers, &f->error));
        if (workers.count && workers.items[0].live)
            return;
        (void)poll(NULL, 0, 10);
    }
    fail_msg("the worker does not show up in the registry");
}

static void test_api__explain_tells_every_reason(void **state)
{
    static const char *const needs[] = {"gpu"};
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("k");
    const char *id;

    const struct ff_submitted plain = given_submitted(f, &item);
    id = plain.execution_id;
    assert_true(explains(f, id, "no_worker", "no live worker"));
    EXPECT(FF_OK, ff_lane_pause(f->client, "default", true, "repairs", &f->error));
    assert_true(explains(f, id, "paused_lane", "repairs"));
    EXPECT(FF_OK, ff_lane_pause(f->client, "default", false, NULL, &f->error));
    FF_AUTO(ff_answer_free) struct ff_tasks tasks = given_claimed(f, 1);
    assert_true(explains(f, id, "leased", "'w'"));
    const struct ff_failure failure = {
        .lease = ff_task_lease(&tasks.items[0]), .message = "boom", .retry_after_ms = 60000};
    struct ff_task_result result;
    EXPECT(FF_OK, ff_fail_task(f->client, &failure, 1, &result, &f->error));
    assert_true(explains(f, id, "retry_backoff", "retry 1 of 3"));
    assert_true(explains(f, id, "failure", "boom"));
    EXPECT(FF_OK, ff_cancel(f->client, id, "enough", NULL, &f->error));
    assert_true(explains(f, id, "finished", "cancelled"));
    assert_true(explains(f, id, "cancelled", "enough"));

    item.required_capabilities = needs;
    item.required_capability_count = 1;
    item.deadline_ms = 1000;
    const struct ff_submitted picky = given_submitted(f, &item);
    assert_true(explains(f, picky.execution_id, "deadline_near", "expires"));
    await_worker(f);
    assert_true(explains(f, picky.execution_id, "no_capability", "lacks 'gpu'"));
    item.lane = "elsewhere";
    item.required_capability_count = 0;
    const struct ff_submitted far = given_submitted(f, &item);
    assert_true(explains(f, far.execution_id, "no_worker", "lane 'elsewhere'"));
}

static void test_api__cancel_and_replay_by_filter(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission items[5];
    struct ff_submitted results[5];
    struct ff_bulk_result bulk;
    struct ff_filter filter;

    for (size_t i = 0; i < 5; i++) {
        items[i] = a_submission("k");
        items[i].lane = i < 3 ? "a" : "b";
    }
    EXPECT(FF_OK, ff_submit(f->client, items, 5, results, &f->error));
    ff_filter_init(&filter);
    filter.lane = "a";
    EXPECT(FF_OK, ff_cancel_where(f->client, &filter, "why", &bulk, &f->error));
    assert_int_equal(3, bulk.matched);
    assert_int_equal(3, bulk.done);
    assert_false(bulk.more);
    EXPECT(FF_OK, ff_cancel_where(f->client, &filter, "why", &bulk, &f->error));
    assert_int_equal(0, bulk.matched);
    filter.state = "cancelled";
    EXPECT(FF_OK, ff_cancel_where(f->client, &filter, "why", &bulk, &f->error));
    assert_int_equal(3, bulk.unchanged);
    EXPECT(FF_OK, ff_replay_where(f->client, &filter, "again", &bulk, &f->error));
    assert_int_equal(3, bulk.done);
    FF_AUTO(ff_answer_free) struct ff_lane_list lanes = {0};
    EXPECT(FF_OK, ff_lanes(f->client, &lanes, &f->error));
    assert_int_equal(2, lanes.count);
    assert_string_equal("a", lanes.items[0].lane);
    assert_int_equal(3, lanes.items[0].waiting);
    assert_int_equal(2, lanes.items[1].waiting);
    assert_true(lanes.items[1].oldest_waiting_at_ms > 0);
}

static void test_api__operator_calls(void **state)
{
    static const struct ff_tag_pair change[] = {{"a", "1"}, {"b", NULL}};
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("k");
    const struct ff_submitted submitted = given_submitted(f, &item);
    const char *public_state = NULL;
    int64_t epoch = 0;

    EXPECT(FF_OK, ff_set_priority(f->client, submitted.execution_id, 5, &public_state, &f->error));
    assert_string_equal("waiting", public_state);
    EXPECT(FF_OK, ff_set_tags(f->client, submitted.execution_id, change, 2, &f->error));
    EXPECT(FF_INVALID, ff_set_tags(f->client, submitted.execution_id, NULL, 0, &f->error));
    EXPECT(FF_NOT_LEASED,
           ff_revoke_lease(f->client, submitted.execution_id, "r", &epoch, &f->error));
    FF_AUTO(ff_answer_free) struct ff_tasks tasks = given_claimed(f, 1);
    EXPECT(FF_OK, ff_revoke_lease(f->client, submitted.execution_id, "r", &epoch, &f->error));
    assert_int_equal(tasks.items[0].lease_epoch, epoch);
    FF_AUTO(ff_answer_free) struct ff_info_list whole = {0};
    EXPECT(FF_OK, ff_get(f->client, submitted.execution_id, &whole, &f->error));
    assert_int_equal(5, whole.items[0].priority);
    assert_int_equal(1, whole.items[0].tag_count);
}

static void test_api__audit_of_a_used_store_finds_nothing(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission item = a_submission("k");
    FF_AUTO(ff_answer_free) struct ff_findings found = {0};

    (void)given_submitted(f, &item);
    FF_AUTO(ff_answer_free) struct ff_tasks tasks = given_claimed(f, 1);
    EXPECT(FF_OK, ff_fsck(f->client, &found, &f->error));
    assert_int_equal(0, found.count);
    assert_true(found.checks > 5);
}

static void test_api__a_child_may_not_use_the_client(void **state)
{
    struct fixture *const f = *state;
    const pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        struct ff_lane_list lanes;

        _exit(ff_lanes(f->client, &lanes, &f->error) == FF_CLOSED && ff_close(f->client, 0) == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}

static void test_api__a_call_that_a_client_cannot_do_says_so(void **state)
{
    static const struct ff_calls nothing = {.close = NULL};
    struct fixture *const f = *state;
    struct ff_client bare = {.calls = &nothing, .pid = getpid()};
    struct ff_findings found;

    EXPECT(FF_UNSUPPORTED, ff_fsck(&bare, &found, &f->error));
    assert_non_null(strstr(f->error.message, "ff_fsck"));
    EXPECT(FF_UNSUPPORTED, ff_cancel(&bare, "x", NULL, NULL, &f->error));
    EXPECT(FF_INVALID, ff_fsck(NULL, &found, &f->error));
    assert_string_equal("client", f->error.field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        cmocka_unit_test(test_api__statuses_have_words),
        TEST(test_api__a_call_that_a_client_cannot_do_says_so),
        TEST(test_api__missing_things_are_named),
        TEST(test_api__one_bad_item_does_not_fail_others),
        TEST(test_api__stride_of_items_is_the_callers),
        TEST(test_api__everything_comes_back),
        TEST(test_api__large_inputs_and_tags_reach_the_worker),
        TEST(test_api__replay_with_a_new_input_hands_out_that_one),
        TEST(test_api__ids_in_every_form),
        TEST(test_api__pages_see_every_row_once),
        TEST(test_api__filters_and_their_mistakes),
        TEST(test_api__history_begins_with_submitted),
        TEST(test_api__attempts_end_with_the_live_one),
        TEST(test_api__explain_tells_every_reason),
        TEST(test_api__cancel_and_replay_by_filter),
        TEST(test_api__operator_calls),
        TEST(test_api__audit_of_a_used_store_finds_nothing),
        TEST(test_api__a_child_may_not_use_the_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
