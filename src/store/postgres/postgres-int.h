/* SPDX-License-Identifier: Apache-2.0
 *
 * postgres-int.h -- what the files of the Postgres store share.
 *
 * For src/store/postgres and its tests only.
 * Read first: README.md beside it. Tests: tests/unit/test_postgres_codec.c, tests/store. */
#ifndef FF_STORE_POSTGRES_INT_H
#define FF_STORE_POSTGRES_INT_H

#include "base/arena.h"
#include "base/clock.h"
#include "model/rows.h"
#include "model/value.h"
#include "store/sql.h"
#include "store/store.h"

#include <libpq-fe.h>
#include <pthread.h>

/* --- codec.c: values in Postgres' binary formats; pure --- */

#define FF_PG_PARAMS_MAX 256 /* more than FF_SQL_FEW_ROWS rows of the widest table have columns */

/* The parameters of one statement. The bytes live in the arena until the statement is sent. */
struct ff_pg_params {
    struct ff_arena *arena;
    int count;
    Oid types[FF_PG_PARAMS_MAX];
    const char *values[FF_PG_PARAMS_MAX]; /* NULL is SQL NULL */
    int lengths[FF_PG_PARAMS_MAX];
    int formats[FF_PG_PARAMS_MAX];
};

Oid ff_pg_type_oid(ff_type type);
/* Appends one array: this column of all these rows. */
void ff_pg_bind_column(struct ff_pg_params *params, const struct ff_col *col, void *const *rows,
                       size_t count);
/* Appends one value: this column of one row, which must live until the statement is sent. */
void ff_pg_bind_cell(struct ff_pg_params *params, const struct ff_col *col, const void *row);
/* Appends one value in the width the block declares. A value of another type becomes NULL. */
void ff_pg_bind_value(struct ff_pg_params *params, const struct ff_sql_param *as,
                      const struct ff_value *value);
/* False when the bytes do not fit the type: the statement and rows.def disagree. */
FF_MUST_CHECK bool ff_pg_decode_column(const struct ff_col *col, const char *bytes, int len,
                                       struct ff_arena *arena, void *row);
/* `bytes` NULL: SQL NULL. */
FF_MUST_CHECK bool ff_pg_decode_cell(ff_value_type type, const char *bytes, int len,
                                     struct ff_arena *arena, struct ff_value *ret);
FF_MUST_CHECK bool ff_pg_decode_row(const PGresult *result, int nth, ff_table table,
                                    struct ff_arena *arena, void *row);

/* --- sqlstate.c: error classes; pure --- */

/* `sqlstate` NULL or empty: the connection is gone. `constraint` NULL: the error names none. */
ff_called ff_pg_classify(const char *sqlstate, const char *constraint);
/* While a store is opened: another time the same may go well. */
bool ff_pg_may_pass(const char *sqlstate);
/* The session's prepared statements do not fit any more. */
bool ff_pg_needs_new_link(const char *sqlstate);

/* --- url.c: what the URL says and what we add; pure but for libpq's parser --- */

#define FF_PG_SCHEMA_BYTES   64
#define FF_PG_OPTIONS_MAX    64
#define FF_PG_CONNECT_MS_MAX 5000

struct ff_pg_config {
    char schema[FF_PG_SCHEMA_BYTES]; /* a plain identifier: needs no quoting anywhere */
    char search_path[FF_PG_SCHEMA_BYTES + 16];
    bool probe;  /* the URL does not say whether there is a pooler */
    bool pooler; /* no startup options, no named statements, nothing kept between transactions */
    bool unsafe; /* accept a server that may lose commits */
    bool serial; /* events are to be numbered under one row: asked for, or found at the start */
    int64_t connect_ms;  /* the longest a connect may take, over all hosts */
    const char *options; /* startup options, not sent to a pooler */
    const char *keywords[FF_PG_OPTIONS_MAX];
    const char *values[FF_PG_OPTIONS_MAX];
    struct ff_arena arena;
};

FF_MUST_CHECK ff_status ff_pg_config_init(struct ff_pg_config *config, const char *url,
                                          struct ff_error *reterr);
void ff_pg_config_done(struct ff_pg_config *config);
/* The arrays for libpq; `keywords` and `values` have room for FF_PG_OPTIONS_MAX. */
void ff_pg_config_params(const struct ff_pg_config *config, const char **keywords,
                         const char **values);
/* Splits our own parameters off. Exposed for the tests. */
FF_MUST_CHECK ff_status ff_pg_url_split(struct ff_pg_config *config, const char *url,
                                        struct ff_str *ret_rest, struct ff_error *reterr);

/* --- link.c: one connection, its prepared statements and its pipeline --- */

/* Statements are numbered: first the blocks, then one per verb and table for many rows, then the
 * same for one row, for two, ..., then our own. */
typedef enum ff_pg_verb {
    FF_PG_LOCK,
    FF_PG_WAIT,
    FF_PG_READ,
    FF_PG_INSERT,
    FF_PG_INSERT_PLAIN,
    FF_PG_SERIAL,
    FF_PG_UPDATE,
    FF_PG_REWRITE,
    FF_PG_REMOVE,
    FF_PG_PURGE,
    FF_PG_VERB_COUNT
} ff_pg_verb;
typedef enum ff_pg_own {
    FF_PG_BEGIN,
    FF_PG_SNAPSHOT,
    FF_PG_COMMIT,
    FF_PG_ROLLBACK,
    FF_PG_OWN_COUNT
} ff_pg_own;
enum {
    FF_PG_FIRST_TABLE = FF_SQL_COUNT,
    FF_PG_FIRST_OWN = FF_PG_FIRST_TABLE + (1 + FF_SQL_FEW_ROWS) * FF_TABLE_COUNT * FF_PG_VERB_COUNT,
    FF_PG_STATEMENTS = FF_PG_FIRST_OWN + FF_PG_OWN_COUNT
};

/* What to do with the answer of a step. */
typedef enum ff_pg_step_kind {
    FF_PG_STEP_PREPARE,
    FF_PG_STEP_DONE,    /* only has to succeed */
    FF_PG_STEP_READ,    /* rows of `table`, not locked */
    FF_PG_STEP_LOCKED,  /* rows of `table`, locked */
    FF_PG_STEP_MISSING, /* rows of `table` that exist although they could not be locked */
    FF_PG_STEP_SCAN,    /* rows of scan `what` */
    FF_PG_STEP_CELLS,   /* the answer of read `what` */
    FF_PG_STEP_CLOCK,
    FF_PG_STEP_SETTLED, /* which log it is */
    FF_PG_STEP_EVENTS,  /* ids given out */
    FF_PG_STEP_HIT,     /* did it find its row? */
    FF_PG_STEP_COMMIT,
    FF_PG_STEP_SYNC,
} ff_pg_step_kind;

struct ff_pg_step {
    ff_pg_step_kind kind;
    int statement;
    ff_table table;
    void *what;
};

/* The first error of a pipeline. */
struct ff_pg_failure {
    bool failed;
    bool fatal;     /* the server ended the session */
    bool no_memory; /* it is ours that there was none of */
    ff_pg_step_kind step;
    ff_called outcome;
    char sqlstate[8];
    char message[256];
};

struct ff_pg_link {
    const struct ff_pg_config *config;
    const struct ff_clock *clock;
    PGconn *conn; /* NULL: down */
    bool up;
    bool lost; /* the pipeline under way will get no more answers */
    bool unflushed;
    bool tuned;      /* the settings of batches hold for this connection */
    int64_t log_oid; /* the table whose log this connection has settled */
    bool serial;     /* its events are numbered under one row */
    bool warned;     /* the server said something with SQLSTATE 01000 since the last reset */
    PostgresPollingStatusType polling;
    int64_t connect_by_ms;
    int64_t retry_at_ms;
    uint8_t prepared[FF_PG_STATEMENTS];
    struct ff_pg_step *steps;
    size_t step_count, step_cap, step_done;
    bool step_seen; /* the current step has had a result */
    struct ff_pg_failure failure;
    /* Takes a good result; false: it makes no sense, which counts as a failure. */
    bool (*take)(void *ctx, const struct ff_pg_step *step, PGresult *result);
    void *ctx;
};

typedef enum ff_pg_dialled { FF_PG_DIALLING, FF_PG_UP, FF_PG_DOWN } ff_pg_dialled;

void ff_pg_link_init(struct ff_pg_link *link, const struct ff_pg_config *config,
                     const struct ff_clock *clock);
void ff_pg_link_done(struct ff_pg_link *link);
/* Begins to connect; ff_pg_link_dial says how it goes. False during the back-off. */
bool ff_pg_link_connect(struct ff_pg_link *link);
ff_pg_dialled ff_pg_link_dial(struct ff_pg_link *link);
void ff_pg_link_drop(struct ff_pg_link *link);
/* Forgets the last pipeline. */
void ff_pg_link_begin(struct ff_pg_link *link);
/* Queues a statement; on trouble the link is lost. `params` NULL: none. */
void ff_pg_link_send(struct ff_pg_link *link, struct ff_pg_step step,
                     const struct ff_pg_params *params);
void ff_pg_link_sync(struct ff_pg_link *link);
/* Sends and reads what there is. True when the pipeline has ended, by its sync or by loss. */
bool ff_pg_link_pump(struct ff_pg_link *link);
void ff_pg_link_wait(struct ff_pg_link *link, int64_t timeout_ms);
bool ff_pg_link_in_transaction(const struct ff_pg_link *link);
void ff_pg_link_fail(struct ff_pg_link *link, const struct ff_pg_step *step, ff_called outcome,
                     const char *message);

/* --- session.c, send.c, take.c: the calls of the seam --- */

typedef enum ff_pg_round {
    FF_PG_ROUND_NONE, /* no call under way, or its answer is ready */
    FF_PG_ROUND_DIAL,
    FF_PG_ROUND_SETTLE, /* a new connection: is the log still the same? */
    FF_PG_ROUND_TUNE,   /* one that has not run a batch yet: its settings */
    FF_PG_ROUND_MAIN,
    FF_PG_ROUND_FLUSH,   /* the changes of a large save go out before its COMMIT */
    FF_PG_ROUND_MISSING, /* absent or busy? */
    FF_PG_ROUND_UNDO,    /* ROLLBACK after an error */
    FF_PG_ROUND_CONFIRM, /* RESOLVE: it has committed, wait for its replication */
} ff_pg_round;

struct ff_pg_session {
    struct ff_session session;
    struct ff_pg_link link;
    struct ff_arena scratch; /* parameters of one statement */
    struct ff_pg_params params;
    struct ff_call *call;
    ff_pg_round round;
    bool commit_queued;
    bool committed; /* the server answered COMMIT */
    bool was_up;    /* it has had a connection before */
    bool hit;
    size_t sent_bytes;
    _Atomic int64_t *seen_id; /* the store's */
    unsigned unsupported;     /* kinds of calls whose last one ended with 0A000: a bit for each */
};

/* Each queues statements without a sync, but for `tuning`, `missing`, `commit` and `confirm`. */
void ff_pg_send_own(struct ff_pg_session *session, ff_pg_own own);
/* False: the connection has the settings of batches. */
bool ff_pg_send_tuning(struct ff_pg_session *session);
void ff_pg_send_peek(struct ff_pg_session *session);
void ff_pg_send_load(struct ff_pg_session *session);
void ff_pg_send_more(struct ff_pg_session *session);
/* Asks again, without a lock, for the keys that could not be locked. False: there are none. */
bool ff_pg_send_missing(struct ff_pg_session *session);
/* True: the COMMIT waits until all this is on its way; then call ff_pg_send_commit. */
bool ff_pg_send_save(struct ff_pg_session *session);
void ff_pg_send_commit(struct ff_pg_session *session);
void ff_pg_send_resolve(struct ff_pg_session *session);
void ff_pg_send_confirm(struct ff_pg_session *session);
void ff_pg_send_read(struct ff_pg_session *session);
void ff_pg_send_settle(struct ff_pg_session *session);
bool ff_pg_take(void *session, const struct ff_pg_step *step, PGresult *result);

/* --- hints.c, store.c, migrate.c --- */

/* LISTEN and NOTIFY on a connection of their own. */
struct ff_pg_hints {
    pthread_mutex_t mutex;
    struct ff_pg_link link; /* not in pipeline mode; used for connecting only */
    bool listening;         /* the LISTEN has been answered */
    bool busy;              /* a statement is under way */
    bool pending;           /* a hint waits for its turn */
    bool heard;
    int64_t sent_at_ms;
};
void ff_pg_hints_init(struct ff_pg_hints *hints, const struct ff_pg_config *config,
                      const struct ff_clock *clock);
void ff_pg_hints_done(struct ff_pg_hints *hints);
void ff_pg_hints_notify(struct ff_pg_hints *hints);
bool ff_pg_hints_notified(struct ff_pg_hints *hints);

struct ff_pg_store {
    struct ff_store store;
    struct ff_clock clock;
    struct ff_pg_config config;
    struct ff_pg_hints hints;
    _Atomic int64_t seen_id; /* the highest event id that was seen committed */
};

FF_MUST_CHECK ff_status ff_pg_session_new(struct ff_store *store, struct ff_session **ret,
                                          struct ff_error *reterr);

struct ff_pg_migrate {
    bool apply;       /* also to a store that is not empty */
    bool dry_run;     /* only report */
    bool must_exist;  /* an empty schema is left as it is */
    int32_t from, to; /* answers: schema numbers before and after */
};
/* On a blocking connection outside of any transaction. */
FF_MUST_CHECK ff_status ff_pg_migrate_run(PGconn *conn, const struct ff_pg_config *config,
                                          struct ff_pg_migrate *migrate, struct ff_error *reterr);
/* Compares the live columns with rows.def. */
FF_MUST_CHECK ff_status ff_pg_schema_check(PGconn *conn, const struct ff_pg_config *config,
                                           struct ff_error *reterr);

#endif
