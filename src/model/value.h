/* SPDX-License-Identifier: Apache-2.0
 *
 * value.h -- a typed value on its way to or from an SQL block. */
#ifndef FF_MODEL_VALUE_H
#define FF_MODEL_VALUE_H

#include "base/str.h"
#include "base/uuid.h"

#include <stdint.h>

typedef enum ff_value_type {
    FF_VALUE_NULL,
    FF_VALUE_I64, /* bound to smallint, integer and bigint alike; FF_NULL64 is NULL */
    FF_VALUE_TEXT,
    FF_VALUE_BLOB,
    FF_VALUE_UUID,
    FF_VALUE_I64S, /* arrays, only as parameters */
    FF_VALUE_TEXTS,
    FF_VALUE_UUIDS,
} ff_value_type;

struct ff_value {
    ff_value_type type;
    size_t count; /* of an array */
    union {
        int64_t i64;
        struct ff_str str;
        struct ff_uuid uuid;
        const int64_t *i64s;
        const struct ff_str *strs;
        const struct ff_uuid *uuids;
    } as;
};

#endif
