/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_sqlgen.c -- SQL blocks: parsed, checked and expanded, or complained about.
 *
 * The tool frees nothing, because it ends soon. Here its memory comes from us and is freed after
 * every input (its sources are compiled with calloc = fuzz_calloc). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlgen.h"

#undef calloc /* here the real one is meant */
void *calloc(size_t count, size_t bytes);
void *fuzz_calloc(size_t count, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void **pieces;
static size_t piece_count, piece_cap;

void *fuzz_calloc(size_t count, size_t bytes)
{
    if (piece_count == piece_cap) {
        piece_cap = 2 * piece_cap + 64;
        pieces = realloc(pieces, piece_cap * sizeof *pieces);
        if (!pieces)
            abort();
    }
    return pieces[piece_count++] = calloc(count, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct blocks blocks = {0};
    char *const text = xalloc(size + 1);
    const struct file file = {.path = "fuzz.sql", .text = text, .len = size};
    const int before = complaints();

    memcpy(text, data, size);
    blocks.at = xalloc(BLOCKS_MAX * sizeof *blocks.at);
    parse_blocks(&file, &blocks);
    share_fragments(&blocks);
    check_blocks(&blocks);
    for (size_t i = 0; i < blocks.count && complaints() == before; i++)
        for (int dialect = 0; dialect < DIALECTS; dialect++)
            if (blocks.at[i].body[dialect].count &&
                !expand(&blocks.at[i].body[dialect], &blocks.at[i], dialect))
                abort();
    while (piece_count > 0)
        free(pieces[--piece_count]);
    return 0;
}
