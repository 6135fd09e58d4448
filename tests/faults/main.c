/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- runs the cases of this ring, one after the other.
 *
 * Arguments are parts of names: only cases whose name contains one of them run.
 * Read first: README.md beside it. */
#include "faults.h"
#include "kit/badvfs.h"
#include "kit/pgproxy.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static const struct plain_case *const tables[] = {
    sweep_cases,  storm_cases, alloc_cases,  http_cases,  lock_cases,  cut_cases,
    sqlite_cases, kill_cases,  poison_cases, audit_cases, outage_cases};

static void let_go(struct test *t)
{
    (void)t;
    others_done();
    badvfs_full(false);
    badvfs_fail_sync(0);
    badvfs_fail_write(0);
    badvfs_remember(false);
}

static void stop_proxy(struct test *t)
{
    (void)t;
    proxy_stop();
}

int main(int argc, char **argv)
{
    const struct plain_ring ring = {.name = "faults",
                                    .tables = tables,
                                    .table_count = sizeof tables / sizeof tables[0],
                                    .before = log_catch,
                                    .after = let_go,
                                    .at_last = stop_proxy};

    if (argc == 2 && !strcmp(argv[1], "--failpoints")) {
        failpoints_print();
        return 0;
    }
    if (argc == 5 && !strcmp(argv[1], "--child"))
        return child_main(argv[2], argv[3], (int)strtol(argv[4], NULL, 10));
    return run_cases(&ring, (const char *const *)argv + 1, (size_t)argc - 1);
}
