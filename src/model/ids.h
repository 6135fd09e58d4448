/* SPDX-License-Identifier: Apache-2.0
 *
 * ids.h -- execution and flow ids, and the partition that hangs on them.
 *
 * Canonical text: {fp:N}:<uuid>, N = 0..255. Also read: the bare uuid of an id we minted (its last
 * two bytes hold N), fp:N:<uuid>. Tests: tests/unit/test_ids.c. */
#ifndef FF_MODEL_IDS_H
#define FF_MODEL_IDS_H

#include "base/str.h"
#include "base/uuid.h"

#include <flowfabric.h>

#include <stdint.h>

struct ff_exec_id {
    int32_t partition;
    struct ff_uuid uuid;
};

#define FF_ID_TEXT_BYTES 48 /* with the NUL */

/* A solo id: UUIDv7, partition = crc16(first 14 bytes) mod 256, kept in the last two bytes. */
struct ff_exec_id ff_exec_id_mint(int64_t real_ms, const uint8_t random[10]);
struct ff_uuid ff_flow_id_mint(int64_t real_ms, const uint8_t random[10]);
int32_t ff_flow_partition(struct ff_uuid flow_id);
/* Derived from (flow, node name) and keeping the flow's time prefix: a repeat is recognised. Fails
 * only as SHA-256 does. */
FF_MUST_CHECK ff_status ff_member_id(struct ff_uuid flow_id, struct ff_str node,
                                     struct ff_exec_id *ret_id, struct ff_error *reterr);

/* Also gives "fp:N:<uuid>", which needs no encoding in a URL. */
void ff_exec_id_path(struct ff_exec_id id, char out[FF_ID_TEXT_BYTES]);
void ff_exec_id_text(struct ff_exec_id id, char out[FF_ID_TEXT_BYTES]);
/* Strict: one spelling of N, nothing around the id, not the zero uuid; FF_INVALID otherwise. A bare
 * uuid must be one of ours, since nobody else's says where it lives. */
FF_MUST_CHECK ff_status ff_exec_id_parse(struct ff_str text, struct ff_exec_id *ret_id,
                                         struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_flow_id_parse(struct ff_str text, struct ff_uuid *ret_id,
                                         struct ff_error *reterr);
/* Where the members of a flow lie among all keys, if they have its time: what the blocks that read
 * {{members}} take. */
#define FF_MEMBERS_OF(id)                                                                          \
    .partition_key = ff_flow_partition(id), .flow_id = (id), .flow_ms = ff_uuid_time_ms(id),       \
    .first_id = ff_uuid_first_of(ff_uuid_time_ms(id)),                                             \
    .last_id = ff_uuid_last_of(ff_uuid_time_ms(id))

bool ff_exec_id_eq(struct ff_exec_id a, struct ff_exec_id b);

#endif
