/* SPDX-License-Identifier: Apache-2.0
 *
 * fields.h -- which members a JSON object may have: one table, read strictly and described.
 *
 * The table of an object (its shape) makes both the reader, which refuses by name whatever is not
 * in it, and the object's schema in /openapi.json. A member that is null counts as absent.
 * Tests: tests/unit/test_json.c. */
#ifndef FF_API_FIELDS_H
#define FF_API_FIELDS_H

#include "base/arena.h"

#include <flowfabric.h>
#include <jansson.h>

/* What a member holds, and what the reader writes for it. */
typedef enum ff_field_kind {
    FF_FIELD_TEXT,    /* const char * */
    FF_FIELD_CHARS,   /* char[max] */
    FF_FIELD_I64,     /* int64_t */
    FF_FIELD_I32,     /* int32_t */
    FF_FIELD_BOOL,    /* bool */
    FF_FIELD_REAL,    /* double */
    FF_FIELD_VALUE,   /* struct ff_str: any JSON value, as text */
    FF_FIELD_BASE64,  /* struct ff_str: bytes */
    FF_FIELD_TEXTS,   /* const char *const * and, at `more`, size_t */
    FF_FIELD_TAGS,    /* const struct ff_tag_pair * and, at `more`, size_t */
    FF_FIELD_OBJECT,  /* a struct of `shape` at `offset` */
    FF_FIELD_POINTER, /* const <struct of shape> *, NULL: absent */
    FF_FIELD_OBJECTS, /* an array of `shape` and, at `more`, size_t */
    FF_FIELD_ITEMS,   /* const json_t *, an array: each item is read (and may fail) by itself */
    FF_FIELD_SEEN,    /* nothing: finish() reads it, and here it is only described */
    FF_FIELD_KIND_COUNT
} ff_field_kind;

struct ff_shape;

struct ff_field {
    const char *name;
    ff_field_kind kind;
    size_t offset; /* of the field in the struct */
    size_t more;   /* of its count */
    bool required;
    size_t max;            /* of items or tags */
    const char *standard;  /* its value when it is absent, as JSON; of an object: what of that is
                            * not the standard of its members. NULL: none, or not that simple */
    const char *beside;    /* the standard is only there beside this member; NULL: always ... */
    const char *beside_is; /* ... and if that is one of "a|b"; NULL: whatever it is */
    const char *choices;   /* "a|b": nothing else; NULL: anything */
    const struct ff_shape *shape;
    const char *help;
};

struct ff_reader;

struct ff_shape {
    const char *name; /* of its schema */
    const struct ff_field *fields;
    size_t count;
    size_t bytes;            /* of the struct */
    void (*init)(void *out); /* NULL: zeroes */
    /* What one member alone does not tell; NULL: nothing. */
    ff_status (*finish)(const struct ff_reader *reader, const json_t *json, void *out);
};

/* Where we are: who reads what, so that an error can name it. */
struct ff_reader {
    struct ff_arena *arena;
    const struct ff_reader *outer; /* NULL: the outermost object */
    const char *name;              /* of this object in the outer one; NULL: none */
    size_t index;                  /* in an array; SIZE_MAX: not in one */
    struct ff_error *reterr;
    bool lenient; /* passes over members that are not in the table */
};

/* Texts and arrays of the result live in `arena`. FF_UNKNOWN_FIELD, FF_INVALID and FF_TOO_LARGE
 * name the field by its path; `name` is that of the object itself, or NULL. */
FF_MUST_CHECK ff_status ff_shape_read(const struct ff_shape *shape, const json_t *json,
                                      const char *name, struct ff_arena *arena, void *out,
                                      struct ff_error *reterr);

/* The same for what a server answers: a newer one may say more than we know. */
FF_MUST_CHECK ff_status ff_shape_take(const struct ff_shape *shape, const json_t *json,
                                      struct ff_arena *arena, void *out, struct ff_error *reterr);

/* For finish(): FF_INVALID, "<path> must be <what>". */
ff_status ff_reader_wrong(const struct ff_reader *reader, const char *name, const char *what);
bool ff_reader_has(const json_t *json, const char *name);
/* Whether `text` is one of "a|b". */
bool ff_field_is_choice(const char *choices, const char *text);
/* <name>, or <name>_base64 with <name>_content_type: not both, no type without bytes. */
FF_MUST_CHECK ff_status ff_reader_bytes(const struct ff_reader *reader, const json_t *json,
                                        const char *name, const char **content_type);

/* What bytes are that nobody says more about. */
#define FF_BYTES_TYPE "application/octet-stream"

#define FF_SHAPE(name_, type, fields_, ...)                                                        \
    {                                                                                              \
        .name = name_, .fields = fields_, .count = sizeof(fields_) / sizeof((fields_)[0]),         \
        .bytes = sizeof(type), __VA_ARGS__                                                         \
    }

/* --- the shapes (json-read.c) ---------------------------------------------------------------- */

extern const struct ff_shape ff_shape_submission, ff_shape_policy;
/* Into struct ff_flow_request; a growth has no head. */
extern const struct ff_shape ff_shape_flow, ff_shape_growth;
extern const struct ff_shape ff_shape_flow_cancel; /* struct ff_json_flow_cancel */

#endif
