/* SPDX-License-Identifier: Apache-2.0
 *
 * test_json.c -- JSON is read strictly and written exactly.
 *
 * Of src/api/json*.c. No database, no clock, no sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/api-int.h"
#include "api/fields.h"
#include "api/json.h"
#include "base/str.h"
#include "model/policy.h"

struct fixture {
    struct ff_arena arena;
    struct ff_error error;
};

static int setup(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof fixture);
    ff_arena_init(&fixture.arena, 4096, 1 << 24);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    ff_arena_done(&((struct fixture *)*state)->arena);
    return 0;
}

static json_t *given(struct fixture *f, const char *text)
{
    json_t *json = NULL;

    if (ff_json_parse(ff_str_of(text), &json, &f->error) != FF_OK)
        fail_msg("'%s': %s", text, f->error.message);
    return json;
}

static const char *text_of(struct fixture *f, json_t *json)
{
    struct ff_str text;

    assert_non_null(json);
    assert_int_equal(FF_OK, ff_json_text(json, &f->arena, 1 << 20, &text, &f->error));
    json_decref(json);
    return text.ptr;
}

static void test_json__what_is_read_is_written_the_same(void **state)
{
    static const char *const texts[] = {
        "null",
        "true",
        "0",
        "-7",
        "9223372036854775807",
        "-9223372036854775808",
        "0.1",
        "-2.5e-8",
        "1e300",
        "5e-324",
        "1.7976931348623157e308",
        "3.0",
        "123456789.12345679",
        "\"a\\\"b\\\\c\\n\\t\\u0001\"",
        "\"gr\xc3\xbc\xc3\x9f\"",
        "[]",
        "{}",
        "[1,[2,[3]],{\"z\":1,\"a\":2,\"m\":null}]",
        "{\"b\":1,\"a\":{\"y\":0.30000000000000004,\"x\":1e-7}}",
    };
    struct fixture *const f = *state;

    for (size_t i = 0; i < FF_ARRAY_LEN(texts); i++)
        assert_string_equal(texts[i], text_of(f, given(f, texts[i])));
}

static void test_json__bad_text_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "{\"a\":1,\"a\":2}",
        "\"\\u0000\"",
        "{\"a\\u0000\":1}",
        "\"\\ud800\"",
        "9223372036854775808",
        "1e400",
        "NaN",
        "[1,]",
        "01",
        "1 2",
        "'a'",
        "\"\xff\"",
        "\"\xc0\xaf\"",
    };
    struct fixture *const f = *state;

    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++) {
        json_t *json = NULL;

        if (ff_json_parse(ff_str_of(bad[i]), &json, &f->error) == FF_OK)
            fail_msg("'%s' was read", bad[i]);
        assert_int_equal(FF_INVALID, f->error.status);
    }
    json_t *json = NULL;
    assert_int_equal(FF_INVALID, ff_json_parse((struct ff_str){"[1\0]", 4}, &json, &f->error));
}

static void test_json__depth_ends_at_64(void **state)
{
    struct fixture *const f = *state;
    char text[2 * 65 + 1];
    json_t *json = NULL;

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_int_equal(FF_OK, ff_json_parse((struct ff_str){text, 128}, &json, &f->error));
    json_decref(json);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_int_equal(FF_TOO_LARGE, ff_json_parse((struct ff_str){text, 130}, &json, &f->error));
    /* Brackets in strings do not count. */
    memset(text, '[', 100);
    text[0] = text[99] = '"';
    assert_int_equal(FF_OK, ff_json_parse((struct ff_str){text, 100}, &json, &f->error));
    json_decref(json);
}

static ff_status read_submission(struct fixture *f, const char *text, struct ff_submission *ret)
{
    FF_AUTO(ff_json_freep) json_t *json = given(f, text);

    memset(&f->error, 0, sizeof f->error);
    return ff_json_submission(json, &f->arena, ret, &f->error);
}

static void test_json__submission_has_all_fields(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission s;

    assert_int_equal(
        FF_OK,
        read_submission(
            f,
            "{\"kind\":\"k\",\"lane\":\"l\",\"namespace\":\"n\",\"input\":{\"b\":1,\"a\":0.1},"
            "\"priority\":7,\"tags\":{\"x\":\"1\",\"y\":\"2\"},\"idempotency_key\":\"key\","
            "\"execution_id\":\"id\",\"delay_ms\":5,\"deadline_at_ms\":9,"
            "\"required_capabilities\":[\"gpu\",\"eu\"],"
            "\"policy\":{\"retry_policy\":{\"max_retries\":2,\"backoff\":{\"type\":\"fixed\","
            "\"delay_ms\":50}},\"lease_lapse\":\"reclaim\"}}",
            &s));
    assert_string_equal("k", s.kind);
    assert_string_equal("l", s.lane);
    assert_string_equal("n", s.ns);
    assert_string_equal("{\"b\":1,\"a\":0.1}", s.input.ptr);
    assert_null(s.input_content_type);
    assert_int_equal(7, s.priority);
    assert_int_equal(2, s.tag_count);
    assert_string_equal("y", s.tags[1].name);
    assert_string_equal("2", s.tags[1].value);
    assert_string_equal("key", s.idempotency_key);
    assert_string_equal("id", s.execution_id);
    assert_int_equal(5, s.delay_ms);
    assert_true(s.delay_until_ms == FF_ABSENT_MS);
    assert_int_equal(9, s.deadline_at_ms);
    assert_int_equal(2, s.required_capability_count);
    assert_string_equal("eu", s.required_capabilities[1]);
    assert_non_null(s.policy);
    assert_true(s.policy->has_retry_policy);
    assert_int_equal(2, s.policy->max_retries);
    assert_string_equal("fixed", s.policy->backoff);
    assert_int_equal(50, s.policy->delay_ms);
    assert_string_equal("reclaim", s.policy->lease_lapse);
}

static void test_json__retry_policy_absent_is_not_empty(void **state)
{
    struct fixture *const f = *state;
    struct ff_submission s;

    assert_int_equal(FF_OK, read_submission(f, "{\"kind\":\"k\"}", &s));
    assert_null(s.policy);
    assert_int_equal(FF_OK, read_submission(f, "{\"kind\":\"k\",\"policy\":{}}", &s));
    assert_false(s.policy->has_retry_policy);
    assert_int_equal(FF_OK,
                     read_submission(f, "{\"kind\":\"k\",\"policy\":{\"retry_policy\":{}}}", &s));
    assert_true(s.policy->has_retry_policy);
    assert_int_equal(0, s.policy->max_retries);
    assert_string_equal("exponential", s.policy->backoff);
}

/* An object that says every default of its table. */
static json_t *said(const struct ff_shape *shape)
{
    json_t *const object = json_object();

    for (size_t i = 0; i < shape->count; i++) {
        const struct ff_field *const field = &shape->fields[i];

        if (!field->standard)
            fail_msg("%s has no default", field->name);
        if (field->beside_is && strcmp(field->beside_is, "exponential") != 0)
            continue;
        json_t *const value = json_loads(field->standard, JSON_DECODE_ANY, NULL);
        json_t *const inside = field->shape ? said(field->shape) : NULL;
        assert_non_null(value);
        if (inside) {
            assert_int_equal(0, json_object_update(inside, value));
            json_decref(value);
        }
        assert_int_equal(0, json_object_set_new(object, field->name, inside ? inside : value));
    }
    return object;
}

static void test_json__defaults_that_are_said_are_those_that_are_not(void **state)
{
    struct fixture *const f = *state;
    json_t *const json = said(&ff_shape_policy);
    struct ff_policy_spec spec;
    struct ff_policy policy;

    assert_int_equal(FF_OK, ff_json_policy(json, &f->arena, &spec, &f->error));
    json_decref(json);
    assert_true(spec.has_retry_policy);
    assert_int_equal(FF_OK, ff_policy_of_spec(&spec, &policy, &f->error));
    assert_int_equal(0, ff_policy_pack(&policy, &f->arena).len); /* equal to the default */
}

static void test_json__refused_fields_are_named(void **state)
{
    static const struct {
        const char *text;
        ff_status status;
        const char *field;
    } cases[] = {
        {"{\"kind\":\"k\",\"lanes\":\"x\"}", FF_UNKNOWN_FIELD, "lanes"},
        {"{\"kind\":1}", FF_INVALID, "kind"},
        {"{\"kind\":\"k\",\"priority\":\"1\"}", FF_INVALID, "priority"},
        {"{\"kind\":\"k\",\"priority\":1.5}", FF_INVALID, "priority"},
        {"{\"kind\":\"k\",\"tags\":[]}", FF_INVALID, "tags"},
        {"{\"kind\":\"k\",\"tags\":{\"a\":1}}", FF_INVALID, "tags.a"},
        {"{\"kind\":\"k\",\"required_capabilities\":[1]}", FF_INVALID, "required_capabilities"},
        {"{\"kind\":\"k\",\"policy\":3}", FF_INVALID, "policy"},
        {"{\"kind\":\"k\",\"policy\":{\"retries\":1}}", FF_UNKNOWN_FIELD, "policy.retries"},
        {"{\"kind\":\"k\",\"policy\":{\"retry_policy\":{\"max\":1}}}", FF_UNKNOWN_FIELD,
         "policy.retry_policy.max"},
        {"{\"kind\":\"k\",\"policy\":{\"retry_policy\":{\"backoff\":{\"type\":\"fixed\","
         "\"multiplier\":2}}}}",
         FF_INVALID, "policy.retry_policy.backoff.multiplier"},
        {"{\"kind\":\"k\",\"policy\":{\"retry_policy\":{\"backoff\":{\"type\":\"linear\"}}}}",
         FF_INVALID, "policy.retry_policy.backoff.type"},
        {"{\"kind\":\"k\",\"policy\":{\"max_replay_count\":99999999999}}", FF_INVALID,
         "policy.max_replay_count"},
        {"{\"kind\":\"k\",\"input\":1,\"input_base64\":\"YQ==\"}", FF_INVALID, "input_base64"},
        {"{\"kind\":\"k\",\"input_base64\":\"YQ\"}", FF_INVALID, "input_base64"},
        {"{\"kind\":\"k\",\"input_content_type\":\"text/plain\"}", FF_INVALID,
         "input_content_type"},
        {"{\"kind\":\"k\",\"delay_ms\":-9223372036854775808}", FF_INVALID, "delay_ms"},
    };
    struct fixture *const f = *state;
    struct ff_submission s;

    for (size_t i = 0; i < FF_ARRAY_LEN(cases); i++) {
        assert_int_equal(cases[i].status, read_submission(f, cases[i].text, &s));
        assert_string_equal(cases[i].field, f->error.field);
    }
}

static void test_json__bytes_travel_as_base64(void **state)
{
    struct fixture *const f = *state;
    struct ff_json_maker made;
    struct ff_submission s;

    assert_int_equal(FF_OK, read_submission(f,
                                            "{\"kind\":\"k\",\"input_base64\":\"AAH/\","
                                            "\"input_content_type\":\"image/png\"}",
                                            &s));
    assert_int_equal(3, s.input.len);
    assert_memory_equal("\x00\x01\xff", s.input.ptr, 3);
    assert_string_equal("image/png", s.input_content_type);
    made = ff_json_make();
    ff_json_put_bytes(&made, "input", s.input, s.input_content_type);
    assert_string_equal("{\"input_base64\":\"AAH/\",\"input_content_type\":\"image/png\"}",
                        text_of(f, ff_json_made(&made)));
    /* What claims to be JSON and is not. */
    made = ff_json_make();
    ff_json_put_bytes(&made, "input", FF_STR("{\"a\":1,\"a\":2}"), NULL);
    json_t *const json = ff_json_made(&made);
    assert_non_null(json_object_get(json, "input_base64"));
    json_decref(json);
}

static void test_json__problem_has_code_and_field(void **state)
{
    struct fixture *const f = *state;
    const struct ff_error error = {.status = FF_TOO_LARGE, .field = "input", .message = "too big"};

    assert_string_equal("{\"type\":\"urn:flowfabric:problem:too_large\","
                        "\"title\":\"larger than the limit\",\"status\":413,\"detail\":\"too big\","
                        "\"code\":\"too_large\",\"retryable\":false,\"field\":\"input\"}",
                        text_of(f, ff_json_problem(FF_TOO_LARGE, &error)));
}

static void test_json__event_numbers_have_names(void **state)
{
    struct fixture *const f = *state;
    struct ff_event_info event = {
        .cursor = "020000000000000007",
        .event_id = 7,
        .kind = "operator",
        .type = "priority_changed",
        .ns = "default",
        .note = "operator",
        .lease_epoch = FF_ABSENT_MS,
        .version = 3,
        .num_a = 1,
        .num_b = 9,
        .at_ms = 5,
    };
    FF_AUTO(ff_json_freep) json_t *json = ff_json_event(&event);
    const json_t *const data = json_object_get(json, "data");

    (void)f;
    assert_int_equal(1, json_integer_value(json_object_get(data, "old_priority")));
    assert_int_equal(9, json_integer_value(json_object_get(data, "new_priority")));
    assert_string_equal("operator", json_string_value(json_object_get(data, "by")));
    assert_null(json_object_get(data, "lease_epoch"));
    assert_true(json_is_null(json_object_get(json, "flow_id")));
}

static ff_status read_flow(struct fixture *f, const char *text, struct ff_flow_request *ret)
{
    FF_AUTO(ff_json_freep) json_t *json = given(f, text);

    memset(&f->error, 0, sizeof f->error);
    return ff_json_flow(json, &f->arena, ret, &f->error);
}

static void test_json__flow_has_all_fields(void **state)
{
    struct fixture *const f = *state;
    struct ff_flow_request flow;

    assert_int_equal(
        FF_OK, read_flow(f,
                         "{\"kind\":\"deploy\",\"namespace\":\"n\",\"tags\":{\"x\":\"1\"},"
                         "\"flow_id\":\"id\",\"idempotency_key\":\"key\","
                         "\"nodes\":[{\"name\":\"a\",\"kind\":\"k\",\"input\":[1],\"lane\":\"l\","
                         "\"tags\":{\"y\":\"2\"}},{\"name\":\"b\",\"kind\":\"k\",\"join\":"
                         "{\"policy\":\"quorum\",\"k\":1,\"on_satisfied\":\"let_run\"}}],"
                         "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"pass\":\"input\"}]}",
                         &flow));
    assert_string_equal("deploy", flow.kind);
    assert_string_equal("n", flow.ns);
    assert_string_equal("id", flow.flow_id);
    assert_string_equal("key", flow.idempotency_key);
    assert_int_equal(1, flow.tag_count);
    assert_true(flow.expected_revision == FF_ABSENT_MS);
    assert_int_equal(2, flow.node_count);
    assert_string_equal("a", flow.nodes[0].name);
    assert_string_equal("[1]", flow.nodes[0].work->input.ptr);
    assert_string_equal("l", flow.nodes[0].work->lane);
    assert_string_equal("y", flow.nodes[0].work->tags[0].name);
    assert_null(flow.nodes[0].join);
    assert_string_equal("quorum", flow.nodes[1].join);
    assert_int_equal(1, flow.nodes[1].k);
    assert_string_equal("let_run", flow.nodes[1].on_satisfied);
    assert_int_equal(1, flow.edge_count);
    assert_string_equal("b", flow.edges[0].to);
    assert_string_equal("input", flow.edges[0].pass);
}

static void test_json__refused_parts_of_flows_are_named(void **state)
{
    static const struct {
        const char *text;
        ff_status status;
        const char *field;
    } cases[] = {
        {"{\"nodes\":{}}", FF_INVALID, "nodes"},
        {"{\"expected_revision\":1}", FF_UNKNOWN_FIELD, "expected_revision"},
        {"{\"nodes\":[1]}", FF_INVALID, "nodes"},
        {"{\"nodes\":[{\"kind\":\"k\"}]}", FF_INVALID, "nodes[0].name"},
        {"{\"nodes\":[{\"name\":\"a\"},{\"name\":\"b\",\"knid\":\"k\"}]}", FF_UNKNOWN_FIELD,
         "nodes[1].knid"},
        {"{\"nodes\":[{\"name\":\"a\",\"namespace\":\"n\"}]}", FF_UNKNOWN_FIELD,
         "nodes[0].namespace"},
        {"{\"nodes\":[{\"name\":\"a\",\"execution_id\":\"n\"}]}", FF_UNKNOWN_FIELD,
         "nodes[0].execution_id"},
        {"{\"nodes\":[{\"name\":\"a\",\"idempotency_key\":\"n\"}]}", FF_UNKNOWN_FIELD,
         "nodes[0].idempotency_key"},
        {"{\"nodes\":[{\"name\":\"a\",\"tags\":{\"t\":1}}]}", FF_INVALID, "nodes[0].tags.t"},
        {"{\"nodes\":[{\"name\":\"a\",\"policy\":{\"retry_policy\":{\"max\":1}}}]}",
         FF_UNKNOWN_FIELD, "nodes[0].policy.retry_policy.max"},
        {"{\"nodes\":[{\"name\":\"a\",\"join\":\"all_of\"}]}", FF_INVALID, "nodes[0].join"},
        {"{\"nodes\":[{\"name\":\"a\",\"join\":{\"q\":1}}]}", FF_UNKNOWN_FIELD, "nodes[0].join.q"},
        {"{\"nodes\":[{\"name\":\"a\",\"join\":{\"k\":0}}]}", FF_INVALID, "nodes[0].join.k"},
        {"{\"edges\":[{\"from\":\"a\",\"to\":\"b\"},{\"from\":\"a\"}]}", FF_INVALID, "edges[1].to"},
        {"{\"edges\":[{\"to\":\"a\"}]}", FF_INVALID, "edges[0].from"},
        {"{\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"pas\":\"input\"}]}", FF_UNKNOWN_FIELD,
         "edges[0].pas"},
    };
    struct fixture *const f = *state;
    struct ff_flow_request flow;

    for (size_t i = 0; i < FF_ARRAY_LEN(cases); i++) {
        assert_int_equal(cases[i].status, read_flow(f, cases[i].text, &flow));
        assert_string_equal(cases[i].field, f->error.field);
    }
}

static void test_json__growth_has_a_revision_and_no_head(void **state)
{
    struct fixture *const f = *state;
    FF_AUTO(ff_json_freep)
    json_t *json = given(f, "{\"expected_revision\":3,\"nodes\":[{\"name\":\"c\"}]}");
    FF_AUTO(ff_json_freep) json_t *head = given(f, "{\"kind\":\"k\"}");
    struct ff_flow_request flow;

    assert_int_equal(FF_OK, ff_json_growth(json, &f->arena, &flow, &f->error));
    assert_int_equal(3, flow.expected_revision);
    assert_int_equal(1, flow.node_count);
    assert_int_equal(0, flow.edge_count);
    assert_int_equal(FF_UNKNOWN_FIELD, ff_json_growth(head, &f->arena, &flow, &f->error));
    assert_string_equal("kind", f->error.field);
}

static void test_json__flow_is_told_with_its_graph(void **state)
{
    struct fixture *const f = *state;
    struct ff_flow_count count = {"blocked", 2};
    struct ff_flow_node_info node = {.name = "a", .kind = "k", .public_state = "blocked"};
    struct ff_flow_edge_info edge = {"a", "b", "upstream", "unresolved"};
    struct ff_flow_join_info join = {
        .node = "b", .policy = "all_of", .group_state = "pending", .total = 1};
    const struct ff_flow_info info = {
        .flow_id = "f",
        .kind = "deploy",
        .ns = "n",
        .state = "open",
        .revision = 1,
        .finished_at_ms = FF_ABSENT_MS,
        .cancelled_at_ms = FF_ABSENT_MS,
        .counts = &count,
        .count_count = 1,
        .nodes = &node,
        .node_info_count = 1,
        .edges = &edge,
        .edge_info_count = 1,
        .joins = &join,
        .join_count = 1,
    };

    assert_string_equal(
        "{\"flow_id\":\"f\",\"kind\":\"deploy\",\"namespace\":\"n\",\"state\":\"open\","
        "\"revision\":1,\"tags\":{},\"instance_tag\":null,\"node_count\":0,\"edge_count\":0,"
        "\"ended_count\":0,\"counts\":{\"blocked\":2},\"cancellation\":null,\"created_at_ms\":0,"
        "\"changed_at_ms\":0,\"finished_at_ms\":null,\"cancelled_at_ms\":null,"
        "\"nodes\":[{\"name\":\"a\",\"execution_id\":\"\",\"kind\":\"k\","
        "\"public_state\":\"blocked\"}],\"edges\":[{\"from\":\"a\",\"to\":\"b\","
        "\"pass\":\"upstream\",\"outcome\":\"unresolved\"}],\"joins\":[{\"node\":\"b\","
        "\"policy\":\"all_of\",\"k\":null,\"on_satisfied\":null,\"success\":0,\"fail\":0,"
        "\"skip\":0,\"total\":1,\"group_state\":\"pending\"}]}",
        text_of(f, ff_json_flow_info(&info)));
}

static void test_json__task_knows_its_upstreams(void **state)
{
    struct fixture *const f = *state;
    const struct ff_upstream upstream[] = {
        {.node = "a", .execution_id = "x", .outcome = "success", .result = FF_STR("[1]")},
        {.node = "b",
         .execution_id = "{fp:7}:01890000-0000-7000-8000-000000000007",
         .outcome = "success",
         .result_elsewhere = true,
         .generation = 2},
        {.node = "c", .execution_id = "z", .outcome = "unresolved", .generation = -1},
    };
    struct ff_task task = {
        .kind = "k", .upstream = upstream, .upstream_count = FF_ARRAY_LEN(upstream)};
    const struct ff_tasks tasks = {.count = 1, .items = &task};
    FF_AUTO(ff_json_freep) json_t *json = ff_json_tasks(&tasks);
    const json_t *const first = json_array_get(json_object_get(json, "tasks"), 0);

    assert_string_equal("{\"a\":{\"execution_id\":\"x\",\"outcome\":\"success\",\"generation\":0,"
                        "\"result\":[1]},"
                        "\"b\":{\"execution_id\":\"{fp:7}:01890000-0000-7000-8000-000000000007\","
                        "\"outcome\":\"success\",\"generation\":2,\"result_url\":"
                        "\"/v1/executions/fp:7:01890000-0000-7000-8000-000000000007/"
                        "result?generation=2\"},"
                        "\"c\":{\"execution_id\":\"z\",\"outcome\":\"unresolved\"}}",
                        text_of(f, json_incref(json_object_get(first, "upstream"))));
}

static void test_json__scanners_tell_their_last_report(void **state)
{
    struct fixture *const f = *state;
    struct ff_scanner_info info = {.name = "dependency",
                                   .interval_ms = 15000,
                                   .ticks = 3,
                                   .last_processed = 2,
                                   .last_errors = 1,
                                   .processed = 5,
                                   .errors = 1,
                                   .last_scanned = 4,
                                   .last_noop = 1};
    const struct ff_scanner_list list = {.count = 1, .items = &info, .stuck_hops = 7};

    assert_string_equal("{\"scanners\":[{\"name\":\"dependency\",\"interval_ms\":15000,\"ticks\":3,"
                        "\"last_processed\":2,\"last_errors\":1,\"processed\":5,\"errors\":1,"
                        "\"last_report\":{\"scanned\":4,\"reconciled\":2,\"noop\":1,\"filtered\":0,"
                        "\"errors\":1}}],\"stuck_hops\":7}",
                        text_of(f, ff_json_scanners(&list)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_json__what_is_read_is_written_the_same),
        TEST(test_json__bad_text_is_refused),
        TEST(test_json__depth_ends_at_64),
        TEST(test_json__submission_has_all_fields),
        TEST(test_json__retry_policy_absent_is_not_empty),
        TEST(test_json__defaults_that_are_said_are_those_that_are_not),
        TEST(test_json__refused_fields_are_named),
        TEST(test_json__bytes_travel_as_base64),
        TEST(test_json__problem_has_code_and_field),
        TEST(test_json__event_numbers_have_names),
        TEST(test_json__flow_has_all_fields),
        TEST(test_json__refused_parts_of_flows_are_named),
        TEST(test_json__growth_has_a_revision_and_no_head),
        TEST(test_json__flow_is_told_with_its_graph),
        TEST(test_json__task_knows_its_upstreams),
        TEST(test_json__scanners_tell_their_last_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
