/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- sqlgen: named SQL blocks and migrations in, C out.
 *
 * Usage: sqlgen STORE_DIR OUT_DIR, where STORE_DIR holds sql/ and migrations/. Exit 0: the three
 * files are up to date; 1: something was refused, one `file:line: why` each, and nothing written.
 * Read first: README.md beside it. Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <stdio.h>

static char *join(const char *dir, const char *name)
{
    struct buf path = {0};

    buf_adds(&path, dir);
    buf_adds(&path, "/");
    buf_adds(&path, name);
    return path.data;
}

static void read_blocks(const char *dir, struct blocks *blocks)
{
    char **paths;
    const size_t count = file_list(dir, ".sql", &paths);

    blocks->at = xalloc(BLOCKS_MAX * sizeof *blocks->at);
    for (size_t i = 0; i < count; i++) {
        struct file file;

        if (!file_read(paths[i], &file))
            complain(paths[i], 1, "cannot be read");
        else
            parse_blocks(&file, blocks);
    }
    if (!blocks->count)
        complain(dir, 1, "holds no block");
    share_fragments(blocks);
    check_blocks(blocks);
    for (size_t i = 0; i < blocks->count; i++) {
        struct block *block = &blocks->at[i];

        for (int dialect = 0; dialect < DIALECTS; dialect++) {
            if (block->body[dialect].count)
                block->text[dialect] = expand(&block->body[dialect], block, dialect);
        }
    }
}

int main(int argc, char **argv)
{
    struct blocks blocks = {0};
    struct migrations migrations = {0};
    struct buf ids = {0}, header = {0}, source = {0};

    if (argc != 3) {
        fprintf(stderr, "usage: sqlgen STORE_DIR OUT_DIR\n");
        return 2;
    }
    read_blocks(join(argv[1], "sql"), &blocks);
    parse_migrations(join(argv[1], "migrations"), &migrations);
    if (!migrations.count && !complaints())
        complain(join(argv[1], "migrations"), 1, "holds no migration");
    if (complaints())
        return 1;
    emit_ids(&ids, &blocks);
    emit_header(&header);
    emit_source(&source, &blocks, &migrations);
    if (!file_write(join(argv[2], "sql_ids.h"), &ids) ||
        !file_write(join(argv[2], "sql_gen.h"), &header) ||
        !file_write(join(argv[2], "sql_gen.c"), &source)) {
        fprintf(stderr, "sqlgen: cannot write into '%s'\n", argv[2]);
        return 1;
    }
    return 0;
}
