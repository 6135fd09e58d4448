/* SPDX-License-Identifier: Apache-2.0
 *
 * stub_outage.c -- stub. */
#include "faults.h"
const struct fault_case outage_cases[] = {{0}};
