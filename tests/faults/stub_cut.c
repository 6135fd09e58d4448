/* SPDX-License-Identifier: Apache-2.0
 *
 * stub_cut.c -- stub. */
#include "faults.h"
const struct fault_case cut_cases[] = {{0}};
