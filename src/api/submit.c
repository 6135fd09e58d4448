/* SPDX-License-Identifier: Apache-2.0
 *
 * submit.c -- accepting executions, one to a thousand in a call.
 *
 * The rules are in src/ops/execution/submit.c; here the caller's structs become its input.
 * Tests: tests/unit/test_api.c, tests/conformance. */
#include "api/api-int.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>

#include "api/json.h"
#include "base/codec.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/states.h"
#include "ops/execution.h"

#include "base/banned.h"

/* Only one executor takes large jobs, and takes them in order: so of two with the same key the
 * later is the duplicate. Items without a key are shared: each is created at the time in its id,
 * which keeps their order for whoever claims after the call. */
#define LARGE_FROM 1

void ff_submission_init(struct ff_submission *submission)
{
    if (!submission)
        return;
    *submission = (struct ff_submission){
        .size = sizeof *submission,
        .delay_ms = FF_ABSENT_MS,
        .delay_until_ms = FF_ABSENT_MS,
        .deadline_ms = FF_ABSENT_MS,
        .deadline_at_ms = FF_ABSENT_MS,
    };
}

/* The caller's array may have another stride than ours: a struct of its own version. */
static const struct ff_submission *item_at(const void *items, size_t index)
{
    const struct ff_submission *const first = items;

    return (const struct ff_submission *)(const void *)((const char *)items + index * first->size);
}

static size_t submit_bytes(const void *items, size_t index)
{
    const struct ff_submission *const first = items;

    if (first->size < offsetof(struct ff_submission, input_content_type))
        return 0;
    return item_at(items, index)->input.len;
}

#define COUNTER_BITS 12 /* what a UUIDv7 has between its time and its variant */
#define ROUNDED_MS   1  /* what we know of the store's time may be ahead by so much */

/* Ids of one client rise in the order of its calls, also within a millisecond: they decide who is
 * older when two executions were created at the same time. A counter that overflows borrows from
 * the next millisecond. */
static int64_t mint(struct ff_client *client, uint8_t random[10], bool *ret_dated)
{
    const bool dated = ff_engine_knows_now(client->engine);
    const int64_t now_ms = ff_max_i64(ff_engine_now_ms(client->engine) - ROUNDED_MS, 0);
    uint64_t last = client->minted;
    uint64_t next;

    ff_engine_random(client->engine, random, 10);
    do {
        /* A quarter of the counter is chance, so that two clients rarely count alike. */
        next = (uint64_t)now_ms << COUNTER_BITS | (ff_get_be16(random) & 0x3ff);
        if (next <= last)
            next = last + 1;
    } while (!atomic_compare_exchange_weak(&client->minted, &last, next));
    ff_put_be16(random, (uint16_t)(next & ((1u << COUNTER_BITS) - 1)));
    *ret_dated = dated && (int64_t)(next >> COUNTER_BITS) <= now_ms + ROUNDED_MS;
    return (int64_t)(next >> COUNTER_BITS);
}

struct ff_uuid ff_api_mint_flow(struct ff_client *client, bool *ret_dated)
{
    uint8_t random[10];
    const int64_t at_ms = mint(client, random, ret_dated);

    return ff_flow_id_mint(at_ms, random);
}

/* An id of our own says when it was minted, by the store's time if that is known. */
static struct ff_exec_id mint_execution(struct ff_client *client, bool *ret_dated)
{
    uint8_t random[10];
    const int64_t at_ms = mint(client, random, ret_dated);

    return ff_exec_id_mint(at_ms, random);
}

static ff_status submit_id(struct ff_client *client, const char *text, struct ff_submit_in *in,
                           struct ff_error *reterr)
{
    struct ff_uuid bare;

    if (!text) {
        in->id = mint_execution(client, &in->dated);
        return FF_OK;
    }
    if (ff_uuid_parse(ff_str_of(text), &bare))
        return ff_fail_field(reterr, FF_INVALID, "execution_id",
                             "id '%s' has no partition: {fp:N}:<uuid> is needed", text);
    in->own_id = true;
    return ff_exec_id_parse(ff_str_of(text), &in->id, reterr);
}

ff_status ff_job_tags(struct ff_job *job, const struct ff_tag_pair *tags, size_t count,
                      struct ff_tag_in **ret, struct ff_error *reterr)
{
    struct ff_tag_in *copies;

    if (count && !tags)
        return ff_fail_field(reterr, FF_INVALID, "tags", "tags are counted but not given");
    if (count > FF_TAGS_MAX)
        return ff_fail_field(reterr, FF_TOO_LARGE, "tags", "%zu tags, at most %d are allowed",
                             count, FF_TAGS_MAX);
    copies = ff_arena_array(&job->arena, count, sizeof *copies);
    for (size_t i = 0; copies && i < count; i++) {
        if (!tags[i].name || !tags[i].value)
            return ff_fail_field(reterr, FF_INVALID, "tags", "a tag has no name or no value");
        copies[i].name = ff_job_text(job, tags[i].name);
        copies[i].value = ff_job_text(job, tags[i].value);
    }
    *ret = copies;
    return FF_OK;
}

ff_status ff_api_payload(const struct ff_client *client, struct ff_str bytes,
                         const char *content_type, int64_t max, const char *field,
                         struct ff_error *reterr)
{
    if (bytes.ptr && (int64_t)bytes.len > max)
        return ff_fail_field(reterr, FF_TOO_LARGE, field,
                             "%s of %zu bytes, at most %" PRId64 " are allowed", field, bytes.len,
                             max);
    if (client->trusts_json || (client->writes_json && !content_type))
        return FF_OK;
    return ff_json_check(bytes, content_type, field, reterr);
}

ff_status ff_submission_in(struct ff_client *client, struct ff_job *job,
                           const struct ff_submission *item, struct ff_submit_in *in,
                           struct ff_error *reterr)
{
    const struct ff_settings *const settings = ff_engine_settings(client->engine);

    FF_TRY(ff_api_need(item->kind, "kind", reterr));
    FF_TRY(ff_api_payload(client, item->input, item->input_content_type, settings->input_bytes_max,
                          "input", reterr));
    *in = (struct ff_submit_in){
        .namespace = ff_job_text(job, item->ns),
        .lane = ff_job_text(job, item->lane),
        .kind = ff_job_text(job, item->kind),
        .input = ff_job_bytes(job, item->input),
        .input_type = ff_job_text(job, item->input_content_type),
        .priority = item->priority,
        .idempotency_key = ff_job_text(job, item->idempotency_key),
        .delay_ms = item->delay_ms,
        .delay_until_ms = item->delay_until_ms,
        .deadline_ms = item->deadline_ms,
        .deadline_at_ms = item->deadline_at_ms,
        .tag_count = item->tag_count,
        .capability_count = item->required_capability_count,
    };
    FF_TRY(ff_job_tags(job, item->tags, item->tag_count, &in->tags, reterr));
    FF_TRY(ff_job_texts(job, item->required_capabilities, item->required_capability_count,
                        "required_capabilities", &in->capabilities, reterr));
    FF_TRY(ff_policy_of_spec(item->policy, &in->policy, reterr));
    return ff_arena_check(&job->arena, reterr);
}

static ff_status submit_fill(struct ff_client *client, struct ff_job *job, const void *items,
                             size_t index, struct ff_error *reterr)
{
    const struct ff_settings *const settings = ff_engine_settings(client->engine);
    const struct ff_submission *const first = items;
    struct ff_submission item;

    ff_submission_init(&item);
    FF_TRY(ff_api_sized(&item, sizeof item, item_at(items, index), first->size, reterr));
    if (item.size != first->size)
        return ff_fail_field(reterr, FF_INVALID, "size", "items of one call differ in size");

    struct ff_submit_in *const in = ff_arena_alloc(&job->arena, sizeof *in);
    if (!in)
        return ff_fail(reterr, FF_NO_MEMORY, "cannot hold the request");
    FF_TRY(ff_submission_in(client, job, &item, in, reterr));
    FF_TRY(submit_id(client, item.execution_id, in, reterr));
    job->repeatable = in->own_id || item.idempotency_key;
    job->shared = in->dated && !job->repeatable;
    if (job->repeatable)
        FF_TRY(ff_json_same(item.input, item.input_content_type, &job->arena, &in->input_same,
                            reterr));
    job->in = in;
    return ff_submit_prepare(in, settings, &job->arena, reterr);
}

static ff_status submit_take(struct ff_client *client, const struct ff_job *job, void *result,
                             struct ff_error *reterr)
{
    const struct ff_submit_out *const out = job->out;
    struct ff_submitted *const submitted = result;

    (void)client;
    (void)reterr;
    ff_exec_id_text(out->id, submitted->execution_id);
    submitted->public_state = ff_state_public_name(out->state);
    submitted->created = out->created;
    return FF_OK;
}

const struct ff_bulk_type ff_submit_type = {
    .op = FF_OP_EXECUTION_SUBMIT,
    .max = FF_SUBMIT_MAX,
    .result_bytes = sizeof(struct ff_submitted),
    .large_from = LARGE_FROM,
    .bytes = submit_bytes,
    .fill = submit_fill,
    .take = submit_take,
};

ff_status ff_local_submit(struct ff_client *client, const struct ff_submission *items, size_t count,
                          struct ff_submitted *ret_items, struct ff_error *reterr)
{
    return ff_bulk_call(client, &ff_submit_type, items, count, ret_items, reterr);
}
