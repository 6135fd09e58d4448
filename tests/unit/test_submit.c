/* SPDX-License-Identifier: Apache-2.0
 *
 * test_submit.c -- accepting work, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/limits.h"
#include "base/macros.h"
#include "model/codes.h"
#include "model/states.h"
#include "support/world_fixture.h"

static struct ff_submit_in prepared(struct ff_submit_in in)
{
    assert_int_equal(ff_submit_prepare(&in, &w.settings, &w.arena, &w.error), FF_OK);
    return in;
}

static struct ff_submit_in with_key(const char *key)
{
    struct ff_submit_in in = world_submission(&w);

    in.idempotency_key = ff_str_of(key);
    return prepared(in);
}

static struct ff_submit_in with_own_id(struct ff_exec_id id)
{
    struct ff_submit_in in = world_submission(&w);

    in.id = id;
    in.own_id = true;
    return prepared(in);
}

/* F1: an accepted execution is claimable at once, through the front door. */
static void test_submit__is_waiting_and_claimable(void **state)
{
    struct ff_submit_in in = world_submission(&w);
    struct ff_tag_in tags[] = {{FF_STR("instance"), FF_STR("blue")}, {FF_STR("a"), FF_STR("1")}};
    const struct ff_execution *row;
    struct ff_claim_out out;
    struct ff_exec_id id;

    (void)state;
    in.tags = tags;
    in.tag_count = 2;
    in.priority = 12345;
    id = world_submit(&w, &in);
    row = world_execution(&w, id);
    assert_int_equal(row->state, FF_STATE_READY_FIRST);
    assert_int_equal(row->version, 1);
    assert_int_equal(row->created_at_ms, w.now_ms);
    assert_int_equal(row->changed_at_ms, w.now_ms);
    assert_int_equal(row->priority, FF_PRIORITY_MAX);
    assert_int_equal(row->due_at_ms, FF_NULL64);
    assert_true(ff_str_eq(row->namespace, FF_STR("default")));
    assert_true(ff_str_eq(row->lane, FF_STR("default")));
    assert_true(ff_str_eq(row->instance_tag, FF_STR("blue")));
    assert_true(ff_str_eq(row->input, FF_STR("{}")));
    assert_int_equal(w.row_count[FF_TABLE_TAG], 2);
    assert_int_equal(w.row_count[FF_TABLE_PAYLOAD], 0);
    assert_int_equal(w.event_count, 0);
    assert_int_equal(world_claim(&w, "w1", 1, &out), 1);
    assert_true(ff_exec_id_eq(out.tasks[0].id, id));
    assert_true(out.tasks[0].tagged);
}

/* An id that was minted by the store's time tells when its call came, however long that has waited:
 * so items of a call keep their order, whoever writes them. Any other must be about right. */
static void test_submit__is_as_old_as_its_id_says(void **state)
{
    const int64_t now_ms = w.now_ms;
    const int64_t near_ms = FF_CALL_NEAR_MS;
    const struct {
        int64_t told_ms, created_ms;
        bool dated;
    } cases[] = {
        {now_ms - 7, now_ms - 7, true},
        {now_ms - 60000, now_ms - 60000, true},
        {now_ms + 1, now_ms, true}, /* ours is a little fast */
        {now_ms, now_ms, false},
        {now_ms - near_ms, now_ms - near_ms, false},
        {now_ms - near_ms - 1, now_ms, false},
        {now_ms + 1, now_ms, false},
        {0, now_ms, false},
    };

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(cases); i++) {
        struct ff_submit_in in = world_submission(&w);
        const struct ff_execution *row;

        in.id = ff_exec_id_mint(cases[i].told_ms, in.id.uuid.b + 6);
        in.dated = cases[i].dated;
        in.deadline_ms = 5000;
        in.delay_ms = 2000;
        row = world_execution(&w, world_submit(&w, &in));
        assert_int_equal(row->created_at_ms, cases[i].created_ms);
        assert_int_equal(row->flags & FF_EXEC_DATED,
                         cases[i].created_ms == cases[i].told_ms ? FF_EXEC_DATED : 0);
        assert_int_equal(row->delay_until_ms, now_ms + 2000);
        assert_int_equal(row->deadline_at_ms, now_ms + 5000);
        assert_int_equal(row->changed_at_ms, now_ms);
    }
}

/* F36: the delay has a column of its own. */
static void test_submit__delays(void **state)
{
    struct ff_submit_in in = world_submission(&w);
    const struct ff_execution *row;

    (void)state;
    in.delay_ms = 5000;
    in.deadline_ms = 60000;
    row = world_execution(&w, world_submit(&w, &in));
    assert_int_equal(row->state, FF_STATE_DELAYED_FIRST);
    assert_int_equal(row->delay_until_ms, w.now_ms + 5000);
    assert_int_equal(row->deadline_at_ms, w.now_ms + 60000);
    assert_int_equal(row->deadline_ms, 60000);
    assert_int_equal(row->due_at_ms, w.now_ms + 5000);
    in = world_submission(&w);
    in.delay_until_ms = w.now_ms - 1;
    row = world_execution(&w, world_submit(&w, &in));
    assert_int_equal(row->state, FF_STATE_READY_FIRST);
    assert_int_equal(row->delay_until_ms, FF_NULL64);
    in = world_submission(&w);
    in.delay_ms = 0;
    in.deadline_at_ms = w.now_ms + 7;
    row = world_execution(&w, world_submit(&w, &in));
    assert_int_equal(row->state, FF_STATE_READY_FIRST);
    assert_int_equal(row->due_at_ms, w.now_ms + 7);
    assert_int_equal(row->deadline_ms, FF_NULL64);
}

static void test_submit__large_inputs_live_elsewhere(void **state)
{
    static char bytes[FF_PAYLOAD_INLINE_BYTES_MAX + 1];
    struct ff_submit_in in = world_submission(&w);
    const struct ff_execution *row;

    (void)state;
    memset(bytes, 'x', sizeof bytes);
    in.input = (struct ff_str){bytes, FF_PAYLOAD_INLINE_BYTES_MAX};
    row = world_execution(&w, world_submit(&w, &in));
    assert_int_equal(row->input.len, FF_PAYLOAD_INLINE_BYTES_MAX);
    assert_int_equal(w.row_count[FF_TABLE_PAYLOAD], 0);
    in = world_submission(&w);
    in.input = (struct ff_str){bytes, sizeof bytes};
    in.input_type = FF_STR("text/plain");
    row = world_execution(&w, world_submit(&w, &in));
    assert_true(ff_str_is_null(row->input));
    assert_true(row->flags & FF_EXEC_INPUT_ELSEWHERE);
    assert_int_equal(w.row_count[FF_TABLE_PAYLOAD], 1);
    assert_int_equal(((struct ff_payload *)w.rows[FF_TABLE_PAYLOAD][0])->data.len, sizeof bytes);
}

static void test_submit__the_same_key_gives_the_first_execution(void **state)
{
    struct ff_submit_in first = with_key("k1");
    struct ff_submit_in second = with_key("k1");
    struct ff_submit_out out;
    const struct ff_exec_id id = world_submit(&w, &first);

    (void)state;
    (void)world_given_claimed(&w, "w1");
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &second, &out), FF_OK);
    assert_int_equal(w.rounds, 2); /* it had to look at the first one */
    assert_false(out.created);
    assert_true(ff_exec_id_eq(out.id, id));
    assert_int_equal(out.state, FF_STATE_ACTIVE);
    assert_int_equal(w.row_count[FF_TABLE_EXECUTION], 1);
}

static void test_submit__the_same_key_for_another_request_is_refused(void **state)
{
    struct ff_submit_in first = with_key("k1");
    struct ff_submit_in other = world_submission(&w);
    struct ff_submit_out out;

    (void)state;
    (void)world_submit(&w, &first);
    other.idempotency_key = FF_STR("k1");
    other.input = FF_STR("[]");
    other = prepared(other);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &other, &out), FF_KEY_REUSED);
    assert_string_equal(w.error.field, "idempotency_key");
    assert_int_equal(w.row_count[FF_TABLE_EXECUTION], 1);
    other.namespace = FF_STR("other"); /* keys are per namespace */
    other = prepared(other);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &other, &out), FF_OK);
    assert_true(out.created);
}

static void test_submit__a_key_is_free_after_its_window(void **state)
{
    struct ff_submit_in first = with_key("k1");
    struct ff_submit_in second = with_key("k1");
    struct ff_submit_out out;

    (void)state;
    (void)world_submit(&w, &first);
    w.now_ms += first.policy.dedup_window_ms - 1;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &second, &out), FF_OK);
    assert_false(out.created);
    w.now_ms += 1;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &second, &out), FF_OK);
    assert_true(out.created);
    assert_true(ff_exec_id_eq(out.id, second.id));
    assert_int_equal(w.row_count[FF_TABLE_DEDUP], 1);
}

static void test_submit__in_one_batch_the_later_is_the_duplicate(void **state)
{
    struct ff_submit_in in[] = {with_key("k1"), with_key("k1"), with_key("k2")};
    struct ff_submit_out out[3];
    struct world_job jobs[] = {{FF_OP_EXECUTION_SUBMIT, &in[0], &out[0], FF_OK},
                               {FF_OP_EXECUTION_SUBMIT, &in[1], &out[1], FF_OK},
                               {FF_OP_EXECUTION_SUBMIT, &in[2], &out[2], FF_OK}};

    (void)state;
    world_batch(&w, jobs, 3);
    assert_int_equal(w.rounds, 1);
    assert_true(out[0].created);
    assert_int_equal(jobs[1].status, FF_OK);
    assert_false(out[1].created);
    assert_true(ff_exec_id_eq(out[1].id, in[0].id));
    assert_int_equal(out[1].state, FF_STATE_READY_FIRST);
    assert_true(out[2].created);
}

static void test_submit__own_ids_follow_the_rule_of_the_key(void **state)
{
    const struct ff_exec_id id = {7, {.b = {1, 2, 3}}};
    struct ff_submit_in first = with_own_id(id);
    struct ff_submit_in again = with_own_id(id);
    struct ff_submit_in other = with_own_id(id);
    struct ff_submit_out out;

    (void)state;
    (void)world_submit(&w, &first);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &again, &out), FF_OK);
    assert_false(out.created);
    other.kind = FF_STR("http");
    other = prepared(other);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &other, &out), FF_KEY_REUSED);
    assert_string_equal(w.error.field, "execution_id");
    other.namespace = FF_STR("elsewhere"); /* an id is global */
    other = prepared(other);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &other, &out), FF_KEY_REUSED);
    w.now_ms += 2 * first.policy.dedup_window_ms; /* the row itself remembers */
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &again, &out), FF_OK);
    assert_false(out.created);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &other, &out), FF_KEY_REUSED);
    assert_int_equal(w.row_count[FF_TABLE_EXECUTION], 1);
}

/* Retention never shortens a dedup window. */
static void test_submit__a_duplicate_of_what_is_gone_says_so(void **state)
{
    struct ff_submit_in first = with_key("k1");
    struct ff_submit_in again = with_key("k1");
    const struct ff_exec_id id = world_submit(&w, &first);
    struct ff_cancel_in cancel = {.id = id, .created_before_ms = FF_NULL64};
    struct ff_retention_in sweep = {.limit = 10, .retention_ms = 1000};
    struct ff_retention_out swept;
    struct ff_state_out ended;
    struct ff_submit_out out;

    (void)state;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &cancel, &ended), FF_OK);
    w.now_ms += 5000;
    assert_int_equal(world_run(&w, FF_OP_RETENTION_SWEEP, &sweep, &swept), FF_OK);
    assert_int_equal(swept.removed, 1);
    assert_int_equal(w.row_count[FF_TABLE_EXECUTION], 0);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &again, &out), FF_OK);
    assert_false(out.created);
    assert_true(ff_exec_id_eq(out.id, id));
    assert_int_equal(out.state, FF_NULL32);
    assert_string_equal(ff_state_public_name(out.state), "gone");
}

/* An id that leaves in this batch is taken in the next one. */
static void test_submit__an_own_id_may_come_back_after_its_retention(void **state)
{
    struct ff_submit_in first = with_own_id((struct ff_exec_id){7, {.b = {1, 2, 3}}});
    struct ff_submit_in again = first;
    const struct ff_exec_id id = world_submit(&w, &first);
    struct ff_cancel_in cancel = {.id = id, .created_before_ms = FF_NULL64};
    struct ff_retention_in sweep = {.limit = 10, .retention_ms = 1000};
    struct ff_retention_out swept;
    struct ff_state_out ended;
    struct ff_submit_out out;
    struct world_job jobs[] = {{FF_OP_RETENTION_SWEEP, &sweep, &swept, FF_OK},
                               {FF_OP_EXECUTION_SUBMIT, &again, &out, FF_OK}};

    (void)state;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_CANCEL, &cancel, &ended), FF_OK);
    w.now_ms += 2 * first.policy.dedup_window_ms;
    sweep.learned_ms = w.now_ms;
    world_batch(&w, jobs, 2);
    assert_int_equal(swept.removed, 1);
    assert_int_equal(w.rounds, 2);
    assert_int_equal(jobs[1].status, FF_OK);
    assert_true(out.created);
    assert_int_equal(world_execution(&w, id)->state, FF_STATE_READY_FIRST);
}

static void test_submit__capability_sets_are_interned_once(void **state)
{
    struct ff_str caps_a[] = {FF_STR("gpu"), FF_STR("arm64")};
    struct ff_str caps_b[] = {FF_STR("arm64"), FF_STR("gpu")};
    struct ff_submit_in in[] = {world_submission(&w), world_submission(&w)};
    struct ff_submit_out out[2];
    struct world_job jobs[] = {{FF_OP_EXECUTION_SUBMIT, &in[0], &out[0], FF_OK},
                               {FF_OP_EXECUTION_SUBMIT, &in[1], &out[1], FF_OK}};

    (void)state;
    in[0].capabilities = caps_a;
    in[1].capabilities = caps_b;
    in[0].capability_count = in[1].capability_count = 2;
    in[0] = prepared(in[0]);
    in[1] = prepared(in[1]);
    world_batch(&w, jobs, 2);
    assert_int_equal(w.row_count[FF_TABLE_CAPSET], 1);
    in[0].id = world_submission(&w).id;
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &in[0], &out[0]), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_CAPSET], 1);
    assert_int_equal(world_execution(&w, out[1].id)->capset_id, in[0].capset_id);
}

/* An older copy was put back: what this process knows is not written down there. */
static void test_submit__a_known_set_that_is_gone_is_written_down_again(void **state)
{
    struct ff_str caps[] = {FF_STR("gpu")};
    struct ff_submit_in in = world_submission(&w);
    const struct ff_capset *row;
    struct ff_submit_out out;

    (void)state;
    in.capabilities = caps;
    in.capability_count = 1;
    in = prepared(in);
    assert_true(
        ff_capsets_add(&w.capsets, &w.arena,
                       &(struct ff_capset){.capset_id = in.capset_id, .tokens = in.capset_tokens}));
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &in, &out), FF_OK);
    assert_int_equal(w.row_count[FF_TABLE_CAPSET], 1);
    row = w.rows[FF_TABLE_CAPSET][0];
    assert_int_equal(row->capset_id, in.capset_id);
    assert_true(ff_str_eq(row->tokens, FF_STR("gpu")));
}

static void test_submit__capability_sets_have_a_limit(void **state)
{
    struct ff_str caps[] = {FF_STR("gpu")};
    struct ff_submit_in in = world_submission(&w);
    struct ff_capset other = {.tokens = FF_STR("other")};
    struct ff_submit_out out;

    (void)state;
    while (w.capsets.count < FF_CAPSETS_MAX - 1) {
        other.capset_id++;
        assert_true(ff_capsets_add(&w.capsets, &w.arena, &other));
    }
    in.capabilities = caps;
    in.capability_count = 1;
    in = prepared(in);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &in, &out), FF_OK);
    assert_int_equal(w.capsets.count, FF_CAPSETS_MAX);
    in.id = world_submission(&w).id; /* a set that is known costs nothing */
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &in, &out), FF_OK);
    caps[0] = FF_STR("net");
    in = world_submission(&w);
    in.capabilities = caps;
    in.capability_count = 1;
    in = prepared(in);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &in, &out), FF_TOO_LARGE);
    assert_string_equal(w.error.field, "required_capabilities");
    assert_int_equal(w.row_count[FF_TABLE_EXECUTION], 2);
}

static void test_submit__the_hash_is_of_what_was_said(void **state)
{
    struct ff_tag_in ab[] = {{FF_STR("a"), FF_STR("1")}, {FF_STR("b"), FF_STR("2")}};
    struct ff_tag_in ba[] = {{FF_STR("b"), FF_STR("2")}, {FF_STR("a"), FF_STR("1")}};
    struct ff_submit_in x = world_submission(&w);
    struct ff_submit_in y = world_submission(&w);

    (void)state;
    x.tags = ab;
    y.tags = ba;
    x.tag_count = y.tag_count = 2;
    x.idempotency_key = y.idempotency_key = FF_STR("k"); /* with which it may come again */
    x = prepared(x);
    y.policy.dedup_window_ms = 1; /* the first one's window counts: not part of the request */
    y = prepared(y);
    assert_memory_equal(x.hash, y.hash, sizeof x.hash); /* minted ids and order do not matter */
    y.policy.max_retries = 9;
    y = prepared(y);
    assert_memory_not_equal(x.hash, y.hash, sizeof x.hash);
    y = x;
    y.input_type = FF_STR("text/plain");
    y = prepared(y);
    assert_memory_not_equal(x.hash, y.hash, sizeof x.hash);
}

/* Nobody can say it again: it has no key, and its id was minted. */
static void test_submit__what_cannot_come_again_is_not_hashed(void **state)
{
    struct ff_submit_in in = prepared(world_submission(&w));
    const struct ff_execution *row;
    struct ff_submit_out out;

    (void)state;
    assert_false(in.is_hashed);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &in, &out), FF_OK);
    row = w.rows[FF_TABLE_EXECUTION][0];
    assert_true(ff_str_empty(row->submit_hash) && !ff_str_is_null(row->submit_hash));
    in = world_submission(&w); /* somebody brings that id as his own */
    in.id = (struct ff_exec_id){row->partition_key, row->execution_id};
    in.own_id = true;
    in = prepared(in);
    assert_true(in.is_hashed);
    assert_int_equal(world_run(&w, FF_OP_EXECUTION_SUBMIT, &in, &out), FF_KEY_REUSED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_submit__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(is_waiting_and_claimable),
        TEST(is_as_old_as_its_id_says),
        TEST(delays),
        TEST(large_inputs_live_elsewhere),
        TEST(the_same_key_gives_the_first_execution),
        TEST(the_same_key_for_another_request_is_refused),
        TEST(a_key_is_free_after_its_window),
        TEST(in_one_batch_the_later_is_the_duplicate),
        TEST(own_ids_follow_the_rule_of_the_key),
        TEST(a_duplicate_of_what_is_gone_says_so),
        TEST(an_own_id_may_come_back_after_its_retention),
        TEST(capability_sets_are_interned_once),
        TEST(a_known_set_that_is_gone_is_written_down_again),
        TEST(capability_sets_have_a_limit),
        TEST(the_hash_is_of_what_was_said),
        TEST(what_cannot_come_again_is_not_hashed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
