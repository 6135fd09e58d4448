/* SPDX-License-Identifier: Apache-2.0
 *
 * answers-int.h -- how the tables of answers are written. Only answers.c and answers-flow.c include
 * it. */
#ifndef FF_API_ANSWERS_INT_H
#define FF_API_ANSWERS_INT_H

#include "api/answers.h"
#include "api/json.h"

// clang-format off
#define F(struct_, name_, kind_, field_)                                                           \
    {.name = name_, .kind = FF_FIELD_##kind_, .offset = offsetof(struct struct_, field_)}
#define CHARS(struct_, name_, field_)                                                              \
    {.name = name_, .kind = FF_FIELD_CHARS, .offset = offsetof(struct struct_, field_),            \
     .max = sizeof(((struct struct_ *)0)->field_)}
#define LIST(struct_, name_, kind_, field_, count_)                                                \
    {.name = name_, .kind = FF_FIELD_##kind_, .offset = offsetof(struct struct_, field_),          \
     .more = offsetof(struct struct_, count_), .max = SIZE_MAX}
#define OBJECTS(struct_, name_, field_, count_, shape_)                                            \
    {.name = name_, .kind = FF_FIELD_OBJECTS, .offset = offsetof(struct struct_, field_),          \
     .more = offsetof(struct struct_, count_), .max = SIZE_MAX, .shape = &(shape_)}
/* Members of an object inside that belong to the struct around it. */
#define FLAT(name_, shape_) {.name = name_, .kind = FF_FIELD_OBJECT, .shape = &(shape_)}
#define INSIDE(NAME, struct_, ...)                                                                 \
    static const struct ff_shape NAME = FF_SHAPE(NULL, struct struct_, NAME##_fields, __VA_ARGS__)
/* A member that finish() reads. */
#define SEEN(name_, help_) {.name = name_, .kind = FF_FIELD_SEEN, .help = help_}
// clang-format on

#endif
