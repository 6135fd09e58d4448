/* SPDX-License-Identifier: Apache-2.0
 *
 * write.h -- JSON of requests: what is absent is left out, what is no UTF-8 is refused by name.
 *
 * Private to src/remote. */
#ifndef FF_REMOTE_WRITE_H
#define FF_REMOTE_WRITE_H

#include "api/json.h"

struct ff_writing {
    struct ff_json_maker made;
    char bad_field[96]; /* the first that cannot be said; empty: none */
};

/* NULL and FF_ABSENT_MS are absent. */
void ff_write_text(struct ff_writing *out, const char *name, const char *text);
void ff_write_i64(struct ff_writing *out, const char *name, int64_t value);
void ff_write_bytes(struct ff_writing *out, const char *name, struct ff_str bytes,
                    const char *content_type);
void ff_write_texts(struct ff_writing *out, const char *name, const char *const *texts,
                    size_t count);
FF_MUST_CHECK ff_status ff_write_tags(struct ff_writing *out, const struct ff_tag_pair *tags,
                                      size_t count, struct ff_error *reterr);
FF_MUST_CHECK ff_status ff_write_submission(struct ff_writing *out,
                                            const struct ff_submission *given,
                                            struct ff_error *reterr);
/* Tags that an object of JSON can hold; may_remove: values may be absent. */
FF_MUST_CHECK ff_status ff_write_check_tags(const struct ff_tag_pair *tags, size_t count,
                                            bool may_remove, struct ff_error *reterr);
/* The object, or why there is none; either way nothing is left in `out`. */
FF_MUST_CHECK ff_status ff_written(struct ff_writing *out, json_t **ret, struct ff_error *reterr);

#endif
