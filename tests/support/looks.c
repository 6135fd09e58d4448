/* SPDX-License-Identifier: Apache-2.0
 *
 * looks.c -- what tests look at: executions, attempts, the log.
 *
 * Read first: tests/support/domain.h. */
#include "support/domain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define LINE_BYTES 2048

const struct ff_info *look(struct test *t, const char *id)
{
    struct ff_info_list whole = {0};

    EXPECT_OK(t, ff_get(t->client, id, &whole, &t->err));
    keep_answer(t, whole.memory);
    EXPECT_INT(t, 1, (int64_t)whole.count);
    return whole.items;
}

ff_status when_looked(struct test *t, const char *id)
{
    struct ff_info_list whole = {0};
    const ff_status status = ff_get(t->client, id, &whole, &t->err);

    ff_answer_free(&whole);
    return status;
}

const struct ff_info_list *list(struct test *t, const struct ff_filter *filter)
{
    struct ff_info_list *const page = keep(t, sizeof *page);

    EXPECT_OK(t, ff_list(t->client, filter, page, &t->err));
    keep_answer(t, page->memory);
    return page;
}

const struct ff_attempt_list *attempts(struct test *t, const char *id)
{
    struct ff_attempt_list *const all = keep(t, sizeof *all);

    EXPECT_OK(t, ff_attempts(t->client, id, all, &t->err));
    keep_answer(t, all->memory);
    return all;
}

const struct ff_event_list *history(struct test *t, const char *id)
{
    struct ff_event_list *const all = keep(t, sizeof *all);

    EXPECT_OK(t, ff_history(t->client, id, NULL, 1000, all, &t->err));
    keep_answer(t, all->memory);
    return all;
}

bool is_in_state(struct test *t, const char *id, const char *public_state)
{
    struct ff_info_list whole = {0};
    bool is;

    EXPECT_OK(t, ff_get(t->client, id, &whole, &t->err));
    is = !strcmp(whole.items[0].public_state, public_state);
    ff_answer_free(&whole);
    return is;
}

const struct ff_event_info *last_event(struct test *t, const char *id, const char *kind,
                                       const char *type)
{
    const struct ff_event_list *const all = history(t, id);

    for (size_t i = all->count; i > 0; i--)
        if (!strcmp(all->items[i - 1].kind, kind) && !strcmp(all->items[i - 1].type, type))
            return &all->items[i - 1];
    FAIL(t, "there is no event %s.%s", kind, type);
}

int64_t store_now_ms(struct test *t)
{
    struct ff_submission s = submission();

    s.lane = "clock";
    return look(t, given(t, &s).id)->created_at_ms;
}

void expect_state(struct test *t, const char *file, int line, const char *id, const char *want)
{
    expect_text(t, file, line, want, look(t, id)->public_state, "public_state");
}

void expect_vector(struct test *t, const char *file, int line, const char *id, const char *want)
{
    const struct ff_info *const info = look(t, id);
    char got[LINE_BYTES];

    (void)snprintf(got, sizeof got, "%s %s %s %s %s %s", info->lifecycle_phase,
                   info->ownership_state, info->eligibility_state, info->attempt_state,
                   info->terminal_outcome, info->blocking_reason);
    expect_text(t, file, line, want, got, "state vector");
}

static void add_word(char line[LINE_BYTES], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add_word(char line[LINE_BYTES], const char *fmt, ...)
{
    const size_t used = strlen(line);
    va_list args;

    if (used)
        (void)snprintf(line + used, LINE_BYTES - used, " ");
    va_start(args, fmt);
    (void)vsnprintf(line + strlen(line), LINE_BYTES - strlen(line), fmt, args);
    va_end(args);
}

void expect_events(struct test *t, const char *file, int line, const char *id, const char *want)
{
    const struct ff_event_list *const all = history(t, id);
    char got[LINE_BYTES] = "";

    for (size_t i = 0; i < all->count; i++) {
        const struct ff_event_info *const event = &all->items[i];

        if (!strcmp(event->kind, "lease"))
            add_word(got, "%s", event->type);
        else if (strcmp(event->type, "submitted") != 0)
            add_word(got, "%s.%s", event->kind, event->type);
    }
    expect_text(t, file, line, want, got, "history");
}

void expect_attempts(struct test *t, const char *file, int line, const char *id, const char *want)
{
    const struct ff_attempt_list *const all = attempts(t, id);
    char got[LINE_BYTES] = "";

    for (size_t i = 0; i < all->count; i++)
        add_word(got, "%d:%s:%s", (int)all->items[i].attempt_index, all->items[i].attempt_type,
                 all->items[i].outcome ? all->items[i].outcome : "running");
    expect_text(t, file, line, want, got, "attempts");
}

void expect_rows(struct test *t, const char *file, int line, size_t want)
{
    struct ff_filter all;
    const struct ff_info_list *page;

    ff_filter_init(&all);
    all.limit = 1000;
    page = list(t, &all);
    expect_int(t, file, line, (int64_t)want, (int64_t)page->count, "executions in the store");
}

void expect_sound(struct test *t, struct ff_client *client)
{
    struct ff_findings findings = {0};

    EXPECT_OK(t, ff_fsck(client, &findings, &t->err));
    keep_answer(t, findings.memory);
    EXPECT(t, findings.checks > 0);
    if (findings.count)
        FAIL(t, "fsck: %s: %s %s", findings.items[0].check, findings.items[0].execution_id,
             findings.items[0].detail);
}
