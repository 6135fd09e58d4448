/* SPDX-License-Identifier: Apache-2.0
 *
 * stub_x.c -- stub. */
#include "faults.h"
const struct fault_case sqlite_cases[] = {{0}};
const struct fault_case kill_cases[] = {{0}};
int child_main(const char *role, const char *url, int fd)
{
    (void)role;
    (void)url;
    (void)fd;
    return 1;
}
