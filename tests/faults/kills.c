/* SPDX-License-Identifier: Apache-2.0
 *
 * kills.c -- a process that works on the store is killed in the middle of it, again and again.
 *
 * The child is this program with another role. It writes a line for everything it was promised;
 * whatever stands in a line must be true when the store is opened again. */
#include "faults.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

#include "base/banned.h"

#define THREADS    4
#define LINE_BYTES 64
#define TTL_MS     1000 /* what the dead held is free soon */

/* ---- the child ---- */

struct child {
    struct ff_client *client;
    int fd;
    int number;
};

/* Short lines are written whole or not at all. */
static void promise(int fd, char what, const char *id)
{
    char line[LINE_BYTES + 1];
    const int len = snprintf(line, sizeof line, "%c %-*s\n", what, LINE_BYTES - 3, id);

    if (write(fd, line, (size_t)len) != len)
        _exit(3);
}

/* Two nodes, one after the other. */
static void begin_flow(const struct child *child)
{
    const struct ff_submission item = submission();
    const struct ff_flow_node nodes[] = {{.name = "first", .work = &item},
                                         {.name = "second", .work = &item}};
    const struct ff_flow_edge edge = {"first", "second", NULL};
    struct ff_flow_request request;
    struct ff_flow_made made = {0};

    ff_flow_request_init(&request);
    request.nodes = nodes;
    request.node_count = 2;
    request.edges = &edge;
    request.edge_count = 1;
    if (ff_flow_create(child->client, &request, &made, NULL) != FF_OK)
        return;
    for (size_t i = 0; i < made.count; i++)
        promise(child->fd, 'S', made.items[i].execution_id);
    ff_answer_free(&made);
}

static void work_once(const struct child *child)
{
    struct ff_submission item = submission();
    struct ff_claim_request r = claim_request();
    struct ff_submitted submitted;
    struct ff_tasks tasks = {0};

    if (ff_submit(child->client, &item, 1, &submitted, NULL) == FF_OK && submitted.status == FF_OK)
        promise(child->fd, 'S', submitted.execution_id);
    begin_flow(child);
    r.lease_ttl_ms = TTL_MS;
    r.max = 4;
    if (ff_claim(child->client, &r, &tasks, NULL) != FF_OK)
        return;
    for (size_t i = 0; i < tasks.count; i++) {
        struct ff_completion done = {.lease = ff_task_lease(&tasks.items[i]), .result = {"1", 1}};
        struct ff_task_result result;

        if (ff_complete(child->client, &done, 1, &result, NULL) == FF_OK && result.status == FF_OK)
            promise(child->fd, 'C', tasks.items[i].execution_id);
    }
    ff_answer_free(&tasks);
}

static void *work(void *arg)
{
    for (;;)
        work_once(arg);
    return NULL;
}

int child_main(const char *role, const char *url, int fd)
{
    struct child child = {.fd = fd};
    pthread_t threads[THREADS];

    if (strncmp(role, "die:", 4) == 0 && setenv("FF_FAILPOINT", role + 4, 1) != 0)
        return 1;
    if ((strcmp(role, "work") != 0 && strncmp(role, "die:", 4) != 0) ||
        ff_open(url, NULL, &child.client, NULL) != FF_OK)
        return 1;
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &child) != 0)
            return 1;
    (void)pthread_join(threads[0], NULL);
    return 0;
}

/* ---- the parent ---- */

#define PROMISES_MAX 100000

struct book {
    char *lines; /* LINE_BYTES each */
    size_t count;
    char part[LINE_BYTES];
    size_t part_used;
};

static void note(struct book *book, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        book->part[book->part_used++] = bytes[i];
        if (bytes[i] != '\n')
            continue;
        if (book->count == PROMISES_MAX)
            abort();
        memcpy(book->lines + book->count++ * LINE_BYTES, book->part, LINE_BYTES);
        book->part_used = 0;
    }
}

/* Reads until there are `lines` more, then kills, then reads what was still on its way. */
static void kill_after(struct test *t, struct book *book, size_t lines)
{
    const size_t until = book->count + lines;
    const int64_t deadline_ms = test_mono_ms() + TEST_WAIT_MS;
    char bytes[4096];
    ssize_t got = 1;
    bool killed;
    int fd;
    const int pid = child_start(t, "work", t->url, &fd);

    while (book->count < until && got > 0 && test_mono_ms() < deadline_ms) {
        got = read(fd, bytes, sizeof bytes);
        note(book, bytes, got > 0 ? (size_t)got : 0);
    }
    killed = child_kill(pid);
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        note(book, bytes, (size_t)got);
    (void)close(fd);
    book->part_used = 0;
    if (book->count < until || !killed)
        FAIL(t, "the child ended by itself after %zu promises", book->count + lines - until);
}

static void check_promises(struct test *t, const struct book *book, size_t from)
{
    for (size_t i = from; i < book->count; i++) {
        const char *const line = book->lines + i * LINE_BYTES;
        struct ff_info_list whole = {0};
        char id[LINE_BYTES];
        bool kept;

        (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(line + 2, " \n"), line + 2);
        EXPECT_OK(t, ff_get(t->client, id, &whole, &t->err));
        kept = line[0] == 'S' || whole.items[0].finished;
        ff_answer_free(&whole);
        if (!kept)
            FAIL(t, "%s was completed, and is not any more", id);
    }
}

/* What is left when all have died can still be done, each thing once. */
static void finish_rest(struct test *t)
{
    struct ff_filter filter;

    ff_filter_init(&filter);
    filter.limit = 1000;
    for (size_t left = 1; left > 0;) {
        struct ff_claim_request r = claim_request();
        struct ff_info_list page = {0};
        struct held held;

        r.wait_ms = 200;
        while (claims_one(t, &r, &held))
            EXPECT_OK(t, when_completed(t, &held, "1"));
        left = 0;
        EXPECT_OK(t, ff_list(t->client, &filter, &page, &t->err));
        for (size_t i = 0; i < page.count; i++)
            left += !page.items[i].finished;
        ff_answer_free(&page);
    }
}

static void kill_again_and_again(struct test *t)
{
    const int kills = t->store->kind == TEST_STORE_POSTGRES ? (is_full_run() ? 50 : 5)
                      : is_full_run()                       ? 200
                                                            : 20;
    struct book *const book = keep(t, sizeof *book);
    const struct ff_options options = {.size = sizeof options, .passive = true};
    struct ff_prng prng;

    book->lines = keep(t, (size_t)PROMISES_MAX * LINE_BYTES);
    ff_prng_init(&prng, 7);
    for (int i = 0; i < kills; i++) {
        const size_t from = book->count;

        kill_after(t, book, 1 + ff_prng_below(&prng, 60));
        EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
        check_promises(t, book, from);
        expect_sound(t, t->client);
        close_client(t, &t->client);
    }
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    finish_rest(t);
    check_promises(t, book, 0);
    (void)printf("# %d kills, %zu promises kept\n", kills, book->count);
}

/* ---- at named places ---- */

static const struct {
    const char *name, *what;
} failpoints[] = {
#define FAILPOINT(name, what) {#name, what},
#include "base/failpoints.def"
#undef FAILPOINT
};

void failpoints_print(void)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(failpoints); i++)
        (void)printf("%-20s %s\n", failpoints[i].name, failpoints[i].what);
}

/* Those of servers and workers are for tests/chaos. */
static bool is_elsewhere(const struct test *t, const char *name)
{
    return strncmp(name, t->store->kind == TEST_STORE_FILE ? "postgres_" : "sqlite_", 7) == 0 ||
           strncmp(name, "http_", 5) == 0 || strncmp(name, "worker_", 7) == 0;
}

/* The child dies by itself, at the n-th passage. */
static void die_at(struct test *t, struct book *book, const char *name, unsigned n)
{
    char role[64];
    char bytes[4096];
    struct pollfd poll_fd = {.events = POLLIN};
    ssize_t got = 1;
    bool killed;
    int pid;

    (void)snprintf(role, sizeof role, "die:%s:%u", name, n);
    pid = child_start(t, role, t->url, &poll_fd.fd);
    while (got > 0 && poll(&poll_fd, 1, TEST_WAIT_MS) > 0) {
        got = read(poll_fd.fd, bytes, sizeof bytes);
        note(book, bytes, got > 0 ? (size_t)got : 0);
    }
    killed = child_kill(pid);
    (void)close(poll_fd.fd);
    book->part_used = 0;
    if (got != 0)
        FAIL(t, "'%s' is not passed %u times", name, n);
    if (!killed)
        FAIL(t, "the child did not come to '%s': it ended in another way", name);
}

static void die_everywhere(struct test *t)
{
    const unsigned rounds = is_full_run() ? 10 : 1;
    struct book *const book = keep(t, sizeof *book);
    const struct ff_options options = {.size = sizeof options, .passive = true};
    struct ff_prng prng;
    int kills = 0;

    book->lines = keep(t, (size_t)PROMISES_MAX * LINE_BYTES);
    ff_prng_init(&prng, 11);
    for (size_t i = 0; i < rounds * FF_ARRAY_LEN(failpoints); i++) {
        const char *const name = failpoints[i % FF_ARRAY_LEN(failpoints)].name;
        const size_t from = book->count;

        if (is_elsewhere(t, name))
            continue;
        die_at(t, book, name, 1 + (unsigned)ff_prng_below(&prng, 30));
        kills++;
        EXPECT_OK(t, ff_open(t->url, &options, &t->client, &t->err));
        check_promises(t, book, from);
        expect_sound(t, t->client);
        close_client(t, &t->client);
    }
    EXPECT_OK(t, ff_open(t->url, NULL, &t->client, &t->err));
    finish_rest(t);
    check_promises(t, book, 0);
    (void)printf("# %d deaths, %zu promises kept\n", kills, book->count);
}

const struct plain_case kill_cases[] = {
    {"kill/process_on_a_file", TEST_STORE_FILE, kill_again_and_again, false},
    {"kill/process_on_postgres", TEST_STORE_POSTGRES, kill_again_and_again, false},
    {"kill/at_every_failpoint_on_a_file", TEST_STORE_FILE, die_everywhere, false},
    {"kill/at_every_failpoint_on_postgres", TEST_STORE_POSTGRES, die_everywhere, false},
    {0},
};
