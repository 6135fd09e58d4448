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

-- name: groups_from
-- in:   partition_key:i16 execution_id:uuid after_id:uuid limit:i64
-- out:  row:edge_group
-- note: The joins that an execution leads to, as edges_from shows its edges.
SELECT {{edge_group.columns:g}}
  FROM ff_edge x
  JOIN ff_edge_group g ON g.partition_key = x.partition_key AND g.execution_id = x.downstream_id
 WHERE x.partition_key = :partition_key AND x.execution_id = :execution_id
   AND x.downstream_id > :after_id
 ORDER BY x.downstream_id
 LIMIT :limit;

-- name: edges_asked
-- in:   partition_key:i16 downstream_id:uuid after_id:uuid limit:i64
-- out:  row:edge
-- note: Of the upstreams that a node has not heard of, page by page: the open edges to joins that
--       have been decided and asked to cancel the rest, its own included. CROSS JOIN makes SQLite
--       begin with the node; coalesce keeps it from taking the cursor for a bound of y, which it
--       would walk to the end for each x.
SELECT {{edge.columns:y}}
  FROM ff_edge x {{by_index:ff_edge_downstream}}
 CROSS JOIN ff_edge y
  JOIN ff_edge_group g
    ON g.partition_key = y.partition_key AND g.execution_id = y.downstream_id
   AND g.group_state <> {{code:GROUP_PENDING}} AND g.policy <> {{code:JOIN_ALL_OF}}
   AND g.on_satisfied = {{code:ON_SATISFIED_CANCEL_REMAINING}}
 WHERE x.partition_key = :partition_key AND x.downstream_id = :downstream_id
   AND x.execution_id > :after_id AND x.outcome = {{code:EDGE_UNRESOLVED}}
   AND y.partition_key = x.partition_key
   AND y.execution_id = coalesce(x.execution_id, x.execution_id)
   AND y.outcome = {{code:EDGE_UNRESOLVED}}
 ORDER BY x.execution_id, y.downstream_id
 LIMIT :limit;

-- name: sibling_needed
-- in:   partition_key:i16 execution_id:uuid limit:i64
-- out:  row:edge
-- note: Edges of an execution to nodes that still wait for it: their join is open and they have not
--       ended. `+ 0`, here and below, keeps Postgres from looking for rows by their partition
--       alone, as it likes to while tables are small: it goes on so until the next ANALYZE, and
--       walks through all executions for each edge.
SELECT {{edge.columns:x}}
  FROM ff_edge x
  JOIN ff_edge_group g
    ON g.partition_key = x.partition_key + 0 AND g.execution_id = x.downstream_id
   AND g.group_state = {{code:GROUP_PENDING}}
  JOIN ff_execution e
    ON e.partition_key = x.partition_key + 0 AND e.execution_id = x.downstream_id AND {{alive:e}}
 WHERE x.partition_key = :partition_key AND x.execution_id = :execution_id
 LIMIT :limit;

-- name: failed_upstreams
-- in:   partition_key:i16 downstream_id:uuid limit:i64
-- out:  row:execution
-- note: Who speaks against a node: they failed or were skipped. An edge may tell of an older run
--       than the last; then it is the last that counts.
SELECT {{execution.columns:e}}
  FROM ff_edge x {{by_index:ff_edge_downstream}}
  JOIN ff_execution e ON e.partition_key = x.partition_key + 0 AND e.execution_id = x.execution_id
 WHERE x.partition_key = :partition_key AND x.downstream_id = :downstream_id
   AND x.outcome <> {{code:EDGE_UNRESOLVED}} AND {{terminal:e}} AND e.state <> {{state:SUCCESS}}
 ORDER BY e.node
 LIMIT :limit;

-- name: outdated_upstreams
-- in:   partition_key:i16 downstream_id:uuid limit:i64
-- out:  row:execution
-- note: Who has run again since its edge into this node was resolved.
SELECT {{execution.columns:e}}
  FROM ff_edge x {{by_index:ff_edge_downstream}}
  JOIN ff_execution e ON e.partition_key = x.partition_key + 0 AND e.execution_id = x.execution_id
 WHERE x.partition_key = :partition_key AND x.downstream_id = :downstream_id
   AND x.outcome <> {{code:EDGE_UNRESOLVED}} AND x.resolved_generation < e.generation
 ORDER BY e.execution_id
 LIMIT :limit;

-- name: failed_ancestors
-- in:   partition_key:i16 downstream_id:uuid limit:i64
-- out:  row:execution
-- note: Why a node cannot run: up through everything that could not run either, those that failed,
--       expired or were cancelled by themselves.
WITH RECURSIVE up (partition_key, id) AS (
    SELECT x.partition_key + 0, x.execution_id
      FROM ff_edge x {{by_index:ff_edge_downstream}}
     WHERE x.partition_key = :partition_key AND x.downstream_id = :downstream_id
       AND x.outcome <> {{code:EDGE_UNRESOLVED}}
    UNION
    SELECT up.partition_key, x.execution_id
      FROM up
      JOIN ff_execution e ON e.partition_key = up.partition_key AND e.execution_id = up.id
                         AND {{terminal:e}} AND e.state <> {{state:SUCCESS}}
      JOIN ff_edge_group g ON g.partition_key = up.partition_key AND g.execution_id = up.id
                          AND g.group_state = {{code:GROUP_IMPOSSIBLE}}
      JOIN ff_edge x {{by_index:ff_edge_downstream}}
        ON x.partition_key = up.partition_key AND x.downstream_id = up.id
     WHERE x.outcome <> {{code:EDGE_UNRESOLVED}})
SELECT {{execution.columns:e}}
  FROM up
  JOIN ff_execution e ON e.partition_key = up.partition_key AND e.execution_id = up.id
 WHERE e.state IN ({{states:FAILED,CANCELLED,EXPIRED}})
 ORDER BY e.execution_id
 LIMIT :limit;

-- fragment: members
-- note: The executions of a flow; parameters by FF_MEMBERS_OF. Ids of members have the time of
--       their flow's: the dated lie together in the key. The others have an index. A flow that is
--       not dated has no dated members, and its place in the key may be that of many: then there
--       is no beginning, and nothing is walked.
SELECT e.*
  FROM ff_execution e
 WHERE (e.flags & {{code:EXEC_DATED}}) <> 0
   AND e.flow_id = :flow_id
   AND e.execution_id <= :last_id
   AND e.execution_id >= CASE WHEN (SELECT f.created_at_ms FROM ff_flow f
                                     WHERE f.partition_key = :partition_key
                                       AND f.flow_id = :flow_id) = :flow_ms
                              THEN :first_id END
UNION ALL
SELECT e.*
  FROM ff_execution e
 WHERE (e.flags & {{code:EXEC_DATED}}) = 0
   AND e.flow_id = :flow_id;

-- name: flow_broken_leaf
-- in:   flow_id:uuid partition_key:i16 first_id:uuid last_id:uuid flow_ms:i64 limit:i64
-- out:  row:execution
-- note: Members without outgoing edges that have not completed. None in a flow whose members have
--       all ended: it has completed.
SELECT {{execution.columns:e}}
  FROM ({{members}}) e
 WHERE e.state <> {{state:SUCCESS}}
   AND NOT EXISTS (SELECT 1 FROM ff_edge x
                    WHERE x.partition_key = e.partition_key AND x.execution_id = e.execution_id)
 LIMIT :limit;

-- name: flow_members_alive
-- in:   flow_id:uuid after_id:uuid partition_key:i16 first_id:uuid last_id:uuid flow_ms:i64
-- in:   limit:i64
-- out:  row:execution
SELECT {{execution.columns:m}}
  FROM ({{members}}) m
 WHERE m.execution_id > :after_id AND {{alive:m}}
 ORDER BY m.execution_id
 LIMIT :limit;

-- name: flow_members
-- in:   flow_id:uuid after_id:uuid partition_key:i16 first_id:uuid last_id:uuid flow_ms:i64
-- in:   limit:i64
-- out:  row:execution
SELECT {{execution.columns:m}}
  FROM ({{members}}) m
 WHERE m.execution_id > :after_id
 ORDER BY m.execution_id
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
   AND {{filtered}}
 ORDER BY created_at_ms, execution_id
 LIMIT :limit;

-- name: drains_open
-- in:   before_ms:i64 namespace:text? instance_tag:text? limit:i64
-- out:  row:drain
SELECT {{drain.columns}}
  FROM ff_pending_cancel
 WHERE not_before_ms <= {{now_ms}}
   AND created_at_ms <= :before_ms
   AND {{filtered}}
 ORDER BY created_at_ms, execution_id
 LIMIT :limit;

-- name: flows_open
-- in:   before_ms:i64 namespace:text? instance_tag:text? limit:i64
-- out:  row:flow
-- note: Flows with members to cancel or to remove.
SELECT {{flow.columns}}
  FROM ff_flow
 WHERE (draining = 1 OR state = {{code:FLOW_REMOVED}})
   AND not_before_ms <= {{now_ms}}
   AND changed_at_ms <= :before_ms
   AND {{filtered}}
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
   AND {{filtered}}
 ORDER BY finished_at_ms
 LIMIT :limit
 {{lock_skip}};

-- name: flow_get
-- in:   partition_key:i16 flow_id:uuid
-- out:  row:flow
SELECT {{flow.columns}}
  FROM ff_flow
 WHERE partition_key = :partition_key AND flow_id = :flow_id AND state <> {{code:FLOW_REMOVED}};

-- name: flow_by_uuid
-- in:   first:uuid last:uuid limit:i64
-- out:  row:flow
-- note: All flows from `first` to `last`, to complete an id somebody has typed in part.
SELECT {{flow.columns}}
  FROM ff_flow
 WHERE flow_id BETWEEN :first AND :last AND state <> {{code:FLOW_REMOVED}}
 ORDER BY flow_id
 LIMIT :limit;

-- name: flow_list
-- in:   namespace:text? kind:text? states:i64[]? started:i64?
-- in:   before_created_ms:i64 before_id:uuid limit:i64
-- out:  row:flow
-- note: Newest first. `started` 1 or 0: only flows of which something, or nothing, has begun. For
--       their members see the fragment `members`; here the flow is not known beforehand.
-- postgres:
-- The bounds of a millisecond are made of text here, and of bytes there.
SELECT {{flow.columns:f}}
  FROM ff_flow f
 WHERE (f.created_at_ms < :before_created_ms
        OR (f.created_at_ms = :before_created_ms AND f.flow_id < :before_id))
   AND f.state <> {{code:FLOW_REMOVED}}
   AND (:namespace IS NULL OR f.namespace = :namespace)
   AND (:kind IS NULL OR f.kind = :kind)
   AND (:states IS NULL OR f.state {{any:states}})
   AND (:started IS NULL
        OR :started = CASE WHEN EXISTS (SELECT 1 FROM ff_execution e
                                   WHERE (e.flags & {{code:EXEC_DATED}}) = 0
                                     AND e.flow_id = f.flow_id AND {{begun:e}})
                             OR EXISTS (SELECT 1 FROM ff_execution e
                                   WHERE (e.flags & {{code:EXEC_DATED}}) <> 0
                                     AND lpad(to_hex(f.created_at_ms), 12, '0')
                                         = left(replace(CAST(f.flow_id AS text), '-', ''), 12)
                                     AND e.execution_id >= CAST(left(CAST(f.flow_id AS text), 13)
                                         || '-0000-0000-000000000000' AS uuid)
                                     AND e.execution_id <= CAST(left(CAST(f.flow_id AS text), 13)
                                         || '-ffff-ffff-ffffffffffff' AS uuid)
                                     AND e.flow_id = f.flow_id AND {{begun:e}})
                           THEN 1 ELSE 0 END)
 ORDER BY f.created_at_ms DESC, f.flow_id DESC
 LIMIT :limit;
-- sqlite:
-- The same of bytes.
SELECT {{flow.columns:f}}
  FROM ff_flow f
 WHERE (f.created_at_ms < :before_created_ms
        OR (f.created_at_ms = :before_created_ms AND f.flow_id < :before_id))
   AND f.state <> {{code:FLOW_REMOVED}}
   AND (:namespace IS NULL OR f.namespace = :namespace)
   AND (:kind IS NULL OR f.kind = :kind)
   AND (:states IS NULL OR f.state {{any:states}})
   AND (:started IS NULL
        OR :started = CASE WHEN EXISTS (SELECT 1 FROM ff_execution e
                                   WHERE (e.flags & {{code:EXEC_DATED}}) = 0
                                     AND e.flow_id = f.flow_id AND {{begun:e}})
                             OR EXISTS (SELECT 1 FROM ff_execution e
                                   WHERE (e.flags & {{code:EXEC_DATED}}) <> 0
                                     AND printf('%012X', f.created_at_ms)
                                         = substr(hex(f.flow_id), 1, 12)
                                     AND e.execution_id >= substr(f.flow_id, 1, 6)
                                     AND e.execution_id <= CAST(substr(f.flow_id, 1, 6)
                                         || x'ffffffffffffffffffff' AS blob)
                                     AND e.flow_id = f.flow_id AND {{begun:e}})
                           THEN 1 ELSE 0 END)
 ORDER BY f.created_at_ms DESC, f.flow_id DESC
 LIMIT :limit;

-- name: flow_counts
-- in:   partition_key:i16 flow_id:uuid first_id:uuid last_id:uuid flow_ms:i64
-- out:  cells state:i64 count:i64 started:i64
-- note: Members by state, and how many of them have ever begun or ended.
SELECT state, count(*) AS count,
       count(CASE WHEN {{begun}} THEN 1 END) AS started
  FROM ({{members}}) m
 GROUP BY state
 ORDER BY state;

-- name: flow_nodes
-- in:   partition_key:i16 flow_id:uuid first_id:uuid last_id:uuid flow_ms:i64
-- out:  cells partition_key:i64 execution_id:uuid node:text kind:text state:i64
SELECT partition_key, execution_id, node, kind, state
  FROM ({{members}}) m
 ORDER BY node;

-- name: flow_edges
-- in:   partition_key:i16 flow_id:uuid first_id:uuid last_id:uuid
-- out:  cells from_node:text to_node:text pass:i64 outcome:i64
-- note: Found by their key, which begins with that of a member. CROSS JOIN makes SQLite begin
--       there.
SELECT u.node AS from_node, d.node AS to_node, x.pass, x.outcome
  FROM ff_edge x
 CROSS JOIN ff_execution u
  JOIN ff_execution d
    ON d.partition_key = x.partition_key + 0 AND d.execution_id = x.downstream_id
 WHERE x.partition_key = :partition_key AND x.flow_id = :flow_id
   AND x.execution_id >= :first_id AND x.execution_id <= :last_id
   AND u.partition_key = x.partition_key + 0 AND u.execution_id = x.execution_id
 ORDER BY u.node, d.node;

-- name: flow_joins
-- in:   partition_key:i16 flow_id:uuid first_id:uuid last_id:uuid
-- out:  cells node:text policy:i64 k:i64 on_satisfied:i64
-- out:  cells success:i64 fail:i64 skip:i64 total:i64 group_state:i64
SELECT e.node, g.policy, g.k, g.on_satisfied, g.success, g.fail, g.skip, g.total, g.group_state
  FROM ff_edge_group g
 CROSS JOIN ff_execution e
 WHERE g.partition_key = :partition_key AND g.flow_id = :flow_id
   AND g.execution_id >= :first_id AND g.execution_id <= :last_id
   AND e.partition_key = g.partition_key + 0 AND e.execution_id = g.execution_id
 ORDER BY e.node;

-- name: upstreams
-- in:   partition_keys:i64[] downstream_ids:uuid[] inline_bytes:i64 room:i64 limit:i64
-- out:  cells nth:i64 execution_id:uuid node:text pass:i64 outcome:i64
-- out:  cells bytes:i64 takes:i64 data:blob content_type:text generation:i64
-- note: What nodes waited for, node by node as they were asked for (`nth` counts from 1), with the
--       results that are small enough, as far as all those of a node together fit `room`; and the
--       one that is to be its input. `bytes` is null when there is no result, `takes` when it does
--       not come along. Nodes behind the first whose results do not fit `room` together with those
--       before get none: whoever asks leaves them out, as `takes` says. Sums are made of lengths.
-- postgres:
-- OFFSET 0 makes each lookup one of its own, by its whole key: to join them Postgres goes through
-- tables that are small, and goes on so until the next ANALYZE. The SELECT around an array hides
-- its length: one plan fits all, left to itself Postgres makes a new one for each short array. What
-- is large is kept apart from its row, so that data may pass through the sort.
SELECT u.nth, u.execution_id, u.node, u.pass, u.outcome, u.bytes, u.takes,
       CASE WHEN u.takes IS NOT NULL
             AND (u.nth = 1 OR sum(u.takes) OVER (ORDER BY u.nth) <= :room) THEN u.data END AS data,
       u.content_type, u.resolved_generation AS generation
  FROM (SELECT n.nth, x.execution_id, e.node, x.pass, x.outcome, x.resolved_generation,
               length(p.data) AS bytes, p.data, p.content_type,
               CASE WHEN x.pass = {{code:PASS_INPUT}}
                      OR (length(p.data) <= :inline_bytes
                          AND sum(CASE WHEN length(p.data) <= :inline_bytes
                                        AND x.pass <> {{code:PASS_INPUT}}
                                       THEN length(p.data) ELSE 0 END)
                              OVER (PARTITION BY n.nth ORDER BY e.node) <= :room)
                    THEN length(p.data) END AS takes
          FROM unnest((SELECT :partition_keys), (SELECT :downstream_ids)) WITH ORDINALITY
               AS n (partition_key, id, nth)
         CROSS JOIN LATERAL (
               SELECT y.execution_id, y.pass, y.outcome, y.resolved_generation
                 FROM ff_edge y
                WHERE y.partition_key = n.partition_key AND y.downstream_id = n.id OFFSET 0) x
         CROSS JOIN LATERAL (
               SELECT y.node
                 FROM ff_execution y
                WHERE y.partition_key = n.partition_key AND y.execution_id = x.execution_id
               OFFSET 0) e
          LEFT JOIN LATERAL (
               SELECT y.data, y.content_type
                 FROM ff_payload y
                WHERE y.partition_key = n.partition_key AND y.execution_id = x.execution_id
                  AND y.kind = {{code:PAYLOAD_RESULT}} AND y.generation = x.resolved_generation
                  AND x.outcome = {{code:EDGE_SUCCESS}} OFFSET 0) p ON true) u
 ORDER BY u.nth, u.node
 LIMIT :limit;
-- sqlite:
-- It has no LATERAL: CROSS JOIN makes it begin with the nodes. Data is fetched last.
SELECT u.nth, u.execution_id, u.node, u.pass, u.outcome, u.bytes, u.takes,
       CASE WHEN u.takes IS NOT NULL
             AND (u.nth = 1 OR sum(u.takes) OVER (ORDER BY u.nth) <= :room)
            THEN (SELECT p.data
                    FROM ff_payload p
                   WHERE p.partition_key = u.partition_key AND p.execution_id = u.execution_id
                     AND p.kind = {{code:PAYLOAD_RESULT}}
                     AND p.generation = u.resolved_generation) END AS data,
       u.content_type, u.resolved_generation AS generation
  FROM (SELECT n.key + 1 AS nth, x.partition_key, x.execution_id, e.node, x.pass, x.outcome,
               x.resolved_generation, length(p.data) AS bytes, p.content_type,
               CASE WHEN x.pass = {{code:PASS_INPUT}}
                      OR (length(p.data) <= :inline_bytes
                          AND sum(CASE WHEN length(p.data) <= :inline_bytes
                                        AND x.pass <> {{code:PASS_INPUT}}
                                       THEN length(p.data) ELSE 0 END)
                              OVER (PARTITION BY n.key ORDER BY e.node) <= :room)
                    THEN length(p.data) END AS takes
          FROM json_each(:partition_keys) n
         CROSS JOIN ff_edge x {{by_index:ff_edge_downstream}}
            ON x.partition_key = n.value
           AND x.downstream_id = substr(:downstream_ids, 16 * n.key + 1, 16)
         CROSS JOIN ff_execution e
            ON e.partition_key = x.partition_key AND e.execution_id = x.execution_id
          LEFT JOIN ff_payload p
            ON p.partition_key = x.partition_key AND p.execution_id = x.execution_id
           AND p.kind = {{code:PAYLOAD_RESULT}} AND p.generation = x.resolved_generation
           AND x.outcome = {{code:EDGE_SUCCESS}}) u
 ORDER BY u.nth, u.node
 LIMIT :limit;

-- name: upstreams_with
-- in:   partition_key:i16 downstream_id:uuid outcomes:i64[] limit:i64
-- out:  cells node:text
-- note: The first by name of those whose edges into a node have one of these outcomes.
SELECT e.node
  FROM ff_edge x {{by_index:ff_edge_downstream}}
  JOIN ff_execution e ON e.partition_key = x.partition_key + 0 AND e.execution_id = x.execution_id
 WHERE x.partition_key = :partition_key AND x.downstream_id = :downstream_id
   AND x.outcome {{any:outcomes}}
 ORDER BY e.node
 LIMIT :limit;

-- name: hops_about
-- in:   partition_key:i16 execution_id:uuid limit:i64
-- out:  cells node:text kind:i64 tries:i64 not_before_ms:i64
-- note: What has not been passed on: ends and reopenings of the execution itself, ends of those it
--       waits for, reopenings of all its upstreams. Those that failed most come first.
WITH w (partition_key, id, outcome) AS (
    SELECT e.partition_key + 0, e.execution_id, {{code:EDGE_UNRESOLVED}}
      FROM ff_execution e
     WHERE e.partition_key = :partition_key AND e.execution_id = :execution_id
    UNION ALL
    SELECT x.partition_key + 0, x.execution_id, x.outcome
      FROM ff_edge x {{by_index:ff_edge_downstream}}
     WHERE x.partition_key = :partition_key AND x.downstream_id = :execution_id)
SELECT e.node, o.kind, o.tries, o.not_before_ms
  FROM w
  JOIN ff_outbox o ON o.partition_key = w.partition_key AND o.execution_id = w.id
                  AND o.dispatched_at_ms IS NULL
  JOIN ff_execution e ON e.partition_key = w.partition_key AND e.execution_id = w.id
 WHERE w.outcome = {{code:EDGE_UNRESOLVED}} OR o.kind = {{code:HOP_REOPEN}}
 ORDER BY o.tries DESC, e.node
 LIMIT :limit;

-- name: drains_about
-- in:   partition_key:i16 execution_id:uuid flow_id:uuid
-- out:  cells what:text tries:i64 not_before_ms:i64
-- note: Cancels that have failed: of the upstreams of a node, of an execution as such an upstream,
--       of the members of its flow. CROSS JOIN makes SQLite begin with the edges.
SELECT 'join' AS what, p.tries, p.not_before_ms
  FROM ff_pending_cancel p
 WHERE p.partition_key = :partition_key AND p.execution_id = :execution_id AND p.tries > 0
UNION ALL
SELECT 'sibling' AS what, p.tries, p.not_before_ms
  FROM ff_edge x
 CROSS JOIN ff_pending_cancel p
 WHERE x.partition_key = :partition_key AND x.execution_id = :execution_id
   AND x.outcome = {{code:EDGE_UNRESOLVED}}
   AND p.partition_key = x.partition_key AND p.execution_id = x.downstream_id AND p.tries > 0
UNION ALL
SELECT 'flow' AS what, f.tries, f.not_before_ms
  FROM ff_flow f
 WHERE f.partition_key = :partition_key AND f.flow_id = :flow_id AND f.draining = 1
   AND f.tries > 0;

-- name: cascade_stuck
-- out:  cells count:i64
-- note: Steps of cascades that have failed again and again: hops, drains, flows.
SELECT (SELECT count(*) FROM ff_outbox
         WHERE dispatched_at_ms IS NULL AND tries >= {{code:HOP_TRIES_STUCK}})
     + (SELECT count(*) FROM ff_pending_cancel WHERE tries >= {{code:HOP_TRIES_STUCK}})
     + (SELECT count(*) FROM ff_flow
         WHERE (draining = 1 OR state = {{code:FLOW_REMOVED}})
           AND tries >= {{code:HOP_TRIES_STUCK}}) AS count;

-- name: hop_oldest
-- in:   limit:i64
-- out:  row:outbox
-- note: The hop that has waited longest: the log is kept from there on.
SELECT {{outbox.columns}}
  FROM ff_outbox
 WHERE dispatched_at_ms IS NULL
 ORDER BY created_at_ms
 LIMIT :limit;
