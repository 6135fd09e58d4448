/* SPDX-License-Identifier: Apache-2.0
 *
 * check.c -- what sqlgen refuses although both databases would take it.
 *
 * Unknown parameters, states and fragments are found by expand.c. The locking rules are those of
 * docs/internals: a lock taken together with a join or a subquery can return columns of two
 * moments after a wait, so a locking statement names one table and nothing else.
 * Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <string.h>

static bool is_fragment(const struct token *token, const char *word)
{
    return token->kind == FRAGMENT && word_is(token->text, token->len, word);
}

static bool is_state_word(const struct token *token)
{
    return token_is(token, "state") || token_is(token, "last_state");
}

static bool is_comparison(const struct token *token)
{
    static const char *const words[] = {
        "=", "<>", "!=", "<", ">", "<=", ">=", "IN", "(", "NOT", "BETWEEN", "ANY", "IS", "AND"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (token_is(token, words[i]))
            return true;
    }
    return false;
}

/* A number that a comparison joins to the word "state", on either side. */
void check_states(const struct tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++) {
        if (!is_state_word(&tokens->at[i]))
            continue;
        size_t next = i + 1;
        while (next < tokens->count && is_comparison(&tokens->at[next]))
            next++;
        const bool after = next > i + 1 && next < tokens->count &&
                           !token_is(&tokens->at[i + 1], "AND") && tokens->at[next].kind == NUMBER;
        const bool before = i >= 2 && tokens->at[i - 2].kind == NUMBER &&
                            tokens->at[i - 1].kind == PUNCT && is_comparison(&tokens->at[i - 1]) &&
                            !token_is(&tokens->at[i - 1], "(");
        if (after || before)
            complain(tokens->path, tokens->at[i].line,
                     "a state is written {{state:NAME}}, never as a number");
    }
}

static void check_params_used(const struct block *block, const struct tokens *tokens)
{
    for (size_t p = 0; p < block->param_count; p++) {
        const char *name = block->params[p].name;
        bool is_used = false;

        for (size_t i = 0; i < tokens->count; i++) {
            const struct token *token = &tokens->at[i];
            const char *colon =
                token->kind == FRAGMENT ? memchr(token->text, ':', token->len) : NULL;

            if (token->kind == PARAM && word_is(token->text, token->len, name))
                is_used = true;
            if (colon && colon - token->text == 3 && !memcmp(token->text, "any", 3) &&
                word_is(colon + 1, token->len - 4, name))
                is_used = true;
        }
        if (!is_used)
            complain(block->path, block->line, "'%s' declares ':%s' and does not use it",
                     block->name, name);
    }
}

static void check_lock(const struct block *block, const struct tokens *tokens)
{
    int selects = 0, froms = 0;

    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->at[i];

        selects += token_is(token, "SELECT");
        froms += token_is(token, "FROM");
        if (token_is(token, "JOIN") || token_is(token, "UNION") || token_is(token, "WITH"))
            complain(tokens->path, token->line, "a locking block has no %.*s", (int)token->len,
                     token->text);
        if (token_is(token, "FROM") && i + 2 < tokens->count &&
            (token_is(&tokens->at[i + 2], ",") ||
             (i + 3 < tokens->count && token_is(&tokens->at[i + 3], ","))))
            complain(tokens->path, token->line, "a locking block names more than one table");
    }
    if (selects != 1 || froms != 1)
        complain(block->path, block->line,
                 "locking block '%s' has a subquery: it names exactly one table", block->name);
    if (param_index(block, "limit", 5) < 0)
        complain(block->path, block->line, "locking block '%s' has no ':limit'", block->name);
}

static bool is_write(const struct token *token)
{
    return token_is(token, "INSERT") || token_is(token, "UPDATE") || token_is(token, "DELETE") ||
           token_is(token, "TRUNCATE") || token_is(token, "ALTER") || token_is(token, "DROP");
}

static void check_words(const struct block *block, const struct tokens *tokens)
{
    bool writes = false;

    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->at[i];
        const bool after_for = i && token_is(&tokens->at[i - 1], "FOR");

        if (after_for && (token_is(token, "UPDATE") || token_is(token, "SHARE") ||
                          token_is(token, "NO") || token_is(token, "KEY")))
            complain(tokens->path, token->line, "rows are locked by {{lock_skip}} only");
        else if (is_write(token))
            writes = true;
        if (token_is(token, ";"))
            complain(tokens->path, token->line, "a block is one statement");
        if (token_is(token, "CONFLICT"))
            complain(tokens->path, token->line, "a duplicate is an answer: no ON CONFLICT");
    }
    if (writes && !block->writes)
        complain(block->path, block->line, "'%s' changes rows but is not marked '-- writes'",
                 block->name);
    if (block->writes && !writes)
        complain(block->path, block->line, "'%s' is marked '-- writes' and changes nothing",
                 block->name);
}

/* A block that hands out rows asks for all their columns, in their order. */
static void check_out(const struct block *block, const struct tokens *tokens)
{
    bool has_columns = !block->out_table;

    for (size_t i = 0; block->out_table && i < tokens->count; i++) {
        const struct token *token = &tokens->at[i];
        const size_t len = strlen(block->out_table->row);

        if (token->kind == FRAGMENT && token->len >= len + 8 &&
            !memcmp(token->text, block->out_table->row, len) &&
            !memcmp(token->text + len, ".columns", 8))
            has_columns = true;
    }
    if (!has_columns)
        complain(block->path, block->line, "'%s' gives rows without {{%s.columns}}", block->name,
                 block->out_table->row);
    if (!block->out_table && !block->cell_count && !block->out_none)
        complain(block->path, block->line, "'%s' has no '-- out:'", block->name);
}

static void check_block(struct block *block)
{
    bool has_text = false;

    for (int dialect = 0; dialect < DIALECTS; dialect++) {
        const struct tokens *tokens = &block->body[dialect];

        if (!tokens->count)
            continue;
        has_text = true;
        for (size_t i = 0; i < tokens->count; i++)
            block->locks |= is_fragment(&tokens->at[i], "lock_skip");
        if (dialect > 0 && tokens->at == block->body[0].at)
            continue; /* the portable text, already looked at */
        check_params_used(block, tokens);
        check_words(block, tokens);
        check_states(tokens);
        check_out(block, tokens);
        if (block->locks)
            check_lock(block, tokens);
    }
    if (!has_text)
        complain(block->path, block->line, "'%s' has no SQL", block->name);
}

void check_blocks(const struct blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        check_block(&blocks->at[i]);
}
