/* SPDX-License-Identifier: Apache-2.0
 *
 * url.c -- what a postgres:// URL says, and the settings we put beside it.
 *
 * Our own parameters (schema, pooler, unsafe, log) never reach libpq, which refuses unknown ones.
 * What the user sets wins over our defaults, except for what correctness needs: search path and
 * encoding. Tests: tests/unit/test_postgres_codec.c. */
#include "postgres-int.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"

#include "base/banned.h"

#define URL_BYTES_MAX 4096

/* Behind a pooler nothing may be kept in the session, so these go in by SET LOCAL or not at all.
 * jit: our statements are short; compiling one costs more than running it. */
#define SESSION_OPTIONS                                                                            \
    "-c search_path=%s -c statement_timeout=30s -c idle_in_transaction_session_timeout=5s "        \
    "-c client_min_messages=warning -c jit=off"

static const char *const defaults[][2] = {
    {"application_name", "flowfabric"}, /* the reaper looks for it */
    {"target_session_attrs", "read-write"},
    {"connect_timeout", "5"},
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "15000"},
};

static bool is_schema_name(struct ff_str name)
{
    if (ff_str_empty(name) || name.len >= FF_PG_SCHEMA_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];

        if (!(c == '_' || (c >= 'a' && c <= 'z') || (i && c >= '0' && c <= '9')))
            return false;
    }
    return !ff_str_starts(name, FF_STR("pg_"));
}

static ff_status own_param(struct ff_pg_config *config, struct ff_str name, struct ff_str value,
                           bool *ret_ours, struct ff_error *reterr)
{
    *ret_ours = true;
    if (ff_str_eq(name, FF_STR("schema"))) {
        if (!is_schema_name(value))
            return ff_fail_field(reterr, FF_INVALID, "schema",
                                 "schema is lower case letters, digits and '_'");
        memcpy(config->schema, value.ptr, value.len);
        config->schema[value.len] = '\0';
    } else if (ff_str_eq(name, FF_STR("pooler"))) {
        config->probe = false;
        config->pooler = ff_str_eq(value, FF_STR("transaction"));
        if (!config->pooler && !ff_str_eq(value, FF_STR("none")))
            return ff_fail_field(reterr, FF_INVALID, "pooler", "pooler is 'transaction' or 'none'");
    } else if (ff_str_eq(name, FF_STR("unsafe"))) {
        config->unsafe = ff_str_eq(value, FF_STR("1"));
    } else if (ff_str_eq(name, FF_STR("log"))) {
        config->serial = ff_str_eq(value, FF_STR("serial"));
        if (!config->serial && !ff_str_eq(value, FF_STR("auto")))
            return ff_fail_field(reterr, FF_INVALID, "log", "log is 'auto' or 'serial'");
    } else {
        *ret_ours = false;
    }
    return FF_OK;
}

ff_status ff_pg_url_split(struct ff_pg_config *config, const char *url, struct ff_str *ret_rest,
                          struct ff_error *reterr)
{
    struct ff_strbuf rest = ff_strbuf_in(&config->arena, URL_BYTES_MAX);
    const char *const query = strchr(url, '?');
    const char *at = query ? query + 1 : "";
    char glue = '?';

    ff_strbuf_add(&rest, (struct ff_str){url, query ? (size_t)(query - url) : strlen(url)});
    while (*at) {
        const size_t len = strcspn(at, "&");
        const size_t name_len = ff_min_size(strcspn(at, "="), len);
        const size_t value_at = ff_min_size(name_len + 1, len);
        bool ours;

        FF_TRY(own_param(config, (struct ff_str){at, name_len},
                         (struct ff_str){at + value_at, len - value_at}, &ours, reterr));
        if (!ours && len) {
            ff_strbuf_addc(&rest, glue);
            ff_strbuf_add(&rest, (struct ff_str){at, len});
            glue = '&';
        }
        at += len + (at[len] == '&');
    }
    return ff_strbuf_take(&rest, ret_rest, reterr);
}

static const char **find(struct ff_pg_config *config, const char *keyword)
{
    size_t i = 0;

    while (config->keywords[i] && strcmp(config->keywords[i], keyword) != 0)
        i++;
    if (!config->keywords[i] && i < FF_PG_OPTIONS_MAX - 2)
        config->keywords[i] = keyword;
    return &config->values[i];
}

static void add_parsed(struct ff_pg_config *config, const PQconninfoOption *options)
{
    for (; options->keyword && !config->arena.failed; options++)
        if (options->val && options->val[0]) {
            const char *const keyword =
                ff_arena_str(&config->arena, ff_str_of(options->keyword)).ptr;
            const char *const value = ff_arena_str(&config->arena, ff_str_of(options->val)).ptr;

            if (keyword)
                *find(config, keyword) = value;
        }
}

static int64_t hosts_of(struct ff_pg_config *config)
{
    const char **const value = find(config, "host");
    int64_t hosts = 1;

    for (const char *at = *value; at && *at; at++)
        hosts += *at == ',';
    return hosts;
}

/* Kept apart from the rest: whether they are sent is known only after the first connection. */
static void options_text(struct ff_pg_config *config)
{
    const char **const given = find(config, "options");

    config->options = ff_arena_printf(&config->arena, "%s " SESSION_OPTIONS, *given ? *given : "",
                                      config->search_path)
                          .ptr;
}

ff_status ff_pg_config_init(struct ff_pg_config *config, const char *url, struct ff_error *reterr)
{
    struct ff_str rest;
    char *message = NULL;
    PQconninfoOption *options;

    memset(config, 0, sizeof *config);
    ff_arena_init(&config->arena, URL_BYTES_MAX, 16 * URL_BYTES_MAX);
    memcpy(config->schema, "flowfabric", sizeof "flowfabric");
    config->probe = true;
    FF_TRY(ff_pg_url_split(config, url, &rest, reterr));
    (void)snprintf(config->search_path, sizeof config->search_path, "%s,pg_temp", config->schema);
    options = PQconninfoParse(rest.ptr, &message);
    if (!options) {
        /* libpq's text may quote the URL and with it a password: it stays here. */
        PQfreemem(message);
        return ff_fail(reterr, FF_INVALID, "postgres URL cannot be read");
    }
    add_parsed(config, options);
    PQconninfoFree(options);
    for (size_t i = 0; i < FF_ARRAY_LEN(defaults); i++)
        if (!*find(config, defaults[i][0]))
            *find(config, defaults[i][0]) = defaults[i][1];
    *find(config, "client_encoding") = "UTF8";
    options_text(config);
    /* PQconnectStart knows no time limit; a silent host is given up by tcp_user_timeout. */
    config->connect_ms = FF_PG_CONNECT_MS_MAX + (hosts_of(config) - 1) * 15000;
    return ff_arena_check(&config->arena, reterr);
}

void ff_pg_config_done(struct ff_pg_config *config)
{
    ff_arena_done(&config->arena);
}

void ff_pg_config_params(const struct ff_pg_config *config, const char **keywords,
                         const char **values)
{
    size_t count = 0;

    for (; config->keywords[count]; count++) {
        keywords[count] = config->keywords[count];
        values[count] = config->values[count];
        if (!config->pooler && !strcmp(keywords[count], "options"))
            values[count] = config->options;
    }
    keywords[count] = NULL;
    values[count] = NULL;
}
