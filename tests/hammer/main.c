/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- threads or processes on one store for a while, then the checks.
 *
 * Arguments are parts of names; `--seconds N` and `--seed N` come first. Processes are this program
 * again: `--child URL SECONDS SEED FILE`. Read first: README.md beside it. */
#include "hammer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/stores.h"

#include "base/banned.h"

#define THREADS       16
#define PROCESSES     4
#define CHILD_THREADS 4
#define REST_MS       120000
#define MORE_MS       60000 /* for what has not happened in time */
#define OK_MIN        3     /* of every kind of operation: a run that does nothing proves nothing */

#if defined(__SANITIZE_THREAD__)
#define SECONDS 3
#else
#define SECONDS 10
#endif

static long seconds;
static uint64_t seed;

/* ---- playing ---- */

static void *run_player(void *arg)
{
    player_run(arg);
    return NULL;
}

static void rest(int64_t ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
                                   .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&pause, NULL);
}

/* Everything has happened often enough, or somebody has given up. */
static bool is_busy(struct hammer *hammer)
{
    for (size_t op = 0; op < OP_COUNT; op++)
        if (atomic_load(&hammer->said[op]) < OK_MIN)
            return atomic_load(&hammer->gave_up);
    return true;
}

/* Threads on the clients for some seconds; their records end up in `ret`. */
static bool play(struct hammer *hammer, size_t threads, struct history *ret,
                 char problem[PROBLEM_BYTES])
{
    struct player players[THREADS] = {0};
    pthread_t ids[THREADS];

    (void)pthread_mutex_init(&hammer->lock, NULL);
    hammer->pool = calloc(POOL_MAX, sizeof *hammer->pool);
    if (!hammer->pool)
        abort();
    for (size_t i = 0; i < threads; i++) {
        players[i].hammer = hammer;
        players[i].index = i;
        if (pthread_create(&ids[i], NULL, run_player, &players[i]) != 0)
            abort();
    }
    rest(seconds * 1000);
    for (int64_t until_us = now_us() + MORE_MS * INT64_C(1000);
         !is_busy(hammer) && now_us() < until_us;)
        rest(50);
    atomic_store(&hammer->stop, true);
    for (size_t i = 0; i < threads; i++) {
        (void)pthread_join(ids[i], NULL);
        history_join(ret, &players[i].history);
        history_done(&players[i].history);
        if (players[i].problem[0])
            (void)snprintf(problem, PROBLEM_BYTES, "%s", players[i].problem);
    }
    free(hammer->pool);
    (void)pthread_mutex_destroy(&hammer->lock);
    return !problem[0];
}

static bool open_clients(struct hammer *hammer, const char *url, size_t count,
                         char problem[PROBLEM_BYTES])
{
    struct ff_error error;

    for (size_t i = 0; i < count; i++, hammer->client_count++)
        if (ff_open(url, NULL, &hammer->clients[i], &error) != FF_OK) {
            (void)snprintf(problem, PROBLEM_BYTES, "cannot open: %s", error.message);
            return false;
        }
    return true;
}

static void close_clients(struct hammer *hammer)
{
    for (size_t i = 0; i < hammer->client_count; i++)
        (void)ff_close(hammer->clients[i], REST_MS);
    hammer->client_count = 0;
}

/* Two clients in one process: two engines that know nothing of each other. */
static bool play_threads(const char *url, struct history *ret, char problem[PROBLEM_BYTES])
{
    struct hammer hammer = {.seed = seed};
    const bool good =
        open_clients(&hammer, url, CLIENTS_MAX, problem) && play(&hammer, THREADS, ret, problem);

    close_clients(&hammer);
    return good;
}

/* ---- processes ---- */

static int child_main(char **argv)
{
    struct hammer hammer = {.seed = strtoul(argv[4], NULL, 10)};
    struct history history = {0};
    char problem[PROBLEM_BYTES] = "";
    FILE *const file = fopen(argv[5], "w");
    bool good;

    seconds = strtol(argv[3], NULL, 10);
    good = file && open_clients(&hammer, argv[2], 1, problem) &&
           play(&hammer, CHILD_THREADS, &history, problem);
    close_clients(&hammer);
    good = good && history_save(&history, file);
    if (problem[0])
        (void)fprintf(stderr, "%s\n", problem);
    if (file && fclose(file) != 0)
        good = false;
    history_done(&history);
    return good ? 0 : 1;
}

static pid_t child_start(const char *url, int number, const char *path)
{
    char length[32];
    char own_seed[32];
    const pid_t pid = fork();

    if (pid)
        return pid;
    (void)snprintf(length, sizeof length, "%ld", seconds);
    (void)snprintf(own_seed, sizeof own_seed, "%" PRIu64, seed + (uint64_t)number + 1);
    (void)execl("/proc/self/exe", "ff-hammer", "--child", url, length, own_seed, path,
                (char *)NULL);
    _exit(127);
}

static bool child_end(pid_t pid, const char *path, struct history *ret, char problem[PROBLEM_BYTES])
{
    FILE *file;
    int status = 1;
    bool good;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    file = fopen(path, "r");
    good = status == 0 && file && history_load(ret, file);
    if (!good)
        (void)snprintf(problem, PROBLEM_BYTES, "a process ended with status %d", status);
    if (file)
        (void)fclose(file);
    (void)unlink(path);
    return good;
}

static bool play_processes(const char *url, struct history *ret, char problem[PROBLEM_BYTES])
{
    char paths[PROCESSES][64];
    pid_t pids[PROCESSES];
    struct hammer hammer = {.seed = seed};
    bool good = open_clients(&hammer, url, 1, problem); /* migrates, before they all try to */

    close_clients(&hammer);
    for (int i = 0; i < PROCESSES; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "/tmp/ff-hammer-%d-%d", (int)getpid(), i);
        pids[i] = child_start(url, i, paths[i]);
    }
    for (int i = 0; i < PROCESSES; i++)
        good = child_end(pids[i], paths[i], ret, problem) && good;
    return good;
}

/* ---- afterwards ---- */

/* Completes what is left; what somebody held and lost comes back when its lease is over. */
static bool finish_rest(struct ff_client *client, char problem[PROBLEM_BYTES])
{
    static const char *const lanes[] = {"a", "b", "c"};
    const int64_t until_us = now_us() + REST_MS * INT64_C(1000);
    struct ff_claim_request r = {.size = sizeof r,
                                 .worker_id = "rest",
                                 .worker_instance_id = "rest",
                                 .lanes = lanes,
                                 .lane_count = 3,
                                 .max = 256,
                                 .wait_ms = 500};

    for (size_t left = 1; left > 0 && now_us() < until_us;) {
        static struct ff_completion items[256];
        static struct ff_task_result results[256];
        struct ff_tasks tasks = {0};
        struct ff_error error;

        if (ff_claim(client, &r, &tasks, &error) != FF_OK) {
            (void)snprintf(problem, PROBLEM_BYTES, "cannot claim the rest: %s", error.message);
            return false;
        }
        for (size_t i = 0; i < tasks.count; i++)
            items[i] = (struct ff_completion){.lease = ff_task_lease(&tasks.items[i])};
        if (!tasks.count && !history_unfinished(client, &left, problem))
            return false;
        if (tasks.count && ff_complete(client, items, tasks.count, results, &error) != FF_OK)
            (void)snprintf(problem, PROBLEM_BYTES, "cannot complete: %s", error.message);
        ff_answer_free(&tasks);
    }
    return !problem[0];
}

static bool check_sound(struct ff_client *client, char problem[PROBLEM_BYTES])
{
    struct ff_findings findings = {0};
    struct ff_error error;
    bool good = ff_fsck(client, &findings, &error) == FF_OK;

    if (!good)
        (void)snprintf(problem, PROBLEM_BYTES, "cannot audit: %s", error.message);
    else if (findings.count) {
        (void)snprintf(problem, PROBLEM_BYTES, "fsck: %s: %s %s", findings.items[0].check,
                       findings.items[0].execution_id, findings.items[0].detail);
        good = false;
    }
    ff_answer_free(&findings);
    return good;
}

static bool check_busy(const struct history *history, char problem[PROBLEM_BYTES])
{
    size_t good[OP_COUNT] = {0};
    size_t stale = 0;

    for (size_t i = 0; i < history->count; i++) {
        good[history->items[i].op] += history->items[i].status == FF_OK;
        stale += history->items[i].op == OP_STALE;
    }
    good[OP_STALE] = stale; /* never a yes */
    for (size_t op = 0; op < OP_COUNT; op++)
        if (good[op] < OK_MIN) {
            (void)snprintf(problem, PROBLEM_BYTES, "'%s' happened %zu times only", op_names[op],
                           good[op]);
            return false;
        }
    return true;
}

static bool check_all(const char *url, struct history *history, char problem[PROBLEM_BYTES])
{
    struct hammer hammer = {0};
    const bool good = history_check(history, problem) && check_busy(history, problem) &&
                      open_clients(&hammer, url, 1, problem) &&
                      finish_rest(hammer.clients[0], problem) &&
                      history_check_store(history, hammer.clients[0], problem) &&
                      check_sound(hammer.clients[0], problem);

    close_clients(&hammer);
    return good;
}

/* ---- cases ---- */

static const struct {
    const char *name;
    test_store_kind kind;
    bool (*play)(const char *url, struct history *ret, char problem[PROBLEM_BYTES]);
} cases[] = {
    {"hammer/threads_on_a_file", TEST_STORE_FILE, play_threads},
    {"hammer/threads_on_postgres", TEST_STORE_POSTGRES, play_threads},
    {"hammer/processes_on_a_file", TEST_STORE_FILE, play_processes},
    {"hammer/processes_on_postgres", TEST_STORE_POSTGRES, play_processes},
};

static bool run_case(size_t at)
{
    struct history history = {0};
    struct test_store store;
    char problem[PROBLEM_BYTES] = "";
    bool good = test_store_new(cases[at].kind, &store, problem, sizeof problem);

    if (good) {
        good = cases[at].play(store.url, &history, problem);
        history_print(&history, cases[at].name, (double)seconds);
        good = good && check_all(store.url, &history, problem);
        test_store_done(&store, good);
    }
    history_done(&history);
    if (good)
        (void)printf("ok %s\n", cases[at].name);
    else
        (void)printf("FAILED %s: seed %" PRIu64 ": %s\n", cases[at].name, seed, problem);
    (void)fflush(stdout);
    return good;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strstr(name, argv[i]))
            return true;
    return argc == 0;
}

int main(int argc, char **argv)
{
    const char *const full = getenv("FF_TEST_FULL");
    size_t passed = 0;
    size_t failed = 0;

    if (argc == 6 && !strcmp(argv[1], "--child"))
        return child_main(argv);
    seconds = full && !strcmp(full, "1") ? 3 * SECONDS : SECONDS;
    seed = full && !strcmp(full, "1") ? (uint64_t)now_us() % 1000000 : 1;
    argc--;
    argv++;
    for (; argc > 1 && argv[0][0] == '-'; argc -= 2, argv += 2)
        *(!strcmp(argv[0], "--seed") ? (int64_t *)&seed : (int64_t *)&seconds) =
            strtol(argv[1], NULL, 10);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (is_wanted(cases[i].name, argc, argv))
            *(run_case(i) ? &passed : &failed) += 1;
    test_stores_done();
    (void)printf("ring hammer: %zu passed, %zu failed\n", passed, failed);
    return failed || !passed ? 1 : 0;
}
