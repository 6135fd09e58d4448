/* SPDX-License-Identifier: Apache-2.0
 *
 * lex.c -- SQL text as tokens, so that no check is fooled by a comment or a string.
 *
 * Knows what both dialects share and the two marks of ours, :name and {{fragment}}.
 * Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <ctype.h>
#include <string.h>

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word_len(const char *at)
{
    size_t len = 0;

    while (is_word_char(at[len]))
        len++;
    return len;
}

/* Length of a quoted text with its quotes; a doubled quote stands for itself. 0: never closed. */
static size_t quoted_len(const char *at)
{
    for (size_t len = 1; at[len]; len++) {
        if (at[len] != at[0])
            continue;
        if (at[len + 1] != at[0])
            return len + 1;
        len++;
    }
    return 0;
}

/* Bytes taken at `at`, with kind and text of the token; 0: broken. */
static size_t next(const char *at, struct token *token)
{
    size_t len;

    token->text = at;
    if (at[0] == '\'' || at[0] == '"') {
        token->kind = STRING;
        return token->len = quoted_len(at);
    }
    if (at[0] == '{' && at[1] == '{') {
        const char *end = strstr(at, "}}");

        if (!end)
            return 0;
        token->kind = FRAGMENT;
        token->text = at + 2;
        token->len = (size_t)(end - at) - 2;
        return token->len + 4;
    }
    if (at[0] == ':' && is_word_char(at[1])) {
        token->kind = PARAM;
        token->text = at + 1;
        token->len = word_len(at + 1);
        return token->len + 1;
    }
    if ((len = word_len(at)) > 0) {
        token->kind = isdigit((unsigned char)at[0]) ? NUMBER : WORD;
        return token->len = len;
    }
    token->kind = PUNCT;
    if (at[1] && (strchr("<>!=|:", at[0]) != NULL) && (strchr(">=|:", at[1]) != NULL))
        return token->len = 2;
    return token->len = 1;
}

struct tokens lex(const char *path, int line, const char *text)
{
    struct tokens tokens = {.path = path, .at = xalloc((strlen(text) + 1) * sizeof *tokens.at)};
    enum gap gap = GAP_NONE;
    const char *at = text;

    while (*at) {
        if (isspace((unsigned char)*at)) {
            line += *at == '\n';
            gap = *at == '\n' ? GAP_LINE : gap == GAP_NONE ? GAP_SPACE : gap;
            at++;
        } else if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
        } else {
            struct token *token = &tokens.at[tokens.count];
            const size_t taken = next(at, token);

            if (!taken) {
                complain(path, line, "a quote or brace is never closed");
                return tokens;
            }
            token->gap = gap;
            token->line = line;
            tokens.count++;
            for (size_t i = 0; i < taken; i++)
                line += at[i] == '\n';
            gap = GAP_NONE;
            at += taken;
        }
    }
    return tokens;
}

bool token_is(const struct token *token, const char *word)
{
    return (token->kind == WORD || token->kind == PUNCT) && word_is(token->text, token->len, word);
}
