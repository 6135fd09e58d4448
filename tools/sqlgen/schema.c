/* SPDX-License-Identifier: Apache-2.0
 *
 * schema.c -- rows.def, states.def and events.def as data for the generator.
 *
 * They are compiled in, not parsed: a change of a list rebuilds the tool and then the SQL.
 * Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <string.h>

#define TABLE(NAME, row, sql, scope, flavour) static const struct column cols_##row[] = {
#define COL(row, type, name, cls, null)       {#name, type, cls, null},
#define END(row)                                                                                   \
    }                                                                                              \
    ;
#include "model/rows.def"

#define ROWS(row) cols_##row, sizeof cols_##row / sizeof cols_##row[0]

const struct table tables[] = {
#define TABLE(NAME, row, sql, scope, flavour) {#NAME, #row, sql, scope, flavour, ROWS(row)},
#define COL(row, type, name, cls, null)
#define END(row)
#include "model/rows.def"
};
const size_t table_count = sizeof tables / sizeof tables[0];

const struct state states[] = {
#define VECTOR(NAME, code, lifecycle, ownership, eligibility, attempt, outcome, blocking, public)  \
    {#NAME, code, {#lifecycle, #ownership, #eligibility, #attempt, #outcome, #blocking, #public}},
#include "model/states.def"
};
const size_t state_count = sizeof states / sizeof states[0];

const struct event events[] = {
#define EVENT(KIND, TYPE, kind, type, kind_code, type_code) {#kind, #type, kind_code, type_code},
#include "model/events.def"
};
const size_t event_count = sizeof events / sizeof events[0];

const struct table *table_find(const char *row, size_t len)
{
    for (size_t i = 0; i < table_count; i++) {
        if (strlen(tables[i].row) == len && !memcmp(tables[i].row, row, len))
            return &tables[i];
    }
    return NULL;
}

bool state_is_claimable(const struct state *state)
{
    return !strcmp(state->says[ELIGIBILITY], "eligible_now") ||
           !strcmp(state->says[OWNERSHIP], "lease_expired_reclaimable");
}

const char *pg_type(enum col_type type)
{
    static const char *const names[] = {
        [I16] = "int2",  [I32] = "int4",  [I64] = "int8",
        [UUID] = "uuid", [TEXT] = "text", [BLOB] = "bytea",
    };
    return names[type];
}
