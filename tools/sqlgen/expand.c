/* SPDX-License-Identifier: Apache-2.0
 *
 * expand.c -- tokens to the text of one dialect: parameters get numbers, fragments their meaning.
 *
 * The list of fragments is closed on purpose: what is not in it is written out in SQL both
 * databases understand (if several blocks say it as a fragment of ours, share.c), or as an
 * override. Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include "base/limits.h"
#include "model/codes.h"

#include <limits.h>
#include <string.h>

struct expansion {
    const struct block *block; /* NULL: a migration */
    const struct token *token;
    const char *path;
    int dialect;
    struct buf *out;
};

/* What stands behind the first colon of a fragment. */
struct arg {
    const char *text;
    size_t len;
};

static bool arg_is(struct arg arg, const char *word)
{
    return strlen(word) == arg.len && !memcmp(word, arg.text, arg.len);
}

int param_index(const struct block *block, const char *name, size_t len)
{
    for (size_t i = 0; block && i < block->param_count; i++) {
        if (strlen(block->params[i].name) == len && !memcmp(block->params[i].name, name, len))
            return (int)i;
    }
    return -1;
}

static void add_param(struct expansion *at, struct arg name)
{
    const int index = param_index(at->block, name.text, name.len);

    if (index < 0) {
        complain(at->path, at->token->line, "':%.*s' is not declared in 'in:'", (int)name.len,
                 name.text);
    } else if (at->dialect == SQLITE) {
        buf_addf(at->out, "?%d", index + 1);
    } else {
        const struct param *param = &at->block->params[index];

        buf_addf(at->out, "$%d::%s%s", index + 1, pg_type(param->type), param->array ? "[]" : "");
    }
}

/* SQLite knows nothing about the data and would take the first key that fits. */
static void add_index(struct expansion *at, struct arg name)
{
    if (at->dialect != SQLITE)
        return;
    buf_adds(at->out, "INDEXED BY ");
    buf_add(at->out, name.text, name.len);
}

static void add_any(struct expansion *at, struct arg name)
{
    const int index = param_index(at->block, name.text, name.len);

    if (index >= 0 && !at->block->params[index].array)
        complain(at->path, at->token->line, "'%.*s' is not an array", (int)name.len, name.text);
    if (index >= 0 && at->block->params[index].type == UUID)
        complain(at->path, at->token->line, "'%.*s' are uuids, which SQLite gets as one blob",
                 (int)name.len, name.text);
    buf_adds(at->out, at->dialect == SQLITE ? "IN (SELECT value FROM json_each(" : "= ANY(");
    add_param(at, name);
    buf_adds(at->out, at->dialect == SQLITE ? "))" : ")");
}

/* "alias." or nothing. */
static void add_alias(struct expansion *at, struct arg alias)
{
    buf_add(at->out, alias.text, alias.len);
    buf_adds(at->out, alias.len ? "." : "");
}

static void add_columns(struct expansion *at, const struct table *table, struct arg alias)
{
    for (size_t i = 0; i < table->col_count; i++) {
        if (i)
            buf_adds(at->out, ", ");
        add_alias(at, alias);
        buf_adds(at->out, table->cols[i].name);
    }
}

/* A list of codes, comma separated. */
static void add_code(struct expansion *at, int code, bool *is_first)
{
    buf_addf(at->out, *is_first ? "%d" : ", %d", code);
    *is_first = false;
}

static bool state_in_set(const struct state *state, struct arg set)
{
    if (arg_is(set, "claimable"))
        return state_is_claimable(state);
    if (arg_is(set, "alive"))
        return strcmp(state->says[LIFECYCLE], "terminal") != 0;
    return arg_is(set, "terminal") && !strcmp(state->says[LIFECYCLE], "terminal");
}

/* The lowest and the highest code inside or outside of a set. */
static void code_range(struct arg set, bool inside, int *ret_low, int *ret_high)
{
    *ret_low = INT_MAX;
    *ret_high = INT_MIN;
    for (size_t i = 0; i < state_count; i++) {
        if (state_in_set(&states[i], set) != inside)
            continue;
        *ret_low = states[i].code < *ret_low ? states[i].code : *ret_low;
        *ret_high = states[i].code > *ret_high ? states[i].code : *ret_high;
    }
}

/* Some attempt of an execution has begun, or it ended without one. */
static void add_begun(struct expansion *at, struct arg alias)
{
    buf_adds(at->out, "(");
    add_alias(at, alias);
    buf_adds(at->out, "started_at_ms IS NOT NULL OR ");
    add_alias(at, alias);
    buf_adds(at->out, "finished_at_ms IS NOT NULL)");
}

/* One comparison, the same text wherever it is used: only then do partial indexes match. A list
 * would cost SQLite a temporary tree for every row it checks. */
static void add_set(struct expansion *at, struct arg set, struct arg alias)
{
    int low, high, other_low, other_high;

    code_range(set, true, &low, &high);
    code_range(set, false, &other_low, &other_high);
    add_alias(at, alias);
    if (high < other_low)
        buf_addf(at->out, "state <= %d", high);
    else if (low > other_high)
        buf_addf(at->out, "state >= %d", low);
    else
        complain(at->path, at->token->line, "the codes of '%.*s' states are not at one end",
                 (int)set.len, set.text);
}

static void add_state(struct expansion *at, struct arg name, bool *is_first)
{
    for (size_t i = 0; i < state_count; i++) {
        if (arg_is(name, states[i].name)) {
            add_code(at, states[i].code, is_first);
            return;
        }
    }
    complain(at->path, at->token->line, "no state '%.*s' in states.def", (int)name.len, name.text);
}

static void add_states(struct expansion *at, struct arg names)
{
    bool is_first = true;

    for (;;) {
        const char *comma = memchr(names.text, ',', names.len);
        const size_t len = comma ? (size_t)(comma - names.text) : names.len;

        add_state(at, (struct arg){names.text, len}, &is_first);
        if (!comma)
            return;
        names = (struct arg){comma + 1, names.len - len - 1};
    }
}

/* SQLite: comparisons instead of a list, as in add_set. Postgres reads a constraint anew for every
 * statement, 6 KB for as many comparisons and half a KB for one constant. */
static void add_legal(struct expansion *at)
{
    const bool sqlite = at->dialect == SQLITE;

    buf_adds(at->out, sqlite ? "" : "state = ANY ('{");
    for (size_t i = 0; i < state_count; i++)
        buf_addf(at->out, "%s%s%d", i ? sqlite ? " OR " : "," : "", sqlite ? "state = " : "",
                 states[i].code);
    buf_adds(at->out, sqlite ? "" : "}'::smallint[])");
}

static void add_public(struct expansion *at, struct arg name)
{
    bool is_first = true;

    for (size_t i = 0; i < state_count; i++) {
        if (arg_is(name, states[i].says[PUBLIC]))
            add_code(at, states[i].code, &is_first);
    }
    if (is_first)
        complain(at->path, at->token->line, "no state has the public name '%.*s'", (int)name.len,
                 name.text);
}

static void add_state_case(struct expansion *at, enum dimension dimension, struct arg column)
{
    buf_adds(at->out, "CASE ");
    buf_add(at->out, column.text, column.len);
    for (size_t i = 0; i < state_count; i++)
        buf_addf(at->out, " WHEN %d THEN '%s'", states[i].code, states[i].says[dimension]);
    buf_adds(at->out, " END");
}

/* {{event:lease}} is the kind's code, {{event:lease.expired}} the type's. */
static void add_event(struct expansion *at, struct arg name)
{
    const char *dot = memchr(name.text, '.', name.len);
    const struct arg kind = {name.text, dot ? (size_t)(dot - name.text) : name.len};
    const struct arg type = {dot ? dot + 1 : "", dot ? name.len - kind.len - 1 : 0};

    for (size_t i = 0; i < event_count; i++) {
        if (arg_is(kind, events[i].kind) && (!dot || arg_is(type, events[i].type))) {
            buf_addf(at->out, "%d", dot ? events[i].type_code : events[i].kind_code);
            return;
        }
    }
    complain(at->path, at->token->line, "no event '%.*s' in events.def", (int)name.len, name.text);
}

/* {{event_case:lease:e.type}} */
static void add_event_case(struct expansion *at, struct arg arg)
{
    const char *colon = memchr(arg.text, ':', arg.len);
    const struct arg kind = {arg.text, colon ? (size_t)(colon - arg.text) : arg.len};
    bool is_known = false;

    buf_adds(at->out, "CASE ");
    if (colon)
        buf_add(at->out, colon + 1, arg.len - kind.len - 1);
    for (size_t i = 0; i < event_count; i++) {
        if (arg_is(kind, events[i].kind)) {
            buf_addf(at->out, " WHEN %d THEN '%s'", events[i].type_code, events[i].type);
            is_known = true;
        }
    }
    buf_adds(at->out, " END");
    if (!is_known || !colon)
        complain(at->path, at->token->line, "no event kind '%.*s' in events.def", (int)arg.len,
                 arg.text);
}

/* {{code:HOP_REOPEN}} is a constant of model/codes.h, or a limit that rules and audits share. */
static void add_named_code(struct expansion *at, struct arg name)
{
    static const struct {
        const char *name;
        int code;
    } codes[] = {
        {"HOP_COMPLETION", FF_HOP_COMPLETION},
        {"HOP_REOPEN", FF_HOP_REOPEN},
        {"HOP_TRIES_STUCK", FF_HOP_TRIES_STUCK},
        {"PAYLOAD_INPUT", FF_PAYLOAD_INPUT},
        {"PAYLOAD_RESULT", FF_PAYLOAD_RESULT},
        {"EXEC_INPUT_ELSEWHERE", FF_EXEC_INPUT_ELSEWHERE},
        {"EXEC_TAGGED", FF_EXEC_TAGGED},
        {"EXEC_DATED", FF_EXEC_DATED},
        {"EXEC_NO_NEW_ATTEMPT", FF_EXEC_NO_NEW_ATTEMPT},
        {"FLOW_RUNNING", FF_FLOW_RUNNING},
        {"FLOW_COMPLETED", FF_FLOW_COMPLETED},
        {"FLOW_FAILED", FF_FLOW_FAILED},
        {"FLOW_CANCELLED", FF_FLOW_CANCELLED},
        {"FLOW_REMOVED", FF_FLOW_REMOVED},
        {"FLOW_CANCEL_NONE", FF_FLOW_CANCEL_NONE},
        {"FLOW_CANCEL_FLOW_ONLY", FF_FLOW_CANCEL_FLOW_ONLY},
        {"FLOW_CANCEL_ALL", FF_FLOW_CANCEL_ALL},
        {"EDGE_UNRESOLVED", FF_EDGE_UNRESOLVED},
        {"EDGE_SUCCESS", FF_EDGE_SUCCESS},
        {"EDGE_FAIL", FF_EDGE_FAIL},
        {"EDGE_SKIP", FF_EDGE_SKIP},
        {"PASS_INPUT", FF_PASS_INPUT},
        {"JOIN_ALL_OF", FF_JOIN_ALL_OF},
        {"JOIN_ANY_OF", FF_JOIN_ANY_OF},
        {"JOIN_QUORUM", FF_JOIN_QUORUM},
        {"ON_SATISFIED_CANCEL_REMAINING", FF_ON_SATISFIED_CANCEL_REMAINING},
        {"GROUP_PENDING", FF_GROUP_PENDING},
        {"GROUP_SATISFIED", FF_GROUP_SATISFIED},
        {"GROUP_IMPOSSIBLE", FF_GROUP_IMPOSSIBLE},
    };

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (arg_is(name, codes[i].name)) {
            buf_addf(at->out, "%d", codes[i].code);
            return;
        }
    }
    complain(at->path, at->token->line, "no code '%.*s'", (int)name.len, name.text);
}

/* Postgres: statement_timestamp() is stable, so an index can serve a comparison with it. SQLite:
 * a function each connection of the store registers; it answers with the time of the call. */
static void add_time(struct expansion *at, const char *pg_function)
{
    if (at->dialect == SQLITE)
        buf_adds(at->out, "ff_now_ms()");
    else
        buf_addf(at->out, "(extract(epoch FROM %s()) * 1000)::int8", pg_function);
}

static bool expand_case(struct expansion *at, struct arg word, struct arg arg)
{
    static const char *const names[DIMENSIONS] = {
        [LIFECYCLE] = "lifecycle_case",     [OWNERSHIP] = "ownership_case",
        [ELIGIBILITY] = "eligibility_case", [ATTEMPT] = "attempt_case",
        [OUTCOME] = "outcome_case",         [BLOCKING] = "blocking_case",
        [PUBLIC] = "public_case",
    };

    for (int i = 0; i < DIMENSIONS; i++) {
        if (arg_is(word, names[i])) {
            add_state_case(at, (enum dimension)i, arg);
            return true;
        }
    }
    return false;
}

/* Fragments that stand for a state, an event, or a set of them. */
static bool expand_code(struct expansion *at, struct arg word, struct arg arg)
{
    bool is_first = true;

    if (arg_is(word, "claimable") || arg_is(word, "alive") || arg_is(word, "terminal"))
        add_set(at, word, arg);
    else if (arg_is(word, "begun"))
        add_begun(at, arg);
    else if (arg_is(word, "state"))
        add_state(at, arg, &is_first);
    else if (arg_is(word, "states"))
        add_states(at, arg);
    else if (arg_is(word, "legal"))
        add_legal(at);
    else if (arg_is(word, "public"))
        add_public(at, arg);
    else if (arg_is(word, "event"))
        add_event(at, arg);
    else if (arg_is(word, "code"))
        add_named_code(at, arg);
    else if (arg_is(word, "event_case"))
        add_event_case(at, arg);
    else
        return expand_case(at, word, arg);
    return true;
}

static bool expand_columns(struct expansion *at, struct arg word, struct arg arg)
{
    const char *dot = memchr(word.text, '.', word.len);
    const size_t row_len = dot ? (size_t)(dot - word.text) : 0;

    if (!dot || !arg_is((struct arg){dot, word.len - row_len}, ".columns"))
        return false;
    const struct table *table = table_find(word.text, row_len);
    if (!table)
        return false;
    add_columns(at, table, arg);
    return true;
}

static void expand_fragment(struct expansion *at)
{
    const struct token *token = at->token;
    const char *colon = memchr(token->text, ':', token->len);
    const struct arg word = {token->text, colon ? (size_t)(colon - token->text) : token->len};
    const struct arg arg = {colon ? colon + 1 : "", colon ? token->len - word.len - 1 : 0};

    if (arg_is(word, "now_ms"))
        add_time(at, "statement_timestamp");
    else if (arg_is(word, "clock_ms"))
        add_time(at, "clock_timestamp");
    else if (arg_is(word, "lock_skip"))
        buf_adds(at->out, at->dialect == SQLITE ? "" : "FOR UPDATE SKIP LOCKED");
    else if (arg_is(word, "by_index"))
        add_index(at, arg);
    else if (arg_is(word, "any"))
        add_any(at, arg);
    else if (!expand_code(at, word, arg) && !expand_columns(at, word, arg))
        complain(at->path, token->line, "unknown fragment '{{%.*s}}'", (int)token->len,
                 token->text);
}

char *expand(const struct tokens *tokens, const struct block *block, int dialect)
{
    struct buf out = {0};
    struct expansion at = {.block = block, .path = tokens->path, .dialect = dialect, .out = &out};

    buf_adds(&out, "");
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = at.token = &tokens->at[i];

        if (out.len && token->gap != GAP_NONE)
            buf_adds(&out, token->gap == GAP_LINE && !block ? "\n" : " ");
        if (token->kind == FRAGMENT)
            expand_fragment(&at);
        else if (token->kind == PARAM)
            add_param(&at, (struct arg){token->text, token->len});
        else
            buf_add(&out, token->text, token->len);
    }
    while (out.len && out.data[out.len - 1] == ' ')
        out.data[--out.len] = '\0';
    return out.data;
}
