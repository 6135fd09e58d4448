/* SPDX-License-Identifier: Apache-2.0
 *
 * sometimes.h -- situations that a run of many seeds must have met, or it has tested nothing.
 *
 * A new rare branch of the engine deserves a line here. `sim_sometimes` counts, main.c prints. */
#ifndef SIM_SOMETIMES_H
#define SIM_SOMETIMES_H

// clang-format off
#define SOMETIMES_MAP(X)                                                        \
    X(STALE_COMPLETE_REFUSED,   "stale completion refused")                     \
    X(REVOKED_WORD_REFUSED,     "word under a revoked lease refused")           \
    X(CONTRADICTION_REFUSED,    "contradiction of one's own word refused")      \
    X(REPEAT_ACCEPTED,          "repeat of one's own word answered again")      \
    X(LATE_WORK_ACCEPTED,       "late work accepted, the lease had run out")    \
    X(LATE_RECLAIM_ACCEPTED,    "word under a reclaimable lease accepted")      \
    X(RECLAIMABLE_REVIVED,      "renewal revived a reclaimable lease")          \
    X(TAKE_OVER,                "lapsed work taken over by another worker")     \
    X(RECLAIMED,                "reclaimable work taken over")                  \
    X(LAPSE_BRAKED,             "lapse braked after an outage")                 \
    X(LEASE_LAPSED,             "lease lapsed")                                 \
    X(ATTEMPT_TIMED_OUT,        "attempt took too long")                        \
    X(DEADLINE_PASSED,          "execution deadline passed")                    \
    X(DELAY_ENDED,              "delay ended")                                  \
    X(RETRIES_EXHAUSTED,        "retries exhausted")                            \
    X(CANCEL_OF_RUNNING,        "running work cancelled")                       \
    X(REPLAYED,                 "replayed")                                     \
    X(PURGED,                   "purged by retention")                          \
    X(KEY_WINDOW_OVER,          "key used again after its window")              \
    X(UNDONE,                   "op changed rows and was undone")               \
    X(LANE_PAUSED,              "lane paused")                                  \
    X(DUPLICATE_SUBMIT,         "duplicate submit found")                       \
    X(KEY_REUSED,               "key reused for another request refused")       \
    X(REQUEST_REPEATED,         "claim request repeated, same tasks")           \
    X(REQUEST_OUTLIVED,         "claim request repeated, tasks gone")           \
    X(PARKED_CLAIM_WOKEN,       "parked claim woken")                           \
    X(DISPROVED,                "running execution was not as assumed")         \
    X(FLOW_DISPROVED,           "flow, edge or join was not as assumed")        \
    X(HOP_FORESEEN,             "end and hop in one save without a load")       \
    X(LANE_DISPROVED,           "lane was paused although assumed open")        \
    X(BORN_CLAIMED,             "execution born under the lease of a waiting claim") \
    X(FREED_CLAIMED,            "node freed under the lease of a waiting claim") \
    X(UPSTREAM_REMEMBERED,      "claim told of an upstream that its process remembered") \
    X(CAPSET_LEARNED,           "capability set learned from another process")  \
    X(UNKNOWN_COMMITTED,        "unknown commit that had committed")            \
    X(UNKNOWN_LOST,             "unknown commit that had not")                  \
    X(RESOLVE_WAITED,           "question about a commit waited for its end")   \
    X(OUTCOME_UNKNOWN,          "outcome_unknown answered")                     \
    X(GHOST_COMMITTED,          "transaction committed after its process died") \
    X(GHOST_BEFORE_RESOLVE,     "transaction committed after its link broke")   \
    X(CRASH_AFTER_COMMIT,       "crash between commit and answer")              \
    X(CRASH_IN_TRANSACTION,     "crash inside a transaction")                   \
    X(GRACEFUL_RESTART,         "engine closed with work under way")            \
    X(RERUN,                    "batch run again")                              \
    X(BISECTED,                 "batch halved")                                 \
    X(POISON,                   "poison op answered alone")                     \
    X(KEY_TAKEN_AT_SAVE,        "insert found its key taken: rerun")            \
    X(INSERT_WAITED,            "insert waited for another's key")              \
    X(INSERT_GAVE_UP,           "insert waited for another's key in vain")      \
    X(BUSY_ROW,                 "busy row deferred")                            \
    X(BUSY_TAG,                 "busy row that a scan without lock brought")    \
    X(PATIENT,                  "patient lane used")                            \
    X(PATIENT_GOT_IT,           "patient lane got its lock after waiting")      \
    X(PATIENT_GAVE_UP,          "patient lane waited in vain")                  \
    X(IDLE_TX_ENDED,            "idle transaction ended by the store")          \
    X(EVENTS_OUT_OF_ORDER,      "events committed out of order of their ids")   \
    X(GAVE_UP_YOURS,            "caller gave up, job came back")                \
    X(GAVE_UP_NOT_APPLIED,      "caller gave up, certainly not applied")        \
    X(GAVE_UP_LATE,             "caller gave up too late")                      \
    X(CLOCK_JUMPED_ON,          "store clock jumped on")                        \
    X(CLOCK_JUMPED_BACK,        "store clock jumped back")                      \
    X(SLEPT,                    "process slept")                                \
    X(LONG_OUTAGE,              "store away for longer than a batch may wait")  \
    X(SKIP_CASCADE,             "node skipped")                                 \
    X(SIBLING_CANCEL,           "sibling cancelled")                            \
    X(BORN_RESOLVED,            "flow grew from a member that had ended")       \
    X(GREW_ALIVE,               "flow grew from a member that lived")           \
    X(TOLD_AGAIN,               "flow grew in a call that told old nodes again") \
    X(HOP_RODE,                 "hop went along with the end that made it")     \
    X(HOP_LEFT_BEHIND,          "hop could not go along: somebody held a row")  \
    X(HOP_IN_PAGES,             "hop interrupted between two edges")            \
    X(HOP_LATE,                 "hop found by a reconciler's age")              \
    X(HOP_SUPERSEDED,           "hop superseded")                               \
    X(HOP_POSTPONED,            "hop or drain put off")                         \
    X(DRAIN_IN_PAGES,           "sibling cancel interrupted between two")       \
    X(NODE_REOPENED,            "skipped node reopened")                        \
    X(DOWNSTREAM_REOPENED,      "ended node reopened with its upstream")        \
    X(FLOW_CANCELLED,           "flow cancelled")                               \
    X(LAST_ATTEMPT,             "member of a cancelled flow went on")           \
    X(FLOW_ENDED,               "flow ended")                                   \
    X(FLOW_RAN_AGAIN,           "ended flow ran again")                         \
    X(FLOW_REMOVED,             "flow removed by retention")                    \
    X(EVENT_AWAITED,            "event came before one with a lower id")        \
    X(SUBSCRIBER_MOVED,         "subscriber went on in another process")        \
    X(SUBSCRIBER_CUT_OFF,       "subscriber's process ended")                   \
    X(SUBSCRIBER_DISCONNECTED,  "subscriber heard that the store was away")     \
    X(HEALED,                   "everything finished after healing")
// clang-format on

enum {
#define SOMETIMES_ENUM(name, text) SOMETIMES_##name,
    SOMETIMES_MAP(SOMETIMES_ENUM)
#undef SOMETIMES_ENUM
        SOMETIMES_COUNT
};

#endif
