/* SPDX-License-Identifier: Apache-2.0
 *
 * parse.c -- reads named blocks out of src/store/sql/<noun>.sql.
 *
 * A block is a header of `-- key: value` lines, then its SQL, then maybe overrides. The format is
 * described in src/store/sql/README.md. Tests: tests/unit/test_sqlgen.c. */
#include "sqlgen.h"

#include <ctype.h>
#include <string.h>

/* Where the reader of one file stands. */
struct reader {
    const struct file *file;
    struct blocks *blocks;
    struct block *block; /* NULL before the first name */
    int line;
    bool in_header;
    bool wants_reason; /* an override has just begun */
    int dialect;       /* of the override being read; DIALECTS: the portable text */
    struct buf text[DIALECTS + 1];
    int text_line[DIALECTS + 1];
};

static struct token trim(const char *at, size_t len)
{
    while (len && isspace((unsigned char)at[0])) {
        at++;
        len--;
    }
    while (len && isspace((unsigned char)at[len - 1]))
        len--;
    return (struct token){.text = at, .len = len};
}

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!islower((unsigned char)text[i]) && !(i && isdigit((unsigned char)text[i])) &&
            text[i] != '_')
            return false;
    }
    return len > 0;
}

static bool parse_type(const char *text, size_t len, struct param *ret)
{
    static const struct {
        const char *name;
        enum col_type type;
    } types[] = {{"i16", I16},   {"i32", I32},   {"i64", I64},
                 {"text", TEXT}, {"blob", BLOB}, {"uuid", UUID}};

    if (len && text[len - 1] == '?') {
        ret->nullable = true;
        len--;
    }
    if (len > 2 && !memcmp(text + len - 2, "[]", 2)) {
        ret->array = true;
        len -= 2;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strlen(types[i].name) == len && !memcmp(types[i].name, text, len)) {
            ret->type = types[i].type;
            return !ret->array || ret->type == I64 || ret->type == TEXT || ret->type == UUID;
        }
    }
    return false;
}

/* "name:type name:type ..." appended to `list`. */
static void parse_list(struct reader *reader, struct token text, struct param *list, size_t *count,
                       size_t max)
{
    while (text.len) {
        size_t len = 0, colon;
        struct param param = {0};

        while (len < text.len && !isspace((unsigned char)text.text[len]))
            len++;
        for (colon = 0; colon < len && text.text[colon] != ':'; colon++)
            ;
        if (colon == len || !is_name(text.text, colon) ||
            !parse_type(text.text + colon + 1, len - colon - 1, &param))
            complain(reader->file->path, reader->line, "'%.*s' is not <name>:<type>", (int)len,
                     text.text);
        else if (*count == max)
            complain(reader->file->path, reader->line, "more than %zu entries", max);
        else {
            param.name = xstrndup(text.text, colon);
            for (size_t i = 0; i < *count; i++) {
                if (!strcmp(list[i].name, param.name))
                    complain(reader->file->path, reader->line, "'%s' is declared twice",
                             param.name);
            }
            list[(*count)++] = param;
        }
        text = trim(text.text + len, text.len - len);
    }
}

static void parse_out(struct reader *reader, struct token text)
{
    struct block *block = reader->block;

    if (text.len > 4 && !memcmp(text.text, "row:", 4)) {
        block->out_table = table_find(text.text + 4, text.len - 4);
        if (!block->out_table)
            complain(reader->file->path, reader->line, "no row '%.*s' in rows.def",
                     (int)text.len - 4, text.text + 4);
    } else if (word_is(text.text, text.len, "none")) {
        block->out_none = true;
    } else if (text.len > 5 && !memcmp(text.text, "cells", 5)) {
        parse_list(reader, trim(text.text + 5, text.len - 5), block->cells, &block->cell_count,
                   CELLS_MAX);
    } else {
        complain(reader->file->path, reader->line,
                 "out is 'row:<row>', 'cells <name>:<type> ...' or 'none'");
    }
}

/* Turns the collected texts into tokens: an override replaces the portable text. */
static void end_block(struct reader *reader)
{
    struct block *block = reader->block;
    struct tokens body[DIALECTS + 1] = {0};

    for (int i = 0; block && i <= DIALECTS; i++) {
        if (reader->text[i].len)
            body[i] = lex(block->path, reader->text_line[i], reader->text[i].data);
        if (body[i].count && token_is(&body[i].at[body[i].count - 1], ";"))
            body[i].count--;
    }
    for (int dialect = 0; block && dialect < DIALECTS; dialect++)
        block->body[dialect] = body[body[dialect].count ? dialect : DIALECTS];
    reader->block = NULL;
}

static void begin_block(struct reader *reader, struct token name)
{
    struct blocks *blocks = reader->blocks;

    end_block(reader);
    if (!is_name(name.text, name.len))
        complain(reader->file->path, reader->line, "'%.*s' is not a block name", (int)name.len,
                 name.text);
    for (size_t i = 0; i < blocks->count; i++) {
        if (strlen(blocks->at[i].name) == name.len &&
            !memcmp(blocks->at[i].name, name.text, name.len))
            complain(reader->file->path, reader->line, "block '%.*s' is also at %s:%d",
                     (int)name.len, name.text, blocks->at[i].path, blocks->at[i].line);
    }
    if (blocks->count == BLOCKS_MAX) {
        complain(reader->file->path, reader->line, "more than %d blocks", BLOCKS_MAX);
        return;
    }
    reader->block = &blocks->at[blocks->count++];
    reader->block->name = xstrndup(name.text, name.len);
    reader->block->path = reader->file->path;
    reader->block->line = reader->line;
    reader->block->note = "";
    reader->in_header = true;
    reader->dialect = DIALECTS;
    memset(reader->text, 0, sizeof reader->text);
}

static void add_note(struct block *block, struct token text)
{
    struct buf note = {0};

    buf_adds(&note, block->note);
    if (note.len)
        buf_adds(&note, " ");
    buf_add(&note, text.text, text.len);
    block->note = note.data;
}

/* A line of the header: `key` is what stands before the colon. */
static void header_line(struct reader *reader, struct token key, struct token value)
{
    struct block *block = reader->block;

    if (word_is(key.text, key.len, "in"))
        parse_list(reader, value, block->params, &block->param_count, PARAMS_MAX);
    else if (word_is(key.text, key.len, "out"))
        parse_out(reader, value);
    else if (word_is(key.text, key.len, "note"))
        add_note(block, value);
    else
        complain(reader->file->path, reader->line, "unknown header key '%.*s'", (int)key.len,
                 key.text);
}

static void comment_line(struct reader *reader, struct token text)
{
    size_t colon = 0;

    while (colon < text.len && islower((unsigned char)text.text[colon]))
        colon++;
    const bool has_key = colon && colon < text.len && text.text[colon] == ':';
    const struct token key = {.text = text.text, .len = colon};
    const struct token value =
        has_key ? trim(text.text + colon + 1, text.len - colon - 1) : (struct token){0};

    if (has_key && (word_is(key.text, key.len, "name") || word_is(key.text, key.len, "fragment"))) {
        begin_block(reader, value);
        if (reader->block)
            reader->block->is_fragment = !word_is(key.text, key.len, "name");
        return;
    }
    if (!reader->block)
        return; /* the file's own banner */
    for (int dialect = 0; has_key && dialect < DIALECTS; dialect++) {
        if (word_is(key.text, key.len, dialect == SQLITE ? "sqlite" : "postgres")) {
            reader->dialect = dialect;
            reader->in_header = false;
            reader->wants_reason = true;
            return;
        }
    }
    if (reader->wants_reason) {
        reader->wants_reason = false;
    } else if (reader->in_header) {
        if (word_is(text.text, text.len, "writes"))
            reader->block->writes = true;
        else if (has_key)
            header_line(reader, key, value);
        else if (reader->block->note[0])
            add_note(reader->block, text); /* a note goes on */
    }
}

static void sql_line(struct reader *reader, const char *line, size_t len)
{
    struct buf *text = &reader->text[reader->dialect];

    reader->in_header = false;
    if (reader->wants_reason) {
        complain(reader->file->path, reader->line,
                 "an override starts with a comment that says why");
        reader->wants_reason = false;
    }
    if (!text->len)
        reader->text_line[reader->dialect] = reader->line;
    buf_add(text, line, len);
    buf_add(text, "\n", 1);
}

void parse_blocks(const struct file *file, struct blocks *blocks)
{
    struct reader reader = {.file = file, .blocks = blocks, .dialect = DIALECTS};

    for (const char *at = file->text; *at;) {
        const size_t len = strcspn(at, "\n");
        const struct token text = trim(at, len);

        reader.line++;
        if (text.len >= 2 && !memcmp(text.text, "--", 2))
            comment_line(&reader, trim(text.text + 2, text.len - 2));
        else if (text.len && !reader.block)
            complain(file->path, reader.line, "SQL outside of a block");
        else if (text.len || (reader.block && reader.text[reader.dialect].len))
            sql_line(&reader, at, len);
        at += len + (at[len] == '\n');
    }
    end_block(&reader);
}
