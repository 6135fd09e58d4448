/* SPDX-License-Identifier: Apache-2.0
 *
 * help.h -- help, manual page and completion, all from the table in options.c.
 *
 * Tests: tests/unit/test_cli.c. */
#ifndef FF_CLI_HELP_H
#define FF_CLI_HELP_H

#include <stdio.h>

struct ff_verb;

/* Of one verb; else one line each of the verbs that begin with `noun`, NULL: of all. */
void ff_help_print(FILE *out, const struct ff_verb *verb, const char *noun);
/* docs/man/ff.1 */
void ff_help_man(FILE *out);
void ff_help_completion(FILE *out);

#endif
