/* SPDX-License-Identifier: Apache-2.0
 *
 * execution_tag.c -- tags after the submission.
 *
 * Dots in names are allowed, and mean nothing. */
#include "support/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static ff_status when_tagged(struct test *t, const char *id, const char *name, const char *value)
{
    const struct ff_tag_pair tag = {name, value};

    return ff_set_tags(t->client, id, &tag, 1, &t->err);
}

static const char *tag_of(struct test *t, const char *id, const char *name)
{
    const struct ff_info *const info = look(t, id);

    for (size_t i = 0; i < info->tag_count; i++)
        if (!strcmp(info->tags[i].name, name))
            return info->tags[i].value;
    return NULL;
}

FF_CONFORMANCE(execution_tag, sets_changes_and_removes)
{
    const struct name name = given_submitted(t);

    EXPECT_OK(t, when_tagged(t, name.id, "team", "blue"));
    EXPECT_TEXT(t, "blue", tag_of(t, name.id, "team"));
    EXPECT_OK(t, when_tagged(t, name.id, "team", "red"));
    EXPECT_TEXT(t, "red", tag_of(t, name.id, "team"));
    EXPECT_OK(t, when_tagged(t, name.id, "team", ""));
    EXPECT_TEXT(t, "", tag_of(t, name.id, "team"));
    EXPECT_OK(t, when_tagged(t, name.id, "team", NULL));
    EXPECT_TEXT(t, NULL, tag_of(t, name.id, "team"));
    EXPECT_INT(t, 0, (int64_t)look(t, name.id)->tag_count);
    EXPECT_OK(t, when_tagged(t, name.id, "team", NULL)); /* it is gone already */
}

FF_CONFORMANCE(execution_tag, several_at_once)
{
    const struct ff_tag_pair tags[] = {{"b", "2"}, {"a", "1"}, {"old", NULL}};
    const struct name name = given_submitted(t);

    EXPECT_OK(t, when_tagged(t, name.id, "old", "x"));
    EXPECT_OK(t, ff_set_tags(t->client, name.id, tags, 3, &t->err));
    EXPECT_INT(t, 2, (int64_t)look(t, name.id)->tag_count);
    EXPECT_TEXT(t, "1", tag_of(t, name.id, "a"));
    EXPECT_TEXT(t, "2", tag_of(t, name.id, "b"));
}

FF_CONFORMANCE(execution_tag, dots_in_names_mean_nothing)
{
    const struct name name = given_submitted(t);

    EXPECT_OK(t, when_tagged(t, name.id, "a.b.c", "1"));
    EXPECT_OK(t, when_tagged(t, name.id, "a.b", "2"));
    EXPECT_INT(t, 2, (int64_t)look(t, name.id)->tag_count);
    EXPECT_TEXT(t, "1", tag_of(t, name.id, "a.b.c"));
    EXPECT_TEXT(t, NULL, tag_of(t, name.id, "a"));
}

/* The change is a change of the execution. */
FF_CONFORMANCE(execution_tag, moves_version_and_log)
{
    const struct name name = given_submitted(t);
    const struct ff_info *const before = look(t, name.id);

    EXPECT_OK(t, when_tagged(t, name.id, "team", "blue"));
    EXPECT(t, look(t, name.id)->version > before->version);
    EXPECT(t, look(t, name.id)->changed_at_ms >= before->changed_at_ms);
    EXPECT_EVENTS(t, name.id, "operator.tags_changed");
    EXPECT_OK(t, when_tagged(t, name.id, "team", "blue")); /* no change */
    EXPECT_EVENTS(t, name.id, "operator.tags_changed");
    EXPECT_INT(t, before->version + 1, look(t, name.id)->version);
}

FF_CONFORMANCE(execution_tag, reaches_every_state_and_leaves_it)
{
    const struct held held = given_claimed(t);

    EXPECT_OK(t, when_tagged(t, held.id, "a", "1"));
    EXPECT_STATE(t, held.id, "active");
    EXPECT_OK(t, when_completed(t, &held, NULL));
    EXPECT_OK(t, when_tagged(t, held.id, "a", "2"));
    EXPECT_STATE(t, held.id, "completed");
    EXPECT_TEXT(t, "2", tag_of(t, held.id, "a"));
}

FF_CONFORMANCE(execution_tag, bad_names_are_refused)
{
    static const char *const bad[] = {"",    "Team", ".a",          "-a",   "_a",
                                      "a b", "a/b",  "caf\xc3\xa9", "a\x01"};
    const struct name name = given_submitted(t);
    const struct ff_tag_pair twice[] = {{"a", "1"}, {"a", "2"}};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT_REFUSED(t, FF_INVALID, "tags", when_tagged(t, name.id, bad[i], "x"));
    EXPECT_REFUSED(t, FF_INVALID, "tags", when_tagged(t, name.id, NULL, "x"));
    EXPECT_REFUSED(t, FF_INVALID, "tags", ff_set_tags(t->client, name.id, twice, 0, &t->err));
    EXPECT_REFUSED(t, FF_INVALID, "tags.a", ff_set_tags(t->client, name.id, twice, 2, &t->err));
    EXPECT_REFUSED(t, FF_TOO_LARGE, "tags.a", when_tagged(t, name.id, "a", text_of(t, 257, 'v')));
    EXPECT_REFUSED(t, FF_INVALID, "tags.a", when_tagged(t, name.id, "a", "\xff"));
    EXPECT_STATUS(t, FF_TOO_LARGE, when_tagged(t, name.id, text_of(t, 65, 'n'), "x"));
    EXPECT_INT(t, 0, (int64_t)look(t, name.id)->tag_count);
    EXPECT_EVENTS(t, name.id, "");
}

FF_CONFORMANCE(execution_tag, unknown_execution_is_not_found)
{
    EXPECT_STATUS(t, FF_NOT_FOUND,
                  when_tagged(t, "{fp:9}:0190f5fe-7000-7000-8000-000000000001", "a", "1"));
    EXPECT_REFUSED(t, FF_INVALID, "execution_id", when_tagged(t, "x", "a", "1"));
}

FF_CONFORMANCE(execution_tag, there_are_at_most_32)
{
    struct ff_tag_pair tags[65];
    const struct name name = given_submitted(t);
    char names[65][24];

    for (size_t i = 0; i < 65; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%zu", i);
        tags[i] = (struct ff_tag_pair){names[i], "v"};
    }
    EXPECT_OK(t, ff_set_tags(t->client, name.id, tags, 32, &t->err));
    EXPECT_REFUSED(t, FF_TOO_LARGE, "tags", when_tagged(t, name.id, "one-more", "v"));
    EXPECT_INT(t, 32, (int64_t)look(t, name.id)->tag_count);
    for (size_t i = 0; i < 32; i++)
        tags[i].value = NULL;
    EXPECT_OK(t, ff_set_tags(t->client, name.id, tags, 64, &t->err)); /* all of them replaced */
    EXPECT_INT(t, 32, (int64_t)look(t, name.id)->tag_count);
    EXPECT_TEXT(t, "v", tag_of(t, name.id, "t63"));
    EXPECT_REFUSED(t, FF_TOO_LARGE, "tags", ff_set_tags(t->client, name.id, tags, 65, &t->err));
}

FF_CONFORMANCE(execution_tag, instance_tag_is_for_life)
{
    const struct ff_tag_pair tags[] = {{"instance", "i-7"}};
    struct ff_submission s = submission();
    struct name with, without;

    s.tags = tags;
    s.tag_count = 1;
    with = given(t, &s);
    without = given_submitted(t);
    EXPECT_REFUSED(t, FF_CONFLICT, "tags", when_tagged(t, with.id, "instance", "i-8"));
    EXPECT_REFUSED(t, FF_CONFLICT, "tags", when_tagged(t, with.id, "instance", NULL));
    EXPECT_REFUSED(t, FF_CONFLICT, "tags", when_tagged(t, without.id, "instance", "i-7"));
    EXPECT_OK(t, when_tagged(t, with.id, "instance", "i-7"));
    EXPECT_TEXT(t, "i-7", look(t, with.id)->instance_tag);
}

FF_CONFORMANCE(execution_tag, which_tag_is_the_instance_is_an_option)
{
    const struct ff_options options = {.size = sizeof options, .instance_tag = "region"};
    const struct ff_tag_pair tags[] = {{"instance", "i-7"}, {"region", "eu"}};
    struct ff_submission s = submission();

    given_options(t, &options);
    s.tags = tags;
    s.tag_count = 2;
    EXPECT_TEXT(t, "eu", look(t, given(t, &s).id)->instance_tag);
}
