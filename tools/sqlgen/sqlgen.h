/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlgen.h -- the parts of the SQL build tool.
 *
 * For tools/sqlgen only. The process lives for one run: memory is never given back, errors are
 * printed as they are found and counted, and nothing is written unless there were none.
 * Read first: README.md beside it. Tests: tests/unit/test_sqlgen.c. */
#ifndef FF_SQLGEN_H
#define FF_SQLGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SQLITE, POSTGRES, DIALECTS };

/* SQLite: rows per statement where there are that many to insert. Other numbers were not tried. */
#define MANY_ROWS 8

/* --- util.c --- */

void *xalloc(size_t bytes); /* zeroed; ends the process rather than fail */
char *xstrndup(const char *text, size_t len);

struct buf {
    char *data;
    size_t len, cap;
};
void buf_add(struct buf *out, const char *text, size_t len);
void buf_adds(struct buf *out, const char *text);
void buf_addf(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct file {
    const char *path;
    char *text; /* NUL-terminated */
    size_t len;
};
bool file_read(const char *path, struct file *ret);
/* Leaves a file alone that already says this, so that nothing is rebuilt for nothing. */
bool file_write(const char *path, const struct buf *text);
/* The paths in `dir` that end in `ending`, sorted. */
size_t file_list(const char *dir, const char *ending, char ***ret_paths);

void complain(const char *path, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int complaints(void);

bool word_is(const char *word, size_t len, const char *what); /* ignoring case */

/* --- schema.c: rows.def, states.def and events.def as data --- */

enum col_type { I16, I32, I64, UUID, TEXT, BLOB };
enum col_class { KEY, ONCE, HOT, STAMP, WARM };
enum nullness { REQ, OPT, ZERO, NONE };
enum scope { GLOBAL, EXECUTION };
enum flavour { KEYED, INSERT_ONLY, LOG };

struct column {
    const char *name;
    enum col_type type;
    enum col_class cls;
    enum nullness nullness;
};
struct table {
    const char *NAME, *row, *sql;
    enum scope scope;
    enum flavour flavour;
    const struct column *cols;
    size_t col_count;
};
extern const struct table tables[];
extern const size_t table_count;
const struct table *table_find(const char *row, size_t len);

enum dimension {
    LIFECYCLE,
    OWNERSHIP,
    ELIGIBILITY,
    ATTEMPT,
    OUTCOME,
    BLOCKING,
    PUBLIC,
    DIMENSIONS
};
struct state {
    const char *name;
    int code;
    const char *says[DIMENSIONS];
};
extern const struct state states[];
extern const size_t state_count;
bool state_is_claimable(const struct state *state);

struct event {
    const char *kind, *type;
    int kind_code, type_code;
};
extern const struct event events[];
extern const size_t event_count;

const char *pg_type(enum col_type type); /* "int8" */

/* --- lex.c --- */

enum token_kind { WORD, NUMBER, STRING, PARAM, FRAGMENT, PUNCT };
enum gap { GAP_NONE, GAP_SPACE, GAP_LINE };
struct token {
    enum token_kind kind;
    enum gap gap;     /* what stood before it */
    const char *text; /* of a PARAM without the colon, of a FRAGMENT without the braces */
    size_t len;
    int line;
};
struct tokens {
    struct token *at;
    size_t count;
    const char *path;
};
/* Comments are dropped. `line` is where the text starts in its file. */
struct tokens lex(const char *path, int line, const char *text);
bool token_is(const struct token *token, const char *word);

/* --- parse.c --- */

enum { PARAMS_MAX = 24, CELLS_MAX = 24, BLOCKS_MAX = 512, MIGRATIONS_MAX = 256 };

struct param {
    const char *name;
    enum col_type type;
    bool array, nullable;
};
struct block {
    const char *name, *path, *note;
    int line;
    struct param params[PARAMS_MAX];
    size_t param_count;
    const struct table *out_table; /* or cells */
    struct param cells[CELLS_MAX];
    size_t cell_count;
    bool out_none, writes, locks;
    bool is_fragment, is_used;    /* no block of its own: its text stands in others */
    struct tokens body[DIALECTS]; /* both the same unless overridden; count 0: not for this one */
    char *text[DIALECTS];         /* NULL: not for this dialect */
};
struct blocks {
    struct block *at;
    size_t count;
};
void parse_blocks(const struct file *file, struct blocks *blocks);

struct migration {
    int version, oldest_binary;
    const char *name, *path;
    char checksum[65];
    char *text[DIALECTS];
};
struct migrations {
    struct migration *at;
    size_t count;
};
void parse_migrations(const char *dir, struct migrations *migrations);

/* --- share.c --- */

/* Puts the texts of fragments where blocks name them; only blocks are left. */
void share_fragments(struct blocks *blocks);

/* --- expand.c --- */

/* The tokens as one text for a dialect. `block` is NULL for a migration: no parameters there. */
char *expand(const struct tokens *tokens, const struct block *block, int dialect);
int param_index(const struct block *block, const char *name, size_t len);

/* --- check.c --- */

void check_blocks(const struct blocks *blocks);
void check_states(const struct tokens *tokens);

/* --- tables.c --- */

void emit_tables(struct buf *out);

/* --- emit.c --- */

void emit_ids(struct buf *out, const struct blocks *blocks);
void emit_header(struct buf *out);
void emit_source(struct buf *out, const struct blocks *blocks, const struct migrations *migrations);
void emit_string(struct buf *out, const char *text); /* as a C literal; NULL for none */

#endif
