/* SPDX-License-Identifier: Apache-2.0
 *
 * test_http.c -- tokens, hosts, paths: what the server decides before anything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "base/encode.h"
#include "base/macros.h"
#include "base/str.h"
#include "http/auth.h"
#include "http/limits.h"
#include "http/request.h"
#include "http/routes.h"

#define LONG "0123456789abcdef"

static void test_http__tokens_are_read_and_found(void **state)
{
    struct ff_tokens tokens;
    struct ff_error error;
    const struct ff_token *found;

    (void)state;
    ff_tokens_init(&tokens);
    assert_int_equal(
        FF_OK, ff_tokens_read(&tokens,
                              FF_STR("# who\n\n ci\t" LONG "A  read,submit  # notes\nall " LONG
                                     "B admin\r\nns " LONG "C work a,b\n"),
                              "test", &error));
    assert_int_equal(3, tokens.count);
    found = ff_tokens_find(&tokens, "Bearer " LONG "A");
    assert_non_null(found);
    assert_string_equal("ci", found->name);
    assert_int_equal(FF_SCOPE_READ | FF_SCOPE_SUBMIT, found->scopes);
    assert_true(ff_token_allows(found, "anything"));
    found = ff_tokens_find(&tokens, "bearer " LONG "C");
    assert_true(ff_token_allows(found, "b"));
    assert_false(ff_token_allows(found, "c"));
    assert_false(ff_token_allows(found, NULL));
    assert_null(ff_tokens_find(&tokens, "Bearer " LONG));
    assert_null(ff_tokens_find(&tokens, "Basic " LONG "A"));
    assert_null(ff_tokens_find(&tokens, NULL));
    ff_tokens_done(&tokens);
}

/* A browser says "Basic" and base64 of "name:token". */
static void test_http__a_password_may_be_a_token(void **state)
{
    static const char *const wrong[] = {LONG "A",        ":" LONG, "x:" LONG "A\n",
                                        "x:y:" LONG "A", "",       LONG "A:noone"};
    char text[256] = "Basic ", much[4096];
    struct ff_tokens tokens;
    const struct ff_token *found;

    (void)state;
    ff_tokens_init(&tokens);
    assert_int_equal(FF_OK, ff_tokens_read(&tokens, FF_STR("ci " LONG "A read"), "test", NULL));
    ff_base64_encode("any:" LONG "A", strlen("any:" LONG "A"), text + 6);
    found = ff_tokens_find_basic(&tokens, text);
    assert_non_null(found);
    assert_string_equal("ci", found->name);
    assert_null(ff_tokens_find(&tokens, text));
    for (size_t i = 0; i < FF_ARRAY_LEN(wrong); i++) {
        ff_base64_encode(wrong[i], strlen(wrong[i]), text + 6);
        assert_null(ff_tokens_find_basic(&tokens, text));
    }
    assert_null(ff_tokens_find_basic(&tokens, "Basic not base64"));
    assert_null(ff_tokens_find_basic(&tokens, "Bearer " LONG "A"));
    assert_null(ff_tokens_find_basic(&tokens, NULL));
    memset(much, 'A', sizeof much - 4);
    memcpy(much, "Basic ", 6);
    much[sizeof much - 4] = '\0';
    assert_null(ff_tokens_find_basic(&tokens, much));
    ff_tokens_done(&tokens);
}

static void test_http__bad_token_lines_are_refused(void **state)
{
    static const char *const lines[] = {
        "ci",
        "ci 0123456789abcde read", /* one too short */
        "ci " LONG,
        "ci " LONG " root",
        "ci " LONG " read,",
        "ci " LONG " read a,,b",
        "ci " LONG " read a b",
        "ci " LONG " read a,",
    };
    struct ff_error error;

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(lines); i++) {
        struct ff_tokens tokens;

        ff_tokens_init(&tokens);
        if (ff_tokens_read(&tokens, ff_str_of(lines[i]), "test", &error) == FF_OK)
            fail_msg("accepted: %s", lines[i]);
        assert_null(strstr(error.message, LONG));
        ff_tokens_done(&tokens);
    }
}

static void test_http__hosts_are_split(void **state)
{
    static const struct {
        const char *text, *host;
        int port;
        bool loopback;
    } good[] = {
        {"localhost:9090", "localhost", 9090, true},
        {"LocalHost", "localhost", 0, true},
        {"127.9.9.9:1", "127.9.9.9", 1, true},
        {"[::1]:80", "::1", 80, true},
        {"[::1]", "::1", 0, true},
        {"128.0.0.1", "128.0.0.1", 0, false},
        {"localhost.evil.example", "localhost.evil.example", 0, false},
        {"[fe80::1]", "fe80::1", 0, false},
    };
    static const char *const bad[] = {"", ":80", "a:", "a:x", "a:65536", "[::1", "[::1]x", "[]"};
    char host[256];
    int port;

    (void)state;
    for (size_t i = 0; i < FF_ARRAY_LEN(good); i++) {
        assert_true(ff_host_split(ff_str_of(good[i].text), host, &port));
        assert_string_equal(good[i].host, host);
        assert_int_equal(good[i].port, port);
        assert_int_equal(good[i].loopback, ff_host_is_loopback(host));
    }
    for (size_t i = 0; i < FF_ARRAY_LEN(bad); i++)
        if (ff_host_split(ff_str_of(bad[i]), host, &port))
            fail_msg("accepted: '%s'", bad[i]);
}

static void test_http__paths_find_their_routes(void **state)
{
    const char *params[2] = {NULL, NULL};
    const char *allow = NULL;
    struct ff_arena arena;
    const struct ff_route *route;

    (void)state;
    ff_arena_init(&arena, 1024, 1 << 20);
    route = ff_route_find("GET", "/v1/executions/%7Bfp%3A7%7D%3Aabc", &arena, params, &allow);
    assert_ptr_equal(&ff_routes[FF_ROUTE_EXECUTION_GET], route);
    assert_string_equal("{fp:7}:abc", params[0]);
    route = ff_route_find("POST", "/v1/lanes/a%2Fb%25/pause", &arena, params, &allow);
    assert_ptr_equal(&ff_routes[FF_ROUTE_LANE_PAUSE], route);
    assert_string_equal("a/b%", params[0]);
    route = ff_route_find("HEAD", "/livez", &arena, params, &allow);
    assert_ptr_equal(&ff_routes[FF_ROUTE_LIVEZ], route);
    assert_null(ff_route_find("DELETE", "/v1/executions", &arena, params, &allow));
    assert_string_equal("POST, GET, HEAD", allow);
    for (size_t i = 0; i < FF_ROUTE_COUNT; i++)
        assert_ptr_equal(&ff_routes[i], ff_route_find(ff_routes[i].method, ff_routes[i].path,
                                                      &arena, params, &allow));
    static const char *const nowhere[] = {"",
                                          "v1",
                                          "/v1/executions/",
                                          "/v1//x",
                                          "/livez/",
                                          "/v1/executions/%zz",
                                          "/v1/executions/%00",
                                          "/v1/executions/a/b/c"};
    for (size_t i = 0; i < FF_ARRAY_LEN(nowhere); i++) {
        assert_null(ff_route_find("GET", nowhere[i], &arena, params, &allow));
        assert_null(allow);
    }
    ff_arena_done(&arena);
}

static void test_http__texts_are_decoded_strictly(void **state)
{
    struct ff_arena arena;

    (void)state;
    ff_arena_init(&arena, 1024, 1 << 20);
    assert_string_equal("a b+c", ff_url_decode(&arena, FF_STR("a+b%2Bc"), true));
    assert_string_equal("a+b", ff_url_decode(&arena, FF_STR("a+b"), false));
    assert_string_equal("\xc3\xa4", ff_url_decode(&arena, FF_STR("%C3%a4"), false));
    assert_null(ff_url_decode(&arena, FF_STR("%"), false));
    assert_null(ff_url_decode(&arena, FF_STR("%4"), false));
    assert_null(ff_url_decode(&arena, FF_STR("%00"), false));
    assert_null(ff_url_decode(&arena, FF_STR("%ff"), false));
    ff_arena_done(&arena);
}

/* It was ten minutes for everybody, whatever was sent. */
static void test_http__body_has_time_for_what_has_come(void **state)
{
    (void)state;
    assert_int_equal(FF_HTTP_BODY_MS, ff_request_body_ms(0));
    assert_int_equal(FF_HTTP_BODY_MS + 1, ff_request_body_ms(FF_HTTP_RATE));
    assert_true(ff_request_body_ms(4096) < FF_HTTP_BODY_MS + 1000);
}

static void test_http__only_addresses_are_addresses(void **state)
{
    (void)state;
    assert_true(ff_host_is_address("10.0.0.1"));
    assert_true(ff_host_is_address("fe80::1"));
    assert_false(ff_host_is_address("abc.de"));
    assert_false(ff_host_is_address("1.2.3"));
    assert_false(ff_host_is_address(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http__tokens_are_read_and_found),
        cmocka_unit_test(test_http__a_password_may_be_a_token),
        cmocka_unit_test(test_http__bad_token_lines_are_refused),
        cmocka_unit_test(test_http__hosts_are_split),
        cmocka_unit_test(test_http__paths_find_their_routes),
        cmocka_unit_test(test_http__texts_are_decoded_strictly),
        cmocka_unit_test(test_http__body_has_time_for_what_has_come),
        cmocka_unit_test(test_http__only_addresses_are_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
