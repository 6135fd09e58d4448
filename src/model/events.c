/* SPDX-License-Identifier: Apache-2.0
 *
 * events.c -- names and codes of events.def, in both directions.
 *
 * Pure. Tests: tests/unit/test_events.c. */
#include "model/events.h"

#include "base/macros.h"

#include <assert.h>

#include "base/banned.h"

static const struct {
    const char *kind, *type;
    int32_t kind_code, type_code;
} events[] = {
#define EVENT(KIND, TYPE, kind, type, kind_code, type_code) {#kind, #type, kind_code, type_code},
#include "model/events.def"
};

/* The enum of kinds is written out in events.h; it must say what the list says. */
#define EVENT(KIND, TYPE, kind, type, kind_code, type_code)                                        \
    static_assert((int)FF_EVENT_##KIND == (kind_code), "events.h and events.def differ");
#include "model/events.def"

const char *ff_event_kind_name(int32_t kind)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(events); i++) {
        if (events[i].kind_code == kind)
            return events[i].kind;
    }
    return NULL;
}

const char *ff_event_type_name(int32_t kind, int32_t type)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(events); i++) {
        if (events[i].kind_code == kind && events[i].type_code == type)
            return events[i].type;
    }
    return NULL;
}

int32_t ff_event_kind_of(struct ff_str name)
{
    for (size_t i = 0; i < FF_ARRAY_LEN(events); i++) {
        if (ff_str_eq(name, ff_str_of(events[i].kind)))
            return events[i].kind_code;
    }
    return 0;
}
