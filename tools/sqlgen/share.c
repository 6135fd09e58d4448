/* SPDX-License-Identifier: Apache-2.0
 *
 * share.c -- texts that several blocks share: fragments that stand in the .sql files themselves.
 *
 * They are put in as tokens before anything is looked at, so every check sees what they hold: what
 * a block may not say, a fragment in it may not say either. The format is described in
 * src/store/sql/README.md. Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <string.h>

static struct block *fragment_of(const struct blocks *blocks, const struct token *token)
{
    for (size_t i = 0; i < blocks->count && token->kind == FRAGMENT; i++) {
        if (blocks->at[i].is_fragment && word_is(token->text, token->len, blocks->at[i].name))
            return &blocks->at[i];
    }
    return NULL;
}

static struct tokens share(const struct blocks *blocks, const struct tokens *tokens)
{
    struct tokens out = {.path = tokens->path};
    size_t max = tokens->count;

    for (size_t i = 0; i < tokens->count; i++) {
        const struct block *fragment = fragment_of(blocks, &tokens->at[i]);

        max += fragment ? fragment->body[0].count : 0;
    }
    out.at = xalloc(max * sizeof *out.at);
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->at[i];
        struct block *fragment = fragment_of(blocks, token);

        if (!fragment)
            out.at[out.count++] = *token;
        for (size_t j = 0; fragment && j < fragment->body[0].count; j++) {
            struct token *copy = &out.at[out.count++];

            *copy = fragment->body[0].at[j];
            copy->line = token->line; /* complaints are about the block */
            copy->gap = j ? copy->gap : token->gap;
            fragment->is_used = true;
        }
    }
    return out;
}

static void check_fragment(const struct block *fragment)
{
    if (!fragment->body[0].count || fragment->body[0].at != fragment->body[1].at)
        complain(fragment->path, fragment->line, "fragment '%s' needs one text for all",
                 fragment->name);
    if (fragment->param_count || fragment->out_table || fragment->cell_count ||
        fragment->out_none || fragment->writes)
        complain(fragment->path, fragment->line, "fragment '%s' has only a note and a text",
                 fragment->name);
    if (!fragment->is_used)
        complain(fragment->path, fragment->line, "fragment '%s' is not used", fragment->name);
}

void share_fragments(struct blocks *blocks)
{
    size_t kept = 0;

    for (size_t i = 0; i < blocks->count; i++) {
        struct block *block = &blocks->at[i];
        const bool is_portable = block->body[0].at == block->body[1].at;

        if (block->is_fragment)
            continue;
        block->body[0] = share(blocks, &block->body[0]);
        block->body[1] = is_portable ? block->body[0] : share(blocks, &block->body[1]);
    }
    for (size_t i = 0; i < blocks->count; i++) {
        if (blocks->at[i].is_fragment)
            check_fragment(&blocks->at[i]);
        else
            blocks->at[kept++] = blocks->at[i];
    }
    blocks->count = kept;
}
