/* SPDX-License-Identifier: Apache-2.0
 *
 * reply.c -- answers that are kept under a key, for calls that are many ops.
 *
 * Tests: tests/e2e/test_http.py. */
#include "api/api-int.h"

#include "base/error.h"
#include "ops/reply.h"

#include "base/banned.h"

struct item {
    const struct ff_reply_in *in;
    int32_t status;
    struct ff_str body;
};
struct result {
    ff_status status;
    struct ff_error error;
    struct ff_kept kept;
};

static size_t reply_bytes(const void *items, size_t index)
{
    return ((const struct item *)items)[index].body.len;
}

static ff_status reply_fill(struct ff_client *client, struct ff_job *job, const void *items,
                            size_t index, struct ff_error *reterr)
{
    const struct item *const item = (const struct item *)items + index;
    struct ff_reply_keep_in *const in = ff_arena_alloc(&job->arena, sizeof *in);

    (void)client;
    if (!in)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    in->reply = *item->in;
    in->reply.scope = ff_job_bytes(job, item->in->scope);
    in->reply.key = ff_job_bytes(job, item->in->key);
    in->status = item->status;
    in->body = ff_job_bytes(job, item->body);
    job->in = in;
    return FF_OK;
}

static ff_status reply_take(struct ff_client *client, const struct ff_job *job, void *result,
                            struct ff_error *reterr)
{
    const struct ff_reply_keep_out *const out = job->out;
    struct ff_kept *const kept = &((struct result *)result)->kept;
    FF_AUTO(ff_memory_freep) struct ff_memory *memory = ff_memory_new();

    (void)client;
    if (!memory)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the answer");
    kept->found = out->reply.found && out->reply.status;
    kept->status = out->reply.status;
    kept->body = ff_arena_str(&memory->arena, out->reply.body);
    kept->begun_at_ms = out->begun_at_ms;
    FF_TRY(ff_arena_check(&memory->arena, reterr));
    kept->memory = FF_STEAL(memory);
    return FF_OK;
}

ff_status ff_reply(struct ff_client *client, const struct ff_reply_in *in, int32_t status,
                   struct ff_str body, struct ff_kept *ret, struct ff_error *reterr)
{
    static const struct ff_bulk_type type = {
        .op = FF_OP_REPLY_KEEP,
        .max = 1,
        .result_bytes = sizeof(struct result),
        .bytes = reply_bytes,
        .fill = reply_fill,
        .take = reply_take,
    };
    const struct item item = {.in = in, .status = status, .body = body};
    struct result result;

    FF_TRY(ff_call_one(client, &type, &item, &result, reterr));
    *ret = result.kept;
    return FF_OK;
}
