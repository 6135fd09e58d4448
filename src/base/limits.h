/* SPDX-License-Identifier: Apache-2.0
 *
 * limits.h -- every maximum of the engine, each with its reason.
 *
 * All lengths stay below what either store rejects (an indexed Postgres text is limited to about
 * 2,700 bytes; we index nothing above 512). Tests: tests/conformance. */
#ifndef FF_BASE_LIMITS_H
#define FF_BASE_LIMITS_H

/* Inputs of one execution (contract of the HTTP API). */
#define FF_LANE_BYTES_MAX           64 /* printable ASCII; leads the claim index */
#define FF_NAMESPACE_BYTES_MAX      128
#define FF_KIND_BYTES_MAX           128
#define FF_NODE_BYTES_MAX           128
#define FF_KEY_BYTES_MAX            255 /* idempotency keys, as the header draft allows */
#define FF_WORKER_ID_BYTES_MAX      256
#define FF_REQUEST_ID_BYTES_MAX     64
#define FF_CONTENT_TYPE_BYTES_MAX   255
#define FF_INPUT_BYTES_MAX          (1 << 20) /* may be raised up to FF_PAYLOAD_BYTES_CEILING */
#define FF_RESULT_BYTES_MAX         (1 << 20)
#define FF_PAYLOAD_BYTES_CEILING    (8 << 20)
#define FF_PAYLOAD_INLINE_BYTES_MAX 1024 /* larger values live in ff_payload */
#define FF_MESSAGE_BYTES_MAX        4096
#define FF_REASON_BYTES_MAX         1024
#define FF_TAGS_MAX                 32
#define FF_TAG_NAME_BYTES_MAX       64
#define FF_TAG_VALUE_BYTES_MAX      256
#define FF_CAPABILITIES_MAX         64
#define FF_CAPABILITY_BYTES_MAX     64
#define FF_NAMES_SEPARATOR          '\n'  /* in a column with many names: no name may hold it */
#define FF_CAPSETS_MAX              10000 /* different sets in a store: all are kept in memory */
#define FF_LANES_PER_CLAIM_MAX      64
#define FF_KINDS_PER_CLAIM_MAX      64
#define FF_PRIORITY_MAX             9000
#define FF_LEASE_TTL_MS_MIN         100
#define FF_LEASE_TTL_MS_MAX         3600000
#define FF_LEASE_TTL_MS_DEFAULT     30000
#define FF_WAIT_MS_MAX              60000
#define FF_DURATION_MS_MAX          INT64_C(315360000000)    /* ten years: sums never overflow */
#define FF_TIME_MS_MAX              INT64_C(253402300799999) /* end of the year 9999 */
#define FF_RETRIES_MAX              1000000
#define FF_JSON_DEPTH_MAX           64

/* Sizes of one call. */
#define FF_SUBMIT_MAX           1000
#define FF_TASKS_MAX            256
#define FF_CLAIM_BYTES_MAX      (8 << 20)
#define FF_LIST_MAX             1000
#define FF_LIST_DEFAULT         50
#define FF_FILTER_MAX           10000 /* cancel and replay by filter */
#define FF_FINDINGS_MAX         100   /* of one check of an audit, and that there are more */
#define FF_FLOW_NODES_MAX       10000
#define FF_FLOW_EDGES_MAX       50000
#define FF_FLOW_NODES_CEILING   20000 /* the two may be raised so far */
#define FF_FLOW_EDGES_CEILING   100000
#define FF_FLOW_INPUT_BYTES_MAX (40 << 20) /* all of one call; with its nodes it fits the queue */

/* Batches and queue. */
#define FF_BATCH_OPS_MAX   512
#define FF_BATCH_ROWS_MAX  4000
#define FF_BATCH_BYTES_MAX (8 << 20)
#define FF_QUEUE_OPS_MAX   10000
#define FF_QUEUE_BYTES_MAX (64 << 20)
#define FF_GATHER_US       100  /* callers just answered may come back together within this */
#define FF_LOOK_LATER_MS   5    /* a claim that would find nothing looks so much later */
#define FF_HELP_OPS        32   /* so many wait: a second executor helps the first ... */
#define FF_HELP_US         5000 /* ... or one of them for so long */
#define FF_CALL_NEAR_MS    1000 /* the time in an id is believed if it is so near; see birth.c */
#define FF_SHARE_WEIGHT    8    /* so many rows of claims and submits are worth a helper */
#define FF_SHARE_OPS       256  /* of a large call, at a time, by those who also serve others ... */
#define FF_SHARE_BYTES     (1 << 20) /* ... or so much */
#define FF_BUSY_ROUNDS_MAX 3         /* then the op moves to the patient lane */
#define FF_BUSY_MS_MAX     50
#define FF_SAVE_LOCK_MS    100     /* a batch waits this long for a key somebody is inserting */
#define FF_PATIENT_MS_MAX  500     /* lock_timeout of a caller's op in the patient lane */
#define FF_PATIENT_LAST_MS 250     /* with less time left it is answered `busy` */
#define FF_PATIENT_BG_MS   100     /* the same for background ops ... */
#define FF_PATIENT_BG_MAX  5       /* ... which are told to come again after so many times */
#define FF_RERUNS_MAX      3       /* without progress, then the batch is bisected */
#define FF_UNKNOWN_MS_MAX  600000  /* after this a batch is never applied again */
#define FF_BATCH_KEEP_MS   3600000 /* markers are pruned after an hour */
#define FF_ARENA_BYTES_MAX (256 << 20)

/* Timers and loops. */
#define FF_TIMER_SCAN_ROWS      1000
#define FF_RETENTION_SCAN_ROWS  500
#define FF_BRAKE_MS_MAX         30000
#define FF_CLOCK_JUMP_MS        5000
#define FF_CONTACT_GAP_MS       2000 /* a pulse was missed: contact is broken */
#define FF_CONTACT_SHORT_GAP_MS 500  /* the same for leases shorter than that, see the pulse */
#define FF_CONTACT_WRITE_MS     10000

/* The cascade. */
#define FF_UPSTREAM_HANDED_BYTES                                                                   \
    16384                          /* a result that goes from batch to task; larger ones are read */
#define FF_HOP_EDGES_MAX      1000 /* of one transaction: bounds how long a flow's row is held */
#define FF_HOP_EDGES_FIRST    16   /* looked at first: most hops have fewer, and share a batch */
#define FF_HOP_EDGES_KNOWN    128  /* of one member, kept in memory: beyond that its hop looks */
#define FF_DRAIN_ROWS         200  /* executions cancelled by one transaction */
#define FF_FIND_ROWS          1000
#define FF_HOP_TRIES_STUCK    10 /* then it is shown as stuck; it is never dropped */
#define FF_HOP_BACKOFF_MS     1000
#define FF_HOP_BACKOFF_MS_MAX 300000
#define FF_HOPS_IN_FLIGHT     4096 /* known to this process; more are found by looking */
#define FF_HOPS_HELD          2048 /* of these, that wait for somebody else's row */
#define FF_RECONCILE_AGE_MS   15000
#define FF_DRAIN_AGE_MS       10000

/* The event log. */
#define FF_EVENT_PAGE        256
#define FF_FOLLOW_EVENTS_MAX 1024      /* that wait for one follower */
#define FF_FOLLOW_BYTES_MAX  (1 << 20) /* the same, but for the last event */
#define FF_FOLLOW_SLOW_MS    60000     /* with a full buffer; then it is emptied, with a notice */
#define FF_LOG_JUMP          INT64_C(4294967296) /* over ids that a lost copy may have given out */

#define FF_PARTITIONS 256

#endif
