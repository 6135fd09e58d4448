/* SPDX-License-Identifier: Apache-2.0
 *
 * client.h -- opening and closing a store or a server; what all answers share.
 *
 * ff_open("sqlite:work.db" | "sqlite::memory:" | "postgres://...") runs the whole engine inside
 * this process: executors, timers, scanners. ff_open("http://host:port" | "https://...") gives the
 * same calls through a server; those that need the store itself answer FF_UNSUPPORTED. Any number
 * of threads may use one client; any number of processes may open one store. A client must not be
 * used after fork(). */
#ifndef FLOWFABRIC_CLIENT_H
#define FLOWFABRIC_CLIENT_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ff_client;

/* Zero-initialise and set `size`; zero means the default everywhere. */
struct ff_options {
    size_t size;          /* sizeof(struct ff_options) */
    bool migrate;         /* bring an older schema up to date */
    bool must_exist;      /* do not create a SQLite file, or a schema on Postgres */
    bool passive;         /* no timers, no scanners: tools that look, change something and leave */
    int32_t executors;    /* 1 on SQLite, 2 on Postgres */
    int64_t timeout_ms;   /* of every blocking call; 30,000 */
    int64_t retention_ms; /* finished executions are kept this long; 7 days */
    const char *instance_tag;   /* the tag that becomes the instance tag of events; "instance" */
    const char *event_renewals; /* "sampled" (default), "all", "none" */
    const char *scan_ns;        /* restrict timers and scanners to one namespace ... */
    const char *scan_instance;  /* ... and to one instance tag */
    const char *token;          /* of a server; default: FF_TOKEN of the environment */
    int64_t event_retention_ms; /* events are kept this long; 7 days */
    int64_t event_count_max;    /* and about so many of them; no limit */
    int64_t input_bytes_max;    /* of an input; 1 MiB, at most 8 MiB */
    int64_t result_bytes_max;   /* of a result; the same */
    int64_t flow_nodes_max;     /* of one call; 10,000, at most 20,000 */
    int64_t flow_edges_max;     /* of one call; 50,000, at most 100,000 */
    /* Inputs and results said to be JSON are not looked at: for who makes them with a library. One
     * that is not JSON after all comes back from a server as base64. */
    bool trusts_json;
};

FF_API FF_MUST_CHECK ff_status ff_open(const char *url, const struct ff_options *options,
                                       struct ff_client **ret_client, struct ff_error *reterr);
/* Waits up to grace_ms for what is under way. Returns how many loops did not end in time, and for a
 * passive client also how many steps of its flows are left to others; NULL is allowed. Leases stay
 * valid. Calls of other threads that have begun return first, with their answer or FF_CLOSED; none
 * may begin once this has been called: the client is gone when it returns. */
FF_API size_t ff_close(struct ff_client *client, int64_t grace_ms);

/* Brings the schema up to date, or with dry_run only says what would be done. */
FF_API FF_MUST_CHECK ff_status ff_migrate(const char *url, bool dry_run, int32_t *ret_from,
                                          int32_t *ret_to, struct ff_error *reterr);

/* The store has been restored from an older copy (a SQLite file that was copied back, a snapshot of
 * a disk): events that its readers have seen may be gone from it, so ids jump, and followers hear
 * of it. Postgres after a failover or from a dump notices by itself. */
FF_API FF_MUST_CHECK ff_status ff_restored(const char *url, struct ff_error *reterr);

/* Every answer that holds memory begins with this and is freed by ff_answer_free(&answer). */
struct ff_memory;
FF_API void ff_answer_free(void *answer);

#define FF_ABSENT_MS    INT64_MIN /* a time or duration that is not given */
#define FF_ID_BYTES     48        /* a canonical id, {fp:N}:<uuid>, with its NUL */
#define FF_UUID_BYTES   37
#define FF_CURSOR_BYTES 96

#ifdef __cplusplus
}
#endif

#endif
