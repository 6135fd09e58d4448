-- migration: 2 flows
-- oldest binary: 1
--
-- Flows, the edges between their members, joins, and joins whose other upstreams are to be
-- cancelled. A binary of schema 1 may go on working: what it completes is dispatched by the others.

CREATE TABLE ff_flow (
    partition_key   INTEGER NOT NULL,
    flow_id         BLOB NOT NULL,
    namespace       TEXT NOT NULL,
    kind            TEXT,
    instance_tag    TEXT,
    tags            BLOB,
    submit_hash     BLOB NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    state           INTEGER NOT NULL,
    revision        INTEGER NOT NULL,
    node_count      INTEGER NOT NULL,
    edge_count      INTEGER NOT NULL,
    success_count   INTEGER NOT NULL,
    failed_count    INTEGER NOT NULL,
    cancelled_count INTEGER NOT NULL,
    expired_count   INTEGER NOT NULL,
    skipped_count   INTEGER NOT NULL,
    cancel_policy   INTEGER NOT NULL,
    draining        INTEGER NOT NULL,
    drain_cursor    BLOB,
    cancel_reason   TEXT,
    cancelled_by    TEXT,
    cancelled_at_ms INTEGER,
    version         INTEGER NOT NULL,
    changed_at_ms   INTEGER NOT NULL,
    finished_at_ms  INTEGER,
    PRIMARY KEY (partition_key, flow_id),
    CHECK (partition_key BETWEEN 0 AND 255),
    CHECK (state BETWEEN {{code:FLOW_RUNNING}} AND {{code:FLOW_REMOVED}}),
    CHECK (node_count > 0 AND edge_count >= 0 AND draining IN (0, 1)),
    CHECK (success_count >= 0 AND failed_count >= 0 AND cancelled_count >= 0 AND expired_count >= 0
           AND skipped_count >= 0),
    CHECK (success_count + failed_count + cancelled_count + expired_count + skipped_count
           <= node_count)
) STRICT;

CREATE TABLE ff_edge (
    partition_key       INTEGER NOT NULL,
    execution_id        BLOB NOT NULL,
    downstream_id       BLOB NOT NULL,
    flow_id             BLOB NOT NULL,
    pass                INTEGER NOT NULL,
    outcome             INTEGER NOT NULL,
    resolved_generation INTEGER,
    PRIMARY KEY (partition_key, execution_id, downstream_id),
    CHECK (outcome BETWEEN {{code:EDGE_UNRESOLVED}} AND {{code:EDGE_SKIP}}),
    CHECK ((outcome = {{code:EDGE_UNRESOLVED}}) = (resolved_generation IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_edge_group (
    partition_key INTEGER NOT NULL,
    execution_id  BLOB NOT NULL,
    flow_id       BLOB NOT NULL,
    policy        INTEGER NOT NULL,
    k             INTEGER NOT NULL,
    on_satisfied  INTEGER NOT NULL,
    total         INTEGER NOT NULL,
    success       INTEGER NOT NULL,
    fail          INTEGER NOT NULL,
    skip          INTEGER NOT NULL,
    group_state   INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    PRIMARY KEY (partition_key, execution_id),
    CHECK (success >= 0 AND fail >= 0 AND skip >= 0 AND success + fail + skip <= total),
    CHECK (group_state BETWEEN {{code:GROUP_PENDING}} AND {{code:GROUP_IMPOSSIBLE}})
) STRICT, WITHOUT ROWID;

CREATE TABLE ff_pending_cancel (
    partition_key INTEGER NOT NULL,
    execution_id  BLOB NOT NULL,
    decision      INTEGER NOT NULL,
    flow_id       BLOB NOT NULL,
    group_state   INTEGER NOT NULL,
    namespace     TEXT NOT NULL,
    instance_tag  TEXT,
    created_at_ms INTEGER NOT NULL,
    edge_cursor   BLOB,
    tries         INTEGER NOT NULL,
    not_before_ms INTEGER NOT NULL,
    PRIMARY KEY (partition_key, execution_id, decision),
    CHECK (tries >= 0)
) STRICT, WITHOUT ROWID;

-- Who a node waits for. The outcome is in no index: resolving an edge must not touch one.
CREATE INDEX ff_edge_downstream ON ff_edge (partition_key, downstream_id, execution_id);

CREATE INDEX ff_flow_created ON ff_flow (created_at_ms, flow_id);

CREATE INDEX ff_flow_finished ON ff_flow (finished_at_ms) WHERE finished_at_ms IS NOT NULL;

-- Flows with members still to be cancelled, or to be removed.
CREATE INDEX ff_flow_draining ON ff_flow (changed_at_ms)
 WHERE draining = 1 OR state = {{code:FLOW_REMOVED}};

CREATE INDEX ff_pending_cancel_open ON ff_pending_cancel (not_before_ms);

-- The log of a flow as a whole.
CREATE INDEX ff_event_flow ON ff_event (flow_id, event_id)
 WHERE flow_id IS NOT NULL AND execution_id IS NULL;
