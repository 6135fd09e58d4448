/* SPDX-License-Identifier: Apache-2.0
 *
 * kills.c -- whoever works on the flows dies, again and again; the flows end as they must.
 *
 * Workers are children: this program with another role, an engine and three threads. They write a
 * line for everything they have done, so the parent knows that they are in the middle of it. */
#include "crowd.h"

#include "support/others.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define THREADS    3
#define TTL_MS     500 /* what the dead held is free soon */
#define LONG_MS    120000
#define CREW_MAX   2
#define LINE_BYTES 64
#define SHARE      100 /* tasks, of one of two engines */

/* ---- the child ---- */

static int child_fd;

static void tell(void *ctx, const char *id)
{
    char line[LINE_BYTES + 1];
    const int len = snprintf(line, sizeof line, "%-*s\n", LINE_BYTES - 1, id);

    (void)ctx;
    if (write(child_fd, line, (size_t)len) != len)
        _exit(3);
}

static void *work(void *client)
{
    for (;;)
        (void)crowd_work(client, TTL_MS, tell, NULL);
    return NULL;
}

int crowd_child(const char *url, int fd)
{
    struct ff_client *client;
    pthread_t threads[THREADS];
    ff_status opened;

    child_fd = fd;
    do /* a session may be hit before it is all there */
        opened = ff_open(url, NULL, &client, NULL);
    while (opened == FF_UNAVAILABLE);
    if (opened != FF_OK)
        return 1;
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, client) != 0)
            return 1;
    (void)pthread_join(threads[0], NULL);
    return 0;
}

/* ---- the crew ---- */

struct crew {
    struct test *t;
    struct {
        int pid, fd;
        size_t bytes, lines;
    } hands[CREW_MAX];
    size_t count;
};

static void hire(struct crew *crew, size_t at)
{
    crew->hands[at].pid = child_start(crew->t, "work", crew->t->url, &crew->hands[at].fd);
    crew->hands[at].bytes = 0;
    crew->hands[at].lines = 0;
}

static void dismiss(struct crew *crew, size_t at)
{
    (void)child_kill(crew->hands[at].pid);
    (void)close(crew->hands[at].fd);
    crew->hands[at].pid = 0;
}

static void dismiss_all(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++)
        if (crew->hands[i].pid)
            dismiss(crew, i);
}

/* Reads what all of them have to say, for at most this long. False: one has ended by itself. */
static bool listen_to(struct crew *crew, int wait_ms)
{
    struct pollfd fds[CREW_MAX];
    char bytes[4096];

    for (size_t i = 0; i < crew->count; i++)
        fds[i] = (struct pollfd){.fd = crew->hands[i].fd, .events = POLLIN};
    (void)poll(fds, crew->count, wait_ms);
    for (size_t i = 0; i < crew->count; i++) {
        const ssize_t got = fds[i].revents ? read(fds[i].fd, bytes, sizeof bytes) : 1;

        if (got <= 0)
            return false;
        if (fds[i].revents)
            crew->hands[i].bytes += (size_t)got;
        crew->hands[i].lines = crew->hands[i].bytes / LINE_BYTES;
    }
    return true;
}

/* Until this one has done so much more, or there is nothing to do any more. */
static void wait_for_lines(struct crew *crew, size_t at, size_t lines)
{
    const size_t until = crew->hands[at].lines + lines;
    const int64_t deadline_ms = test_mono_ms() + 5000;

    while (crew->hands[at].lines < until && test_mono_ms() < deadline_ms)
        if (!listen_to(crew, 50))
            FAIL(crew->t, "a worker has ended by itself");
}

/* ---- nothing is left ---- */

static bool is_left(struct test *t)
{
    return test_store_rows(t->store, "ff_outbox WHERE dispatched_at_ms IS NULL") +
               test_store_rows(t->store, "ff_pending_cancel") !=
           0;
}

static void wait_until_over(struct crew *crew, struct crowd *crowd)
{
    const int64_t deadline_ms = test_mono_ms() + LONG_MS;

    while (!crowd_is_over(crowd, crew->t->client)) {
        if (test_mono_ms() > deadline_ms)
            FAIL(crew->t, "the flows never end");
        if (crew->count > 0 && !listen_to(crew, 20))
            FAIL(crew->t, "a worker has ended by itself");
    }
    WAIT_UNTIL_FOR(crew->t, !is_left(crew->t), LONG_MS);
}

/* What failed is replayed, and that ends, too. */
static void finish(struct crew *crew, struct crowd *crowd)
{
    struct test *const t = crew->t;

    wait_until_over(crew, crowd);
    crowd_check(crowd, t->client);
    EXPECT(t, crowd_replay(crowd, t->client) > 0);
    wait_until_over(crew, crowd);
    crowd_check(crowd, t->client);
    dismiss_all(crew);
    expect_sound(t, t->client);
}

/* ---- killing ---- */

static void open_quietly(struct test *t)
{
    const struct ff_options passive = {.size = sizeof passive, .passive = true};

    EXPECT_OK(t, ff_open(t->url, &passive, &t->client, &t->err));
}

static void kill_engines(struct test *t, size_t crew_size, int kills)
{
    struct crew crew = {.t = t, .count = crew_size};
    struct crowd *crowd;
    struct ff_prng prng;

    open_quietly(t);
    crowd = crowd_new(t, (size_t)kills * 4 + 8, graph_options.seed);
    ff_prng_init(&prng, graph_options.seed);
    for (size_t i = 0; i < crew_size; i++)
        hire(&crew, i);
    for (int i = 0; i < kills; i++) {
        const size_t victim = ff_prng_below(&prng, crew_size);

        crowd_add(crowd, t->client, 4);
        crowd_trouble(crowd, t->client);
        wait_for_lines(&crew, victim, 1 + ff_prng_below(&prng, 60));
        dismiss(&crew, victim);
        if (i % 5 == 4)
            expect_sound(t, t->client);
        hire(&crew, victim);
    }
    finish(&crew, crowd);
    (void)printf("# %d kills, %zu flows\n", kills, crowd->count);
}

static int kills(int few, int many)
{
    return is_full_run() ? many : few;
}

static void kill_engine(struct test *t)
{
    kill_engines(t, 1, kills(5, 120));
}

static void kill_one_of_two(struct test *t)
{
    kill_engines(t, 2, kills(5, 80));
}

/* ---- backends ---- */

static long hit_backend(struct test *t, struct other *other, bool hard)
{
    long pid;

    if (!hard)
        return other_says(t, other,
                          "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM "
                          "pg_stat_activity WHERE application_name = 'flowfabric' AND query NOT "
                          "LIKE 'LISTEN%%' AND state <> 'idle' ORDER BY random() LIMIT 1) hit");
    pid = other_says(t, other,
                     "SELECT pid FROM pg_stat_activity WHERE application_name = 'flowfabric' "
                     "ORDER BY state <> 'idle' DESC, random() LIMIT 1");
    return pid > 0 && kill((pid_t)pid, SIGKILL) == 0;
}

/* An engine that is quick is seldom caught at work, and one without work never. */
static long hit_somebody(struct test *t, struct other *other)
{
    for (int looks = 0; looks < 500; looks++, test_pause())
        if (hit_backend(t, other, false))
            return 1;
    return 0;
}

static bool is_past(int64_t at_ms)
{
    return test_mono_ms() > at_ms;
}

static bool is_gone(struct other *other)
{
    PQclear(PQexec(other->conn, ""));
    return PQstatus(other->conn) != CONNECTION_OK;
}

static bool is_back(struct other *other)
{
    PQreset(other->conn);
    return PQstatus(other->conn) == CONNECTION_OK;
}

/* kill -9 of one backend makes the server end all of them and recover. An engine may not be caught
 * at work, so this goes on until enough have been hit. */
static void kill_backends(struct test *t)
{
    const int64_t until_ms = test_mono_ms() + LONG_MS;
    const int rounds = kills(12, 150);
    struct crew crew = {.t = t, .count = 2};
    struct crowd *crowd;
    struct ff_prng prng;
    struct other other;
    long soft = 0, hard = 0;

    open_quietly(t);
    other_open(t, &other);
    crowd = crowd_new(t, (size_t)rounds * 12, graph_options.seed);
    ff_prng_init(&prng, graph_options.seed);
    hire(&crew, 0);
    hire(&crew, 1);
    for (int i = 0; i < rounds || (soft <= rounds / 3 && i < 4 * rounds && !is_past(until_ms));
         i++) {
        const bool hard_one = i % 6 == 5;

        crowd_add(crowd, t->client, 3);
        wait_for_lines(&crew, i % 2 ? 1 : 0, 1 + ff_prng_below(&prng, 30));
        if (hard_one) {
            WAIT_UNTIL(t, hit_backend(t, &other, true));
            hard++;
            WAIT_UNTIL(t, is_gone(&other));
            WAIT_UNTIL_FOR(t, is_back(&other), LONG_MS);
        } else {
            soft += hit_somebody(t, &other);
        }
    }
    finish(&crew, crowd);
    (void)printf("# %ld sessions terminated, %ld backends killed, %zu flows\n", soft, hard,
                 crowd->count);
    EXPECT(t, soft > rounds / 3 && hard > 0);
}

/* ---- two engines ---- */

/* Whether both have had their share, now or within this time. */
static bool has_shared(struct crew *crew, int64_t wait_ms)
{
    const int64_t until_ms = test_mono_ms() + wait_ms;

    while (crew->hands[0].lines <= SHARE || crew->hands[1].lines <= SHARE) {
        if (test_mono_ms() > until_ms)
            return false;
        if (!listen_to(crew, 20))
            FAIL(crew->t, "a worker has ended by itself");
    }
    return true;
}

static void two_engines(struct test *t)
{
    const size_t flows = (size_t)kills(24, 400);
    struct crew crew = {.t = t, .count = 2};
    struct crowd *crowd;

    open_quietly(t);
    crowd = crowd_new(t, 20 * flows, graph_options.seed);
    hire(&crew, 0);
    hire(&crew, 1);
    crowd_add(crowd, t->client, flows);
    /* One may come late: there is more to do until both have had their share. */
    while (!has_shared(&crew, 500) && crowd->count < crowd->max)
        crowd_add(crowd, t->client, 1);
    finish(&crew, crowd);
    (void)printf("# %zu and %zu tasks\n", crew.hands[0].lines, crew.hands[1].lines);
    EXPECT(t, crew.hands[0].lines > SHARE && crew.hands[1].lines > SHARE);
}

const struct plain_case kill_cases[] = {
    {"kill/engine_on_a_file", TEST_STORE_FILE, kill_engine, false},
    {"kill/one_of_two_engines_on_postgres", TEST_STORE_POSTGRES, kill_one_of_two, false},
    {"kill/backends", TEST_STORE_POSTGRES, kill_backends, false},
    {"share/two_engines_on_postgres", TEST_STORE_POSTGRES, two_engines, false},
    {0},
};
