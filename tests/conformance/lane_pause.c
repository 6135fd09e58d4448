/* SPDX-License-Identifier: Apache-2.0
 *
 * lane_pause.c -- a paused lane hands out nothing; everything else goes on. */
#include "support/follows.h"

#include <string.h>

#include "base/banned.h"

static ff_status when_paused(struct test *t, const char *lane, bool paused)
{
    return ff_lane_pause(t->client, lane, paused, "maintenance", &t->err);
}

static const struct ff_lane_info *lane(struct test *t, const char *name)
{
    struct ff_lane_list lanes = {0};

    EXPECT_OK(t, ff_lanes(t->client, &lanes, &t->err));
    keep_answer(t, lanes.memory);
    for (size_t i = 0; i < lanes.count; i++)
        if (!strcmp(lanes.items[i].lane, name))
            return &lanes.items[i];
    return NULL;
}

FF_CONFORMANCE(lane_pause, hands_out_nothing_until_resumed)
{
    const struct name name = given_submitted(t);

    EXPECT_OK(t, when_paused(t, "default", true));
    EXPECT(t, nothing_to_claim(t));
    EXPECT_STATE(t, name.id, "waiting");
    (void)given_submitted(t); /* work is still accepted */
    EXPECT(t, nothing_to_claim(t));
    EXPECT_OK(t, when_paused(t, "default", false));
    EXPECT_TEXT(t, name.id, given_claimed_next(t).id);
}

FF_CONFORMANCE(lane_pause, is_told_in_the_log)
{
    const char *const kind = "operator";
    const struct ff_event_filter filter = events_of_kind(&kind);
    struct ff_subscription *const sub = given_subscribed(t, &filter, NULL);
    const struct ff_event_info *event;

    EXPECT_OK(t, when_paused(t, "default", true));
    EXPECT_OK(t, when_paused(t, "default", true)); /* changes nothing */
    EXPECT_OK(t, when_paused(t, "default", false));
    event = next_event(t, sub);
    EXPECT_TEXT(t, "lane_paused", event->type);
    EXPECT_TEXT(t, "default", event->note);
    event = next_event(t, sub);
    EXPECT_TEXT(t, "lane_resumed", event->type);
    EXPECT_TEXT(t, "default", event->note);
    expect_nothing_more(t, sub);
}

FF_CONFORMANCE(lane_pause, leaves_running_work_alone)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_paused(t, "default", true));
    EXPECT_OK(t, when_renewed(t, &held, 0));
    EXPECT_OK(t, when_progressed(t, &held, 5, NULL));
    EXPECT_OK(t, when_completed(t, &held, NULL));
}

FF_CONFORMANCE(lane_pause, leaves_other_lanes_alone)
{
    static const char *const lanes[] = {"stopped", "default"};
    struct ff_claim_request r = claim_request();
    struct ff_submission s = submission();
    struct name name;

    s.lane = "stopped";
    (void)given(t, &s);
    name = given_submitted(t);
    EXPECT_OK(t, when_paused(t, "stopped", true));
    r.lanes = lanes;
    r.lane_count = 2;
    r.max = 1;
    EXPECT_TEXT(t, name.id, given_claim(t, &r).id);
}

FF_CONFORMANCE(lane_pause, is_seen_by_operators)
{
    EXPECT_OK(t, when_paused(t, "empty", true));
    EXPECT(t, lane(t, "empty") && lane(t, "empty")->paused);
    EXPECT_TEXT(t, "maintenance", lane(t, "empty")->paused_reason);
    EXPECT_OK(t, when_paused(t, "empty", false));
    EXPECT(t, !lane(t, "empty") || !lane(t, "empty")->paused);
}

FF_CONFORMANCE(lane_pause, twice_is_once)
{
    EXPECT_OK(t, when_paused(t, "default", true));
    EXPECT_OK(t, ff_lane_pause(t->client, "default", true, "another reason", &t->err));
    EXPECT_TEXT(t, "maintenance", lane(t, "default")->paused_reason);
    EXPECT_OK(t, when_paused(t, "default", false));
    EXPECT_OK(t, when_paused(t, "default", false));
    EXPECT_OK(t, when_paused(t, "never-paused", false));
}

FF_CONFORMANCE(lane_pause, holds_for_every_client)
{
    struct ff_client *const other = another_client(t, NULL);
    struct ff_tasks tasks = {0};
    const struct ff_claim_request r = claim_request();

    (void)given_submitted(t);
    EXPECT_OK(t, when_paused(t, "default", true));
    EXPECT_OK(t, ff_claim(other, &r, &tasks, &t->err));
    EXPECT_INT(t, 0, (int64_t)tasks.count);
    ff_answer_free(&tasks);
}

FF_CONFORMANCE(lane_pause, names_and_reasons_have_limits)
{
    EXPECT_REFUSED(t, FF_INVALID, "lane", when_paused(t, "", true));
    EXPECT_REFUSED(t, FF_INVALID, "lane", when_paused(t, NULL, true));
    EXPECT_REFUSED(t, FF_INVALID, "lane", when_paused(t, text_of(t, 65, 'l'), true));
    EXPECT_REFUSED(t, FF_INVALID, "lane", when_paused(t, "caf\xc3\xa9", true));
    EXPECT_REFUSED(t, FF_TOO_LARGE, "reason",
                   ff_lane_pause(t->client, "a", true, text_of(t, 1025, 'r'), &t->err));
    EXPECT(t, !lane(t, "a"));
    EXPECT_OK(t, ff_lane_pause(t->client, text_of(t, 64, 'l'), true, NULL, &t->err));
}
