/* SPDX-License-Identifier: Apache-2.0
 *
 * test_log.c -- levels, both formats, escaping, cutting, and threads.
 *
 * Of src/base/log. No database, no clock, no sleep. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"

static char lines[1 << 20];
static size_t lines_len;
static size_t line_count;
static enum ff_log_level last_level;

static void catch_line(void *ctx, enum ff_log_level level, struct ff_str line)
{
    assert_ptr_equal(lines, ctx);
    assert_true(line.len <= FF_LOG_LINE_BYTES_MAX);
    assert_true(lines_len + line.len < sizeof lines);
    memcpy(lines + lines_len, line.ptr, line.len);
    lines_len += line.len;
    lines[lines_len] = '\0';
    line_count++;
    last_level = level;
}

static int64_t fixed_ms(void *ctx FF_UNUSED)
{
    return 1500;
}

static void given_log(enum ff_log_format format, enum ff_log_level level)
{
    const struct ff_clock clock = {.mono_ms = fixed_ms, .real_ms = fixed_ms, .boot_ms = fixed_ms};

    lines_len = 0;
    line_count = 0;
    lines[0] = '\0';
    ff_log_set_sink(catch_line, lines);
    ff_log_set_clock(&clock);
    ff_log_set_format(format);
    ff_log_set_level(level);
}

static void test_log__warnings_and_errors_by_default(void **state FF_UNUSED)
{
    assert_true(ff_log_enabled(FF_LOG_ERROR));
    assert_true(ff_log_enabled(FF_LOG_WARN));
    assert_false(ff_log_enabled(FF_LOG_INFO));
}

static void test_log__levels_are_respected(void **state FF_UNUSED)
{
    given_log(FF_LOG_TEXT, FF_LOG_INFO);
    ff_log(FF_LOG_DEBUG, "cli", "hidden");
    ff_log_event(FF_LOG_DEBUG, "cli", "hidden", NULL);
    assert_int_equal(0, line_count);
    ff_log(FF_LOG_INFO, "cli", "number %d", 5);
    assert_string_equal("1970-01-01T00:00:01.500Z info cli: number 5\n", lines);
    assert_int_equal(FF_LOG_INFO, last_level);
}

static void test_log__text_fields(void **state FF_UNUSED)
{
    given_log(FF_LOG_TEXT, FF_LOG_WARN);
    ff_log_event(FF_LOG_WARN, "http", "slow",
                 FF_LOG_FIELDS(ff_log_i64("ms", INT64_MIN), ff_log_str("path", FF_STR("/v1/x")),
                               ff_log_str("who", FF_STR("a \"b\" \\")),
                               ff_log_str("none", FF_STR("")), ff_log_str("null", ff_str_null())));
    assert_string_equal(
        "1970-01-01T00:00:01.500Z warn http: slow ms=-9223372036854775808 path=/v1/x "
        "who=\"a \\\"b\\\" \\\\\" none=\"\" null=\n",
        lines);
}

static void test_log__json_fields(void **state FF_UNUSED)
{
    given_log(FF_LOG_JSON, FF_LOG_WARN);
    ff_log_event(FF_LOG_ERROR, "http", "say \"hi\"",
                 FF_LOG_FIELDS(ff_log_i64("ms", 7), ff_log_str("path", FF_STR("a\\b")),
                               ff_log_str("null", ff_str_null())));
    assert_string_equal(
        "{\"time\":\"1970-01-01T00:00:01.500Z\",\"level\":\"error\",\"area\":\"http\","
        "\"message\":\"say \\\"hi\\\"\",\"ms\":7,\"path\":\"a\\\\b\",\"null\":null}\n",
        lines);
}

/* A forged line or a terminal sequence must never get through. */
static void test_log__text_controls_are_escaped(void **state FF_UNUSED)
{
    given_log(FF_LOG_TEXT, FF_LOG_WARN);
    ff_log(FF_LOG_WARN, "cli",
           "a\nb\r\t\x1b[31m\x7f\xc2\x9b"
           "2J \xff \xc3\xa4");
    assert_string_equal("1970-01-01T00:00:01.500Z warn cli: "
                        "a\\nb\\r\\t\\x1b[31m\\x7f\\x9b"
                        "2J \\xff \xc3\xa4\n",
                        lines);
}

static void test_log__json_controls_are_escaped(void **state FF_UNUSED)
{
    given_log(FF_LOG_JSON, FF_LOG_WARN);
    ff_log(FF_LOG_WARN, "cli", "a\nb\x01\xc2\x85\xff\xc3\xa4");
    assert_non_null(strstr(lines, "\"message\":\"a\\nb\\u0001\\u0085\\ufffd\xc3\xa4\"}\n"));
}

static void test_log__long_messages_are_cut_and_say_so(void **state FF_UNUSED)
{
    static char text[10000];

    memset(text, 'x', sizeof text - 1);
    given_log(FF_LOG_TEXT, FF_LOG_WARN);
    ff_log(FF_LOG_WARN, "cli", "%s", text);
    assert_non_null(strstr(lines, "xxx [cut]\n"));

    given_log(FF_LOG_JSON, FF_LOG_WARN);
    ff_log(FF_LOG_WARN, "cli", "%s", text);
    assert_non_null(strstr(lines, "xxx\",\"cut\":true}\n"));
    assert_int_equal('\n', lines[lines_len - 1]);
}

/* Every length around the limit: the line must always end properly. */
static void test_log__cuts_end_properly_at_every_length(void **state FF_UNUSED)
{
    static char text[FF_LOG_LINE_BYTES_MAX + 10];

    for (size_t len = FF_LOG_LINE_BYTES_MAX - 200; len < sizeof text; len++) {
        memset(text, '"', len);
        memset(text, 'x', len < 4000 ? len : 4000);

        const struct ff_str value = {.ptr = text, .len = len};
        const struct ff_log_field *const fields =
            FF_LOG_FIELDS(ff_log_str("a", value), ff_log_i64("b", 1), ff_log_str("c", value));

        given_log(FF_LOG_JSON, FF_LOG_WARN);
        ff_log_event(FF_LOG_WARN, "cli", "m", fields);
        assert_int_equal(1, line_count);
        assert_non_null(strstr(lines, ",\"cut\":true}\n"));
        /* Quotes that are not escaped come in pairs. */
        size_t quotes = 0;
        for (size_t i = 0; i < lines_len; i++)
            quotes += lines[i] == '"' && lines[i - 1] != '\\';
        assert_int_equal(0, quotes % 2);

        given_log(FF_LOG_TEXT, FF_LOG_WARN);
        ff_log_event(FF_LOG_WARN, "cli", "m", fields);
        assert_non_null(strstr(lines, " [cut]\n"));
    }
}

static void test_log__a_cut_never_splits_a_character(void **state FF_UNUSED)
{
    static char text[FF_LOG_LINE_BYTES_MAX * 2];

    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', shift);
        for (size_t at = shift; at + 4 < sizeof text; at += 3)
            memcpy(text + at, "\xe2\x82\xac", 4);
        given_log(FF_LOG_JSON, FF_LOG_WARN);
        ff_log_event(FF_LOG_WARN, "cli", text, NULL);
        assert_true(ff_str_is_utf8((struct ff_str){.ptr = lines, .len = lines_len}));
        assert_true(lines_len > FF_LOG_LINE_BYTES_MAX - 40);
    }
}

static void test_log__level_names_are_read_back(void **state FF_UNUSED)
{
    enum ff_log_level level = FF_LOG_ERROR;

    for (int i = FF_LOG_ERROR; i <= FF_LOG_DEBUG; i++) {
        assert_true(ff_log_level_parse(ff_str_of(ff_log_level_name((enum ff_log_level)i)), &level));
        assert_int_equal(i, level);
    }
    assert_false(ff_log_level_parse(FF_STR("WARN"), &level));
    assert_false(ff_log_level_parse(FF_STR(""), &level));
}

static void *write_many(void *number)
{
    for (int i = 0; i < 200; i++)
        ff_log(FF_LOG_WARN, "cli", "thread %d says %d", *(const int *)number, i);
    return NULL;
}

static void test_log__threads_do_not_mix_lines(void **state FF_UNUSED)
{
    pthread_t threads[8];
    int numbers[FF_ARRAY_LEN(threads)];
    size_t newlines = 0;

    given_log(FF_LOG_TEXT, FF_LOG_WARN);
    for (size_t i = 0; i < FF_ARRAY_LEN(threads); i++) {
        numbers[i] = (int)i;
        assert_int_equal(0, pthread_create(&threads[i], NULL, write_many, &numbers[i]));
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(threads); i++)
        assert_int_equal(0, pthread_join(threads[i], NULL));
    assert_int_equal(1600, line_count);
    for (size_t i = 0; i < lines_len; i++)
        newlines += lines[i] == '\n';
    assert_int_equal(1600, newlines);
    ff_log_set_sink(NULL, NULL);
    ff_log_set_clock(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log__warnings_and_errors_by_default),
        cmocka_unit_test(test_log__levels_are_respected),
        cmocka_unit_test(test_log__text_fields),
        cmocka_unit_test(test_log__json_fields),
        cmocka_unit_test(test_log__text_controls_are_escaped),
        cmocka_unit_test(test_log__json_controls_are_escaped),
        cmocka_unit_test(test_log__long_messages_are_cut_and_say_so),
        cmocka_unit_test(test_log__cuts_end_properly_at_every_length),
        cmocka_unit_test(test_log__a_cut_never_splits_a_character),
        cmocka_unit_test(test_log__level_names_are_read_back),
        cmocka_unit_test(test_log__threads_do_not_mix_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
