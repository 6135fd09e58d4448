-- migration: 1 first
-- oldest binary: 1
--
-- Every table of model/rows.def, the ledger of migrations, the log's sequence, and three views.
-- All text is COLLATE "C": the order of bytes, the same as on SQLite and in C. No foreign keys: a
-- set is guarded by the lock of its parent row. Keys start with the uuid, so they grow at one end
-- (docs/decisions/0006-keys-by-time.md). Fill factors leave room for updates in place;
-- autovacuum goes by count, not by share, since the queue's tables are small and churn all day.

CREATE TABLE ff_migration (
    version       integer PRIMARY KEY,
    name          text COLLATE "C" NOT NULL,
    checksum      text COLLATE "C" NOT NULL,
    oldest_binary integer NOT NULL,
    applied_at_ms bigint NOT NULL
);

CREATE TABLE ff_batch (
    batch_id uuid NOT NULL,
    at_ms    bigint NOT NULL,
    PRIMARY KEY (batch_id)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_lane (
    lane          text COLLATE "C" NOT NULL,
    paused        smallint NOT NULL,
    reason        text COLLATE "C",
    changed_at_ms bigint NOT NULL,
    PRIMARY KEY (lane),
    CHECK (paused IN (0, 1)),
    CHECK (length(lane) BETWEEN 1 AND 64)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_capset (
    capset_id     bigint NOT NULL,
    tokens        text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (capset_id),
    CHECK (capset_id > 0)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_dedup (
    namespace     text COLLATE "C" NOT NULL,
    dedup_key     text COLLATE "C" NOT NULL,
    partition_key smallint NOT NULL,
    execution_id  uuid NOT NULL,
    hash          bytea NOT NULL,
    expires_at_ms bigint NOT NULL,
    PRIMARY KEY (namespace, dedup_key)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_reply (
    scope         text COLLATE "C" NOT NULL,
    reply_key     text COLLATE "C" NOT NULL,
    hash          bytea NOT NULL,
    status        integer NOT NULL,
    body          bytea NOT NULL,
    expires_at_ms bigint NOT NULL,
    PRIMARY KEY (scope, reply_key)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_claim (
    worker_instance_id text COLLATE "C" NOT NULL,
    request_id         text COLLATE "C" NOT NULL,
    at_ms              bigint NOT NULL,
    tasks              bytea NOT NULL,
    PRIMARY KEY (worker_instance_id, request_id)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_worker (
    worker_instance_id text COLLATE "C" NOT NULL,
    worker_id          text COLLATE "C" NOT NULL,
    namespace          text COLLATE "C",
    lanes              text COLLATE "C" NOT NULL,
    kinds              text COLLATE "C",
    capabilities       text COLLATE "C" NOT NULL,
    registered_at_ms   bigint NOT NULL,
    seen_at_ms         bigint NOT NULL,
    ttl_ms             bigint NOT NULL,
    PRIMARY KEY (worker_instance_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_execution (
    partition_key        smallint NOT NULL,
    execution_id         uuid NOT NULL,
    flow_id              uuid,
    node                 text COLLATE "C",
    namespace            text COLLATE "C" NOT NULL,
    lane                 text COLLATE "C" NOT NULL,
    kind                 text COLLATE "C" NOT NULL,
    capset_id            bigint NOT NULL,
    instance_tag         text COLLATE "C",
    policy               bytea,
    input                bytea,
    input_type           text COLLATE "C",
    submit_hash          bytea NOT NULL,
    created_at_ms        bigint NOT NULL,
    deadline_ms          bigint,
    state                smallint NOT NULL,
    priority             integer NOT NULL,
    flags                integer NOT NULL,
    due_at_ms            bigint,
    version              bigint NOT NULL,
    changed_at_ms        bigint NOT NULL,
    generation           integer NOT NULL,
    attempt_index        integer NOT NULL,
    attempt_count        integer NOT NULL,
    attempt_type         smallint NOT NULL,
    retry_count          integer NOT NULL,
    reclaim_count        integer NOT NULL,
    replay_count         integer NOT NULL,
    attempt_spent_ms     bigint NOT NULL,
    delay_until_ms       bigint,
    deadline_at_ms       bigint,
    started_at_ms        bigint,
    finished_at_ms       bigint,
    lease_epoch          bigint NOT NULL,
    lease_id             uuid,
    lease_ttl_ms         bigint,
    lease_acquired_at_ms bigint,
    lease_renewed_at_ms  bigint,
    lease_expires_at_ms  bigint,
    worker_id            text COLLATE "C",
    worker_instance_id   text COLLATE "C",
    last_lease_id        uuid,
    last_epoch           bigint NOT NULL,
    last_end             smallint NOT NULL,
    last_hash            bytea,
    last_retry_at_ms     bigint,
    cancel_reason        text COLLATE "C",
    cancelled_by         text COLLATE "C",
    PRIMARY KEY (execution_id, partition_key),
    CHECK (partition_key BETWEEN 0 AND 255),
    CHECK ({{legal}}),
    CHECK (NOT ({{terminal}}) OR (finished_at_ms IS NOT NULL AND due_at_ms IS NULL)),
    CHECK (state <> {{state:ACTIVE}}
           OR (lease_id IS NOT NULL AND lease_ttl_ms IS NOT NULL
               AND lease_acquired_at_ms IS NOT NULL AND lease_expires_at_ms IS NOT NULL
               AND worker_id IS NOT NULL AND worker_instance_id IS NOT NULL)),
    CHECK (least(lease_epoch, last_epoch, version, generation, attempt_index, attempt_count,
                 retry_count, reclaim_count, replay_count) >= 0),
    CHECK (length(lane) BETWEEN 1 AND 64 AND length(namespace) <= 128 AND length(kind) <= 128)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_payload (
    partition_key smallint NOT NULL,
    execution_id  uuid NOT NULL,
    generation    integer NOT NULL,
    kind          smallint NOT NULL,
    data          bytea NOT NULL,
    content_type  text COLLATE "C",
    PRIMARY KEY (execution_id, partition_key, generation, kind)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_tag (
    partition_key smallint NOT NULL,
    execution_id  uuid NOT NULL,
    name          text COLLATE "C" NOT NULL,
    value         text COLLATE "C" NOT NULL,
    PRIMARY KEY (execution_id, partition_key, name)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_progress (
    partition_key smallint NOT NULL,
    execution_id  uuid NOT NULL,
    percent       integer,
    message       text COLLATE "C",
    updated_at_ms bigint NOT NULL,
    PRIMARY KEY (execution_id, partition_key),
    CHECK (percent IS NULL OR percent BETWEEN 0 AND 100)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_attempt (
    partition_key      smallint NOT NULL,
    execution_id       uuid NOT NULL,
    lease_epoch        bigint NOT NULL,
    generation         integer NOT NULL,
    attempt_index      integer NOT NULL,
    attempt_type       smallint NOT NULL,
    outcome            smallint NOT NULL,
    lease_id           uuid NOT NULL,
    worker_id          text COLLATE "C" NOT NULL,
    worker_instance_id text COLLATE "C" NOT NULL,
    started_at_ms      bigint NOT NULL,
    ended_at_ms        bigint NOT NULL,
    failure_class      smallint,
    failure_message    text COLLATE "C",
    PRIMARY KEY (execution_id, partition_key, lease_epoch),
    CHECK (lease_epoch > 0),
    CHECK (ended_at_ms >= started_at_ms)
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_outbox (
    partition_key    smallint NOT NULL,
    execution_id     uuid NOT NULL,
    generation       integer NOT NULL,
    kind             smallint NOT NULL,
    flow_id          uuid NOT NULL,
    outcome          smallint NOT NULL,
    namespace        text COLLATE "C" NOT NULL,
    instance_tag     text COLLATE "C",
    created_at_ms    bigint NOT NULL,
    edge_cursor      uuid,
    tries            integer NOT NULL,
    not_before_ms    bigint NOT NULL,
    dispatched_at_ms bigint,
    PRIMARY KEY (execution_id, partition_key, generation, kind),
    CHECK (tries >= 0)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_meta (
    name  text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    PRIMARY KEY (name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE SEQUENCE ff_event_id_seq AS bigint CACHE 1;

CREATE TABLE ff_event (
    event_id           bigint NOT NULL,
    kind               smallint NOT NULL,
    type               smallint NOT NULL,
    partition_key      smallint,
    execution_id       uuid,
    flow_id            uuid,
    generation         integer,
    namespace          text COLLATE "C",
    instance_tag       text COLLATE "C",
    at_ms              bigint NOT NULL,
    state              smallint,
    version            bigint,
    lease_id           uuid,
    lease_epoch        bigint,
    worker_id          text COLLATE "C",
    worker_instance_id text COLLATE "C",
    prev_owner         text COLLATE "C",
    note               text COLLATE "C",
    num_a              bigint,
    num_b              bigint,
    PRIMARY KEY (event_id)
) PARTITION BY RANGE (event_id);

-- Retention drops whole ranges; later ones are made ahead. The default stays empty.
CREATE TABLE ff_event_0000 PARTITION OF ff_event FOR VALUES FROM (MINVALUE) TO (2000000);
CREATE TABLE ff_event_0001 PARTITION OF ff_event FOR VALUES FROM (2000000) TO (4000000);
CREATE TABLE ff_event_0002 PARTITION OF ff_event FOR VALUES FROM (4000000) TO (6000000);
CREATE TABLE ff_event_0003 PARTITION OF ff_event FOR VALUES FROM (6000000) TO (8000000);
CREATE TABLE ff_event_0004 PARTITION OF ff_event FOR VALUES FROM (8000000) TO (10000000);
CREATE TABLE ff_event_0005 PARTITION OF ff_event FOR VALUES FROM (10000000) TO (12000000);
CREATE TABLE ff_event_0006 PARTITION OF ff_event FOR VALUES FROM (12000000) TO (14000000);
CREATE TABLE ff_event_0007 PARTITION OF ff_event FOR VALUES FROM (14000000) TO (16000000);
CREATE TABLE ff_event_default PARTITION OF ff_event DEFAULT;

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
CREATE INDEX ff_worker_gone ON ff_worker ((seen_at_ms + ttl_ms));

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
