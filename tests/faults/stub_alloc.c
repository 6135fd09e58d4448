/* SPDX-License-Identifier: Apache-2.0
 *
 * stub_alloc.c -- stub. */
#include "faults.h"
const struct fault_case alloc_cases[] = {{0}};
