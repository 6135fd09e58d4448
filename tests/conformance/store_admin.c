/* SPDX-License-Identifier: Apache-2.0
 *
 * store_admin.c -- looking after a store by hand: what ended goes when asked, and a healthy store
 * gets no advice. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(store_admin, gc_removes_what_ended_and_nothing_else)
{
    const struct name done = given_completed(t);
    const struct name waiting = given_submitted(t);
    int64_t removed = -1;

    needs_store(t, "ff_gc");
    EXPECT_OK(t, ff_gc(t->client, FF_ABSENT_MS, &removed, &t->err));
    EXPECT_INT(t, 0, removed); /* it is kept for a week */
    EXPECT_OK(t, when_looked(t, done.id));
    EXPECT_STATUS(t, FF_INVALID, ff_gc(t->client, -1, &removed, &t->err));
    /* "Longer ago than 0 ms" is not this very millisecond. */
    WAIT_UNTIL(t, ff_gc(t->client, 0, &removed, &t->err) == FF_OK &&
                      when_looked(t, done.id) == FF_NOT_FOUND);
    EXPECT_OK(t, when_looked(t, waiting.id));
}

FF_CONFORMANCE(store_admin, a_healthy_store_gets_no_advice)
{
    struct ff_diagnosis diagnosis = {0};
    size_t seen = 0;

    needs_store(t, "ff_doctor");
    EXPECT_OK(t, ff_doctor(t->client, &diagnosis, &t->err));
    keep_answer(t, diagnosis.memory);
    for (size_t i = 0; i < diagnosis.count; i++) {
        const struct ff_check *const check = &diagnosis.items[i];

        seen += strcmp(check->name, "clock_skew_ms") == 0 || strcmp(check->name, "store") == 0;
        EXPECT(t, check->value[0]);
        /* How fast a store answers is the machine's business; its settings, and whether a pooler
         * stands before it, are the test's. */
        if (strcmp(check->name, "answer_ms") != 0 && strcmp(check->name, "settings") != 0 &&
            strcmp(check->name, "pooler") != 0 && strcmp(check->name, "wake_up") != 0)
            EXPECT(t, !check->advice);
    }
    EXPECT_INT(t, 2, (int64_t)seen);
}
