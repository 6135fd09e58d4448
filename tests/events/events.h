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

extern const struct plain_case log_cases[], crowd_cases[], kept_cases[], story_cases[],
    failover_cases[], restored_cases[], hints_cases[];

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

/* No number twice, in whatever order they came. */
void expect_distinct(struct test *t, const struct ids *ids);

/* Servers and poolers of a case alone. Runs tests/support/<tool>; its exit status. */
int run_tool(const char *tool, const char *verb, const char *dir, const char *other);
/* Is a submission accepted? While the server is away, or another one, it is refused. */
bool is_served(struct test *t);
#define JUMP INT64_C(4294967296) /* of a log that was restored */

/* So many executions (a multiple of 500) that are cancelled: two events each. */
void given_events(struct test *t, size_t executions);
/* So many executions (a multiple of 256) that fail, with as much to say as an event can hold. */
void given_long_events(struct test *t, size_t executions);
#define LONG_BYTES 4000

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
/* A writer or a reader that takes its time: part of the load, never a way to wait for something. */
void dawdle(long us);

/* What the library has on the heap: now, and at most since then. */
long long heap_peak_begin(void);
long long heap_peak(void);

int child_works(const char *url, int fd);

#endif
