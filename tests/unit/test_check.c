/* SPDX-License-Identifier: Apache-2.0
 *
 * test_check.c -- every limit at its edge, and the field that is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/macros.h"
#include "support/world.h"

static struct world w;
static char long_text[FF_MESSAGE_BYTES_MAX + 2];

static int setup(void **state)
{
    (void)state;
    world_init(&w);
    memset(long_text, 'x', sizeof long_text);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_done(&w);
    return 0;
}

static struct ff_str text_of(size_t len)
{
    assert_true(len <= sizeof long_text);
    return (struct ff_str){long_text, len};
}

static void assert_error(ff_status got, ff_status expected, const char *field)
{
    if (got != expected || (expected != FF_OK && strcmp(w.error.field, field) != 0))
        fail_msg("got %d '%s', expected %d '%s'", (int)got, w.error.field, (int)expected, field);
}

/* --- submit --- */

static ff_status prepare(struct ff_submit_in in)
{
    memset(&w.error, 0, sizeof w.error);
    return ff_submit_prepare(&in, &w.settings, &w.arena, &w.error);
}

#define SUBMIT(member, value, status, field)                                                       \
    do {                                                                                           \
        struct ff_submit_in in_ = world_submission(&w);                                            \
        in_.member = (value);                                                                      \
        assert_error(prepare(in_), status, field);                                                 \
    } while (0)

static void test_check__names_of_a_submission(void **state)
{
    (void)state;
    SUBMIT(kind, text_of(FF_KIND_BYTES_MAX), FF_OK, "");
    SUBMIT(kind, text_of(FF_KIND_BYTES_MAX + 1), FF_TOO_LARGE, "kind");
    SUBMIT(kind, ff_str_null(), FF_INVALID, "kind");
    SUBMIT(kind, FF_STR(""), FF_INVALID, "kind");
    SUBMIT(kind, FF_STR("a\nb"), FF_INVALID, "kind");
    SUBMIT(kind, FF_STR("a\0b"), FF_INVALID, "kind");
    SUBMIT(kind, FF_STR("a\x7f"), FF_INVALID, "kind");
    SUBMIT(kind, FF_STR("\xff"), FF_INVALID, "kind");
    SUBMIT(kind, FF_STR("h\xc3\xa9llo w\xc3\xb6rld"), FF_OK, "");
    SUBMIT(namespace, text_of(FF_NAMESPACE_BYTES_MAX), FF_OK, "");
    SUBMIT(namespace, text_of(FF_NAMESPACE_BYTES_MAX + 1), FF_TOO_LARGE, "namespace");
    SUBMIT(namespace, FF_STR(""), FF_INVALID, "namespace");
    SUBMIT(lane, text_of(FF_LANE_BYTES_MAX), FF_OK, "");
    SUBMIT(lane, text_of(FF_LANE_BYTES_MAX + 1), FF_INVALID, "lane");
    SUBMIT(lane, FF_STR(""), FF_INVALID, "lane");
    SUBMIT(lane, FF_STR("caf\xc3\xa9"), FF_INVALID, "lane");
    SUBMIT(lane, FF_STR("a\tb"), FF_INVALID, "lane");
    SUBMIT(lane, FF_STR("with space ~!"), FF_OK, "");
    SUBMIT(idempotency_key, text_of(FF_KEY_BYTES_MAX), FF_OK, "");
    SUBMIT(idempotency_key, text_of(FF_KEY_BYTES_MAX + 1), FF_TOO_LARGE, "idempotency_key");
    SUBMIT(idempotency_key, FF_STR(""), FF_INVALID, "idempotency_key");
    SUBMIT(idempotency_key, FF_STR("\xc3\xa9"), FF_INVALID, "idempotency_key");
    SUBMIT(input_type, text_of(FF_CONTENT_TYPE_BYTES_MAX), FF_OK, "");
    SUBMIT(input_type, text_of(FF_CONTENT_TYPE_BYTES_MAX + 1), FF_INVALID, "input_content_type");
    SUBMIT(input_type, FF_STR("a/b\r\nx: y"), FF_INVALID, "input_content_type");
    SUBMIT(id.partition, 256, FF_INVALID, "execution_id");
    SUBMIT(id.partition, -1, FF_INVALID, "execution_id");
    SUBMIT(id.uuid, (struct ff_uuid){.b = {0}}, FF_INVALID, "execution_id");
}

static void test_check__times_of_a_submission(void **state)
{
    struct ff_submit_in both = world_submission(&w);

    (void)state;
    SUBMIT(delay_ms, 0, FF_OK, "");
    SUBMIT(delay_ms, FF_DURATION_MS_MAX, FF_OK, "");
    SUBMIT(delay_ms, -1, FF_INVALID, "delay_ms");
    SUBMIT(delay_ms, FF_DURATION_MS_MAX + 1, FF_INVALID, "delay_ms");
    SUBMIT(delay_until_ms, 0, FF_OK, "");
    SUBMIT(delay_until_ms, FF_TIME_MS_MAX, FF_OK, "");
    SUBMIT(delay_until_ms, FF_TIME_MS_MAX + 1, FF_INVALID, "delay_until_ms");
    SUBMIT(delay_until_ms, -1, FF_INVALID, "delay_until_ms");
    SUBMIT(deadline_ms, 1, FF_OK, "");
    SUBMIT(deadline_ms, 0, FF_INVALID, "deadline_ms");
    SUBMIT(deadline_ms, FF_DURATION_MS_MAX + 1, FF_INVALID, "deadline_ms");
    SUBMIT(deadline_at_ms, FF_TIME_MS_MAX, FF_OK, "");
    SUBMIT(deadline_at_ms, FF_TIME_MS_MAX + 1, FF_INVALID, "deadline_at_ms");
    both.delay_ms = 1;
    both.delay_until_ms = 1;
    assert_error(prepare(both), FF_INVALID, "delay_until_ms");
    both.delay_until_ms = FF_NULL64;
    both.deadline_ms = 1;
    both.deadline_at_ms = 1;
    assert_error(prepare(both), FF_INVALID, "deadline_at_ms");
    SUBMIT(policy.max_retries, -1, FF_INVALID, "policy.retry_policy.max_retries");
}

static void test_check__sizes_of_a_submission(void **state)
{
    (void)state;
    w.settings.input_bytes_max = 10;
    SUBMIT(input, text_of(10), FF_OK, "");
    SUBMIT(input, text_of(11), FF_TOO_LARGE, "input");
    SUBMIT(input, FF_STR("\xff\0\x01"), FF_OK, ""); /* bytes are bytes */
}

static void test_check__priorities_are_clamped(void **state)
{
    static const int64_t said[] = {INT64_MIN, -1, 0, 5, 9000, 9001, INT64_MAX};
    static const int64_t kept[] = {0, 0, 0, 5, 9000, 9000, 9000};

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(said); i++) {
        struct ff_submit_in in = world_submission(&w);
        struct ff_priority_in change = {.id = in.id, .priority = said[i]};

        in.priority = said[i];
        assert_int_equal(ff_submit_prepare(&in, &w.settings, &w.arena, NULL), FF_OK);
        assert_int_equal(in.priority, kept[i]);
        assert_int_equal(ff_priority_check(&change, NULL), FF_OK);
        assert_int_equal(change.priority, kept[i]);
    }
}

static void assert_tag(struct ff_str name, struct ff_str value, ff_status status, const char *field)
{
    struct ff_tag_in tag = {name, value};
    struct ff_submit_in in = world_submission(&w);

    in.tags = &tag;
    in.tag_count = 1;
    assert_error(prepare(in), status, field);
}

static void test_check__tags(void **state)
{
    struct ff_tag_in twice[] = {{FF_STR("a"), FF_STR("1")}, {FF_STR("a"), FF_STR("2")}};
    struct ff_tag_in many[FF_TAGS_MAX + 1];
    char names[FF_TAGS_MAX + 1][3];
    struct ff_submit_in in = world_submission(&w);

    (void)state;
    assert_tag(FF_STR("a"), FF_STR(""), FF_OK, "");
    assert_tag(FF_STR("9a_b.c-d"), FF_STR("any\ttext \xc3\xa9"), FF_OK, "");
    assert_tag(FF_STR(""), FF_STR("x"), FF_INVALID, "tags");
    assert_tag(FF_STR("A"), FF_STR("x"), FF_INVALID, "tags");
    assert_tag(FF_STR(".a"), FF_STR("x"), FF_INVALID, "tags");
    assert_tag(FF_STR("-a"), FF_STR("x"), FF_INVALID, "tags");
    assert_tag(FF_STR("a b"), FF_STR("x"), FF_INVALID, "tags");
    assert_tag(FF_STR("a\0"), FF_STR("x"), FF_INVALID, "tags");
    assert_tag(text_of(FF_TAG_NAME_BYTES_MAX), FF_STR("x"), FF_OK, "");
    assert_tag(text_of(FF_TAG_NAME_BYTES_MAX + 1), FF_STR("x"), FF_TOO_LARGE,
               "tags.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    assert_tag(FF_STR("k"), text_of(FF_TAG_VALUE_BYTES_MAX), FF_OK, "");
    assert_tag(FF_STR("k"), text_of(FF_TAG_VALUE_BYTES_MAX + 1), FF_TOO_LARGE, "tags.k");
    assert_tag(FF_STR("k"), FF_STR("\xff"), FF_INVALID, "tags.k");
    assert_tag(FF_STR("k"), FF_STR("a\0b"), FF_INVALID, "tags.k");
    assert_tag(FF_STR("k"), ff_str_null(), FF_INVALID, "tags.k");
    in.tags = twice;
    in.tag_count = 2;
    assert_error(prepare(in), FF_INVALID, "tags.a");
    for (size_t i = 0; i <= FF_TAGS_MAX; i++) {
        names[i][0] = (char)('a' + i / 10);
        names[i][1] = (char)('0' + i % 10);
        many[i] = (struct ff_tag_in){{names[i], 2}, FF_STR("v")};
    }
    in.tags = many;
    in.tag_count = FF_TAGS_MAX;
    assert_error(prepare(in), FF_OK, "");
    in.tag_count = FF_TAGS_MAX + 1;
    assert_error(prepare(in), FF_TOO_LARGE, "tags");
}

static void assert_capability(struct ff_str token, ff_status status)
{
    struct ff_str tokens[] = {FF_STR("ok"), token};
    struct ff_submit_in in = world_submission(&w);
    struct ff_claim_in claim = world_claim_of(&w, "w1");

    in.capabilities = tokens;
    in.capability_count = 2;
    assert_error(prepare(in), status, "required_capabilities[1]");
    tokens[0] = FF_STR("ok");
    tokens[1] = token;
    claim.capabilities = tokens;
    claim.capability_count = 2;
    assert_error(ff_claim_prepare(&claim, &w.arena, &w.error), status, "capabilities[1]");
}

static void test_check__capabilities(void **state)
{
    struct ff_str many[FF_CAPABILITIES_MAX + 1];
    struct ff_submit_in in = world_submission(&w);

    (void)state;
    assert_capability(FF_STR("gpu=a100"), FF_OK);
    assert_capability(text_of(FF_CAPABILITY_BYTES_MAX), FF_OK);
    assert_capability(text_of(FF_CAPABILITY_BYTES_MAX + 1), FF_TOO_LARGE);
    assert_capability(FF_STR(""), FF_INVALID);
    assert_capability(FF_STR("a,b"), FF_INVALID);
    assert_capability(FF_STR("a b"), FF_INVALID);
    assert_capability(FF_STR("a\tb"), FF_INVALID);
    assert_capability(FF_STR("a\x01"), FF_INVALID);
    assert_capability(FF_STR("\xc0\xaf"), FF_INVALID);
    for (size_t i = 0; i <= FF_CAPABILITIES_MAX; i++)
        many[i] = FF_STR("same");
    in.capabilities = many;
    in.capability_count = FF_CAPABILITIES_MAX;
    assert_error(prepare(in), FF_OK, "");
    in.capability_count = FF_CAPABILITIES_MAX + 1;
    assert_error(prepare(in), FF_TOO_LARGE, "required_capabilities");
}

/* --- flow --- */

/* One MiB each, the last one as long as it is told. */
static ff_status prepare_flow(size_t node_count, size_t last_bytes)
{
    static char input[FF_INPUT_BYTES_MAX];
    static char names[64][24];
    static struct ff_graph_node shape[64];
    static struct ff_node_in nodes[64];
    struct ff_flow_create_in in = {.flow_id = {{1}},
                                   .namespace = FF_STR("n"),
                                   .idempotency_key = ff_str_null(),
                                   .kind = ff_str_null(),
                                   .instance_tag = ff_str_null()};

    memset(input, 'x', sizeof input);
    for (size_t i = 0; i < node_count; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%zu", i);
        shape[i] = (struct ff_graph_node){.name = ff_str_of(names[i]),
                                          .policy = FF_JOIN_ALL_OF,
                                          .k = FF_NULL64,
                                          .on_satisfied = FF_NULL32};
        nodes[i] = (struct ff_node_in){.submit = world_submission(&w)};
        nodes[i].submit.input =
            (struct ff_str){input, i + 1 < node_count ? sizeof input : last_bytes};
    }
    in.graph =
        (struct ff_graph_in){.shape = {.nodes = shape, .node_count = node_count}, .nodes = nodes};
    memset(&w.error, 0, sizeof w.error);
    return ff_flow_prepare(&in, &w.settings, &w.arena, &w.error);
}

static void test_check__inputs_of_a_flow_together(void **state)
{
    (void)state;
    assert_int_equal(40 * FF_INPUT_BYTES_MAX, FF_FLOW_INPUT_BYTES_MAX);
    assert_error(prepare_flow(40, FF_INPUT_BYTES_MAX), FF_OK, "");
    assert_error(prepare_flow(41, 1), FF_TOO_LARGE, "nodes");
}

/* --- claim --- */

static ff_status prepare_claim(struct ff_claim_in in)
{
    memset(&w.error, 0, sizeof w.error);
    return ff_claim_prepare(&in, &w.arena, &w.error);
}

#define CLAIM(member, value, status, field)                                                        \
    do {                                                                                           \
        struct ff_claim_in in_ = world_claim_of(&w, "w1");                                         \
        in_.member = (value);                                                                      \
        assert_error(prepare_claim(in_), status, field);                                           \
    } while (0)

static void test_check__claims(void **state)
{
    (void)state;
    CLAIM(worker_id, text_of(FF_WORKER_ID_BYTES_MAX), FF_OK, "");
    CLAIM(worker_id, text_of(FF_WORKER_ID_BYTES_MAX + 1), FF_INVALID, "worker_id");
    CLAIM(worker_id, FF_STR(""), FF_INVALID, "worker_id");
    CLAIM(worker_id, ff_str_null(), FF_INVALID, "worker_id");
    CLAIM(worker_id, FF_STR("a b"), FF_INVALID, "worker_id");
    CLAIM(worker_id, FF_STR("a\n"), FF_INVALID, "worker_id");
    CLAIM(worker_id, FF_STR("\xff"), FF_INVALID, "worker_id");
    CLAIM(worker_instance_id, FF_STR(" "), FF_INVALID, "worker_instance_id");
    CLAIM(max, 1, FF_OK, "");
    CLAIM(max, FF_TASKS_MAX, FF_OK, "");
    CLAIM(max, 0, FF_INVALID, "max");
    CLAIM(max, FF_TASKS_MAX + 1, FF_INVALID, "max");
    CLAIM(lease_ttl_ms, FF_LEASE_TTL_MS_MIN, FF_OK, "");
    CLAIM(lease_ttl_ms, FF_LEASE_TTL_MS_MAX, FF_OK, "");
    CLAIM(lease_ttl_ms, FF_LEASE_TTL_MS_MIN - 1, FF_INVALID, "lease_ttl_ms");
    CLAIM(lease_ttl_ms, FF_LEASE_TTL_MS_MAX + 1, FF_INVALID, "lease_ttl_ms");
    CLAIM(request_id, text_of(FF_REQUEST_ID_BYTES_MAX), FF_OK, "");
    CLAIM(request_id, text_of(FF_REQUEST_ID_BYTES_MAX + 1), FF_INVALID, "request_id");
    CLAIM(request_id, FF_STR(""), FF_INVALID, "request_id");
    CLAIM(namespace, FF_STR(""), FF_INVALID, "namespace");
}

static void test_check__lists_of_a_claim(void **state)
{
    struct ff_str names[FF_LANES_PER_CLAIM_MAX + 1];
    struct ff_claim_in in = world_claim_of(&w, "w1");

    (void)state;
    for (size_t i = 0; i <= FF_LANES_PER_CLAIM_MAX; i++)
        names[i] = FF_STR("a");
    in.lanes = names;
    in.lane_count = FF_LANES_PER_CLAIM_MAX;
    assert_error(prepare_claim(in), FF_OK, "");
    in.lane_count++;
    assert_error(prepare_claim(in), FF_TOO_LARGE, "lanes");
    in.lane_count = 3;
    names[2] = FF_STR("\x01");
    assert_error(prepare_claim(in), FF_INVALID, "lanes[2]");
    in.lane_count = 1;
    in.kinds = names;
    in.kind_count = 3;
    assert_error(prepare_claim(in), FF_INVALID, "kinds[2]");
    in.kind_count = FF_KINDS_PER_CLAIM_MAX + 1;
    assert_error(prepare_claim(in), FF_TOO_LARGE, "kinds");
}

/* --- the words of workers and operators --- */

static struct ff_task_ref good_task(void)
{
    return (struct ff_task_ref){.id = {1, {.b = {1}}}, .lease_id = {.b = {2}}, .lease_epoch = 1};
}

static void test_check__a_task_is_named_by_three(void **state)
{
    struct ff_task_ref task = good_task();

    (void)state;
    assert_error(ff_task_ref_check(&task, &w.error), FF_OK, "");
    task.lease_epoch = 0;
    assert_error(ff_task_ref_check(&task, &w.error), FF_INVALID, "lease_epoch");
    task = good_task();
    memset(&task.lease_id, 0, sizeof task.lease_id);
    assert_error(ff_task_ref_check(&task, &w.error), FF_INVALID, "lease_id");
    task = good_task();
    task.id.partition = FF_PARTITIONS;
    assert_error(ff_task_ref_check(&task, &w.error), FF_INVALID, "execution_id");
}

static void test_check__words_of_a_worker(void **state)
{
    struct ff_renew_in renew = {good_task(), FF_NULL64};
    struct ff_progress_in progress = {good_task(), FF_NULL32, ff_str_null()};
    struct ff_complete_in complete = {.task = good_task()};
    struct ff_fail_in fail = {.task = good_task(), .retry_after_ms = FF_NULL64};
    struct ff_delay_in delay = {good_task(), FF_NULL64, FF_NULL64};
    struct ff_release_in release = {.task = good_task()};

    (void)state;
    assert_error(ff_renew_check(&renew, &w.error), FF_OK, "");
    renew.lease_ttl_ms = FF_LEASE_TTL_MS_MIN - 1;
    assert_error(ff_renew_check(&renew, &w.error), FF_INVALID, "lease_ttl_ms");
    assert_error(ff_progress_check(&progress, &w.error), FF_OK, "");
    progress.percent = 101;
    assert_error(ff_progress_check(&progress, &w.error), FF_INVALID, "percent");
    progress.percent = -1;
    assert_error(ff_progress_check(&progress, &w.error), FF_INVALID, "percent");
    progress.percent = 100;
    progress.message = text_of(FF_MESSAGE_BYTES_MAX);
    assert_error(ff_progress_check(&progress, &w.error), FF_OK, "");
    progress.message = text_of(FF_MESSAGE_BYTES_MAX + 1);
    assert_error(ff_progress_check(&progress, &w.error), FF_TOO_LARGE, "message");
    w.settings.result_bytes_max = 4;
    complete.result = text_of(4);
    assert_error(ff_complete_check(&complete, &w.settings, &w.error), FF_OK, "");
    complete.result = text_of(5);
    assert_error(ff_complete_check(&complete, &w.settings, &w.error), FF_TOO_LARGE, "result");
    fail.message = FF_STR("trace:\n\tline 1");
    assert_error(ff_fail_check(&fail, &w.error), FF_OK, "");
    fail.message = FF_STR("\xed\xa0\x80"); /* a lone surrogate */
    assert_error(ff_fail_check(&fail, &w.error), FF_INVALID, "message");
    fail.message = ff_str_null();
    fail.retry_after_ms = -1;
    assert_error(ff_fail_check(&fail, &w.error), FF_INVALID, "retry_after_ms");
    fail.retry_after_ms = 0;
    fail.failure_class = FF_FAILURE_CLASS_COUNT;
    assert_error(ff_fail_check(&fail, &w.error), FF_INVALID, "class");
    assert_error(ff_delay_check(&delay, &w.error), FF_INVALID, "delay_ms");
    delay.delay_ms = delay.delay_until_ms = 1;
    assert_error(ff_delay_check(&delay, &w.error), FF_INVALID, "delay_until_ms");
    delay.delay_until_ms = FF_NULL64;
    assert_error(ff_delay_check(&delay, &w.error), FF_OK, "");
    release.reason = text_of(FF_REASON_BYTES_MAX + 1);
    assert_error(ff_release_check(&release, &w.error), FF_TOO_LARGE, "reason");
}

static void test_check__words_of_an_operator(void **state)
{
    const struct ff_exec_id id = good_task().id;
    struct ff_cancel_in cancel = {.id = id, .reason = text_of(FF_REASON_BYTES_MAX)};
    struct ff_replay_in replay = {
        .id = id, .deadline_ms = FF_NULL64, .expected_generation = FF_NULL64};
    struct ff_revoke_in revoke = {.id = id, .reason = FF_STR("\xff")};
    struct ff_tag_in tag = {FF_STR("a"), ff_str_null()};
    struct ff_tag_op_in tags = {id, &tag, 1};
    struct ff_lane_pause_in pause = {.lane = FF_STR("a")};

    (void)state;
    assert_error(ff_cancel_check(&cancel, &w.error), FF_OK, "");
    cancel.reason = text_of(FF_REASON_BYTES_MAX + 1);
    assert_error(ff_cancel_check(&cancel, &w.error), FF_TOO_LARGE, "reason");
    assert_error(ff_replay_check(&replay, &w.settings, &w.error), FF_OK, "");
    replay.expected_generation = -1;
    assert_error(ff_replay_check(&replay, &w.settings, &w.error), FF_INVALID,
                 "expected_generation");
    replay.expected_generation = 0;
    replay.deadline_ms = 0;
    assert_error(ff_replay_check(&replay, &w.settings, &w.error), FF_INVALID, "deadline_ms");
    replay.deadline_ms = 1;
    replay.has_input = true;
    replay.input = text_of(100);
    w.settings.input_bytes_max = 99;
    assert_error(ff_replay_check(&replay, &w.settings, &w.error), FF_TOO_LARGE, "input");
    assert_error(ff_revoke_check(&revoke, &w.error), FF_INVALID, "reason");
    assert_error(ff_tag_check(&tags, &w.error), FF_OK, ""); /* without a value: remove */
    tags.tag_count = 0;
    assert_error(ff_tag_check(&tags, &w.error), FF_INVALID, "tags");
    assert_error(ff_lane_pause_check(&pause, &w.error), FF_OK, "");
    pause.lane = text_of(FF_LANE_BYTES_MAX + 1);
    assert_error(ff_lane_pause_check(&pause, &w.error), FF_INVALID, "lane");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_check__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(names_of_a_submission),
        TEST(times_of_a_submission),
        TEST(sizes_of_a_submission),
        TEST(priorities_are_clamped),
        TEST(tags),
        TEST(capabilities),
        TEST(inputs_of_a_flow_together),
        TEST(claims),
        TEST(lists_of_a_claim),
        TEST(a_task_is_named_by_three),
        TEST(words_of_a_worker),
        TEST(words_of_an_operator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
