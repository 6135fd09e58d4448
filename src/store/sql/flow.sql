-- Flows: edges by either end, what the cascade still has to do, and what the API reads.

-- name: edges_from
-- in:   partition_key:i16 execution_id:uuid after_id:uuid limit:i64
-- out:  row:edge
-- note: Where an execution leads to, page by page.
SELECT {{edge.columns}}
  FROM ff_edge
 WHERE partition_key = :partition_key AND execution_id = :execution_id
   AND downstream_id > :after_id
 ORDER BY downstream_id
 LIMIT :limit;

-- name: edges_into
-- in:   partition_key:i16 downstream_id:uuid after_id:uuid outcomes:i64[]? limit:i64
-- out:  row:edge
-- note: What a node waits for, page by page. `outcomes` null: all edges.
SELECT {{edge.columns}}
  FROM ff_edge
 WHERE partition_key = :partition_key AND downstream_id = :downstream_id
   AND execution_id > :after_id
   AND (:outcomes IS NULL OR outcome {{any:outcomes}})
 ORDER BY execution_id
 LIMIT :limit;

-- name: sibling_needed
-- in:   partition_key:i16 execution_id:uuid downstream_id:uuid limit:i64
-- out:  row:edge
-- note: Edges of an execution, other than the one given, to nodes that still wait for it: their
--       join is open and they have not ended.
SELECT {{edge.columns:x}}
  FROM ff_edge x
  JOIN ff_edge_group g
    ON g.partition_key = x.partition_key AND g.execution_id = x.downstream_id
   AND g.group_state = {{code:GROUP_PENDING}}
  JOIN ff_execution e
    ON e.partition_key = x.partition_key AND e.execution_id = x.downstream_id AND {{alive:e}}
 WHERE x.partition_key = :partition_key AND x.execution_id = :execution_id
   AND x.downstream_id <> :downstream_id
 LIMIT :limit;

-- name: failed_upstreams
-- in:   partition_key:i16 downstream_id:uuid limit:i64
-- out:  row:execution
-- note: Whose edges speak against a node: they failed or were skipped.
SELECT {{execution.columns:e}}
  FROM ff_edge x
  JOIN ff_execution e ON e.partition_key = x.partition_key AND e.execution_id = x.execution_id
 WHERE x.partition_key = :partition_key AND x.downstream_id = :downstream_id
   AND x.outcome IN ({{code:EDGE_FAIL}}, {{code:EDGE_SKIP}})
 ORDER BY e.node
 LIMIT :limit;

-- name: failed_ancestors
-- in:   partition_key:i16 downstream_id:uuid limit:i64
-- out:  row:execution
-- note: The executions that a node was skipped for: up through everything skipped, to those that
--       failed, expired or were cancelled by themselves.
WITH RECURSIVE up (id) AS (
    SELECT x.execution_id
      FROM ff_edge x
     WHERE x.partition_key = :partition_key AND x.downstream_id = :downstream_id
       AND x.outcome IN ({{code:EDGE_FAIL}}, {{code:EDGE_SKIP}})
    UNION
    SELECT x.execution_id
      FROM up
      JOIN ff_execution s ON s.partition_key = :partition_key AND s.execution_id = up.id
                         AND s.state = {{state:SKIPPED}}
      JOIN ff_edge x ON x.partition_key = :partition_key AND x.downstream_id = up.id
     WHERE x.outcome IN ({{code:EDGE_FAIL}}, {{code:EDGE_SKIP}}))
SELECT {{execution.columns:e}}
  FROM up
  JOIN ff_execution e ON e.partition_key = :partition_key AND e.execution_id = up.id
 WHERE e.state IN ({{states:FAILED,CANCELLED,EXPIRED}})
 ORDER BY e.execution_id
 LIMIT :limit;

-- name: flow_broken_leaf
-- in:   flow_id:uuid limit:i64
-- out:  row:execution
-- note: Members without outgoing edges that have not completed. None in a flow whose members have
--       all ended: it has completed.
SELECT {{execution.columns:e}}
  FROM ff_execution e
 WHERE e.flow_id = :flow_id
   AND e.state <> {{state:SUCCESS}}
   AND NOT EXISTS (SELECT 1 FROM ff_edge x
                    WHERE x.partition_key = e.partition_key AND x.execution_id = e.execution_id)
 LIMIT :limit;

-- name: flow_members_alive
-- in:   flow_id:uuid after_id:uuid limit:i64
-- out:  row:execution
SELECT {{execution.columns}}
  FROM ff_execution
 WHERE flow_id = :flow_id AND execution_id > :after_id AND {{alive}}
 ORDER BY execution_id
 LIMIT :limit;

-- name: flow_members
-- in:   flow_id:uuid after_id:uuid limit:i64
-- out:  row:execution
SELECT {{execution.columns}}
  FROM ff_execution
 WHERE flow_id = :flow_id AND execution_id > :after_id
 ORDER BY execution_id
 LIMIT :limit;

-- name: hops_open
-- in:   before_ms:i64 namespace:text? instance_tag:text? limit:i64
-- out:  row:outbox
-- note: Hops that have not been dispatched and are not put off, oldest first.
SELECT {{outbox.columns}}
  FROM ff_outbox
 WHERE dispatched_at_ms IS NULL
   AND not_before_ms <= {{now_ms}}
   AND created_at_ms <= :before_ms
   AND (:namespace IS NULL OR namespace = :namespace)
   AND (:instance_tag IS NULL OR instance_tag = :instance_tag)
 ORDER BY created_at_ms, execution_id
 LIMIT :limit;

-- name: drains_open
-- in:   before_ms:i64 namespace:text? instance_tag:text? limit:i64
-- out:  row:drain
SELECT {{drain.columns}}
  FROM ff_pending_cancel
 WHERE not_before_ms <= {{now_ms}}
   AND created_at_ms <= :before_ms
   AND (:namespace IS NULL OR namespace = :namespace)
   AND (:instance_tag IS NULL OR instance_tag = :instance_tag)
 ORDER BY created_at_ms, execution_id
 LIMIT :limit;

-- name: flows_open
-- in:   before_ms:i64 namespace:text? instance_tag:text? limit:i64
-- out:  row:flow
-- note: Flows with members to cancel or to remove.
SELECT {{flow.columns}}
  FROM ff_flow
 WHERE (draining = 1 OR state = {{code:FLOW_REMOVED}})
   AND changed_at_ms <= :before_ms
   AND (:namespace IS NULL OR namespace = :namespace)
   AND (:instance_tag IS NULL OR instance_tag = :instance_tag)
 ORDER BY changed_at_ms
 LIMIT :limit;

-- name: retention_flows
-- in:   cutoff_ms:i64 namespace:text? instance_tag:text? limit:i64
-- out:  row:flow
-- note: Flows whose last member ended before the cutoff, oldest first.
SELECT {{flow.columns}}
  FROM ff_flow
 WHERE finished_at_ms < :cutoff_ms
   AND state <> {{code:FLOW_REMOVED}}
   AND draining = 0
   AND (:namespace IS NULL OR namespace = :namespace)
   AND (:instance_tag IS NULL OR instance_tag = :instance_tag)
 ORDER BY finished_at_ms
 LIMIT :limit
 {{lock_skip}};
