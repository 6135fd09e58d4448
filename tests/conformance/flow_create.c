/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_create.c -- accepting a graph once, whole, or not at all. */
#include "support/flows.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/uuid.h"
#include "model/ids.h"

FF_CONFORMANCE(flow_create, everything_comes_back)
{
    struct ff_flow_request *const r = graph(t, "build test-a test-b ship:1 | build>test-a "
                                               "build>test-b test-a>ship test-b>ship=");
    const struct ff_tag_pair tags[] = {{"instance", "blue"}, {"team", "core"}};
    const struct ff_flow_info *info;
    struct ff_flow_made made;
    struct flow flow;

    r->kind = "deploy";
    r->ns = "shop";
    r->tags = tags;
    r->tag_count = 2;
    EXPECT_OK(t, when_flow_created(t, r, &made));
    EXPECT(t, made.created);
    EXPECT_INT(t, 0, made.revision);
    EXPECT_INT(t, 4, (int64_t)made.count);
    EXPECT_TEXT(t, "ship", made.items[3].name);
    memcpy(flow.id, made.flow_id, sizeof flow.id);
    info = look_flow(t, &flow);
    EXPECT_TEXT(t, "deploy", info->kind);
    EXPECT_TEXT(t, "shop", info->ns);
    EXPECT_TEXT(t, "open", info->state);
    EXPECT_TEXT(t, "blue", info->instance_tag);
    EXPECT_INT(t, 2, (int64_t)info->tag_count);
    EXPECT_TEXT(t, "core", info->tags[1].value);
    EXPECT_INT(t, 4, info->node_count);
    EXPECT_INT(t, 4, info->edge_count);
    EXPECT_INT(t, 4, (int64_t)info->edge_info_count);
    EXPECT_TEXT(t, "input", info->edges[3].pass);
    EXPECT_TEXT(t, "unresolved", info->edges[0].outcome);
    EXPECT_INT(t, 3, (int64_t)info->join_count);
    EXPECT_TEXT(t, "quorum", info->joins[0].policy);
    EXPECT_INT(t, 1, info->joins[0].k);
    EXPECT_TEXT(t, "cancel_remaining", info->joins[0].on_satisfied);
    EXPECT_TEXT(t, made.items[0].execution_id, node_id(t, &flow, "build"));
    EXPECT_TEXT(t, "shop", look(t, made.items[0].execution_id)->ns);
    EXPECT_TEXT(t, "blue", look(t, made.items[0].execution_id)->instance_tag);
    EXPECT_TEXT(t, flow.id, look(t, made.items[0].execution_id)->flow_id);
}

FF_CONFORMANCE(flow_create, an_unknown_flow_is_not_found)
{
    struct ff_flow_info_list list;
    const struct flow flow = {"01890000-0000-7000-8000-000000000000"};

    EXPECT_STATUS(t, FF_NOT_FOUND, ff_flow_get(t->client, flow.id, &list, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, when_flow_cancelled(t, &flow, "cancel_all")); /* F32 */
    EXPECT_STATUS(t, FF_NOT_FOUND, when_grown(t, &flow, "a | ", NULL));
    EXPECT_STATUS(t, FF_INVALID, ff_flow_get(t->client, "x", &list, &t->err));
}

/* F13, R7 */
FF_CONFORMANCE(flow_create, what_cannot_run_is_refused_by_name)
{
    static const struct {
        const char *graph;
        ff_status status;
        const char *field, *says;
    } cases[] = {
        {"a b c | a>b b>c c>a", FF_CYCLE, "nodes[0]", "'a'"},
        {"a b | a>x", FF_UNKNOWN_NODE, "edges[0]", "'x'"},
        {"a b a | a>b", FF_DUPLICATE_NODE, "nodes[2]", "'a'"},
        {"a b | a>b a>b", FF_DUPLICATE_EDGE, "edges[1]", "'b'"},
        {"a b | a>b b>b", FF_SELF_EDGE, "edges[1]", "'b'"},
        {"a b:2 | a>b", FF_BAD_QUORUM, "nodes[1]", "'b'"},
        {"a b:0 | a>b", FF_BAD_QUORUM, "nodes[1]", "'b'"},
        {"a:any b | a>b", FF_BAD_QUORUM, "nodes[0]", "'a'"},
        {"a b c | a>c= b>c=", FF_DUPLICATE_INPUT_EDGE, "edges[1]", "'b'"},
        {" | ", FF_INVALID, "nodes", "no node"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT_REFUSED(t, cases[i].status, cases[i].field,
                       when_flow_created(t, graph(t, cases[i].graph), NULL));
        if (!strstr(t->err.message, cases[i].says))
            FAIL(t, "'%s' does not name %s", t->err.message, cases[i].says);
    }
    EXPECT_NO_ROWS(t);
}

/* Makes or cancels a flow with `text` in one of its fields. */
static ff_status when_said(struct test *t, const char *field, const char *text)
{
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct ff_submission work = submission();
    struct ff_flow_cancelled cancelled = {0};
    struct ff_flow_node nodes[3];
    struct flow flow;
    ff_status status;

    memcpy(nodes, r->nodes, 2 * sizeof nodes[0]);
    nodes[2] = (struct ff_flow_node){.name = "c", .work = &work};
    r->nodes = nodes;
    r->node_count = 3;
    if (strcmp(field, "reason") == 0) {
        flow = given_flow(t, "a b | a>b");
        status = ff_flow_cancel(t->client, flow.id, text, "cancel_all", &cancelled, &t->err);
        keep_answer(t, cancelled.memory);
        return status;
    }
    if (strcmp(field, "kind") == 0)
        r->kind = text;
    else if (strcmp(field, "namespace") == 0)
        r->ns = text;
    else if (strcmp(field, "idempotency_key") == 0)
        r->idempotency_key = text;
    else if (strcmp(field, "nodes[2].name") == 0)
        nodes[2].name = text;
    else
        work.kind = text;
    return when_flow_created(t, r, NULL);
}

FF_CONFORMANCE(flow_create, texts_have_limits)
{
    static const struct {
        const char *field;
        size_t bytes_max;
    } cases[] = {
        {"kind", 128},          {"namespace", 128},     {"idempotency_key", 255},
        {"nodes[2].name", 128}, {"nodes[2].kind", 128}, {"reason", 1024},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t limit = cases[i].bytes_max;

        EXPECT_OK(t, when_said(t, cases[i].field, text_of(t, limit - 1, 'x')));
        EXPECT_OK(t, when_said(t, cases[i].field, text_of(t, limit, 'x')));
        EXPECT_REFUSED(t, FF_TOO_LARGE, cases[i].field,
                       when_said(t, cases[i].field, text_of(t, limit + 1, 'x')));
    }
}

FF_CONFORMANCE(flow_create, a_bad_field_is_named_with_its_node)
{
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct ff_flow_node nodes[2];
    struct ff_submission work = submission();

    memcpy(nodes, r->nodes, sizeof nodes);
    nodes[1].work = &work;
    r->nodes = nodes;
    work.priority = 1;
    work.delay_ms = -1;
    EXPECT_REFUSED(t, FF_INVALID, "nodes[1].delay_ms", when_flow_created(t, r, NULL));
    work = submission();
    work.ns = "other";
    EXPECT_REFUSED(t, FF_INVALID, "nodes[1].namespace", when_flow_created(t, r, NULL));
    work = submission();
    nodes[1].on_satisfied = "let_run";
    EXPECT_REFUSED(t, FF_INVALID, "nodes[1].join.on_satisfied", when_flow_created(t, r, NULL));
    nodes[1].on_satisfied = NULL;
    nodes[1].join = "most_of";
    EXPECT_REFUSED(t, FF_INVALID, "nodes[1].join.policy", when_flow_created(t, r, NULL));
    EXPECT_NO_ROWS(t);
}

FF_CONFORMANCE(flow_create, the_same_again_is_the_same)
{
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct ff_flow_request *const other = graph(t, "a b c | a>b");
    struct ff_flow_made first;
    struct ff_flow_made again;

    r->idempotency_key = "k1";
    EXPECT_OK(t, when_flow_created(t, r, &first));
    EXPECT_OK(t, when_flow_created(t, r, &again));
    EXPECT(t, first.created && !again.created);
    EXPECT_TEXT(t, first.flow_id, again.flow_id);
    EXPECT_TEXT(t, first.items[1].execution_id, again.items[1].execution_id);
    other->idempotency_key = "k1";
    EXPECT_REFUSED(t, FF_KEY_REUSED, "idempotency_key", when_flow_created(t, other, NULL));
    other->idempotency_key = NULL;
    other->flow_id = first.flow_id;
    EXPECT_REFUSED(t, FF_KEY_REUSED, "flow_id", when_flow_created(t, other, NULL));
    EXPECT_ROWS(t, 2);
}

/* Somebody has submitted work under the id that a node of ours would get: no try would change it.
 */
FF_CONFORMANCE(flow_create, the_id_of_a_node_is_taken)
{
    static const char id[] = "01890000-0000-7000-8000-000000000002";
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct ff_submission s = submission();
    struct ff_exec_id member;
    struct ff_uuid flow_id;
    char text[FF_ID_TEXT_BYTES];

    EXPECT(t, ff_uuid_parse(ff_str_of(id), &flow_id));
    EXPECT_OK(t, ff_member_id(flow_id, FF_STR("b"), &member, &t->err));
    ff_exec_id_text(member, text);
    s.execution_id = text;
    (void)given(t, &s);
    r->flow_id = id;
    EXPECT_REFUSED(t, FF_CONFLICT, "nodes[1]", when_flow_created(t, r, NULL));
    EXPECT(t, strstr(t->err.message, "'b'"));
    r->flow_id = "01890000-0000-7000-8000-000000000003";
    EXPECT_OK(t, when_flow_created(t, r, NULL));
}

FF_CONFORMANCE(flow_create, an_own_id_is_taken_once)
{
    struct ff_flow_request *const r = graph(t, "a b | a>b");
    struct ff_flow_made made;

    r->flow_id = "01890000-0000-7000-8000-000000000001";
    EXPECT_OK(t, when_flow_created(t, r, &made));
    EXPECT_TEXT(t, r->flow_id, made.flow_id);
    EXPECT(t, made.created);
    EXPECT_OK(t, when_flow_created(t, r, &made));
    EXPECT(t, !made.created);
    EXPECT_ROWS(t, 2);
}

static void create_one(struct test *t, size_t index, void *ctx)
{
    struct ff_flow_made made;

    (void)index;
    EXPECT_OK(t, when_flow_created(t, ctx, &made));
}

FF_CONFORMANCE(flow_create, many_at_once_with_one_key_make_one_flow)
{
    struct ff_flow_request *const r = graph(t, "a b | a>b");

    r->idempotency_key = "same";
    in_threads(t, 8, create_one, r);
    EXPECT_ROWS(t, 2);
}

FF_CONFORMANCE(flow_create, lists_are_newest_first_and_by_filter)
{
    struct ff_flow_filter filter = {.size = sizeof filter, .limit = 2};
    struct ff_flow_info_list page = {0};
    struct flow flows[3];

    for (size_t i = 0; i < 3; i++)
        flows[i] = given_flow(t, "a | ");
    EXPECT_OK(t, ff_flow_list(t->client, &filter, &page, &t->err));
    keep_answer(t, page.memory);
    EXPECT_INT(t, 2, (int64_t)page.count);
    EXPECT_TEXT(t, flows[2].id, page.items[0].flow_id);
    filter.cursor = page.next_cursor;
    EXPECT_OK(t, ff_flow_list(t->client, &filter, &page, &t->err));
    keep_answer(t, page.memory);
    EXPECT_INT(t, 1, (int64_t)page.count);
    EXPECT_TEXT(t, flows[0].id, page.items[0].flow_id);
    EXPECT_TEXT(t, "", page.next_cursor);
    when_node_completed(t, &flows[1], "a");
    WAIT_FLOW(t, &flows[1], "completed a:completed");
    filter = (struct ff_flow_filter){.size = sizeof filter, .state = "completed"};
    EXPECT_OK(t, ff_flow_list(t->client, &filter, &page, &t->err));
    keep_answer(t, page.memory);
    EXPECT_INT(t, 1, (int64_t)page.count);
    filter.state = "running"; /* taken once and given back: they have begun */
    EXPECT_OK(t, ff_flow_list(t->client, &filter, &page, &t->err));
    keep_answer(t, page.memory);
    EXPECT_INT(t, 2, (int64_t)page.count);
    flows[0] = given_flow(t, "a | ");
    filter.state = "open";
    EXPECT_OK(t, ff_flow_list(t->client, &filter, &page, &t->err));
    keep_answer(t, page.memory);
    EXPECT_INT(t, 1, (int64_t)page.count);
    EXPECT_TEXT(t, flows[0].id, page.items[0].flow_id);
    filter.state = "x";
    EXPECT_STATUS(t, FF_INVALID, ff_flow_list(t->client, &filter, &page, &t->err));
}

FF_CONFORMANCE(flow_create, a_blocked_node_says_what_it_waits_for)
{
    const struct flow flow = given_flow(t, "a b c:2 d | a>c b>c d>c");
    struct ff_explanation why = {0};

    when_node_completed(t, &flow, "a");
    WAIT_UNTIL(t, look_join(t, &flow, "c")->success == 1);
    EXPECT_OK(t, ff_explain(t->client, node_id(t, &flow, "c"), &why, &t->err));
    keep_answer(t, why.memory);
    EXPECT_TEXT(t, "dependencies", why.items[0].code);
    EXPECT_TEXT(t, "it waits for 2 of 3: 'b', 'd'", why.items[0].detail);
    EXPECT_TEXT(t, "join", why.items[1].code);
    EXPECT_TEXT(t, "quorum of 2: 1 succeeded, 0 failed, 0 skipped of 3", why.items[1].detail);
}

/* One that was skipped says who is to blame, hop by hop. */
FF_CONFORMANCE(flow_create, a_skipped_node_says_why)
{
    const struct flow flow = given_flow(t, "a b c d | a>c b>c c>d");
    struct ff_explanation why = {0};

    when_node_failed(t, &flow, "a");
    WAIT_FLOW(t, &flow, "running a:failed b:waiting c:skipped d:skipped");
    EXPECT_OK(t, ff_explain(t->client, node_id(t, &flow, "c"), &why, &t->err));
    keep_answer(t, why.memory);
    EXPECT_TEXT(t, "finished", why.items[0].code);
    EXPECT_TEXT(t, "dependencies_failed", why.items[1].code);
    EXPECT_TEXT(t, "these did not succeed: 'a'", why.items[1].detail);
    EXPECT_TEXT(t, "join", why.items[2].code);
    EXPECT_TEXT(t, "all_of: 0 succeeded, 1 failed, 0 skipped of 2", why.items[2].detail);
}
