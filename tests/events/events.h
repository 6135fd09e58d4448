/* SPDX-License-Identifier: Apache-2.0
 *
 * events.h -- what the files of this ring share. Read first: README.md. */
#ifndef FF_TESTS_EVENTS_EVENTS_H
#define FF_TESTS_EVENTS_EVENTS_H

#include "base/macros.h"
#include "support/cases.h"
#include "support/follows.h"
#include "support/others.h"

#include <stdatomic.h>

extern const struct plain_case log_cases[], crowd_cases[], failover_cases[];

/* A list of event ids that grows. */
struct ids {
    int64_t *items;
    size_t count, cap;
};
struct ids *ids_new(struct test *t); /* ends with the test */
void ids_add(struct ids *ids, int64_t id);
/* The first cells of all rows. `@` stands for the schema. */
void ids_read(struct test *t, struct other *other, const char *sql, struct ids *ret);
/* The same numbers in the same order; says which is missing or too many. */
#define EXPECT_IDS(t, want, got) expect_ids((t), __FILE__, __LINE__, (want), (got))
void expect_ids(struct test *t, const char *file, int line, const struct ids *want,
                const struct ids *got);

/* Takes everything that comes until it stands at `end` (a cursor); notices are counted. */
struct tally {
    struct ids *ids;
    int disconnected, resets, gaps;
    char cursor[FF_CURSOR_BYTES];
};
void take_until(struct test *t, struct ff_subscription *sub, struct tally *tally, const char *end);
/* One delivery; false: nothing came in time. */
bool take_once(struct test *t, struct ff_subscription *sub, size_t max, int64_t timeout_ms,
               struct tally *tally);

/* xorshift; the same every time. */
uint32_t chance(uint64_t *seed, uint32_t below);
void pause_us(long us);

int child_works(const char *url, int fd);

#endif
