/* SPDX-License-Identifier: Apache-2.0
 *
 * ids.c -- execution and flow ids, and the partition that hangs on them.
 *
 * Stored ids depend on these rules: they must never change. Tests: tests/unit/test_ids.c. */
#include "model/ids.h"

#include <stdio.h>
#include <string.h>

#include "base/crc16.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/macros.h"
#include "base/sha256.h"

#include "base/banned.h"

#define SOLO_CRC_BYTES  14 /* all but the two that hold the partition */
#define TIME_BYTES      6
#define UUID_VERSION    7
#define FIELD_EXECUTION "execution_id"
#define FIELD_FLOW      "flow_id"

static uint64_t v7_time(int64_t real_ms)
{
    return (uint64_t)ff_min_i64(ff_max_i64(real_ms, 0), (int64_t)FF_UUID_V7_UNIX_MS_MAX);
}

struct ff_exec_id ff_exec_id_mint(int64_t real_ms, const uint8_t random[10])
{
    struct ff_exec_id id = {.uuid = ff_uuid_v7(v7_time(real_ms), random)};

    id.partition = ff_crc16_xmodem(id.uuid.b, SOLO_CRC_BYTES) % FF_PARTITIONS;
    ff_uuid_set_tail(&id.uuid, (uint16_t)id.partition);
    return id;
}

struct ff_uuid ff_flow_id_mint(int64_t real_ms, const uint8_t random[10])
{
    return ff_uuid_v7(v7_time(real_ms), random);
}

int32_t ff_flow_partition(struct ff_uuid flow_id)
{
    return ff_crc16_xmodem(flow_id.b, sizeof flow_id.b) % FF_PARTITIONS;
}

ff_status ff_member_id(struct ff_uuid flow_id, struct ff_str node, struct ff_exec_id *ret_id,
                       struct ff_error *reterr)
{
    struct ff_sha256 sha;
    uint8_t digest[FF_SHA256_BYTES];
    struct ff_exec_id id;
    ff_status status;

    FF_TRY(ff_sha256_init(&sha, reterr));
    ff_sha256_add(&sha, flow_id.b, sizeof flow_id.b);
    ff_sha256_add(&sha, node.ptr, node.len);
    status = ff_sha256_finish(&sha, digest, reterr);
    ff_sha256_done(&sha);
    if (status != FF_OK)
        return status;
    id.uuid = ff_uuid_v7(0, digest);
    memcpy(id.uuid.b, flow_id.b, TIME_BYTES);
    id.partition = ff_flow_partition(flow_id);
    ff_uuid_set_tail(&id.uuid, (uint16_t)id.partition);
    *ret_id = id;
    return FF_OK;
}

void ff_exec_id_text(struct ff_exec_id id, char out[FF_ID_TEXT_BYTES])
{
    char uuid[FF_UUID_TEXT_BYTES];

    (void)snprintf(out, FF_ID_TEXT_BYTES, "{fp:%d}:%s", (int)id.partition,
                   ff_uuid_format(id.uuid, uuid));
}

void ff_exec_id_path(struct ff_exec_id id, char out[FF_ID_TEXT_BYTES])
{
    char uuid[FF_UUID_TEXT_BYTES];

    (void)snprintf(out, FF_ID_TEXT_BYTES, "fp:%d:%s", (int)id.partition,
                   ff_uuid_format(id.uuid, uuid));
}

static ff_status bad_id(struct ff_error *reterr, const char *why)
{
    return ff_fail_field(reterr, FF_INVALID, FIELD_EXECUTION, "execution id %s", why);
}

/* "N" out of "{fp:N}:" or "fp:N:", and what follows it. */
static bool split_prefix(struct ff_str text, struct ff_str *ret_number, struct ff_str *ret_rest)
{
    const bool braced = ff_str_starts(text, FF_STR("{fp:"));
    const struct ff_str end = braced ? FF_STR("}:") : FF_STR(":");
    const size_t from = braced ? 4 : 3;

    if (!braced && !ff_str_starts(text, FF_STR("fp:")))
        return false;
    for (size_t i = from; i < text.len; i++) {
        if (ff_str_starts(ff_str_slice(text, i, text.len), end)) {
            *ret_number = ff_str_slice(text, from, i - from);
            *ret_rest = ff_str_slice(text, i + end.len, text.len);
            return true;
        }
    }
    return false;
}

ff_status ff_exec_id_parse(struct ff_str text, struct ff_exec_id *ret_id, struct ff_error *reterr)
{
    struct ff_exec_id id;
    struct ff_str number;
    struct ff_str rest;
    int64_t partition;

    if (ff_uuid_parse(text, &id.uuid)) {
        partition = ff_uuid_tail(id.uuid);
        if (ff_uuid_version(id.uuid) != UUID_VERSION || partition >= FF_PARTITIONS)
            return bad_id(reterr, "without its partition is not one of ours");
    } else {
        if (!split_prefix(text, &number, &rest))
            return bad_id(reterr, "is not {fp:N}:<uuid>");
        if (!ff_str_to_i64(number, &partition) || partition < 0 || partition >= FF_PARTITIONS)
            return bad_id(reterr, "has a partition that is not a number from 0 to 255");
        if (!ff_uuid_parse(rest, &id.uuid))
            return bad_id(reterr, "does not end with a uuid");
    }
    if (ff_uuid_is_zero(id.uuid))
        return bad_id(reterr, "must not be the zero uuid");
    id.partition = (int32_t)partition;
    *ret_id = id;
    return FF_OK;
}

ff_status ff_flow_id_parse(struct ff_str text, struct ff_uuid *ret_id, struct ff_error *reterr)
{
    struct ff_uuid id;

    if (!ff_uuid_parse(text, &id) || ff_uuid_is_zero(id))
        return ff_fail_field(reterr, FF_INVALID, FIELD_FLOW, "flow id is not a uuid");
    *ret_id = id;
    return FF_OK;
}

bool ff_exec_id_eq(struct ff_exec_id a, struct ff_exec_id b)
{
    return a.partition == b.partition && ff_uuid_eq(a.uuid, b.uuid);
}
