/* SPDX-License-Identifier: Apache-2.0
 *
 * graphs.h -- what the files of this ring share: the list of cases and the options of a run.
 *
 * For tests/graphs only. Read first: tests/support/cases.h. */
#ifndef FF_TESTS_GRAPHS_H
#define FF_TESTS_GRAPHS_H

#include "support/cases.h"
#include "support/flows.h"

extern const struct plain_case model_cases[], kill_cases[], shape_cases[];

struct graph_options {
    uint64_t seed;  /* of the first graph */
    unsigned count; /* graphs; 0: as many as the case wants */
    int64_t rows;   /* of a page: all plays are timed; 0: the second half is */
    bool loud;      /* says every step */
    uint64_t now;   /* the seed that is being played, */
    int64_t page;   /* in pages of so many rows; 0: of the usual ones, without time */
};
extern struct graph_options graph_options;

/* A worker that is killed one day; the exit status. */
int crowd_child(const char *url, int fd);

#endif
