/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- plays every pair of acts in every scene, in many orders, and judges how it ended.
 *
 * A game is right if its answers and its rows are those of some order in which the acts came one
 * after the other; one that takes what it finds may also have found nothing. Where the model knows
 * the tables, the same game is played there and must go the same way call by call.
 * Read first: README.md beside it. */
#include "isolation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/stores.h"

#include "base/banned.h"

#define SERIAL_MAX      15 /* orders of all subsets of three */
#define PAIR_GAMES      3
#define PAIR_GAMES_FULL 400
#define TRIPLES         12
#define TRIPLES_FULL    400
#define SAMPLE          12   /* every n-th pair, if not all */
#define STORE_GAMES     1000 /* then a fresh one: what is left over is in the way of scans */

struct combo {
    const struct scene *scene;
    const struct act *acts[PLAYERS_MAX];
    int count;
};

/* Whose call is next. */
struct chooser {
    const int *order;       /* one after the other, in this order; or ... */
    const uint8_t *choices; /* ... these first, then the first that can; or ... */
    size_t choice_count;
    struct ff_prng *prng; /* ... by chance */
};

struct result {
    struct text rows, trace;
    char answers[PLAYERS_MAX][ANSWER_BYTES];
    uint8_t choices[TURNS_MAX], options[TURNS_MAX];
    size_t turns;
    bool stuck;
};

static struct {
    bool full;
    uint64_t seed;
    const char *only;
    const char *schedule; /* digits: only this one, told in full */
} options = {.seed = 1};

static struct test_store store;
static struct board postgres, cascading;
static uint64_t games, games_on_store;
static int passed, failed;

/* --- one game --- */

static size_t choose(const struct chooser *chooser, struct gate_session *const *held, size_t count,
                     size_t turn)
{
    if (chooser->prng)
        return (size_t)ff_prng_below(chooser->prng, count);
    if (!chooser->order)
        return turn < chooser->choice_count && chooser->choices[turn] < count
                   ? chooser->choices[turn]
                   : 0;
    for (const int *next = chooser->order;; next++)
        for (size_t i = 0; i < count; i++)
            if (held[i]->player->number == *next)
                return i;
}

static void play(struct board *board, const struct combo *combo, unsigned who, uint64_t number,
                 const struct chooser *chooser, struct result *ret)
{
    struct gate_session *held[PLAYERS_MAX * HELD_MAX];
    struct game game;
    size_t count;

    games++;
    ret->turns = 0;
    game_init(&game, board, number);
    board_begin(board, &game);
    combo->scene->set(&game);
    board_pass(board, 6);
    for (int i = 0; i < combo->count; i++)
        if (who & (1u << i)) {
            board->players[i].say = combo->acts[i]->say;
            combo->acts[i]->say(&game, &board->players[i]);
        }
    while (!board->stuck && ret->turns < TURNS_MAX &&
           ((count = board_held(board, held)) > 0 || board_waits(board) || board_goes_on(board))) {
        if (count == 0 && board_waits(board))
            board_wait(board);
        if (count == 0)
            continue;
        ret->options[ret->turns] = (uint8_t)count;
        ret->choices[ret->turns] = (uint8_t)choose(chooser, held, count, ret->turns);
        board_turn(board, held[ret->choices[ret->turns]]);
        ret->turns++;
    }
    ret->stuck = board->stuck || ret->turns == TURNS_MAX;
    for (int i = 0; i < combo->count; i++)
        memcpy(ret->answers[i], board->players[i].answer, ANSWER_BYTES);
    ret->trace = board->trace;
    if (!ret->stuck)
        look(board, &ret->rows);
    game_done(&game);
}

static struct board *board_of(const struct combo *combo)
{
    return combo->scene->cascades ? &cascading : &postgres;
}

/* --- one after the other --- */

struct serial {
    unsigned who;
    struct result result;
};
static struct serial serials[SERIAL_MAX];
static size_t serial_count;

static void play_serially(const struct combo *combo, unsigned who, const int *order)
{
    const struct chooser chooser = {.order = order};
    struct serial *const serial = &serials[serial_count++];

    serial->who = who;
    play(board_of(combo), combo, who, games + 1, &chooser, &serial->result);
}

static void play_orders(const struct combo *combo, unsigned who, int *order, int at)
{
    const int count = __builtin_popcount(who);

    if (at == count) {
        play_serially(combo, who, order);
        return;
    }
    for (int player = 0; player < combo->count; player++) {
        bool used = !(who & (1u << player));

        for (int i = 0; i < at; i++)
            used = used || order[i] == player;
        if (used)
            continue;
        order[at] = player;
        play_orders(combo, who, order, at + 1);
    }
}

/* Whoever is left out must be one that may have found nothing. */
static void play_all_serially(const struct combo *combo)
{
    const unsigned all = (1u << combo->count) - 1;

    serial_count = 0;
    for (unsigned who = 1; who <= all; who++) {
        int order[PLAYERS_MAX];
        bool may = true;

        for (int i = 0; i < combo->count; i++)
            may = may && (who & (1u << i) || combo->acts[i]->scan);
        if (may)
            play_orders(combo, who, order, 0);
    }
}

static bool is_like(const struct combo *combo, const struct result *result,
                    const struct serial *serial)
{
    for (int i = 0; i < combo->count; i++)
        if (serial->who & (1u << i) ? strcmp(result->answers[i], serial->result.answers[i]) != 0
                                    : !answer_is_empty(result->answers[i]))
            return false;
    return strcmp(result->rows.bytes, serial->result.rows.bytes) == 0;
}

/* --- judging --- */

static void print_lines(const char *title, const struct text *a, const struct text *b)
{
    static char copy[TEXT_BYTES];
    char *rest = copy;

    memcpy(copy, a->bytes, a->len + 1);
    for (char *line; (line = strsep(&rest, "\n")) && *line;)
        if (!b || !strstr(b->bytes, line))
            printf("  %s %s\n", title, line);
}

static void print_game(const struct combo *combo, const char *title, const struct result *result)
{
    printf("  %s:\n", title);
    print_lines("   ", &result->trace, NULL);
    for (int i = 0; i < combo->count; i++)
        printf("      %d %s: %s\n", i, combo->acts[i]->name, result->answers[i]);
}

static void name_of(const struct combo *combo, char out[128])
{
    int len = snprintf(out, 128, "%s/", combo->scene->name);

    for (int i = 0; i < combo->count; i++)
        len += snprintf(out + len, 128 - (size_t)len, "%s%s", i ? "+" : "", combo->acts[i]->name);
}

static void complain(const struct combo *combo, const struct result *result, const char *why)
{
    char name[128];

    name_of(combo, name);
    printf("FAILED %s: %s\n  repeat: ff-isolation --only %s --schedule ", name, why, name);
    for (size_t i = 0; i < result->turns; i++)
        printf("%d", result->choices[i]);
    printf("\n");
    print_game(combo, "on postgres", result);
}

/* Where acts cascade they are several transactions, and others may come in between. */
static bool judge_serially(const struct combo *combo, const struct result *result)
{
    if (combo->scene->cascades)
        return true;
    for (size_t i = 0; i < serial_count; i++)
        if (is_like(combo, result, &serials[i]))
            return true;
    complain(combo, result, "no order of the acts leads here");
    for (size_t i = 0; i < serial_count; i++) {
        print_game(combo, "one after the other", &serials[i].result);
        print_lines("only then", &serials[i].result.rows, &result->rows);
        print_lines("only here", &result->rows, &serials[i].result.rows);
    }
    return false;
}

/* The same choices on the model. */
static bool judge_by_model(const struct combo *combo, const struct result *result, uint64_t number)
{
    static struct board model;
    static struct result same;
    const struct chooser chooser = {.choices = result->choices, .choice_count = result->turns};
    bool equal;

    board_open_model(&model, 1, combo->scene->cascades);
    play(&model, combo, (1u << combo->count) - 1, number, &chooser, &same);
    equal = strcmp(same.trace.bytes, result->trace.bytes) == 0 &&
            strcmp(same.rows.bytes, result->rows.bytes) == 0;
    for (int i = 0; i < combo->count; i++)
        equal = equal && strcmp(same.answers[i], result->answers[i]) == 0;
    if (!equal) {
        complain(combo, result, "the model goes another way");
        print_game(combo, "on the model", &same);
        print_lines("only model", &same.rows, &result->rows);
        print_lines("only postgres", &result->rows, &same.rows);
    }
    board_close(&model);
    return equal;
}

/* The server has ended a wait for a lock, or a transaction in which nothing was said. */
static bool was_too_slow(const struct result *result)
{
    return strstr(result->trace.bytes, "55P03") || strstr(result->trace.bytes, "25P03");
}

/* What the server ended by itself was a slow machine's: the game is played again. */
static void play_in_time(const struct combo *combo, const struct chooser *chooser,
                         struct result *ret, uint64_t *ret_number)
{
    for (int i = 0; i < 5; i++) {
        const struct ff_prng before = chooser->prng ? *chooser->prng : (struct ff_prng){{0}};

        *ret_number = games + 1;
        play(board_of(combo), combo, (1u << combo->count) - 1, *ret_number, chooser, ret);
        if (!was_too_slow(ret))
            return;
        if (chooser->prng)
            *chooser->prng = before;
    }
}

static bool try(const struct combo *combo, const struct chooser *chooser, struct result *ret)
{
    uint64_t number;

    play_in_time(combo, chooser, ret, &number);
    if (ret->stuck) {
        complain(combo, ret, "nobody moves any more");
        printf("ring isolation: %d passed, %d failed\n", passed, failed + 1);
        exit(1); /* the board is of no use now */
    }
    if (options.schedule)
        print_game(combo, "on postgres", ret);
    return judge_serially(combo, ret) && judge_by_model(combo, ret, number);
}

/* --- stores --- */

static void audit(void)
{
    struct ff_findings findings = {0};
    struct ff_client *client = NULL;
    struct ff_error error;

    if (ff_open(store.url, NULL, &client, &error) != FF_OK ||
        ff_fsck(client, &findings, &error) != FF_OK || findings.count) {
        printf("FAILED fsck: %s\n", findings.count ? findings.items[0].check : error.message);
        failed++;
    }
    ff_answer_free(&findings);
    (void)ff_close(client, 0);
}

static bool open_store(void)
{
    char why[256];

    if (!test_store_new(TEST_STORE_POSTGRES, &store, why, sizeof why)) {
        printf("FAILED store: %s\n", why);
        failed++;
        return false;
    }
    board_open_postgres(&postgres, store.url, 1, false);
    board_open_postgres(&cascading, store.url, 1, true);
    games_on_store = games;
    return true;
}

static void close_store(void)
{
    board_close(&postgres);
    board_close(&cascading);
    audit();
    test_store_done(&store, failed == 0);
}

/* Between two combinations. */
static bool renew_store(void)
{
    if (games - games_on_store < STORE_GAMES)
        return true;
    close_store();
    return open_store();
}

/* --- schedules --- */

/* The next one in order: the last turn that had another choice takes it. False: that was all. */
static bool next_schedule(const struct result *result, uint8_t *choices, size_t *count)
{
    for (size_t turn = result->turns; turn-- > 0;)
        if (result->choices[turn] + 1 < result->options[turn]) {
            memcpy(choices, result->choices, turn);
            choices[turn] = (uint8_t)(result->choices[turn] + 1);
            *count = turn + 1;
            return true;
        }
    return false;
}

static bool try_all(const struct combo *combo, int max)
{
    static struct result result;
    uint8_t choices[TURNS_MAX];
    struct chooser chooser = {.choices = choices};

    for (int i = 0; i < max; i++) {
        if (!try(combo, &chooser, &result))
            return false;
        if (!next_schedule(&result, choices, &chooser.choice_count))
            return true;
    }
    return true;
}

static bool try_some(const struct combo *combo, int count, uint64_t seed)
{
    static struct result result;
    struct ff_prng prng;
    const struct chooser chooser = {.prng = &prng};

    ff_prng_init(&prng, seed);
    for (int i = 0; i < count; i++)
        if (!try(combo, &chooser, &result))
            return false;
    return true;
}

static bool try_given(const struct combo *combo)
{
    static struct result result;
    uint8_t choices[TURNS_MAX];
    struct chooser chooser = {.choices = choices};

    for (const char *at = options.schedule; *at && chooser.choice_count < TURNS_MAX; at++)
        choices[chooser.choice_count++] = (uint8_t)(*at - '0');
    return try(combo, &chooser, &result);
}

static void run_combo(const struct combo *combo, uint64_t seed)
{
    bool good;

    if (!renew_store())
        exit(1);
    if (!combo->scene->cascades)
        play_all_serially(combo);
    if (options.schedule)
        good = try_given(combo);
    else if (options.full && combo->count == 2)
        good = try_all(combo, PAIR_GAMES_FULL);
    else
        good = try_some(combo, PAIR_GAMES, seed);
    passed += good;
    failed += !good;
}

/* --- all of them --- */

static bool fits(const struct scene *scene, const struct act *act)
{
    return scene->flow || !act->flow;
}

static bool is_asked_for(const char *name)
{
    return !options.only || strncmp(name, options.only, strlen(options.only)) == 0;
}

static bool is_wanted(const struct combo *combo, uint64_t number)
{
    char name[128];

    name_of(combo, name);
    if (options.only)
        return is_asked_for(name);
    return options.full || number % SAMPLE == options.seed % SAMPLE;
}

static void run_pairs(const struct scene *scene)
{
    const uint64_t before = games;
    const int good = passed;
    static uint64_t number;

    for (size_t a = 0; a < act_count; a++)
        for (size_t b = a; b < act_count; b++) {
            const struct combo combo = {.scene = scene, .acts = {&acts[a], &acts[b]}, .count = 2};

            if (fits(scene, &acts[a]) && fits(scene, &acts[b]) && is_wanted(&combo, ++number))
                run_combo(&combo, options.seed * 1000 + number);
        }
    if (passed > good)
        printf("ok %s: %d pairs in %" PRIu64 " games\n", scene->name, passed - good,
               games - before);
}

static void run_triples(int count)
{
    const int good = passed;
    struct ff_prng prng;

    ff_prng_init(&prng, options.seed);
    for (int i = 0; i < count;) {
        const struct scene *const scene = &scenes[ff_prng_below(&prng, scene_count)];
        struct combo combo = {.scene = scene, .count = 3};

        for (int player = 0; player < 3; player++)
            combo.acts[player] = &acts[ff_prng_below(&prng, act_count)];
        if (!fits(scene, combo.acts[0]) || !fits(scene, combo.acts[1]) ||
            !fits(scene, combo.acts[2]))
            continue;
        run_combo(&combo, options.seed * 1000 + (uint64_t)i++);
    }
    printf("ok %d of %d triples\n", passed - good, count);
}

/* The one that --only names, to have it again. */
static void run_named_triple(void)
{
    char name[128];

    for (size_t i = 0; i < scene_count * act_count * act_count * act_count; i++) {
        const struct combo combo = {.scene = &scenes[i % scene_count],
                                    .acts = {&acts[i / scene_count % act_count],
                                             &acts[i / scene_count / act_count % act_count],
                                             &acts[i / scene_count / act_count / act_count]},
                                    .count = 3};

        name_of(&combo, name);
        if (strcmp(name, options.only) == 0)
            run_combo(&combo, options.seed);
    }
}

static void run_stories(void)
{
    for (size_t i = 0; i < story_count; i++) {
        const char *why;

        if (!is_asked_for(stories[i].name))
            continue;
        why = stories[i].run(store.url);
        if (why)
            printf("FAILED %s: %s\n", stories[i].name, why);
        else
            printf("ok %s\n", stories[i].name);
        passed += !why;
        failed += why != NULL;
    }
}

static bool parse(int argc, char **argv)
{
    const char *const full = getenv("FF_TEST_FULL");

    options.full = full && strcmp(full, "1") == 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--full") == 0)
            options.full = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            options.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            options.only = argv[++i];
        else if (strcmp(argv[i], "--schedule") == 0 && i + 1 < argc)
            options.schedule = argv[++i];
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        (void)fprintf(stderr, "usage: ff-isolation [--full] [--seed N] [--only SCENE/ACT+ACT "
                              "[--schedule DIGITS]]\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!open_store()) {
        printf("ring isolation: 0 passed, 1 failed\n");
        return 1;
    }
    run_stories();
    for (size_t i = 0; i < scene_count; i++)
        run_pairs(&scenes[i]);
    if (options.only)
        run_named_triple();
    else
        run_triples(options.full ? TRIPLES_FULL : TRIPLES);
    close_store();
    test_stores_done();
    printf("%" PRIu64 " games\nring isolation: %d passed, %d failed\n", games, passed, failed);
    return failed || !passed ? 1 : 0;
}
