/* SPDX-License-Identifier: Apache-2.0
 *
 * events.h -- kinds and types of the event log, and their names.
 *
 * FF_EVENT_<KIND> goes into ff_event.kind, FF_EVENT_<KIND>_<TYPE> into ff_event.type.
 * Pure. Tests: tests/unit/test_events.c. */
#ifndef FF_MODEL_EVENTS_H
#define FF_MODEL_EVENTS_H

#include "base/str.h"

#include <stdint.h>

typedef enum ff_event_kind {
    FF_EVENT_COMPLETION = 1,
    FF_EVENT_LEASE,
    FF_EVENT_EXECUTION,
    FF_EVENT_OPERATOR,
    FF_EVENT_FLOW,
    FF_EVENT_WORKER,
    FF_EVENT_LOG,
    FF_EVENT_KIND_END
} ff_event_kind;

/* One number space per kind, so these are constants and not one enum type. */
enum {
#define EVENT(KIND, TYPE, kind, type, kind_code, type_code) FF_EVENT_##KIND##_##TYPE = (type_code),
#include "model/events.def"
};

/* "lease"; NULL for a code nobody has. */
const char *ff_event_kind_name(int32_t kind);
/* "acquired"; NULL for a code the kind does not have. */
const char *ff_event_type_name(int32_t kind, int32_t type);

/* The code by its name, e.g. of a subscription's filter. 0: no such name. */
int32_t ff_event_kind_of(struct ff_str name);

#endif
