/* SPDX-License-Identifier: Apache-2.0
 *
 * stub_sqlite.c -- stub. */
#include "faults.h"
const struct fault_case sqlite_cases[] = {{0}};
