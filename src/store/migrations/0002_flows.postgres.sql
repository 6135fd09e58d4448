-- migration: 2 flows
-- oldest binary: 1
--
-- Flows, the edges between their members, joins, and joins whose other upstreams are to be
-- cancelled. A binary of schema 1 may go on working: what it completes is dispatched by the others.

CREATE TABLE ff_flow (
    partition_key   smallint NOT NULL,
    flow_id         uuid NOT NULL,
    namespace       text COLLATE "C" NOT NULL,
    kind            text COLLATE "C",
    instance_tag    text COLLATE "C",
    tags            bytea,
    submit_hash     bytea NOT NULL,
    created_at_ms   bigint NOT NULL,
    state           smallint NOT NULL,
    revision        bigint NOT NULL,
    node_count      integer NOT NULL,
    edge_count      integer NOT NULL,
    success_count   integer NOT NULL,
    failed_count    integer NOT NULL,
    cancelled_count integer NOT NULL,
    expired_count   integer NOT NULL,
    skipped_count   integer NOT NULL,
    cancel_policy   smallint NOT NULL,
    draining        smallint NOT NULL,
    drain_cursor    uuid,
    cancel_reason   text COLLATE "C",
    cancelled_by    text COLLATE "C",
    cancelled_at_ms bigint,
    version         bigint NOT NULL,
    changed_at_ms   bigint NOT NULL,
    finished_at_ms  bigint,
    PRIMARY KEY (partition_key, flow_id),
    CHECK (partition_key BETWEEN 0 AND 255),
    CHECK (state BETWEEN {{code:FLOW_RUNNING}} AND {{code:FLOW_REMOVED}}),
    CHECK (node_count > 0 AND edge_count >= 0 AND draining IN (0, 1)),
    CHECK (success_count >= 0 AND failed_count >= 0 AND cancelled_count >= 0 AND expired_count >= 0
           AND skipped_count >= 0),
    CHECK (success_count + failed_count + cancelled_count + expired_count + skipped_count
           <= node_count)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_edge (
    partition_key       smallint NOT NULL,
    execution_id        uuid NOT NULL,
    downstream_id       uuid NOT NULL,
    flow_id             uuid NOT NULL,
    pass                smallint NOT NULL,
    outcome             smallint NOT NULL,
    resolved_generation integer,
    PRIMARY KEY (execution_id, partition_key, downstream_id),
    CHECK (outcome BETWEEN {{code:EDGE_UNRESOLVED}} AND {{code:EDGE_SKIP}}),
    CHECK ((outcome = {{code:EDGE_UNRESOLVED}}) = (resolved_generation IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_edge_group (
    partition_key smallint NOT NULL,
    execution_id  uuid NOT NULL,
    flow_id       uuid NOT NULL,
    policy        smallint NOT NULL,
    k             integer NOT NULL,
    on_satisfied  smallint NOT NULL,
    total         integer NOT NULL,
    success       integer NOT NULL,
    fail          integer NOT NULL,
    skip          integer NOT NULL,
    group_state   smallint NOT NULL,
    version       bigint NOT NULL,
    PRIMARY KEY (execution_id, partition_key),
    CHECK (success >= 0 AND fail >= 0 AND skip >= 0 AND success + fail + skip <= total),
    CHECK (group_state BETWEEN {{code:GROUP_PENDING}} AND {{code:GROUP_IMPOSSIBLE}})
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE ff_pending_cancel (
    partition_key smallint NOT NULL,
    execution_id  uuid NOT NULL,
    decision      bigint NOT NULL,
    flow_id       uuid NOT NULL,
    group_state   smallint NOT NULL,
    namespace     text COLLATE "C" NOT NULL,
    instance_tag  text COLLATE "C",
    created_at_ms bigint NOT NULL,
    edge_cursor   uuid,
    tries         integer NOT NULL,
    not_before_ms bigint NOT NULL,
    PRIMARY KEY (execution_id, partition_key, decision),
    CHECK (tries >= 0)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

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
