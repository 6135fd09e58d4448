-- migration: 1 first
-- oldest binary: 1
--
-- Every table of model/rows.def, the ledger of migrations, the stored clock, and three views.
-- WITHOUT ROWID where rows are small and only found by key: one tree instead of two. Wide rows and
-- payloads keep a rowid, because a tree of wide keys spills into overflow pages. Keys start with
-- the uuid and not with the partition: new rows then share the last page of a tree instead of
-- dirtying one page each (docs/decisions/0006-keys-by-time.md).

CREATE TABLE ff_migration (
    version       INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,
    checksum      TEXT NOT NULL,
    oldest_binary INTEGER NOT NULL,
    applied_at_ms INTEGER NOT NULL
) STRICT;

-- One row: the highest time this store has seen, saved with each batch.
CREATE TABLE ff_clock (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    now_ms INTEGER NOT NULL
) STRICT;
INSERT INTO ff_clock (id, now_ms) VALUES (1, 0);

CREATE TABLE ff_batch (
    batch_id BLOB NOT NULL,
    at_ms    INTEGER NOT NULL,
    PRIMARY KEY (batch_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_lane (
    lane          TEXT NOT NULL,
    paused        INTEGER NOT NULL,
    reason        TEXT,
    changed_at_ms INTEGER NOT NULL,
    PRIMARY KEY (lane),
    CHECK (paused IN (0, 1)),
    CHECK (length(lane) BETWEEN 1 AND 64)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_capset (
    capset_id     INTEGER PRIMARY KEY,
    tokens        TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    CHECK (capset_id > 0)
) STRICT;

CREATE TABLE ff_dedup (
    namespace     TEXT NOT NULL,
    dedup_key     TEXT NOT NULL,
    partition_key INTEGER NOT NULL,
    execution_id  BLOB NOT NULL,
    hash          BLOB NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    PRIMARY KEY (namespace, dedup_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_reply (
    scope         TEXT NOT NULL,
    reply_key     TEXT NOT NULL,
    hash          BLOB NOT NULL,
    status        INTEGER NOT NULL,
    body          BLOB NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, reply_key)
) STRICT;

CREATE TABLE ff_claim (
    worker_instance_id TEXT NOT NULL,
    request_id         TEXT NOT NULL,
    at_ms              INTEGER NOT NULL,
    tasks              BLOB NOT NULL,
    PRIMARY KEY (worker_instance_id, request_id)
) STRICT;

CREATE TABLE ff_worker (
    worker_instance_id TEXT NOT NULL,
    worker_id          TEXT NOT NULL,
    namespace          TEXT,
    lanes              TEXT NOT NULL,
    kinds              TEXT,
    capabilities       TEXT NOT NULL,
    registered_at_ms   INTEGER NOT NULL,
    seen_at_ms         INTEGER NOT NULL,
    ttl_ms             INTEGER NOT NULL,
    PRIMARY KEY (worker_instance_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_execution (
    partition_key        INTEGER NOT NULL,
    execution_id         BLOB NOT NULL,
    flow_id              BLOB,
    node                 TEXT,
    namespace            TEXT NOT NULL,
    lane                 TEXT NOT NULL,
    kind                 TEXT NOT NULL,
    capset_id            INTEGER NOT NULL,
    instance_tag         TEXT,
    policy               BLOB,
    input                BLOB,
    input_type           TEXT,
    submit_hash          BLOB NOT NULL,
    created_at_ms        INTEGER NOT NULL,
    deadline_ms          INTEGER,
    state                INTEGER NOT NULL,
    priority             INTEGER NOT NULL,
    flags                INTEGER NOT NULL,
    due_at_ms            INTEGER,
    version              INTEGER NOT NULL,
    changed_at_ms        INTEGER NOT NULL,
    generation           INTEGER NOT NULL,
    attempt_index        INTEGER NOT NULL,
    attempt_count        INTEGER NOT NULL,
    attempt_type         INTEGER NOT NULL,
    retry_count          INTEGER NOT NULL,
    reclaim_count        INTEGER NOT NULL,
    replay_count         INTEGER NOT NULL,
    attempt_spent_ms     INTEGER NOT NULL,
    delay_until_ms       INTEGER,
    deadline_at_ms       INTEGER,
    started_at_ms        INTEGER,
    finished_at_ms       INTEGER,
    lease_epoch          INTEGER NOT NULL,
    lease_id             BLOB,
    lease_ttl_ms         INTEGER,
    lease_acquired_at_ms INTEGER,
    lease_renewed_at_ms  INTEGER,
    lease_expires_at_ms  INTEGER,
    worker_id            TEXT,
    worker_instance_id   TEXT,
    last_lease_id        BLOB,
    last_epoch           INTEGER NOT NULL,
    last_end             INTEGER NOT NULL,
    last_hash            BLOB,
    last_retry_at_ms     INTEGER,
    cancel_reason        TEXT,
    cancelled_by         TEXT,
    PRIMARY KEY (execution_id, partition_key),
    CHECK (partition_key BETWEEN 0 AND 255 AND length(execution_id) = 16),
    CHECK ({{legal}}),
    CHECK (NOT ({{terminal}}) OR (finished_at_ms IS NOT NULL AND due_at_ms IS NULL)),
    CHECK (state <> {{state:ACTIVE}}
           OR (lease_id IS NOT NULL AND lease_ttl_ms IS NOT NULL
               AND lease_acquired_at_ms IS NOT NULL AND lease_expires_at_ms IS NOT NULL
               AND worker_id IS NOT NULL AND worker_instance_id IS NOT NULL)),
    CHECK (lease_epoch >= 0 AND last_epoch >= 0 AND version >= 0),
    CHECK (generation >= 0 AND attempt_index >= 0 AND attempt_count >= 0),
    CHECK (retry_count >= 0 AND reclaim_count >= 0 AND replay_count >= 0),
    CHECK (length(lane) BETWEEN 1 AND 64 AND length(namespace) <= 128 AND length(kind) <= 128)
) STRICT;

CREATE TABLE ff_payload (
    partition_key INTEGER NOT NULL,
    execution_id  BLOB NOT NULL,
    generation    INTEGER NOT NULL,
    kind          INTEGER NOT NULL,
    data          BLOB NOT NULL,
    content_type  TEXT,
    PRIMARY KEY (execution_id, partition_key, generation, kind)
) STRICT;

CREATE TABLE ff_tag (
    partition_key INTEGER NOT NULL,
    execution_id  BLOB NOT NULL,
    name          TEXT NOT NULL,
    value         TEXT NOT NULL,
    PRIMARY KEY (execution_id, partition_key, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_progress (
    partition_key INTEGER NOT NULL,
    execution_id  BLOB NOT NULL,
    percent       INTEGER,
    message       TEXT,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (execution_id, partition_key),
    CHECK (percent IS NULL OR percent BETWEEN 0 AND 100)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_attempt (
    partition_key      INTEGER NOT NULL,
    execution_id       BLOB NOT NULL,
    lease_epoch        INTEGER NOT NULL,
    generation         INTEGER NOT NULL,
    attempt_index      INTEGER NOT NULL,
    attempt_type       INTEGER NOT NULL,
    outcome            INTEGER NOT NULL,
    lease_id           BLOB NOT NULL,
    worker_id          TEXT NOT NULL,
    worker_instance_id TEXT NOT NULL,
    started_at_ms      INTEGER NOT NULL,
    ended_at_ms        INTEGER NOT NULL,
    failure_class      INTEGER,
    failure_message    TEXT,
    PRIMARY KEY (execution_id, partition_key, lease_epoch),
    CHECK (lease_epoch > 0),
    CHECK (ended_at_ms >= started_at_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_outbox (
    partition_key    INTEGER NOT NULL,
    execution_id     BLOB NOT NULL,
    generation       INTEGER NOT NULL,
    kind             INTEGER NOT NULL,
    flow_id          BLOB NOT NULL,
    outcome          INTEGER NOT NULL,
    namespace        TEXT NOT NULL,
    instance_tag     TEXT,
    created_at_ms    INTEGER NOT NULL,
    edge_cursor      BLOB,
    tries            INTEGER NOT NULL,
    not_before_ms    INTEGER NOT NULL,
    dispatched_at_ms INTEGER,
    PRIMARY KEY (execution_id, partition_key, generation, kind),
    CHECK (tries >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_meta (
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name)
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_event (
    event_id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind               INTEGER NOT NULL,
    type               INTEGER NOT NULL,
    partition_key      INTEGER,
    execution_id       BLOB,
    flow_id            BLOB,
    generation         INTEGER,
    namespace          TEXT,
    instance_tag       TEXT,
    at_ms              INTEGER NOT NULL,
    state              INTEGER,
    version            INTEGER,
    lease_id           BLOB,
    lease_epoch        INTEGER,
    worker_id          TEXT,
    worker_instance_id TEXT,
    prev_owner         TEXT,
    note               TEXT,
    num_a              INTEGER,
    num_b              INTEGER
) STRICT;

-- Claims walk this index in its order and stop at their limit; only claimable rows are in it.
CREATE INDEX ff_execution_claim ON ff_execution (lane, priority DESC, created_at_ms, execution_id)
 WHERE {{claimable}};

-- All timers. lease_expires_at_ms is in no index: a renewal must not touch one.
CREATE INDEX ff_execution_due ON ff_execution (due_at_ms) WHERE due_at_ms IS NOT NULL;

CREATE INDEX ff_execution_finished ON ff_execution (finished_at_ms)
 WHERE finished_at_ms IS NOT NULL;

CREATE INDEX ff_execution_created ON ff_execution (created_at_ms, execution_id);

CREATE INDEX ff_execution_flow ON ff_execution (flow_id, execution_id) WHERE flow_id IS NOT NULL;

-- Counts per lane; a row enters once in its life.
CREATE INDEX ff_execution_blocked ON ff_execution (lane, created_at_ms)
 WHERE state IN ({{public:waiting_children}});

CREATE INDEX ff_tag_value ON ff_tag (name, value, partition_key, execution_id);

CREATE INDEX ff_outbox_pending ON ff_outbox (not_before_ms) WHERE dispatched_at_ms IS NULL;

CREATE INDEX ff_event_execution ON ff_event (execution_id, event_id)
 WHERE execution_id IS NOT NULL;

CREATE INDEX ff_batch_at ON ff_batch (at_ms);
CREATE INDEX ff_dedup_expires ON ff_dedup (expires_at_ms);
CREATE INDEX ff_reply_expires ON ff_reply (expires_at_ms);
CREATE INDEX ff_claim_at ON ff_claim (at_ms);
CREATE INDEX ff_worker_gone ON ff_worker (seen_at_ms + ttl_ms);

-- The state vector by its names, for people and tools that read the database.
CREATE VIEW ff_exec_core AS
SELECT partition_key, execution_id, flow_id, node, namespace, instance_tag, lane AS lane_id, kind,
       {{lifecycle_case:state}} AS lifecycle_phase,
       {{ownership_case:state}} AS ownership_state,
       {{eligibility_case:state}} AS eligibility_state,
       {{attempt_case:state}} AS attempt_state,
       {{public_case:state}} AS public_state,
       {{outcome_case:state}} AS terminal_outcome,
       {{blocking_case:state}} AS blocking_reason,
       priority, generation, attempt_index, attempt_count, retry_count, reclaim_count,
       replay_count, lease_id, lease_epoch, lease_acquired_at_ms, lease_renewed_at_ms,
       lease_expires_at_ms, worker_id, worker_instance_id, cancel_reason AS cancellation_reason,
       cancelled_by, created_at_ms, started_at_ms, finished_at_ms AS terminal_at_ms,
       delay_until_ms, deadline_at_ms, due_at_ms, changed_at_ms AS last_mutation_at_ms, version
  FROM ff_execution;

-- Completions with the hop they caused. Without one there is nothing left to dispatch.
CREATE VIEW ff_completion_event AS
SELECT e.event_id, e.partition_key, e.execution_id, e.flow_id, e.generation,
       {{event_case:completion:e.type}} AS outcome,
       e.namespace, e.instance_tag, e.at_ms AS occurred_at_ms, e.at_ms AS committed_at_ms,
       CASE WHEN o.execution_id IS NULL THEN e.at_ms ELSE o.dispatched_at_ms END
           AS dispatched_at_ms
  FROM ff_event e
  LEFT JOIN ff_outbox o
    ON o.partition_key = e.partition_key AND o.execution_id = e.execution_id
   AND o.generation = e.generation AND o.kind = {{code:HOP_COMPLETION}}
 WHERE e.kind = {{event:completion}};

CREATE VIEW ff_lease_event AS
SELECT event_id, execution_id, lease_id, {{event_case:lease:type}} AS event_type,
       at_ms AS occurred_at_ms, partition_key, namespace, instance_tag, lease_epoch, worker_id,
       worker_instance_id, prev_owner
  FROM ff_event
 WHERE kind = {{event:lease}};
