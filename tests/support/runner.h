/* SPDX-License-Identifier: Apache-2.0
 *
 * runner.h -- the one list of cases of a ring, and how they are run on every store.
 *
 * FF_CONFORMANCE(area, name) { ... } defines a case and puts it on the list; `area` is the name of
 * its file. FF_CONFORMANCE_SLOW is the same for a case that waits for timers: those start first, so
 * that their waiting overlaps. Inside, `t` is the test. After each case ff_fsck must find nothing.
 * Read first: tests/support/README.md. */
#ifndef FF_TESTS_SUPPORT_RUNNER_H
#define FF_TESTS_SUPPORT_RUNNER_H

#include "support/test.h"

struct test_case {
    const char *area, *name;
    void (*run)(struct test *t);
    bool slow;
    struct test_case *next;
};

void test_register(struct test_case *test_case);

#define TEST_CASE_(area_, name_, slow_)                                                            \
    static void case_##area_##_##name_(struct test *t);                                            \
    __attribute__((constructor)) static void register_##area_##_##name_(void)                      \
    {                                                                                              \
        static struct test_case entry = {                                                          \
            .area = #area_, .name = #name_, .run = case_##area_##_##name_, .slow = (slow_)};       \
                                                                                                   \
        test_register(&entry);                                                                     \
    }                                                                                              \
    static void case_##area_##_##name_(struct test *t)

#define FF_CONFORMANCE(area, name)      TEST_CASE_(area, name, false)
#define FF_CONFORMANCE_SLOW(area, name) TEST_CASE_(area, name, true)

/* Options: --only PATTERN (part of "store/area/name"), --store NAME, --list, --jobs N, --times.
 * Prints one line per case and `ring <name>: N passed, N failed` as the last; the exit status. */
int test_main(const char *ring, int argc, char **argv);

#endif
