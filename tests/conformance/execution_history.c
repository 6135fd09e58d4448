/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_history.c -- what happened to an execution, from the log. Pitfall F45 (poor events). */
#include "support/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define NOBODY "{fp:9}:0190f5fe-7000-7000-8000-000000000001"

static struct name given_eventful(struct test *t)
{
    const struct ff_policy_spec p = retry_policy(1, 0);
    struct held held = given_claimed_with(t, &p, 30000);
    struct name name;

    EXPECT_OK(t, when_released(t, &held, NULL));
    held = given_claimed_next(t);
    EXPECT_OK(t, when_failed(t, &held, "transient"));
    EXPECT_OK(t, when_prioritised(t, held.id, 4));
    held = given_claimed_next(t);
    EXPECT_OK(t, when_completed(t, &held, NULL));
    memcpy(name.id, held.id, sizeof name.id);
    return name;
}

FF_CONFORMANCE(execution_history, begins_with_the_submission)
{
    const struct name name = given_submitted(t);
    const struct ff_event_list *const all = history(t, name.id);

    EXPECT_INT(t, 1, (int64_t)all->count);
    EXPECT_TEXT(t, "execution", all->items[0].kind);
    EXPECT_TEXT(t, "submitted", all->items[0].type);
    EXPECT_TEXT(t, name.id, all->items[0].execution_id);
    EXPECT_INT(t, look(t, name.id)->created_at_ms, all->items[0].at_ms);
}

FF_CONFORMANCE(execution_history, tells_it_in_order)
{
    const struct name name = given_eventful(t);
    const struct ff_event_list *const all = history(t, name.id);

    EXPECT_EVENTS(t, name.id,
                  "acquired released acquired execution.retry_scheduled "
                  "operator.priority_changed acquired completion.success");
    for (size_t i = 1; i < all->count; i++) {
        EXPECT(t, all->items[i].event_id > all->items[i - 1].event_id);
        EXPECT(t, all->items[i].at_ms >= all->items[i - 1].at_ms);
        EXPECT(t, all->items[i].version >= all->items[i - 1].version);
        EXPECT_TEXT(t, name.id, all->items[i].execution_id);
        EXPECT_TEXT(t, "default", all->items[i].ns);
        EXPECT(t, all->items[i].public_state != NULL);
    }
    EXPECT_TEXT(t, "", all->next_cursor);
}

/* F45: who, which lease, and how long. */
FF_CONFORMANCE(execution_history, lease_events_name_worker_and_lease)
{
    const struct held held = given_claimed(t);
    const struct ff_event_info *const event = last_event(t, held.id, "lease", "acquired");

    EXPECT_TEXT(t, WORKER, event->worker_id);
    EXPECT_TEXT(t, INSTANCE, event->worker_instance_id);
    EXPECT_TEXT(t, held.lease_id, event->lease_id);
    EXPECT_INT(t, held.epoch, event->lease_epoch);
    EXPECT_INT(t, held.expires_at_ms, event->num_a);
    EXPECT_TEXT(t, "active", event->public_state);
    EXPECT_TEXT(t, NULL, event->prev_owner);
}

FF_CONFORMANCE(execution_history, cursor_is_the_mark_and_the_number)
{
    const struct held held = given_claimed(t);
    const struct ff_event_info *const event = last_event(t, held.id, "lease", "acquired");
    char want[20];

    (void)snprintf(want, sizeof want, "02%016llx", (unsigned long long)event->event_id);
    EXPECT_TEXT(t, want, event->cursor);
}

FF_CONFORMANCE(execution_history, comes_in_pages)
{
    const struct name name = given_eventful(t);
    const struct ff_event_list *const all = history(t, name.id);
    char cursor[FF_CURSOR_BYTES] = "";
    size_t seen = 0;

    do {
        struct ff_event_list page = {0};

        EXPECT_OK(t, ff_history(t->client, name.id, cursor, 3, &page, &t->err));
        keep_answer(t, page.memory);
        EXPECT(t, page.count > 0 && page.count <= 3);
        for (size_t i = 0; i < page.count; i++, seen++)
            EXPECT_INT(t, all->items[seen].event_id, page.items[i].event_id);
        memcpy(cursor, page.next_cursor, sizeof cursor);
    } while (cursor[0]);
    EXPECT_INT(t, (int64_t)all->count, (int64_t)seen);
}

FF_CONFORMANCE(execution_history, goes_on_from_any_event)
{
    const struct name name = given_eventful(t);
    const struct ff_event_list *const all = history(t, name.id);
    struct ff_event_list rest = {0};

    EXPECT_OK(t, ff_history(t->client, name.id, all->items[2].cursor, 0, &rest, &t->err));
    keep_answer(t, rest.memory);
    EXPECT_INT(t, (int64_t)all->count - 3, (int64_t)rest.count);
    EXPECT_INT(t, all->items[3].event_id, rest.items[0].event_id);
    EXPECT_OK(t,
              ff_history(t->client, name.id, all->items[all->count - 1].cursor, 0, &rest, &t->err));
    keep_answer(t, rest.memory);
    EXPECT_INT(t, 0, (int64_t)rest.count);
}

FF_CONFORMANCE(execution_history, is_of_one_execution_only)
{
    const struct name mine = given_completed(t);

    (void)given_eventful(t);
    EXPECT_EVENTS(t, mine.id, "acquired completion.success");
}

FF_CONFORMANCE(execution_history, bad_questions_are_refused)
{
    const struct name name = given_submitted(t);
    struct ff_event_list page = {0};

    EXPECT_REFUSED(t, FF_INVALID, "limit",
                   ff_history(t->client, name.id, NULL, -1, &page, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "limit",
                   ff_history(t->client, name.id, NULL, 1001, &page, &t->err));
    EXPECT_REFUSED(t, FF_BAD_CURSOR, "cursor",
                   ff_history(t->client, name.id, "zz", 0, &page, &t->err));
    EXPECT_REFUSED(t, FF_BAD_CURSOR, "cursor",
                   ff_history(t->client, name.id, "010000000000000000", 0, &page, &t->err));
    EXPECT_STATUS(t, FF_NOT_FOUND, ff_history(t->client, NOBODY, NULL, 0, &page, &t->err));
}
