/* SPDX-License-Identifier: Apache-2.0
 *
 * client.c -- opening and closing: a store, an engine on it, and who may use them.
 *
 * Read first: src/api/README.md. Tests: tests/unit/test_api.c. */
#include "api/api-int.h"
#include "api/spare.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "ops/check.h"

#include "base/banned.h"

#define TIMEOUT_MS_DEFAULT 30000
#define STRINGS_BYTES_MAX  65536
#define CHUNK_BYTES        4096

static void client_free(struct ff_client *client)
{
    if (!client)
        return;
    ff_engine_free(client->engine);
    ff_spare_free(client->spare);
    ff_arena_done(&client->strings);
    ff_free(client);
}
FF_DEFINE_FREEP(struct ff_client, client)

static const char *keep(struct ff_client *client, const char *text)
{
    return text ? ff_arena_str(&client->strings, ff_str_of(text)).ptr : NULL;
}

static ff_status renewals_of(const char *text, struct ff_settings *settings,
                             struct ff_error *reterr)
{
    const struct ff_str given = ff_str_of(text);

    if (!text || ff_str_eq(given, FF_STR("sampled")))
        settings->event_renewals = FF_RENEWALS_SAMPLED;
    else if (ff_str_eq(given, FF_STR("all")))
        settings->event_renewals = FF_RENEWALS_ALL;
    else if (ff_str_eq(given, FF_STR("none")))
        settings->event_renewals = FF_RENEWALS_NONE;
    else
        return ff_fail_field(reterr, FF_INVALID, "event_renewals",
                             "event_renewals is 'sampled', 'all' or 'none', not '%s'", text);
    return FF_OK;
}

/* A name that no tag can have would leave every event without an instance. */
static ff_status instance_tag_of(struct ff_client *client, const char *name,
                                 struct ff_settings *settings, struct ff_error *reterr)
{
    struct ff_tag_in tag = {.name = ff_str_of(name)};

    if (!name)
        return FF_OK;
    if (ff_check_tags(&tag, 1, true, NULL) != FF_OK)
        return ff_fail_field(reterr, FF_INVALID, "instance_tag",
                             "instance_tag '%.64s' is not the name of a tag", name);
    settings->instance_tag = keep(client, name);
    return FF_OK;
}

/* 0: as it is. */
static ff_status numbers_of(const struct ff_options *given, struct ff_settings *settings,
                            struct ff_error *reterr)
{
    int64_t timeout_ms; /* the client's, not the engine's */
    const struct {
        const char *name;
        int64_t given, max;
        int64_t *to;
    } all[] = {
        {"timeout_ms", given->timeout_ms, FF_DURATION_MS_MAX, &timeout_ms},
        {"retention_ms", given->retention_ms, FF_DURATION_MS_MAX, &settings->retention_ms},
        {"event_retention_ms", given->event_retention_ms, FF_DURATION_MS_MAX,
         &settings->event_retention_ms},
        {"event_count_max", given->event_count_max, INT64_MAX, &settings->event_count_max},
        {"input_bytes_max", given->input_bytes_max, FF_PAYLOAD_BYTES_CEILING,
         &settings->input_bytes_max},
        {"result_bytes_max", given->result_bytes_max, FF_PAYLOAD_BYTES_CEILING,
         &settings->result_bytes_max},
        {"flow_nodes_max", given->flow_nodes_max, FF_FLOW_NODES_CEILING, &settings->flow_nodes_max},
        {"flow_edges_max", given->flow_edges_max, FF_FLOW_EDGES_CEILING, &settings->flow_edges_max},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(all); i++) {
        if (all[i].given < 0 || all[i].given > all[i].max)
            return ff_fail_field(reterr, FF_INVALID, all[i].name, "%s is 0 to %lld", all[i].name,
                                 (long long)all[i].max);
        if (all[i].given)
            *all[i].to = all[i].given;
    }
    return FF_OK;
}

static ff_status engine_options(struct ff_client *client, const struct ff_options *given,
                                struct ff_engine_options *out, struct ff_error *reterr)
{
    ff_engine_options_default(out);
    ff_settings_default(&out->settings);
    out->threads = true;
    out->loops = !given->passive;
    out->executors = given->executors;
    out->clock = ff_clock_system();
    out->random = ff_random_system();
    if (given->executors < 0 || given->executors > 16)
        return ff_fail_field(reterr, FF_INVALID, "executors", "executors is 0 to 16");
    FF_TRY(numbers_of(given, &out->settings, reterr));
    FF_TRY(instance_tag_of(client, given->instance_tag, &out->settings, reterr));
    out->filter.namespace = ff_str_of(keep(client, given->scan_ns));
    out->filter.instance_tag = ff_str_of(keep(client, given->scan_instance));
    FF_TRY(renewals_of(given->event_renewals, &out->settings, reterr));
    return ff_arena_check(&client->strings, reterr);
}

static struct ff_store_options store_options(const char *url, bool migrate, bool create)
{
    return (struct ff_store_options){
        .url = url,
        .migrate = migrate,
        .create = create,
        .clock = ff_clock_system(),
        .random = ff_random_system(),
    };
}

struct ff_client *ff_client_of_engine(struct ff_engine *engine, int64_t timeout_ms)
{
    struct ff_client *const client = ff_calloc(1, sizeof *client);
    struct ff_spare *const spare = client ? ff_spare_new() : NULL;

    if (!spare) {
        ff_free(client);
        return NULL;
    }
    client->spare = spare;
    ff_arena_init(&client->strings, 1024, STRINGS_BYTES_MAX);
    client->calls = ff_calls_local();
    client->engine = engine;
    client->pid = getpid();
    client->timeout_ms = timeout_ms;
    return client;
}

ff_status ff_open(const char *url, const struct ff_options *options, struct ff_client **ret_client,
                  struct ff_error *reterr)
{
    struct ff_options given = {.size = sizeof given};

    FF_TRY(ff_api_need(url, "url", reterr));
    if (!ret_client)
        return ff_fail_field(reterr, FF_INVALID, "ret_client", "there is no place for the client");
    if (options)
        FF_TRY(ff_api_sized(&given, sizeof given, options, options->size, reterr));
    if (ff_str_starts(ff_str_of(url), FF_STR("http://")) ||
        ff_str_starts(ff_str_of(url), FF_STR("https://")))
        return ff_remote_open(url, &given, ret_client, reterr);
    return ff_local_open(url, &given, ret_client, reterr);
}

ff_status ff_local_open(const char *url, const struct ff_options *given,
                        struct ff_client **ret_client, struct ff_error *reterr)
{
    struct ff_engine_options engine;

    FF_AUTO(client_freep) struct ff_client *client = ff_calloc(1, sizeof *client);
    if (!client)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a client");
    ff_arena_init(&client->strings, 1024, STRINGS_BYTES_MAX);
    client->spare = ff_spare_new();
    if (!client->spare)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold a client");
    client->calls = ff_calls_local();
    client->pid = getpid();
    client->timeout_ms = given->timeout_ms ? given->timeout_ms : TIMEOUT_MS_DEFAULT;
    client->trusts_json = given->trusts_json;
    FF_TRY(engine_options(client, given, &engine, reterr));

    const struct ff_store_options store = store_options(url, given->migrate, !given->must_exist);
    FF_TRY(ff_store_open(&store, &engine.store, reterr));
    const ff_status status = ff_engine_new(&engine, &client->engine, reterr);
    if (status != FF_OK) {
        ff_store_free(engine.store);
        return status;
    }
    *ret_client = FF_STEAL(client);
    return FF_OK;
}

size_t ff_local_close(struct ff_client *client, int64_t grace_ms)
{
    const size_t left = ff_engine_close(client->engine, grace_ms);

    ff_client_wait_for_calls(client);
    client_free(client);
    return left;
}

ff_status ff_migrate(const char *url, bool dry_run, int32_t *ret_from, int32_t *ret_to,
                     struct ff_error *reterr)
{
    struct ff_store *store = NULL;
    int32_t from = 0, to = 0;

    FF_TRY(ff_api_need(url, "url", reterr));
    struct ff_store_options options = store_options(url, !dry_run, !dry_run);

    options.as_it_is = true;
    FF_TRY(ff_store_open(&options, &store, reterr));
    const ff_status status = store->ops->migrate(store, dry_run, &from, &to, reterr);
    ff_store_free(store);
    if (status == FF_OK) {
        if (ret_from)
            *ret_from = from;
        if (ret_to)
            *ret_to = to;
    }
    return status;
}

ff_status ff_restored(const char *url, struct ff_error *reterr)
{
    struct ff_store *store = NULL;

    FF_TRY(ff_api_need(url, "url", reterr));
    const struct ff_store_options options = store_options(url, false, false);

    FF_TRY(ff_store_open(&options, &store, reterr));
    const ff_status status = store->ops->restored(store, reterr);
    ff_store_free(store);
    return status;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

struct ff_memory *ff_memory_new(void)
{
    struct ff_memory *const memory = ff_calloc(1, sizeof *memory);

    if (memory)
        ff_arena_init(&memory->arena, CHUNK_BYTES, FF_ARENA_BYTES_MAX);
    return memory;
}

void ff_memory_free(struct ff_memory *memory)
{
    if (!memory)
        return;
    ff_arena_done(&memory->arena);
    ff_free(memory);
}

void ff_answer_free(void *answer)
{
    struct ff_memory **const memory = answer;

    if (!memory)
        return;
    ff_memory_free(*memory);
    *memory = NULL;
}

const char *ff_api_text(struct ff_arena *arena, struct ff_str s)
{
    return ff_arena_str(arena, s).ptr;
}

ff_status ff_api_need(const char *text, const char *field, struct ff_error *reterr)
{
    if (!text)
        return ff_fail_field(reterr, FF_INVALID, field, "%s is required", field);
    return FF_OK;
}

ff_status ff_api_sized(void *out, size_t out_bytes, const void *given, size_t size,
                       struct ff_error *reterr)
{
    /* An older caller knows fewer fields, a newer one more; ours keep their defaults. */
    if (size < sizeof(size_t) || size > 65536)
        return ff_fail_field(reterr, FF_INVALID, "size", "size of the struct is not set");
    memcpy(out, given, ff_min_size(size, out_bytes));
    return FF_OK;
}
