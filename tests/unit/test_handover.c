/* SPDX-License-Identifier: Apache-2.0
 *
 * test_handover.c -- claims that wait, and batches that serve them with what they free. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/assume.h"
#include "model/lease.h"
#include "support/engine_fixture.h"

#define TASKS_MAX 8

struct waiting {
    struct ff_job *job;
    bool over;
    size_t task_count;
    char ids[TASKS_MAX][FF_ID_BYTES];
    char lease_ids[TASKS_MAX][FF_UUID_BYTES];
    int64_t epochs[TASKS_MAX];
};

static void answered(struct ff_job *job, void *ctx)
{
    struct waiting *const waiting = ctx;
    const struct ff_claim_out *const out = job->out;

    assert_true(job->status == FF_OK || job->status == FF_CLOSED);
    waiting->over = true;
    waiting->task_count = job->status == FF_OK ? out->task_count : 0;
    for (size_t i = 0; i < ff_min_size(waiting->task_count, TASKS_MAX); i++) {
        ff_exec_id_text(out->tasks[i].id, waiting->ids[i]);
        (void)ff_uuid_format(out->tasks[i].lease_id, waiting->lease_ids[i]);
        waiting->epochs[i] = out->tasks[i].lease_epoch;
    }
    ff_job_free(job);
}

/* A claim of one execution of the default lane, to be changed before it is sent. */
static struct ff_claim_in *new_claim(struct waiting *waiting)
{
    struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_CLAIM, 0);
    struct ff_claim_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

    *in = (struct ff_claim_in){.worker_id = FF_STR("w"),
                               .worker_instance_id = FF_STR("w"),
                               .lanes = ff_arena_array(&job->arena, 1, sizeof *in->lanes),
                               .lane_count = 1,
                               .namespace = ff_str_null(),
                               .request_id = ff_str_null(),
                               .max = 1,
                               .lease_ttl_ms = 1000};
    in->lanes[0] = FF_STR("default");
    *waiting = (struct waiting){.job = job};
    job->in = in;
    job->out = ff_arena_alloc(&job->arena, sizeof(struct ff_claim_out));
    job->done = answered;
    job->ctx = waiting;
    job->deadline_mono_ms = INT64_MAX;
    job->wait_until_mono_ms = now_ms + 60000;
    return in;
}

static void gone(struct ff_job *job, void *ctx)
{
    (void)ctx;
    ff_job_free(job);
}

static void send(struct waiting *waiting)
{
    assert_int_equal(ff_engine_submit(engine, waiting->job, &error), FF_OK);
    step_all();
    assert_false(waiting->over);
}

static void given_waiting(struct waiting *waiting, const char *kind)
{
    struct ff_claim_in *const in = new_claim(waiting);

    in->kinds = ff_arena_array(&waiting->job->arena, 1, sizeof *in->kinds);
    in->kinds[0] = ff_str_of(kind);
    in->kind_count = 1;
    send(waiting);
}

static void expect_sound(void)
{
    struct ff_findings findings = {0};

    assert_int_equal(ff_fsck(client, &findings, &error), FF_OK);
    assert_int_equal(findings.count, 0);
    ff_answer_free(&findings);
}

/* --- in turn --- */

static void test_handover__who_waits_longest_is_served_first(void **state)
{
    struct waiting waiting[4];
    char id[FF_ID_BYTES];

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(waiting); i++)
        given_waiting(&waiting[i], "work");
    for (size_t i = 0; i < FF_ARRAY_LEN(waiting); i++) {
        given_submitted(id);
        step_all();
        for (size_t k = 0; k < FF_ARRAY_LEN(waiting); k++)
            assert_int_equal(waiting[k].over, k <= i);
        assert_int_equal(waiting[i].task_count, 1);
    }
}

static void test_handover__waiting_takes_no_more_and_more_memory(void **state)
{
    struct waiting waiting;
    char id[FF_ID_BYTES];
    size_t used;

    (void)state;
    given_waiting(&waiting, "other");
    given_submitted(id); /* woken in vain, as by each of those that follow */
    step_all();
    used = ff_arena_used(&waiting.job->arena);
    for (int i = 0; i < 20; i++) {
        given_submitted(id);
        step_all();
    }
    assert_int_equal(ff_arena_used(&waiting.job->arena), used);
    pass(61000, 1000);
    assert_true(waiting.over);
    assert_int_equal(waiting.task_count, 0);
}

/* --- in one transaction --- */

static void test_handover__a_submit_and_the_claim_that_waits_are_one_commit(void **state)
{
    struct waiting waiting;
    char id[FF_ID_BYTES];
    int64_t before;

    (void)state;
    given_waiting(&waiting, "work");
    before = stats().store_calls;
    given_submitted(id);
    assert_int_equal(stats().store_calls, before + 2); /* one load, one save */
    assert_true(waiting.over);
    assert_string_equal(waiting.ids[0], id);
    assert_true(is_in_state(id, "active"));
    expect_sound();
}

static void test_handover__best_first(void **state)
{
    static const int32_t priorities[] = {1, 5, 3};
    struct ff_submission items[3];
    struct ff_submitted results[3];
    struct waiting waiting[2];

    (void)state;
    for (size_t i = 0; i < 2; i++)
        given_waiting(&waiting[i], "work");
    for (size_t i = 0; i < 3; i++) {
        ff_submission_init(&items[i]);
        items[i].kind = "work";
        items[i].priority = priorities[i];
    }
    assert_int_equal(ff_submit(client, items, 3, results, &error), FF_OK);
    assert_string_equal(waiting[0].ids[0], results[1].execution_id);
    assert_string_equal(waiting[1].ids[0], results[2].execution_id);
    assert_true(is_in_state(results[0].execution_id, "waiting"));
    expect_sound();
}

static void submit_named(const char *lane, const char *ns, const char *capability)
{
    struct ff_submission item;
    struct ff_submitted result;

    ff_submission_init(&item);
    item.kind = "work";
    item.lane = lane;
    item.ns = ns;
    item.required_capabilities = &capability;
    item.required_capability_count = capability ? 1 : 0;
    assert_int_equal(ff_submit(client, &item, 1, &result, &error), FF_OK);
    assert_int_equal(result.status, FF_OK);
    step_all();
}

static void test_handover__only_what_fits(void **state)
{
    struct waiting waiting;
    struct ff_claim_in *const in = new_claim(&waiting);
    struct ff_str offered[] = {FF_STR("gpu")};

    (void)state;
    in->namespace = FF_STR("mine");
    in->capabilities = offered;
    in->capability_count = 1;
    send(&waiting);
    submit_named("default", "other", NULL);
    submit_named("elsewhere", "mine", NULL);
    submit_named("default", "mine", "arm");
    assert_false(waiting.over);
    submit_named("default", "mine", "gpu");
    assert_true(waiting.over);
    assert_int_equal(waiting.task_count, 1);
    expect_sound();
}

static void test_handover__a_paused_lane_hands_nothing_over(void **state)
{
    struct waiting waiting;
    char id[FF_ID_BYTES];

    (void)state;
    given_waiting(&waiting, "work");
    assert_int_equal(ff_lane_pause(client, "default", true, "test", &error), FF_OK);
    given_submitted(id);
    step_all();
    assert_false(waiting.over);
    assert_int_equal(ff_lane_pause(client, "default", false, NULL, &error), FF_OK);
    step_all();
    assert_true(waiting.over);
    assert_string_equal(waiting.ids[0], id);
}

static void test_handover__a_batch_that_fails_serves_once(void **state)
{
    static const ff_fault_verdict fails[] = {FF_FAULT_BEFORE, FF_FAULT_AFTER, FF_FAULT_BEFORE_LOST};
    struct waiting waiting;
    char id[FF_ID_BYTES];

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(fails); i++) {
        given_waiting(&waiting, "work");
        fails_once = true;
        verdicts[FF_CALL_SAVE] = fails[i];
        given_submitted(id);
        step_all();
        assert_true(waiting.over);
        assert_int_equal(waiting.task_count, 1);
        assert_string_equal(waiting.ids[0], id);
        expect_sound();
    }
}

static void test_handover__who_has_gone_is_not_served(void **state)
{
    struct waiting gone, waiting;
    char id[FF_ID_BYTES];

    (void)state;
    given_waiting(&gone, "work");
    given_waiting(&waiting, "work");
    assert_int_equal(ff_engine_give_up(engine, gone.job), FF_GAVE_UP_YOURS);
    ff_job_free(gone.job);
    given_submitted(id);
    assert_true(waiting.over);
    assert_string_equal(waiting.ids[0], id);
}

/* --- hops that ride --- */

/* a leads to b; `ret_a` holds a. */
static void given_chain(struct waiting *ret_a)
{
    struct ff_submission work;
    struct ff_flow_node nodes[2] = {{.name = "a", .work = &work}, {.name = "b", .work = &work}};
    const struct ff_flow_edge edge = {"a", "b", NULL};
    struct ff_flow_request request;
    struct ff_flow_made made = {0};

    ff_submission_init(&work);
    work.kind = "work";
    ff_flow_request_init(&request);
    request.nodes = nodes;
    request.node_count = 2;
    request.edges = &edge;
    request.edge_count = 1;
    given_waiting(ret_a, "work");
    assert_int_equal(ff_flow_create(client, &request, &made, &error), FF_OK);
    ff_answer_free(&made);
    step_all();
    assert_true(ret_a->over);
}

static struct ff_lease lease_of(const struct waiting *task)
{
    return (struct ff_lease){task->ids[0], task->lease_ids[0], task->epochs[0]};
}

static void complete(const struct waiting *task)
{
    const struct ff_completion done = {.lease = lease_of(task)};
    struct ff_task_result result;

    assert_int_equal(ff_complete(client, &done, 1, &result, &error), FF_OK);
    assert_int_equal(result.status, FF_OK);
}

static void test_handover__an_end_its_hop_and_the_next_claim_are_one_commit(void **state)
{
    struct waiting a, b;
    int64_t before;

    (void)state;
    given_chain(&a);
    given_waiting(&b, "work");
    before = stats().store_calls;
    complete(&a);
    assert_int_equal(stats().store_calls, before + 3); /* load, the hop's rows, save */
    assert_true(b.over);
    assert_int_equal(b.task_count, 1);
    complete(&b);
    expect_sound();
}

/* Whatever the ids of the nodes look like. */
static void test_handover__every_hop_rides(void **state)
{
    enum { CHAINS = 1000 };
    struct waiting a, b;
    int64_t before;

    (void)state;
    for (int i = 0; i < CHAINS; i++) {
        given_chain(&a);
        given_waiting(&b, "work");
        before = stats().batches;
        complete(&a);
        assert_int_equal(stats().batches, before + 1);
        assert_true(b.over);
        complete(&b);
    }
}

/* The executor whose batches let hops ride is told so by the lease. */
static void test_handover__words_about_members_are_known_for_it(void **state)
{
    (void)state;
    for (int of_member = 0; of_member < 2; of_member++) {
        struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_COMPLETE, 0);
        struct ff_complete_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

        *in = (struct ff_complete_in){.result = ff_str_null(), .result_type = ff_str_null()};
        in->task.lease_id = ff_lease_id((struct ff_uuid){.b = {7}}, of_member);
        job->in = in;
        job->out = ff_arena_alloc(&job->arena, sizeof(struct ff_state_out));
        job->done = gone;
        job->deadline_mono_ms = INT64_MAX;
        assert_int_equal(ff_engine_submit(engine, job, &error), FF_OK);
        assert_int_equal(job->member, of_member);
        step_all();
    }
}

/* Over a new connection the store may be another one: what was known of it is forgotten. */
static void test_handover__a_new_connection_forgets(void **state)
{
    struct ff_execution key = {.partition_key = 1, .execution_id = {.b = {1}}};
    struct ff_executor *const executor = &engine->executors[0];
    struct ff_arena arena;
    struct ff_rowset rows;
    struct ff_execution *row;

    (void)state;
    ff_arena_init(&arena, 4096, 1 << 20);
    for (int anew = 0; anew < 2; anew++) {
        ff_rowset_init(&rows, &arena);
        ff_rowset_op_begin(&rows, 1);
        row = ff_rowset_insert(&rows, FF_TABLE_EXECUTION, &key);
        row->lane = row->kind = FF_STR("");
        row->state = FF_STATE_ACTIVE;
        ff_known_learn(&engine->known, &rows);
        executor->call = (struct ff_call){.reconnected = anew};
        ff_executor_note_link(executor);
        assert_int_equal(ff_known_has(&engine->known, FF_TABLE_EXECUTION, &key, NULL), !anew);
    }
    ff_arena_done(&arena);
}

/* It has looked before there was anything: a worker says that it is done and asks for more. */
static void test_handover__a_claim_beside_the_end_is_served(void **state)
{
    struct waiting a, b;
    int64_t before;

    (void)state;
    given_chain(&a);
    (void)new_claim(&b);
    assert_int_equal(ff_engine_submit(engine, b.job, &error), FF_OK);
    before = stats().store_calls;
    complete(&a);
    assert_int_equal(stats().store_calls, before + 3); /* load, the hop's rows, save */
    assert_true(b.over);
    assert_int_equal(b.task_count, 1);
    complete(&b);
    expect_sound();
}

static void test_handover__a_hop_that_cannot_ride_follows(void **state)
{
    static const ff_fault_verdict fails[] = {FF_FAULT_BEFORE, FF_FAULT_AFTER, FF_FAULT_BEFORE_OP};
    struct waiting a, b;

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(fails); i++) {
        given_chain(&a);
        given_waiting(&b, "work");
        fails_once = true;
        verdicts[FF_CALL_MORE] = fails[i];
        complete(&a);
        step_all();
        assert_true(b.over);
        assert_int_equal(b.task_count, 1);
        complete(&b);
        expect_sound();
    }
}

/* The store refuses a submission: claims that wait are not tried with it one after the other. */
static void test_handover__a_batch_that_has_failed_takes_nobody_along(void **state)
{
    static struct waiting waiting[20]; /* they still wait when the engine is closed */
    struct ff_submission item;
    struct ff_submitted submitted;
    int64_t batches;

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(waiting); i++)
        given_waiting(&waiting[i], "work");
    batches = engine->stats.batches;
    verdicts[FF_CALL_SAVE] = FF_FAULT_BEFORE_OP;
    ff_submission_init(&item);
    item.kind = "work";
    assert_int_equal(ff_submit(client, &item, 1, &submitted, &error), FF_OK);
    assert_int_equal(submitted.status, FF_INTERNAL);
    verdicts[FF_CALL_SAVE] = FF_FAULT_RUN;
    assert_true(engine->stats.batches - batches < 10);
    step_all();
    for (size_t i = 0; i < FF_ARRAY_LEN(waiting); i++)
        assert_false(waiting[i].over);
    expect_sound();
}

/* --- assuming --- */

static struct ff_job *new_submission(void)
{
    struct ff_job *const job = ff_job_new(FF_OP_EXECUTION_SUBMIT, 0);
    struct ff_submit_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

    *in = (struct ff_submit_in){.idempotency_key = ff_str_null()};
    job->in = in;
    job->kept = ff_arena_mark(&job->arena);
    return job;
}

/* Is there nothing to load for a submission? */
static bool assumes(void)
{
    const struct ff_batch_env env = {.settings = ff_engine_settings(engine)};
    struct ff_batch batch;
    struct ff_list jobs;
    bool can;

    ff_batch_init(&batch);
    ff_list_init(&jobs);
    ff_list_push_back(&jobs, &new_submission()->link);
    ff_batch_fill(&batch, &jobs, &env);
    can = ff_assume(engine, &batch, false);
    ff_job_free(ff_job_pop(&batch.jobs));
    ff_batch_done(&batch);
    return can;
}

/* Right after it nobody has heard from the store for as long, whatever the clock says that stood
 * still meanwhile. */
static void test_handover__after_a_sleep_the_time_is_asked_for(void **state)
{
    char id[FF_ID_BYTES];

    (void)state;
    engine->store->facts.proves = true;
    given_submitted(id);
    assert_true(assumes());
    asleep_ms += FF_CONTACT_GAP_MS;
    assert_false(assumes());
    engine->store->facts.proves = false;
}

static void test_handover__an_end_whose_hop_boards_is_in_doubt(void **state)
{
    struct ff_completion done = {0};
    struct ff_task_result result;
    struct waiting a;

    (void)state;
    given_chain(&a);
    done.lease = lease_of(&a);
    when_called_into_silence(FF_CALL_MORE, &ff_complete_type, &done, &result);
    assert_int_equal(result.status, FF_OUTCOME_UNKNOWN);
    assert_true(result.error.repeatable);
    step_all();
    complete(&a); /* said again, it gets the first answer */
    expect_sound();
}

/* --- waiting before looking --- */

static void given_looked_in_vain(struct waiting *waiting)
{
    given_waiting(waiting, "work");
}

static void test_handover__who_would_find_nothing_waits_first(void **state)
{
    static struct waiting a, b, other; /* told at the end that there is nothing */
    int64_t before;

    (void)state;
    given_looked_in_vain(&a);
    before = stats().store_calls;
    given_waiting(&b, "work");
    assert_int_equal(stats().store_calls, before);
    given_waiting(&other, "else"); /* nobody has looked for these */
    assert_in_range(stats().store_calls, before + 1, before + 2);
    before = stats().store_calls;
    pass(40, 1);
    assert_in_range(stats().store_calls, before + 2, before + 3); /* it has looked, and a pulse */
    assert_false(a.over || b.over || other.over);
}

static void test_handover__who_has_not_looked_is_served_as_well(void **state)
{
    struct waiting a, b;
    char id[FF_ID_BYTES];
    int64_t before;

    (void)state;
    given_looked_in_vain(&a);
    given_submitted(id);
    step_all();
    assert_int_equal(a.task_count, 1);
    before = stats().store_calls;
    given_waiting(&b, "work");
    assert_int_equal(stats().store_calls, before);
    given_submitted(id);
    step_all();
    assert_int_equal(b.task_count, 1);
    assert_string_equal(b.ids[0], id);
    expect_sound();
}

/* Work that nobody was handed makes the next claim look. */
static void test_handover__what_lies_there_is_looked_for(void **state)
{
    struct waiting a, b;
    char first[FF_ID_BYTES], second[FF_ID_BYTES];

    (void)state;
    given_looked_in_vain(&a);
    given_submitted(first);
    given_submitted(second);
    step_all();
    (void)new_claim(&b);
    assert_int_equal(ff_engine_submit(engine, b.job, &error), FF_OK);
    step_all();
    assert_true(a.over && b.over);
    assert_string_equal(b.ids[0], second);
}

static void test_handover__nobody_is_told_nothing_without_a_look(void **state)
{
    static struct waiting a, b;
    int64_t before;

    (void)state;
    given_looked_in_vain(&a);
    before = stats().store_calls;
    (void)new_claim(&b);
    b.job->wait_until_mono_ms = now_ms + 2;
    ((struct ff_claim_in *)b.job->in)->kinds = ((struct ff_claim_in *)a.job->in)->kinds;
    ((struct ff_claim_in *)b.job->in)->kind_count = 1;
    assert_int_equal(ff_engine_submit(engine, b.job, &error), FF_OK);
    pass(40, 1);
    assert_true(b.over);
    assert_int_equal(b.task_count, 0);
    assert_in_range(stats().store_calls, before + 2, before + 3); /* load, rollback, a pulse */
}

static void named(struct waiting *waiting, const char *request_id)
{
    struct ff_claim_in *const in = new_claim(waiting);

    in->request_id = ff_str_of(request_id);
    assert_int_equal(ff_engine_submit(engine, waiting->job, &error), FF_OK);
    step_all();
}

/* A request that has been answered is asked again: it gets the same, though it waits first. */
static void test_handover__a_repeat_that_waits_first_gets_its_tasks(void **state)
{
    struct waiting a, b, again;
    char id[FF_ID_BYTES];

    (void)state;
    named(&a, "r1");
    given_submitted(id);
    step_all();
    assert_int_equal(a.task_count, 1);
    named(&b, "r2"); /* in vain, without a look ... */
    named(&again, "r1");
    given_submitted(id); /* ... and what comes now is for who came first */
    step_all();
    pass(40, 1);
    assert_true(b.over && again.over);
    assert_string_equal(b.ids[0], id);
    assert_int_equal(again.task_count, 1);
    assert_string_equal(again.ids[0], a.ids[0]);
    assert_int_equal(again.epochs[0], a.epochs[0]);
    expect_sound();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_handover__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(who_waits_longest_is_served_first),
        TEST(waiting_takes_no_more_and_more_memory),
        TEST(a_submit_and_the_claim_that_waits_are_one_commit),
        TEST(best_first),
        TEST(only_what_fits),
        TEST(a_paused_lane_hands_nothing_over),
        TEST(a_batch_that_fails_serves_once),
        TEST(who_has_gone_is_not_served),
        TEST(an_end_its_hop_and_the_next_claim_are_one_commit),
        TEST(every_hop_rides),
        TEST(words_about_members_are_known_for_it),
        TEST(a_new_connection_forgets),
        TEST(a_claim_beside_the_end_is_served),
        TEST(a_hop_that_cannot_ride_follows),
        TEST(an_end_whose_hop_boards_is_in_doubt),
        TEST(a_batch_that_has_failed_takes_nobody_along),
        TEST(after_a_sleep_the_time_is_asked_for),
        TEST(who_would_find_nothing_waits_first),
        TEST(who_has_not_looked_is_served_as_well),
        TEST(what_lies_there_is_looked_for),
        TEST(nobody_is_told_nothing_without_a_look),
        TEST(a_repeat_that_waits_first_gets_its_tasks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
