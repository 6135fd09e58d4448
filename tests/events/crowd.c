/* SPDX-License-Identifier: Apache-2.0
 *
 * crowd.c */
#include "events.h"
const struct plain_case crowd_cases[] = {{0}};
