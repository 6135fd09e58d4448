/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_progress.c -- how far a worker has come. */
#include "support/domain.h"

#include <string.h>

#include "base/banned.h"

FF_CONFORMANCE(execution_progress, is_there_to_be_seen)
{
    const struct held held = given_claimed(t);
    const struct ff_info *info = look(t, held.id);

    EXPECT(t, !info->has_progress);
    EXPECT_OK(t, when_progressed(t, &held, 40, "half way"));
    info = look(t, held.id);
    EXPECT(t, info->has_progress);
    EXPECT_INT(t, 40, info->progress_percent);
    EXPECT_TEXT(t, "half way", info->progress_message);
    EXPECT(t, info->progress_at_ms >= info->started_at_ms);
}

FF_CONFORMANCE(execution_progress, one_part_keeps_the_other)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_progressed(t, &held, 40, "reading"));
    EXPECT_OK(t, when_progressed(t, &held, 60, NULL));
    EXPECT_TEXT(t, "reading", look(t, held.id)->progress_message);
    EXPECT_OK(t, when_progressed(t, &held, -1, "writing"));
    EXPECT_INT(t, 60, look(t, held.id)->progress_percent);
    EXPECT_TEXT(t, "writing", look(t, held.id)->progress_message);
}

FF_CONFORMANCE(execution_progress, message_alone_leaves_the_percent_unsaid)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_progressed(t, &held, -1, "reading"));
    EXPECT(t, look(t, held.id)->has_progress);
    EXPECT_INT(t, -1, look(t, held.id)->progress_percent);
}

FF_CONFORMANCE(execution_progress, nothing_said_changes_nothing)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_progressed(t, &held, -1, NULL));
    EXPECT(t, !look(t, held.id)->has_progress);
}

FF_CONFORMANCE(execution_progress, writes_no_event_and_no_version)
{
    const struct held held = given_claimed(t);
    const int64_t version = look(t, held.id)->version;

    EXPECT_OK(t, when_progressed(t, &held, 1, NULL));
    EXPECT_INT(t, version, look(t, held.id)->version);
    EXPECT_EVENTS(t, held.id, "acquired");
}

FF_CONFORMANCE(execution_progress, survives_the_end)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_progressed(t, &held, 100, "done"));
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_INT(t, 100, look(t, held.id)->progress_percent);
}

FF_CONFORMANCE(execution_progress, has_limits)
{
    const struct held held = given_claimed(t);

    EXPECT_REFUSED(t, FF_INVALID, "percent", when_progressed(t, &held, 101, NULL));
    EXPECT_REFUSED(t, FF_INVALID, "percent", when_progressed(t, &held, -2, NULL));
    EXPECT_REFUSED(t, FF_INVALID, "percent", when_progressed(t, &held, INT32_MAX, NULL));
    EXPECT_REFUSED(t, FF_TOO_LARGE, "message", when_progressed(t, &held, 1, text_of(t, 4097, 'm')));
    EXPECT_REFUSED(t, FF_INVALID, "message", when_progressed(t, &held, 1, "caf\xe9"));
    EXPECT(t, !look(t, held.id)->has_progress);
    EXPECT_OK(t, when_progressed(t, &held, 0, text_of(t, 4096, 'm')));
    EXPECT_OK(t, when_progressed(t, &held, 100, NULL));
}
