/* SPDX-License-Identifier: Apache-2.0
 *
 * stub_lock.c -- stub. */
#include "faults.h"
const struct fault_case lock_cases[] = {{0}};
