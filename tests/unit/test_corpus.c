/* SPDX-License-Identifier: Apache-2.0
 *
 * test_corpus.c -- what the fuzzers begin with: every target has something, and every shape of
 * every route an example that is accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glob.h>

#include "api/json.h"
#include "base/macros.h"
#include "base/str.h"
#include "http/routes.h"

#define CORPUS     FF_SOURCE_DIR "/tests/fuzz/corpus/"
#define TEXT_BYTES 8192

/* False: there is no such file. */
static bool read_file(const char *name, char out[TEXT_BYTES])
{
    char path[512];
    FILE *file;
    size_t len;

    (void)snprintf(path, sizeof path, CORPUS "fuzz_bodies/%s", name);
    file = fopen(path, "r");
    if (!file)
        return false;
    len = fread(out, 1, TEXT_BYTES - 1, file);
    out[len] = '\0';
    (void)fclose(file);
    return true;
}

static void expect_example(const char *route, const char *which, const struct ff_shape *shape)
{
    FF_AUTO(ff_json_freep) json_t *json = NULL;
    char name[128], first[128], text[TEXT_BYTES];
    struct ff_error error;
    struct ff_arena arena;
    void *out;

    if (!shape)
        return;
    (void)snprintf(name, sizeof name, "%s.%s", route, which);
    (void)snprintf(first, sizeof first, "%s %s\n", route, which);
    if (!read_file(name, text) || strncmp(text, first, strlen(first)) != 0)
        fail_msg("tests/fuzz/corpus/fuzz_bodies/%s is missing, or does not begin with '%s %s'",
                 name, route, which);
    if (ff_json_parse(ff_str_of(text + strlen(first)), &json, &error) != FF_OK)
        fail_msg("%s: %s", name, error.message);
    ff_arena_init(&arena, 4096, 1 << 20);
    out = ff_arena_alloc(&arena, shape->bytes);
    if (ff_shape_read(shape, json, NULL, &arena, out, &error) != FF_OK)
        fail_msg("%s: %s", name, error.message);
    ff_arena_done(&arena);
}

static void test_corpus__every_shape_of_every_route_has_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < FF_ROUTE_COUNT; i++) {
        expect_example(ff_routes[i].name, "body", ff_routes[i].body);
        expect_example(ff_routes[i].name, "bulk", ff_routes[i].bulk);
        expect_example(ff_routes[i].name, "query", ff_routes[i].query);
    }
}

static size_t count_of(const char *pattern)
{
    glob_t found;
    const size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;

    globfree(&found);
    return count;
}

static void test_corpus__every_target_begins_with_something(void **state)
{
    glob_t targets;

    (void)state;
    assert_int_equal(glob(FF_SOURCE_DIR "/tests/fuzz/fuzz_*.c", 0, NULL, &targets), 0);
    assert_int_equal(count_of(CORPUS "fuzz_*"), targets.gl_pathc);
    for (size_t i = 0; i < targets.gl_pathc; i++) {
        const char *const name = strrchr(targets.gl_pathv[i], '/') + 1;
        char pattern[512];

        (void)snprintf(pattern, sizeof pattern, CORPUS "%.*s/*", (int)(strlen(name) - 2), name);
        if (count_of(pattern) < 3)
            fail_msg("%s has less than three inputs in its corpus", name);
    }
    globfree(&targets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus__every_shape_of_every_route_has_an_example),
        cmocka_unit_test(test_corpus__every_target_begins_with_something),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
