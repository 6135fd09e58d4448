/* SPDX-License-Identifier: Apache-2.0
 *
 * history.c -- what the players wrote down, and what must be true of it.
 *
 * Read first: hammer.h. Everything is sorted by execution: histories of one are short, so checks
 * look at all pairs of them. */
#include "hammer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define STORE_SAMPLE 1500 /* executions looked at one by one; the audit looks at all */
#define PAGE         1000

const char *const op_names[OP_COUNT] = {
#define HAMMER_NAME(name, text) text,
    HAMMER_OPS(HAMMER_NAME)
#undef HAMMER_NAME
};

void history_add(struct history *history, const struct record *record)
{
    if (history->count == history->cap) {
        history->cap = history->cap ? history->cap * 2 : 4096;
        history->items = realloc(history->items, history->cap * sizeof *history->items);
        if (!history->items)
            abort();
    }
    history->items[history->count++] = *record;
}

void history_join(struct history *history, const struct history *other)
{
    for (size_t i = 0; i < other->count; i++)
        history_add(history, &other->items[i]);
}

void history_done(struct history *history)
{
    free(history->items);
    *history = (struct history){0};
}

bool history_save(const struct history *history, FILE *file)
{
    return fwrite(history->items, sizeof *history->items, history->count, file) == history->count;
}

bool history_load(struct history *history, FILE *file)
{
    struct record record;

    while (fread(&record, sizeof record, 1, file) == 1)
        history_add(history, &record);
    return feof(file) != 0;
}

/* ---- from the records alone ---- */

static int by_execution(const void *a, const void *b)
{
    const struct record *const x = a;
    const struct record *const y = b;
    const int order = strcmp(x->id, y->id);

    return order ? order : (x->began_us > y->began_us) - (x->began_us < y->began_us);
}

static bool is_claim(const struct record *r)
{
    return r->op == OP_CLAIM && r->status == FF_OK;
}

static bool is_last_word(const struct record *r)
{
    return r->status == FF_OK &&
           (r->op == OP_COMPLETE || r->op == OP_FAIL || r->op == OP_RELEASE || r->op == OP_DELAY);
}

static bool is_word(const struct record *r)
{
    return is_last_word(r) || (r->status == FF_OK && r->op == OP_RENEW);
}

static bool check_pair(const struct record *a, const struct record *b, char problem[PROBLEM_BYTES])
{
    const char *what = NULL;

    if (is_claim(a) && is_claim(b) && a->epoch == b->epoch)
        what = "claimed twice at one epoch";
    else if (is_claim(a) && is_claim(b) && a->ended_us < b->began_us && a->epoch > b->epoch)
        what = "its epoch went back";
    else if (is_claim(a) && is_word(b) && a->epoch > b->epoch && a->ended_us < b->began_us)
        what = "a word of an older lease was accepted";
    else if (is_last_word(a) && is_last_word(b) && a->epoch == b->epoch)
        what = "a lease ended twice";
    else if (is_last_word(a) && b->op == OP_RENEW && b->status == FF_OK && a->epoch == b->epoch &&
             a->ended_us < b->began_us)
        what = "a lease was renewed after its end";
    if (!what)
        return true;
    (void)snprintf(problem, PROBLEM_BYTES,
                   "%s: %s (%s %" PRId64 " at %" PRId64 ", %s %" PRId64 " at %" PRId64 ")", a->id,
                   what, op_names[a->op], a->epoch, a->began_us, op_names[b->op], b->epoch,
                   b->began_us);
    return false;
}

bool history_check(struct history *history, char problem[PROBLEM_BYTES])
{
    const struct record *const items = history->items;

    qsort(history->items, history->count, sizeof *items, by_execution);
    for (size_t i = 0; i < history->count; i++)
        for (size_t k = i + 1; k < history->count && !strcmp(items[i].id, items[k].id); k++)
            if (items[i].id[0] && (!check_pair(&items[i], &items[k], problem) ||
                                   !check_pair(&items[k], &items[i], problem)))
                return false;
    return true;
}

/* ---- against the store ---- */

/* The records of one execution. */
struct story {
    const struct record *items;
    size_t count;
};

static bool was_accepted(const struct story *story)
{
    for (size_t i = 0; i < story->count; i++)
        if (story->items[i].op == OP_SUBMIT && story->items[i].status == FF_OK)
            return true;
    return false;
}

static bool check_completions(struct ff_client *client, const char *id, int32_t generations,
                              char problem[PROBLEM_BYTES])
{
    struct ff_event_list events = {0};
    struct ff_error error;
    int32_t completed = 0;
    bool good = ff_history(client, id, NULL, PAGE, &events, &error) == FF_OK;

    for (size_t i = 0; good && i < events.count; i++)
        if (!strcmp(events.items[i].kind, "completion"))
            good = events.items[i].generation == completed++;
    good = good && completed == generations;
    if (!good)
        (void)snprintf(problem, PROBLEM_BYTES, "%s: %d completions of %d generations", id,
                       completed, generations);
    ff_answer_free(&events);
    return good;
}

/* Every word that was accepted has ended an attempt of that epoch in that way, and only once. */
static bool check_attempts(struct ff_client *client, const char *id, const struct story *story,
                           char problem[PROBLEM_BYTES])
{
    static const char *const outcomes[OP_COUNT] = {[OP_COMPLETE] = "completed",
                                                   [OP_RELEASE] = "released",
                                                   [OP_DELAY] = "delayed",
                                                   [OP_FAIL] = ""};
    struct ff_attempt_list attempts = {0};
    struct ff_error error;
    bool good = ff_attempts(client, id, &attempts, &error) == FF_OK;

    for (size_t i = 0; good && i < story->count; i++) {
        const struct record *const r = &story->items[i];
        size_t found = 0;

        if (!is_last_word(r))
            continue;
        for (size_t k = 0; k < attempts.count; k++)
            found +=
                attempts.items[k].lease_epoch == r->epoch && attempts.items[k].outcome &&
                strncmp(attempts.items[k].outcome, outcomes[r->op], strlen(outcomes[r->op])) == 0;
        good = found == 1;
    }
    if (!good)
        (void)snprintf(problem, PROBLEM_BYTES, "%s: an accepted word is not among the attempts",
                       id);
    ff_answer_free(&attempts);
    return good;
}

static bool check_one(struct ff_client *client, const struct story *story,
                      char problem[PROBLEM_BYTES])
{
    const char *const id = story->items[0].id;
    struct ff_info_list whole = {0};
    struct ff_error error;
    int32_t generations = 0;
    bool good = ff_get(client, id, &whole, &error) == FF_OK && whole.items[0].finished;

    if (good)
        generations = whole.items[0].generation + 1;
    else
        (void)snprintf(problem, PROBLEM_BYTES, "%s was accepted and is %s", id,
                       whole.count ? whole.items[0].public_state : error.message);
    ff_answer_free(&whole);
    return good && check_completions(client, id, generations, problem) &&
           check_attempts(client, id, story, problem);
}

static bool count_rows(struct ff_client *client, size_t *ret_all, size_t *ret_unfinished,
                       char problem[PROBLEM_BYTES])
{
    struct ff_info_list page = {0};
    struct ff_filter filter;
    struct ff_error error;
    char cursor[FF_CURSOR_BYTES] = "";

    *ret_all = *ret_unfinished = 0;
    do {
        ff_filter_init(&filter);
        filter.limit = PAGE;
        filter.cursor = cursor;
        if (ff_list(client, &filter, &page, &error) != FF_OK) {
            (void)snprintf(problem, PROBLEM_BYTES, "cannot list: %s", error.message);
            return false;
        }
        *ret_all += page.count;
        for (size_t i = 0; i < page.count; i++)
            *ret_unfinished += !page.items[i].finished;
        memcpy(cursor, page.next_cursor, sizeof cursor);
        ff_answer_free(&page);
    } while (cursor[0]);
    return true;
}

bool history_unfinished(struct ff_client *client, size_t *ret, char problem[PROBLEM_BYTES])
{
    size_t all;

    return count_rows(client, &all, ret, problem);
}

/* `history` is sorted. */
bool history_check_store(struct history *history, struct ff_client *client,
                         char problem[PROBLEM_BYTES])
{
    size_t accepted = 0;
    size_t looked = 0;
    size_t all;
    size_t unfinished;

    if (!count_rows(client, &all, &unfinished, problem))
        return false;
    for (size_t i = 0, end; i < history->count; i = end) {
        struct story story = {.items = &history->items[i]};

        for (end = i; end < history->count && !strcmp(history->items[end].id, story.items->id);)
            end++;
        story.count = end - i;
        if (!story.items->id[0] || !was_accepted(&story))
            continue;
        accepted++;
        /* Ids begin with the partition, so every k-th is a fair sample. */
        if (accepted % (1 + all / STORE_SAMPLE) == 0 && ++looked &&
            !check_one(client, &story, problem))
            return false;
    }
    (void)printf("#   %zu accepted, %zu in the store, %zu looked at one by one\n", accepted, all,
                 looked);
    if (accepted == all && unfinished == 0)
        return true;
    (void)snprintf(problem, PROBLEM_BYTES, "%zu accepted, %zu in the store, %zu unfinished",
                   accepted, all, unfinished);
    return false;
}

/* ---- figures ---- */

void history_print(const struct history *history, const char *name, double seconds)
{
    size_t good[OP_COUNT] = {0};
    size_t refused[OP_COUNT] = {0};
    int64_t longest_us[OP_COUNT] = {0};
    int64_t last_us = -1;
    size_t late = 0;

    for (size_t i = 0; i < history->count; i++) {
        const struct record *const r = &history->items[i];

        *(r->status == FF_OK ? &good[r->op] : &refused[r->op]) += 1;
        late += r->status == FF_TIMEOUT || r->status == FF_BUSY || r->status == FF_OVERLOADED;
        if (r->ended_us - r->began_us > longest_us[r->op])
            longest_us[r->op] = r->ended_us - r->began_us;
        if (longest_us[r->op] > last_us)
            last_us = longest_us[r->op];
    }
    (void)printf("# %s: %.0f operations per second, longest wait %.1f ms, %zu late\n", name,
                 (double)history->count / seconds, (double)last_us / 1000, late);
    for (size_t op = 0; op < OP_COUNT; op++)
        (void)printf("#   %-12s %8.0f/s %7zu refused, longest %8.1f ms\n", op_names[op],
                     (double)good[op] / seconds, refused[op], (double)longest_us[op] / 1000);
}
