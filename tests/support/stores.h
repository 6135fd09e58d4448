/* SPDX-License-Identifier: Apache-2.0
 *
 * stores.h -- the stores every test runs on: SQLite in memory, a SQLite file, Postgres, a server.
 *
 * Every test has a store of its own: a memory store by name, a file, a schema. Postgres comes from
 * FF_TEST_PG; without it tests on Postgres fail, they are never skipped. */
#ifndef FF_TESTS_SUPPORT_STORES_H
#define FF_TESTS_SUPPORT_STORES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum test_store_kind {
    TEST_STORE_MEMORY,
    TEST_STORE_FILE,
    TEST_STORE_POSTGRES,
    TEST_STORE_HTTP, /* a server of this process over a store in memory */
    TEST_STORE_KINDS
} test_store_kind;

struct test_store {
    test_store_kind kind;
    char url[1024];           /* what ff_open takes */
    char below[1024];         /* HTTP: the same of the store behind the server */
    char path[512];           /* of the file, or the name of the memory store */
    char schema[64];          /* Postgres */
    struct ff_client *served; /* HTTP: the engine behind the server */
    struct ff_server *server;
};

const char *test_store_name(test_store_kind kind); /* "memory", "file", "postgres", "http" */

/* A fresh, empty store. False: `why` says what is missing. */
bool test_store_new(test_store_kind kind, struct test_store *ret, char *why, size_t why_bytes);
/* Removes its file. Schemas stay: the server they are in is thrown away. */
void test_store_remove(const struct test_store *store);
/* The same, but the schema of a test that passed is emptied and used again by the next one. All
 * clients must be closed. */
void test_store_done(struct test_store *store, bool passed);
/* How many rows there are: "ff_outbox WHERE dispatched_at_ms IS NULL". Files and Postgres. -1: no
 * answer. */
long test_store_rows(const struct test_store *store, const char *what);
bool test_store_is_memory(const struct test_store *store);

/* Writes into the ledger of migrations what a binary of the future would: the schema has moved on,
 * and `fits` says whether this binary may still use it. Beside emptying a schema the only place
 * where tests write SQL, since no public call can make a store newer than its library. */
bool test_store_from_the_future(const struct test_store *store, bool fits);

/* Removes the temporary directory, if this process made one. */
void test_stores_done(void);

#endif
