/* SPDX-License-Identifier: Apache-2.0
 *
 * pgproxy.h -- stands between sessions and the server and loses what it is told to lose.
 *
 * For tests/faults only. One at a time; any number of sessions go through it. */
#ifndef FF_TESTS_FAULTS_PGPROXY_H
#define FF_TESTS_FAULTS_PGPROXY_H

#include "faults.h"

/* What happens to every n-th of something; 0: nothing. May be changed while it runs. */
struct proxy_rules {
    unsigned lose_commits; /* the COMMIT never reaches the server, and the link is cut */
    unsigned lose_answers; /* the server commits; its answer is lost and the link cut */
    unsigned cut_messages; /* the link is cut in front of an answer, whatever it is */
    bool silent;           /* nothing passes, in either direction, and nothing is cut */
};
struct proxy_counts {
    unsigned commits, lost_commits, lost_answers, cuts;
};

/* The URL of the test through the proxy. */
const char *proxy_start(struct test *t);
void proxy_rule(const struct proxy_rules *rules);
struct proxy_counts proxy_counts(void);
void proxy_stop(void); /* also after each case */

#endif
