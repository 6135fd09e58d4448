/* SPDX-License-Identifier: Apache-2.0
 *
 * store_open.c -- opening, refusing to open, and forking.
 *
 * Pitfall F52 (no check of the schema). */
#include "support/flows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"

#include "base/banned.h"

static ff_status when_opened(struct test *t, const char *url, const struct ff_options *options)
{
    struct ff_client *client = NULL;
    const ff_status status = ff_open(url, options, &client, &t->err);

    EXPECT(t, (status == FF_OK) == (client != NULL));
    EXPECT_INT(t, 0, (int64_t)ff_close(client, TEST_WAIT_MS));
    return status;
}

FF_CONFORMANCE(store_open, url_must_make_sense)
{
    static const char *const bad[] = {"",
                                      "work.db",
                                      "mysql://x/y",
                                      "sqlite",
                                      "sqlite:",
                                      "sqlite:memory:",
                                      "sqlite:memory:two words",
                                      "sqlite:file:x.db?mode=memory",
                                      "SQLITE:x.db"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT_REFUSED(t, FF_INVALID, "url", when_opened(t, bad[i], NULL));
    EXPECT_REFUSED(t, FF_INVALID, "url", when_opened(t, NULL, NULL));
    EXPECT_STATUS(t, FF_INVALID, when_opened(t, "postgres://h/d?schema=No-Schema", NULL));
}

FF_CONFORMANCE(store_open, store_that_is_away_is_unavailable)
{
    EXPECT_STATUS(t, FF_UNAVAILABLE,
                  when_opened(t, "postgres://nobody@/none?host=/nonexistent", NULL));
    EXPECT_STATUS(t, FF_UNAVAILABLE, when_opened(t, "sqlite:/nonexistent/work.db", NULL));
}

FF_CONFORMANCE(store_open, must_exist_makes_no_file)
{
    const struct ff_options there = {.size = sizeof there, .must_exist = true};
    char url[1200], path[1100];

    EXPECT_OK(t, when_opened(t, t->url, &there)); /* this one does exist */
    (void)snprintf(path, sizeof path, "/tmp/ff-none-%d.db", (int)getpid());
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    EXPECT_STATUS(t, FF_NOT_FOUND, when_opened(t, url, &there));
    EXPECT(t, access(path, F_OK) != 0);
    EXPECT_REFUSED(t, FF_INVALID, "url", when_opened(t, "sqlite:/tmp", &there));
}

FF_CONFORMANCE(store_open, file_of_something_else_is_left_alone)
{
    static const char text[] = "Dear diary, this is not a database. It never was, and it is longer "
                               "than a header of sixteen bytes.\n";
    char url[64], path[] = "/tmp/ff-diary-XXXXXX", back[sizeof text] = "";
    const int fd = mkstemp(path);

    EXPECT(t, fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    EXPECT_STATUS(t, FF_SCHEMA, when_opened(t, url, NULL));
    EXPECT(t, pread(fd, back, sizeof back - 1, 0) == (ssize_t)sizeof text - 1);
    EXPECT_TEXT(t, text, back);
    (void)close(fd);
    (void)unlink(path);
}

FF_CONFORMANCE(store_open, options_have_limits)
{
    struct ff_options o = {.size = sizeof o};

    needs_store(t, "options of the engine");
    o.executors = -1;
    EXPECT_REFUSED(t, FF_INVALID, "executors", when_opened(t, t->url, &o));
    o.executors = 17;
    EXPECT_REFUSED(t, FF_INVALID, "executors", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .timeout_ms = -1};
    EXPECT_REFUSED(t, FF_INVALID, "timeout_ms", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .retention_ms = -1};
    EXPECT_REFUSED(t, FF_INVALID, "retention_ms", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .event_count_max = -1};
    EXPECT_REFUSED(t, FF_INVALID, "event_count_max", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .input_bytes_max = FF_PAYLOAD_BYTES_CEILING + 1};
    EXPECT_REFUSED(t, FF_INVALID, "input_bytes_max", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .result_bytes_max = -1};
    EXPECT_REFUSED(t, FF_INVALID, "result_bytes_max", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .flow_nodes_max = FF_FLOW_NODES_CEILING + 1};
    EXPECT_REFUSED(t, FF_INVALID, "flow_nodes_max", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .flow_edges_max = FF_FLOW_EDGES_CEILING + 1};
    EXPECT_REFUSED(t, FF_INVALID, "flow_edges_max", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .event_renewals = "some"};
    EXPECT_REFUSED(t, FF_INVALID, "event_renewals", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .instance_tag = "No Tag"};
    EXPECT_REFUSED(t, FF_INVALID, "instance_tag", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = 0};
    EXPECT_REFUSED(t, FF_INVALID, "size", when_opened(t, t->url, &o));
    o = (struct ff_options){.size = sizeof o, .executors = 3};
    EXPECT_OK(t, when_opened(t, t->url, &o));
}

/* Limits that an operator may move: up to the edge and one beyond. */
FF_CONFORMANCE(store_open, limits_of_work_are_options)
{
    const struct ff_options o = {.size = sizeof o,
                                 .input_bytes_max = 10,
                                 .result_bytes_max = FF_RESULT_BYTES_MAX + 1,
                                 .flow_nodes_max = 2,
                                 .flow_edges_max = 1};
    const struct ff_str large = {keep(t, FF_RESULT_BYTES_MAX + 2), FF_RESULT_BYTES_MAX + 1};
    struct ff_submission s = submission();
    struct ff_submitted submitted;
    struct ff_completion done;
    struct ff_task_result result;
    struct ff_flow_made made;
    struct held held;

    needs_store(t, "options of the engine");
    given_reopened(t, &o);
    s.input = (struct ff_str){"\"9 bytes\"", 9};
    EXPECT_OK(t, ff_submit(t->client, &s, 1, &submitted, &t->err));
    EXPECT_OK(t, submitted.status);
    s.input = (struct ff_str){"\"11 bytes!\"", 11};
    EXPECT_OK(t, ff_submit(t->client, &s, 1, &submitted, &t->err));
    EXPECT_INT(t, FF_TOO_LARGE, submitted.status);
    EXPECT_TEXT(t, "input", submitted.error.field);
    EXPECT_REFUSED(t, FF_TOO_LARGE, "nodes", when_flow_created(t, graph(t, "a b c | "), &made));
    EXPECT_REFUSED(t, FF_TOO_LARGE, "edges",
                   when_flow_created(t, graph(t, "a b | a>b a>b"), &made));
    EXPECT_OK(t, when_flow_created(t, graph(t, "a b | a>b"), &made));
    held = given_claimed_next(t);
    done = (struct ff_completion){.lease = lease_of(&held),
                                  .result = large,
                                  .result_content_type = "application/octet-stream"};
    done.result.len++;
    EXPECT_OK(t, ff_complete(t->client, &done, 1, &result, &t->err));
    EXPECT_INT(t, FF_TOO_LARGE, result.status);
    done.result.len--;
    EXPECT_OK(t, ff_complete(t->client, &done, 1, &result, &t->err));
    EXPECT_OK(t, result.status);
}

/* What cannot be followed is not ignored. */
FF_CONFORMANCE(store_open, servers_have_their_own_options)
{
    const struct ff_options of_engine[] = {
        {.size = sizeof of_engine[0], .executors = 1},
        {.size = sizeof of_engine[0], .scan_ns = "a"},
        {.size = sizeof of_engine[0], .event_count_max = 1000},
        {.size = sizeof of_engine[0], .flow_nodes_max = 1},
    };
    static const char *const names[] = {"executors", "scan_ns", "event_count_max",
                                        "flow_nodes_max"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        EXPECT_REFUSED(t, FF_UNSUPPORTED, names[i],
                       when_opened(t, "http://127.0.0.1:1", &of_engine[i]));
}

FF_CONFORMANCE(store_open, older_callers_shorter_options_do)
{
    const struct ff_options o = {.size = offsetof(struct ff_options, executors)};

    EXPECT_OK(t, when_opened(t, t->url, &o));
}

/* F52: a store from the future is refused, unless it says that it is no harm. */
FF_CONFORMANCE(store_open, newer_schema_is_refused)
{
    const struct name name = given_submitted(t);

    needs_store(t, "a schema");
    EXPECT(t, test_store_from_the_future(t->store, false));
    EXPECT_STATUS(t, FF_SCHEMA, when_opened(t, t->url, NULL));
    EXPECT_STATE(t, name.id, "waiting"); /* who was there before goes on */
}

FF_CONFORMANCE(store_open, newer_schema_that_still_fits_is_fine)
{
    const struct name name = given_submitted(t);

    needs_store(t, "a schema");
    EXPECT(t, test_store_from_the_future(t->store, true));
    given_reopened(t, NULL);
    EXPECT_STATE(t, name.id, "waiting");
}

FF_CONFORMANCE(store_open, migrating_says_from_where_to_where)
{
    int32_t from = -1, to = -1;

    needs_store(t, "a schema");
    EXPECT_OK(t, ff_migrate(t->url, true, &from, &to, &t->err));
    EXPECT(t, from > 0 && from == to);
    EXPECT_OK(t, ff_migrate(t->url, false, &from, &to, &t->err));
    EXPECT(t, from > 0 && from == to);
    EXPECT_OK(t, ff_migrate(t->url, false, NULL, NULL, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "url", ff_migrate(NULL, true, NULL, NULL, &t->err));
}

FF_CONFORMANCE(store_open, many_may_open_an_empty_store_at_once)
{
    /* The runner opened it first: here all find it made, and work. */
    for (int i = 0; i < TEST_CLIENTS_MAX; i++)
        (void)another_client(t, NULL);
    EXPECT_STATE(t, given_submitted(t).id, "waiting");
}

FF_CONFORMANCE(store_open, memory_stores_are_told_apart_by_name)
{
    struct ff_client *a = NULL, *b = NULL, *same = NULL;
    const struct ff_submission s = submission();
    struct ff_info_list whole = {0};
    struct ff_submitted submitted;
    char url_a[64], url_b[64];

    (void)snprintf(url_a, sizeof url_a, "sqlite:memory:a-%d-%p", (int)getpid(), (void *)t);
    (void)snprintf(url_b, sizeof url_b, "sqlite:memory:b-%d-%p", (int)getpid(), (void *)t);
    EXPECT_OK(t, ff_open(url_a, NULL, &a, &t->err));
    EXPECT_OK(t, ff_open(url_b, NULL, &b, &t->err));
    EXPECT_OK(t, ff_open(url_a, NULL, &same, &t->err));
    EXPECT_OK(t, ff_submit(a, &s, 1, &submitted, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_get(b, submitted.execution_id, &whole, &t->err));
    EXPECT_INT(t, 0, (int64_t)ff_close(a, TEST_WAIT_MS));
    EXPECT_OK(t, ff_get(same, submitted.execution_id, &whole, &t->err));
    ff_answer_free(&whole);
    EXPECT_INT(t, 0, (int64_t)ff_close(same, TEST_WAIT_MS));
    EXPECT_INT(t, 0, (int64_t)ff_close(b, TEST_WAIT_MS));
}

FF_CONFORMANCE(store_open, nameless_memory_stores_are_private)
{
    struct ff_client *a = NULL, *b = NULL;
    const struct ff_submission s = submission();
    struct ff_info_list whole = {0};
    struct ff_submitted submitted;

    EXPECT_OK(t, ff_open("sqlite::memory:", NULL, &a, &t->err));
    EXPECT_OK(t, ff_open("sqlite::memory:", NULL, &b, &t->err));
    EXPECT_OK(t, ff_submit(a, &s, 1, &submitted, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_get(b, submitted.execution_id, &whole, &t->err));
    EXPECT_INT(t, 0, (int64_t)ff_close(a, TEST_WAIT_MS));
    EXPECT_INT(t, 0, (int64_t)ff_close(b, TEST_WAIT_MS));
}

/* In the child: every call is refused, closing does nothing, and nobody hangs. */
static int child(struct ff_client *client, const char *id)
{
    const struct ff_submission s = submission();
    const struct ff_claim_request r = claim_request();
    struct ff_info_list whole = {0};
    struct ff_findings findings = {0};
    struct ff_tasks tasks = {0};
    struct ff_submitted submitted;

    if (ff_get(client, id, &whole, NULL) != FF_CLOSED)
        return 1;
    if (ff_submit(client, &s, 1, &submitted, NULL) != FF_CLOSED)
        return 2;
    if (ff_claim(client, &r, &tasks, NULL) != FF_CLOSED)
        return 3;
    if (ff_cancel(client, id, NULL, NULL, NULL) != FF_CLOSED)
        return 4;
    if (ff_fsck(client, &findings, NULL) != FF_CLOSED)
        return 5;
    return ff_close(client, TEST_WAIT_MS) == 0 ? 0 : 6;
}

FF_CONFORMANCE(store_open, child_of_a_fork_is_refused)
{
    const struct name name = given_submitted(t);
    int status = -1;
    const pid_t pid = fork();

    if (pid == 0)
        _exit(child(t->client, name.id));
    EXPECT(t, pid > 0 && waitpid(pid, &status, 0) == pid);
    EXPECT(t, WIFEXITED(status));
    EXPECT_INT(t, 0, WEXITSTATUS(status));
    EXPECT_TEXT(t, name.id, given_claimed_next(t).id); /* the parent goes on */
}

struct patience {
    struct ff_client *client;
    ff_status said;
    size_t tasks;
};

static void wait_for_work(struct test *t, size_t index, void *ctx)
{
    struct patience *const patience = &((struct patience *)ctx)[index];
    struct ff_claim_request r = claim_request();
    struct ff_tasks tasks = {0};

    r.worker_instance_id = index == 0 ? "a" : index == 1 ? "b" : "c";
    r.wait_ms = 60000;
    patience->said = ff_claim(patience->client, &r, &tasks, &t->err);
    patience->tasks = tasks.count;
    ff_answer_free(&tasks);
}

static size_t seen(struct test *t)
{
    struct ff_worker_list workers = {0};
    size_t count;

    EXPECT_OK(t, ff_workers(t->client, &workers, &t->err));
    count = workers.count;
    ff_answer_free(&workers);
    return count;
}

/* A program that ends while its workers wait: they are told, and nobody waits for a minute. */
FF_CONFORMANCE(store_open, closing_ends_the_claims_that_wait)
{
    struct patience *const all = keep(t, 3 * sizeof *all);
    struct ff_client *closing = another_client(t, NULL);
    struct test_thread *threads[3];

    for (size_t i = 0; i < 3; i++) {
        all[i].client = closing;
        threads[i] = start_thread(t, wait_for_work, i, all);
    }
    WAIT_UNTIL(t, seen(t) == 3);
    close_client(t, &closing);
    for (size_t i = 0; i < 3; i++) {
        join_thread(t, threads[i]);
        EXPECT(t, all[i].said == FF_OK || all[i].said == FF_CLOSED);
        EXPECT_INT(t, 0, (int64_t)all[i].tasks);
    }
}

FF_CONFORMANCE(store_open, no_client_is_refused)
{
    struct ff_info_list whole = {0};

    EXPECT_REFUSED(t, FF_INVALID, "client", ff_get(NULL, "0190", &whole, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "client", ff_list(NULL, NULL, &whole, &t->err));
    EXPECT_INT(t, 0, (int64_t)ff_close(NULL, 1000));
    ff_answer_free(NULL);
    ff_answer_free(&whole);
}

FF_CONFORMANCE(store_open, every_status_has_its_words)
{
    for (int i = 0; i < FF_STATUS_COUNT; i++) {
        const ff_status status = (ff_status)i;

        EXPECT(t, ff_status_code(status)[0] && ff_status_text(status)[0]);
        EXPECT(t, ff_status_http(status) >= 200 && ff_status_exit(status) >= 0);
    }
    EXPECT(t, ff_status_retryable(FF_BUSY) && !ff_status_retryable(FF_CONFLICT));
    EXPECT(t, ff_version()[0]);
}
