/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_id.c -- ids as people write them. */
#include "support/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define ONE   "0190f5fe-7000-7000-8000-00000000000a"
#define OTHER "0190f5fe-7000-7000-8000-00000000000b"

static struct name given_own(struct test *t, const char *id)
{
    struct ff_submission s = submission();

    s.execution_id = id;
    return given(t, &s);
}

static void expect_found(struct test *t, const char *want, const char *id)
{
    EXPECT_TEXT(t, want, look(t, id)->execution_id);
}

FF_CONFORMANCE(execution_id, may_be_written_in_four_ways)
{
    const struct name name = given_submitted(t);
    const char *const uuid = strchr(name.id, '}') + 2;
    char path[FF_ID_BYTES];
    char prefix[14];

    (void)snprintf(path, sizeof path, "fp:%.*s:%s", (int)(uuid - name.id - 6), name.id + 4, uuid);
    (void)snprintf(prefix, sizeof prefix, "%.13s", uuid);
    expect_found(t, name.id, name.id);
    expect_found(t, name.id, path);
    expect_found(t, name.id, uuid);
    expect_found(t, name.id, prefix);
}

FF_CONFORMANCE(execution_id, works_so_in_every_call)
{
    const struct held held = given_claimed(t);
    const char *const uuid = strchr(held.id, '}') + 2;

    EXPECT_OK(t, when_prioritised(t, uuid, 3));
    EXPECT_OK(t, when_revoked(t, uuid));
    EXPECT_OK(t, when_cancelled(t, uuid));
    EXPECT_OK(t, when_replayed(t, uuid));
    EXPECT_STATE(t, uuid, "waiting");
    EXPECT_INT(t, 1, (int64_t)attempts(t, uuid)->count);
    EXPECT(t, history(t, uuid)->count > 3);
}

FF_CONFORMANCE(execution_id, beginning_must_be_unique)
{
    (void)given_own(t, "{fp:7}:" ONE);
    expect_found(t, "{fp:7}:" ONE, "0190");
    expect_found(t, "{fp:7}:" ONE, "0190f5fe-7000");
    (void)given_own(t, "{fp:200}:" OTHER);
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_looked(t, "0190"));
    EXPECT(t, strstr(t->err.message, ONE) && strstr(t->err.message, OTHER));
    expect_found(t, "{fp:200}:" OTHER, OTHER);
    expect_found(t, "{fp:7}:" ONE, ONE);
}

FF_CONFORMANCE(execution_id, own_id_is_found_without_its_partition)
{
    static const char id[] = "{fp:3}:5b0c9e5c-3f3a-4b53-9d4b-1d3c7a2b9f10"; /* not one of ours */

    (void)given_own(t, id);
    expect_found(t, id, "5b0c9e5c-3f3a-4b53-9d4b-1d3c7a2b9f10");
    expect_found(t, id, "5B0C9E5C-3F3A");
    EXPECT_STATUS(t, FF_NOT_FOUND, when_looked(t, "{fp:4}:5b0c9e5c-3f3a-4b53-9d4b-1d3c7a2b9f10"));
}

FF_CONFORMANCE(execution_id, beginning_of_nothing_is_not_found)
{
    (void)given_submitted(t);
    EXPECT_STATUS(t, FF_NOT_FOUND, when_looked(t, "ffff"));
    EXPECT_STATUS(t, FF_NOT_FOUND, when_looked(t, "ffffffff-ffff-ffff-ffff-ffffffffffff"));
}

FF_CONFORMANCE(execution_id, nonsense_is_refused)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "abc",
                                      "0190f5fe7",
                                      "zzzz",
                                      "{fp:1}" ONE,
                                      "{fp:1}:",
                                      "{fp:}:" ONE,
                                      "{fp:256}:" ONE,
                                      "{fp:-1}:" ONE,
                                      "{fp:+1}:" ONE,
                                      "{fp:x}:" ONE,
                                      "{fp:01}:" ONE,
                                      "{fp:1}:" ONE "0",
                                      "{fp:1}:0190f5fe-7000-7000-8000-0000000000",
                                      "{fq:1}:" ONE,
                                      " {fp:1}:" ONE,
                                      "fp:1" ONE,
                                      "{fp:1}:0190f5fe700070008000000000000001",
                                      "{fp:99999999999999999999}:" ONE};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const ff_status got = when_looked(t, bad[i]);

        /* Hex digits without hyphens are the beginning of an id, and of none. */
        if (!strcmp(bad[i], "0190f5fe7"))
            EXPECT_STATUS(t, FF_NOT_FOUND, got);
        else
            EXPECT_REFUSED(t, FF_INVALID, "execution_id", got);
    }
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_looked(t, NULL));
}
