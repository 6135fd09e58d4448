/* SPDX-License-Identifier: Apache-2.0
 *
 * calls.h -- public calls that no scenario makes, for alloc.c. */
#ifndef FF_TESTS_FAULTS_CALLS_H
#define FF_TESTS_FAULTS_CALLS_H

#include "faults.h"

/* A server of this process over t->client, and one who calls it. */
struct served {
    struct ff_server *server;
    struct ff_client *client;
    const char *url;
};
void serve(struct test *t, struct served *ret);
void serve_no_more(struct test *t, struct served *served);

/* A page of the log, and the same followed. */
ff_status follow_log(struct test *t);

/* Makes each of them with its n-th request for memory refused, for every n, on t->client or, if it
 * is not NULL, through a server. Adds what was refused. */
void sweep_calls(struct test *t, const struct served *served, size_t *sites);
/* The same for the worker runtime, whose threads come and go: on t->client. */
void sweep_worker(struct test *t, size_t *sites);

#endif
