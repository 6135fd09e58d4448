-- Audits: what must hold in every store at every moment. No row is good news.
--
-- `ff fsck` runs every block named fsck_*; the note is what it prints. Each audit is one statement,
-- so it sees one moment, also of a store at work. An id may be used again after its execution has
-- been removed, so an event belongs to the execution only from created_at_ms on.

-- name: fsck_terminal_without_completion
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Every ended execution has a completion event of its generation, as far back as the log is
--       kept.
SELECT e.partition_key, e.execution_id,
       'generation ' || CAST(e.generation AS text) || ' ended without a completion event' AS detail
  FROM ff_execution e
 WHERE {{terminal:e}}
   AND NOT EXISTS (SELECT 1 FROM ff_event v
                    WHERE v.execution_id = e.execution_id AND v.partition_key = e.partition_key
                      AND v.kind = {{event:completion}} AND v.generation = e.generation)
   AND (NOT EXISTS (SELECT 1 FROM ff_meta m WHERE m.name = 'log_floor')
        OR e.finished_at_ms > 60000 + (SELECT f.at_ms FROM ff_event f ORDER BY f.event_id LIMIT 1))
 LIMIT :limit;

-- name: fsck_completion_twice
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: No generation of an execution is completed twice.
SELECT e.partition_key, e.execution_id,
       'generation ' || CAST(v.generation AS text) || ' has ' || CAST(count(*) AS text)
           || ' completion events' AS detail
  FROM ff_event v
  JOIN ff_execution e
    ON e.partition_key = v.partition_key AND e.execution_id = v.execution_id
   AND v.at_ms >= e.created_at_ms
 WHERE v.kind = {{event:completion}}
 GROUP BY e.partition_key, e.execution_id, v.generation
HAVING count(*) > 1
 LIMIT :limit;

-- name: fsck_completion_of_the_living
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Whatever has a completion event has ended, or has been replayed since.
SELECT e.partition_key, e.execution_id,
       'event ' || CAST(v.event_id AS text) || ' completes generation '
           || CAST(v.generation AS text) || ', the row is in generation '
           || CAST(e.generation AS text) || ', state ' || {{public_case:e.state}} AS detail
  FROM ff_event v
  JOIN ff_execution e
    ON e.partition_key = v.partition_key AND e.execution_id = v.execution_id
   AND v.at_ms >= e.created_at_ms
 WHERE v.kind = {{event:completion}}
   AND (v.generation > e.generation OR (v.generation = e.generation AND {{alive:e}}))
 LIMIT :limit;

-- name: fsck_completion_contradicts
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A completion event tells the outcome, namespace and instance tag of its execution.
SELECT e.partition_key, e.execution_id,
       'event ' || CAST(v.event_id AS text) || ' says ' || {{event_case:completion:v.type}}
           || ', the row says ' || {{outcome_case:e.state}} AS detail
  FROM ff_event v
  JOIN ff_execution e
    ON e.partition_key = v.partition_key AND e.execution_id = v.execution_id
   AND v.generation = e.generation AND v.at_ms >= e.created_at_ms
 WHERE v.kind = {{event:completion}}
   AND {{terminal:e}}
   AND ({{event_case:completion:v.type}} <> {{outcome_case:e.state}}
        OR v.state IS NULL OR v.state <> e.state
        OR v.namespace IS NULL OR v.namespace <> e.namespace
        OR coalesce(v.instance_tag, '') <> coalesce(e.instance_tag, ''))
 LIMIT :limit;

-- name: fsck_active_without_lease
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: An active execution has a lease with an owner and an end.
SELECT e.partition_key, e.execution_id,
       {{public_case:e.state}} || ' without a whole lease' AS detail
  FROM ff_execution e
 WHERE e.state IN ({{public:active}})
   AND (e.lease_id IS NULL OR e.lease_ttl_ms IS NULL OR e.lease_acquired_at_ms IS NULL
        OR e.lease_expires_at_ms IS NULL OR e.worker_id IS NULL OR e.worker_instance_id IS NULL
        OR e.lease_epoch < 1 OR e.started_at_ms IS NULL)
 LIMIT :limit;

-- fragment: keeps_attempt
-- note: Of an execution `e`: its row keeps the attempt that completed it. See ff_attempt_is_kept.
(e.state = {{state:SUCCESS}} AND e.lease_acquired_at_ms IS NOT NULL
        AND e.worker_id IS NOT NULL AND e.worker_instance_id IS NOT NULL);

-- name: fsck_lease_without_owner
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Only an active execution has a lease. A completed one may keep the worker and the beginning
--       of its last attempt, all or nothing.
SELECT e.partition_key, e.execution_id, {{public_case:e.state}} || ' with a lease' AS detail
  FROM ff_execution e
 WHERE e.state NOT IN ({{public:active}})
   AND (e.lease_id IS NOT NULL OR e.lease_ttl_ms IS NOT NULL
        OR e.lease_renewed_at_ms IS NOT NULL OR e.lease_expires_at_ms IS NOT NULL
        OR (NOT {{keeps_attempt}}
            AND (e.lease_acquired_at_ms IS NOT NULL OR e.worker_id IS NOT NULL
                 OR e.worker_instance_id IS NOT NULL)))
 LIMIT :limit;

-- name: fsck_timer_missing
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Whatever waits for a time is found by its timer: leases, delays and deadlines.
SELECT e.partition_key, e.execution_id,
       {{public_case:e.state}} || ' has no timer, or one that is too late' AS detail
  FROM ff_execution e
 WHERE (e.due_at_ms IS NULL
        AND (e.state = {{state:ACTIVE}} OR e.state IN ({{public:delayed}})
             OR ({{alive:e}} AND e.deadline_at_ms IS NOT NULL)))
    OR (e.state IN ({{public:delayed}})
        AND (e.delay_until_ms IS NULL OR e.due_at_ms > e.delay_until_ms))
    OR ({{alive:e}} AND e.due_at_ms > e.deadline_at_ms)
 LIMIT :limit;

-- name: fsck_timer_of_the_dead
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Nothing that has ended has a timer, and nothing that lives has an end.
SELECT e.partition_key, e.execution_id,
       CASE WHEN {{terminal:e}} THEN 'ended with a timer or without a time'
            ELSE 'alive with the time of its end' END AS detail
  FROM ff_execution e
 WHERE ({{terminal:e}} AND (e.due_at_ms IS NOT NULL OR e.finished_at_ms IS NULL))
    OR ({{alive:e}} AND e.finished_at_ms IS NOT NULL)
 LIMIT :limit;

-- name: fsck_attempt_from_the_future
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: No ended tenancy has an epoch the execution has not reached, nor that of its live lease.
SELECT e.partition_key, e.execution_id,
       'attempt of epoch ' || CAST(a.lease_epoch AS text) || ', the row is at '
           || CAST(e.lease_epoch AS text) AS detail
  FROM ff_attempt a
  JOIN ff_execution e ON e.partition_key = a.partition_key AND e.execution_id = a.execution_id
 WHERE a.lease_epoch > e.lease_epoch
    OR (a.lease_epoch = e.lease_epoch AND e.state IN ({{public:active}}))
    OR a.generation > e.generation
 LIMIT :limit;

-- name: fsck_attempt_missing
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: The last ended tenancy of an execution is among its attempts, or kept on its row.
SELECT e.partition_key, e.execution_id,
       'no attempt of the last ended epoch ' || CAST(e.last_epoch AS text) AS detail
  FROM ff_execution e
 WHERE e.last_lease_id IS NOT NULL
   AND NOT {{keeps_attempt}}
   AND NOT EXISTS (SELECT 1 FROM ff_attempt a
                    WHERE a.partition_key = e.partition_key AND a.execution_id = e.execution_id
                      AND a.lease_epoch = e.last_epoch AND a.lease_id = e.last_lease_id)
 LIMIT :limit;

-- name: fsck_attempt_twice
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: An attempt that a completed execution keeps on its row is not among the others as well.
SELECT e.partition_key, e.execution_id,
       'attempt of epoch ' || CAST(a.lease_epoch AS text) || ' is on the row and among the others'
           AS detail
  FROM ff_execution e
  JOIN ff_attempt a ON a.partition_key = e.partition_key AND a.execution_id = e.execution_id
                   AND (a.lease_epoch = e.last_epoch OR a.lease_id = e.last_lease_id)
 WHERE {{keeps_attempt}}
 LIMIT :limit;

-- name: fsck_lease_used_twice
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A lease is one tenancy: no two ended attempts share it, and no live one is an ended one.
SELECT a.partition_key, a.execution_id,
       CAST(count(*) AS text) || ' attempts under one lease' AS detail
  FROM ff_attempt a
 GROUP BY a.partition_key, a.execution_id, a.lease_id
HAVING count(*) > 1
UNION ALL
SELECT e.partition_key, e.execution_id, 'the live lease has ended before' AS detail
  FROM ff_execution e
  JOIN ff_attempt a ON a.partition_key = e.partition_key AND a.execution_id = e.execution_id
 WHERE a.lease_id = e.lease_id
 LIMIT :limit;

-- name: fsck_orphan
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: What belongs to an execution goes with it.
SELECT c.partition_key, c.execution_id, 'attempt without its execution' AS detail
  FROM ff_attempt c
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e WHERE e.partition_key = c.partition_key
                                                  AND e.execution_id = c.execution_id)
UNION ALL
SELECT c.partition_key, c.execution_id, 'payload without its execution' AS detail
  FROM ff_payload c
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e WHERE e.partition_key = c.partition_key
                                                  AND e.execution_id = c.execution_id)
UNION ALL
SELECT c.partition_key, c.execution_id, 'tag without its execution' AS detail
  FROM ff_tag c
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e WHERE e.partition_key = c.partition_key
                                                  AND e.execution_id = c.execution_id)
UNION ALL
SELECT c.partition_key, c.execution_id, 'progress without its execution' AS detail
  FROM ff_progress c
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e WHERE e.partition_key = c.partition_key
                                                  AND e.execution_id = c.execution_id)
UNION ALL
SELECT c.partition_key, c.execution_id, 'hop without its execution' AS detail
  FROM ff_outbox c
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e WHERE e.partition_key = c.partition_key
                                                  AND e.execution_id = c.execution_id)
UNION ALL
SELECT c.partition_key, c.execution_id, 'edge without its upstream' AS detail
  FROM ff_edge c
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e WHERE e.partition_key = c.partition_key
                                                  AND e.execution_id = c.execution_id)
UNION ALL
SELECT c.partition_key, c.execution_id, 'join without its node' AS detail
  FROM ff_edge_group c
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e WHERE e.partition_key = c.partition_key
                                                  AND e.execution_id = c.execution_id)
UNION ALL
SELECT c.partition_key, c.execution_id, 'drain without its node' AS detail
  FROM ff_pending_cancel c
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e WHERE e.partition_key = c.partition_key
                                                  AND e.execution_id = c.execution_id)
 LIMIT :limit;

-- name: fsck_negative_counter
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Counters count up from zero, and no part is larger than its whole.
SELECT e.partition_key, e.execution_id, 'a counter is negative or larger than its whole' AS detail
  FROM ff_execution e
 WHERE e.generation < 0 OR e.attempt_index < 0 OR e.attempt_count < 0 OR e.retry_count < 0
    OR e.reclaim_count < 0 OR e.replay_count < 0 OR e.lease_epoch < 0 OR e.last_epoch < 0
    OR (e.attempt_spent_ms < 0 AND e.lease_id IS NULL) OR e.version < 0 OR e.priority < 0
    OR e.last_epoch > e.lease_epoch OR e.replay_count > e.generation
    OR e.attempt_count > e.lease_epoch
 LIMIT :limit;

-- name: fsck_event_from_the_future
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: No event is ahead of its execution.
SELECT e.partition_key, e.execution_id,
       'event ' || CAST(v.event_id AS text) || ' has version ' || CAST(v.version AS text)
           || ', the row has ' || CAST(e.version AS text) AS detail
  FROM ff_event v
  JOIN ff_execution e
    ON e.partition_key = v.partition_key AND e.execution_id = v.execution_id
   AND v.at_ms >= e.created_at_ms
 WHERE v.version > e.version OR v.generation > e.generation
 LIMIT :limit;

-- name: fsck_event_order
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: The log tells the story of an execution in order: versions and times never go back.
SELECT s.partition_key, s.execution_id,
       'event ' || CAST(s.event_id AS text) || ' has version ' || CAST(s.version AS text)
           || ', the event before it ' || CAST(s.version_before AS text) AS detail
  FROM (SELECT v.partition_key, v.execution_id, v.event_id, v.version, v.at_ms,
               lag(v.version) OVER story AS version_before,
               lag(v.at_ms) OVER story AS at_ms_before
          FROM ff_event v
          JOIN ff_execution e
            ON e.partition_key = v.partition_key AND e.execution_id = v.execution_id
           AND v.at_ms >= e.created_at_ms
        WINDOW story AS (PARTITION BY v.partition_key, v.execution_id ORDER BY v.event_id)) s
 WHERE s.version < s.version_before OR s.at_ms < s.at_ms_before
 LIMIT :limit;

-- name: fsck_epoch_order
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Every lease that the log tells of has a higher epoch than the one before it, and none that
--       its execution has not reached.
SELECT s.partition_key, s.execution_id,
       'event ' || CAST(s.event_id AS text) || ' gives out epoch '
           || CAST(coalesce(s.lease_epoch, 0) AS text) || ', the lease before it had '
           || CAST(coalesce(s.epoch_before, 0) AS text) || ', the row is at '
           || CAST(s.epoch_now AS text) AS detail
  FROM (SELECT v.partition_key, v.execution_id, v.event_id, v.lease_epoch,
               e.lease_epoch AS epoch_now, lag(v.lease_epoch) OVER story AS epoch_before
          FROM ff_event v
          JOIN ff_execution e
            ON e.partition_key = v.partition_key AND e.execution_id = v.execution_id
           AND v.at_ms >= e.created_at_ms
         WHERE v.kind = {{event:lease}}
           AND v.type IN ({{event:lease.acquired}}, {{event:lease.reclaimed}})
        WINDOW story AS (PARTITION BY v.partition_key, v.execution_id ORDER BY v.event_id)) s
 WHERE s.lease_epoch IS NULL OR s.lease_epoch <= s.epoch_before OR s.lease_epoch > s.epoch_now
 LIMIT :limit;

-- name: policies_kept
-- out:  cells policy:blob executions:i64 retries:i64 reclaims:i64 replays:i64
-- note: Every policy that executions were given (NULL: the default), and how far they went under
--       it. Whether it can be read, and allows that, is not told here.
SELECT policy, count(*) AS executions, CAST(max(retry_count) AS bigint) AS retries,
       CAST(max(reclaim_count) AS bigint) AS reclaims, CAST(max(replay_count) AS bigint) AS replays
  FROM ff_execution
 GROUP BY policy;

-- name: log_steps
-- out:  cells partition_key:i64 execution_id:uuid event_id:i64 kind:i64 type:i64
-- out:  cells state_before:i64 state:i64 changes:i64 generations:i64
-- note: Every kind of step that the executions kept have made, with the first one who made it: from
--       event to event, and from the last one to the row (kind 0). Whether such a step is legal is
--       not told here. What came before the first event that is kept is not known.
WITH told AS (
    SELECT v.partition_key, v.execution_id, v.event_id, v.kind, v.type, v.state, v.version,
           v.generation
      FROM ff_event v
      JOIN ff_execution e
        ON e.partition_key = v.partition_key AND e.execution_id = v.execution_id
       AND v.at_ms >= e.created_at_ms
     WHERE v.state IS NOT NULL
    UNION ALL
    SELECT partition_key, execution_id, 9223372036854775807, 0, 0, state, version, generation
      FROM ff_execution),
story AS (
    SELECT s.*, lag(s.state) OVER w AS state_before,
           s.version - coalesce(lag(s.version) OVER w, 0) AS changes,
           s.generation - coalesce(lag(s.generation) OVER w, 0) AS generations
      FROM told s
    WINDOW w AS (PARTITION BY s.partition_key, s.execution_id ORDER BY s.event_id)),
ranked AS (
    SELECT s.*, row_number() OVER (PARTITION BY s.kind, s.type, s.state_before, s.state,
                                                s.generations,
                                                CASE WHEN s.changes > 3 THEN 3 ELSE s.changes END
                                       ORDER BY s.event_id, s.partition_key, s.execution_id) AS nth
      FROM story s
     WHERE s.state_before IS NOT NULL
        OR NOT EXISTS (SELECT 1 FROM ff_meta m WHERE m.name = 'log_floor'))
SELECT CAST(partition_key AS bigint) AS partition_key, execution_id, event_id,
       CAST(kind AS bigint) AS kind, CAST(type AS bigint) AS type,
       CAST(coalesce(state_before, 0) AS bigint) AS state_before, CAST(state AS bigint) AS state,
       CAST(changes AS bigint) AS changes, CAST(generations AS bigint) AS generations
  FROM ranked
 WHERE nth = 1;

-- name: fsck_dedup_mismatch
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A deduplication key leads to an execution of its own namespace. Ids that callers made
--       themselves are unique in the whole store: their keys have no namespace.
SELECT e.partition_key, e.execution_id,
       'key of namespace ''' || d.namespace || ''' leads to one of ''' || e.namespace || ''''
           AS detail
  FROM ff_dedup d
  JOIN ff_execution e ON e.partition_key = d.partition_key AND e.execution_id = d.execution_id
 WHERE e.namespace <> d.namespace AND d.namespace <> ''
 LIMIT :limit;

-- name: fsck_capset_missing
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Required capabilities are known; otherwise no worker could ever satisfy them.
SELECT e.partition_key, e.execution_id,
       'no capability set ' || CAST(e.capset_id AS text) AS detail
  FROM ff_execution e
 WHERE e.capset_id <> 0
   AND NOT EXISTS (SELECT 1 FROM ff_capset c WHERE c.capset_id = e.capset_id)
 LIMIT :limit;

-- name: fsck_time_runs_back
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: The times of an execution are in order. A lease ends by the clock, which may be set back.
SELECT e.partition_key, e.execution_id, 'a time of record runs back' AS detail
  FROM ff_execution e
 WHERE e.changed_at_ms < e.created_at_ms OR e.started_at_ms < e.created_at_ms
    OR e.finished_at_ms < e.created_at_ms OR e.finished_at_ms > e.changed_at_ms
    OR e.lease_acquired_at_ms > e.changed_at_ms
 LIMIT :limit;

-- name: fsck_dated_wrong
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: What is said to be created at the time in its id was, and so was its flow: lists and flows
--       look for it there.
-- postgres:
-- Neither knows the other's way to write a number in hex.
SELECT e.partition_key, e.execution_id,
       'was created at another time than its id says' AS detail
  FROM ff_execution e
 WHERE {{dated}}
   AND (left(replace(CAST(e.execution_id AS text), '-', ''), 12)
        <> lpad(to_hex(e.created_at_ms), 12, '0')
        OR (e.flow_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM ff_flow f
                             WHERE f.flow_id = e.flow_id AND f.created_at_ms = e.created_at_ms)))
 LIMIT :limit;
-- sqlite:
-- The same with printf.
SELECT e.partition_key, e.execution_id,
       'was created at another time than its id says' AS detail
  FROM ff_execution e
 WHERE {{dated}}
   AND (substr(hex(e.execution_id), 1, 12) <> printf('%012X', e.created_at_ms)
        OR (e.flow_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM ff_flow f
                             WHERE f.flow_id = e.flow_id AND f.created_at_ms = e.created_at_ms)))
 LIMIT :limit;

-- name: fsck_input_missing
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: An input kept elsewhere is there.
SELECT e.partition_key, e.execution_id, 'the input is not in ff_payload' AS detail
  FROM ff_execution e
 WHERE (e.flags & {{code:EXEC_INPUT_ELSEWHERE}}) <> 0
   AND NOT EXISTS (SELECT 1 FROM ff_payload p
                    WHERE p.partition_key = e.partition_key AND p.execution_id = e.execution_id
                      AND p.kind = {{code:PAYLOAD_INPUT}} AND p.generation <= e.generation)
 LIMIT :limit;

-- name: fsck_tag_unseen
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Tags are known to their execution: a claim looks for them only then.
SELECT e.partition_key, e.execution_id, 'has tags and does not know it' AS detail
  FROM ff_tag t
  JOIN ff_execution e ON e.partition_key = t.partition_key AND e.execution_id = t.execution_id
 WHERE (e.flags & {{code:EXEC_TAGGED}}) = 0
 LIMIT :limit;

-- name: fsck_hop_missing
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Every ended member of a flow has told its flow, or is about to.
SELECT e.partition_key, e.execution_id,
       'no hop of generation ' || CAST(e.generation AS text) AS detail
  FROM ff_execution e
 WHERE e.flow_id IS NOT NULL
   AND {{terminal:e}}
   AND NOT EXISTS (SELECT 1 FROM ff_outbox o
                    WHERE o.partition_key = e.partition_key AND o.execution_id = e.execution_id
                      AND o.generation = e.generation AND o.kind = {{code:HOP_COMPLETION}})
 LIMIT :limit;

-- name: fsck_hop_contradicts
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: The hop of a generation tells how its execution has ended, and its flow.
SELECT e.partition_key, e.execution_id,
       'hop of generation ' || CAST(o.generation AS text) || ' tells state '
           || CAST(o.outcome AS text) || ', the row is in generation '
           || CAST(e.generation AS text) || ', state ' || CAST(e.state AS text) AS detail
  FROM ff_outbox o
  JOIN ff_execution e ON e.partition_key = o.partition_key AND e.execution_id = o.execution_id
 WHERE e.flow_id IS NULL OR o.flow_id <> e.flow_id OR o.generation > e.generation
    OR (o.kind = {{code:HOP_COMPLETION}} AND o.generation = e.generation AND o.outcome <> e.state)
 LIMIT :limit;

-- name: fsck_group_counts
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A join has counted each of its edges once, and what it decided follows from that. A flow
--       that is being removed loses its members, and their edges, one after the other.
SELECT g.partition_key, g.execution_id,
       'join counts ' || CAST(g.success AS text) || '/' || CAST(g.fail AS text) || '/'
           || CAST(g.skip AS text) || ' of ' || CAST(g.total AS text) || ', state '
           || CAST(g.group_state AS text) AS detail
  FROM ff_edge_group g
  JOIN ff_flow f ON f.partition_key = g.partition_key AND f.flow_id = g.flow_id
                AND f.state <> {{code:FLOW_REMOVED}}
 WHERE g.success <> (SELECT count(*) FROM ff_edge x {{by_index:ff_edge_downstream}}
                      WHERE x.partition_key = g.partition_key AND x.downstream_id = g.execution_id
                        AND x.outcome = {{code:EDGE_SUCCESS}})
    OR g.fail <> (SELECT count(*) FROM ff_edge x {{by_index:ff_edge_downstream}}
                   WHERE x.partition_key = g.partition_key AND x.downstream_id = g.execution_id
                     AND x.outcome = {{code:EDGE_FAIL}})
    OR g.skip <> (SELECT count(*) FROM ff_edge x {{by_index:ff_edge_downstream}}
                   WHERE x.partition_key = g.partition_key AND x.downstream_id = g.execution_id
                     AND x.outcome = {{code:EDGE_SKIP}})
    OR g.total <> (SELECT count(*) FROM ff_edge x {{by_index:ff_edge_downstream}}
                    WHERE x.partition_key = g.partition_key
                      AND x.downstream_id = g.execution_id)
    OR g.group_state <>
       CASE WHEN g.success >= CASE g.policy WHEN {{code:JOIN_ALL_OF}} THEN g.total
                                            WHEN {{code:JOIN_ANY_OF}} THEN 1 ELSE g.k END
            THEN {{code:GROUP_SATISFIED}}
            WHEN g.total - g.fail - g.skip
                   < CASE g.policy WHEN {{code:JOIN_ALL_OF}} THEN g.total
                                   WHEN {{code:JOIN_ANY_OF}} THEN 1 ELSE g.k END
            THEN {{code:GROUP_IMPOSSIBLE}}
            ELSE {{code:GROUP_PENDING}} END
 LIMIT :limit;

-- name: fsck_node_against_join
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A node waits while its join is open, runs only when it is satisfied, and is skipped only
--       when that has become impossible.
SELECT e.partition_key, e.execution_id,
       {{public_case:e.state}} || ' although its join is in state '
           || coalesce(CAST(g.group_state AS text), 'none') AS detail
  FROM ff_execution e
  LEFT JOIN ff_edge_group g ON g.partition_key = e.partition_key
                           AND g.execution_id = e.execution_id
 WHERE e.flow_id IS NOT NULL
   AND ((e.state IN ({{public:waiting_children}})
         AND coalesce(g.group_state, -1) <> {{code:GROUP_PENDING}})
        OR (e.state = {{state:SKIPPED}}
            AND coalesce(g.group_state, -1) <> {{code:GROUP_IMPOSSIBLE}})
        OR ({{alive:e}} AND e.state NOT IN ({{public:waiting_children}})
            AND g.group_state <> {{code:GROUP_SATISFIED}}))
 LIMIT :limit;

-- name: fsck_edge_left_behind
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Every edge of an ended member is resolved, or its hop is still to come.
SELECT e.partition_key, e.execution_id, 'ended, and an edge of it is open' AS detail
  FROM ff_edge x
  JOIN ff_execution e ON e.partition_key = x.partition_key AND e.execution_id = x.execution_id
 WHERE x.outcome = {{code:EDGE_UNRESOLVED}}
   AND {{terminal:e}}
   AND NOT EXISTS (SELECT 1 FROM ff_outbox o
                    WHERE o.partition_key = e.partition_key AND o.execution_id = e.execution_id
                      AND o.generation = e.generation AND o.dispatched_at_ms IS NULL)
 LIMIT :limit;

-- name: fsck_edge_contradicts
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: An edge that was resolved by the present generation of its upstream says how that has
--       ended. A join that was satisfied may keep what an older one has said.
SELECT e.partition_key, e.execution_id,
       'an edge of it says ' || CAST(x.outcome AS text) || ' for generation '
           || CAST(coalesce(x.resolved_generation, -1) AS text) || ', the row is in generation '
           || CAST(e.generation AS text) || ', state ' || CAST(e.state AS text) AS detail
  FROM ff_edge x
  JOIN ff_execution e ON e.partition_key = x.partition_key AND e.execution_id = x.execution_id
 WHERE x.outcome <> {{code:EDGE_UNRESOLVED}}
   AND (x.resolved_generation IS NULL OR x.resolved_generation > e.generation
        OR (x.resolved_generation = e.generation
            AND ({{alive:e}}
                 OR x.outcome <> CASE e.state WHEN {{state:SUCCESS}} THEN {{code:EDGE_SUCCESS}}
                                              WHEN {{state:SKIPPED}} THEN {{code:EDGE_SKIP}}
                                              ELSE {{code:EDGE_FAIL}} END)))
 LIMIT :limit;

-- name: fsck_edge_dangling
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Both ends of an edge exist and belong to its flow, until the flow is removed.
SELECT x.partition_key, x.execution_id, 'an edge of it leads out of its flow' AS detail
  FROM ff_edge x
  JOIN ff_flow f ON f.partition_key = x.partition_key AND f.flow_id = x.flow_id
                AND f.state <> {{code:FLOW_REMOVED}}
 WHERE NOT EXISTS (SELECT 1 FROM ff_execution e
                    WHERE e.partition_key = x.partition_key AND e.execution_id = x.execution_id
                      AND e.flow_id = x.flow_id)
    OR NOT EXISTS (SELECT 1 FROM ff_execution e
                    WHERE e.partition_key = x.partition_key AND e.execution_id = x.downstream_id
                      AND e.flow_id = x.flow_id)
 LIMIT :limit;

-- name: fsck_flow_missing
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Every member has its flow.
SELECT e.partition_key, e.execution_id, 'its flow is not there' AS detail
  FROM ff_execution e
 WHERE e.flow_id IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM ff_flow f
                    WHERE f.partition_key = e.partition_key AND f.flow_id = e.flow_id)
 LIMIT :limit;

-- name: fsck_flow_counts
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A flow knows how many members it has, and counts those whose end has been dispatched, by
--       outcome; it has ended when all of them have. The id is the flow's.
SELECT f.partition_key, f.flow_id,
       'flow says ' || CAST(f.success_count + f.failed_count + f.cancelled_count + f.expired_count
                            + f.skipped_count AS text)
           || ' of ' || CAST(f.node_count AS text) || ' have ended, there are '
           || CAST(m.success + m.failed + m.cancelled + m.expired + m.skipped AS text) || ' of '
           || CAST(m.members AS text) AS detail
  FROM ff_flow f
  JOIN (SELECT g.flow_id, count(e.execution_id) AS members,
               count(CASE WHEN e.state = {{state:SUCCESS}} THEN o.execution_id END) AS success,
               count(CASE WHEN e.state = {{state:FAILED}} THEN o.execution_id END) AS failed,
               count(CASE WHEN e.state = {{state:CANCELLED}} THEN o.execution_id END) AS cancelled,
               count(CASE WHEN e.state = {{state:EXPIRED}} THEN o.execution_id END) AS expired,
               count(CASE WHEN e.state = {{state:SKIPPED}} THEN o.execution_id END) AS skipped
          FROM ff_flow g
          LEFT JOIN ff_execution e ON e.flow_id = g.flow_id
          LEFT JOIN ff_outbox o ON o.partition_key = e.partition_key
                               AND o.execution_id = e.execution_id
                               AND o.generation = e.generation
                               AND o.kind = {{code:HOP_COMPLETION}}
                               AND o.dispatched_at_ms IS NOT NULL
         WHERE g.state <> {{code:FLOW_REMOVED}}
         GROUP BY g.flow_id) m ON m.flow_id = f.flow_id
 WHERE m.members <> f.node_count OR m.success <> f.success_count OR m.failed <> f.failed_count
    OR m.cancelled <> f.cancelled_count OR m.expired <> f.expired_count
    OR m.skipped <> f.skipped_count
    OR (f.finished_at_ms IS NULL) <> (m.success + m.failed + m.cancelled + m.expired + m.skipped
                                      <> f.node_count)
    OR f.draining NOT IN (0, 1)
 LIMIT :limit;

-- name: fsck_flow_edges
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A flow knows how many edges it has. The id is the flow's.
SELECT f.partition_key, f.flow_id,
       'flow says ' || CAST(f.edge_count AS text) || ' edges, there are '
           || CAST(coalesce(m.edges, 0) AS text) AS detail
  FROM ff_flow f
  LEFT JOIN (SELECT x.partition_key, x.flow_id, count(*) AS edges
               FROM ff_edge x
              GROUP BY x.partition_key, x.flow_id) m
    ON m.partition_key = f.partition_key AND m.flow_id = f.flow_id
 WHERE f.state <> {{code:FLOW_REMOVED}}
   AND f.edge_count <> coalesce(m.edges, 0)
 LIMIT :limit;

-- name: fsck_flow_outcome
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A flow is over when all its members are: completed if every member without outgoing edges
--       is, else failed. A cancelled one stays cancelled. The id is the flow's.
SELECT f.partition_key, f.flow_id,
       'flow in state ' || CAST(f.state AS text) || ', cancel policy '
           || CAST(f.cancel_policy AS text)
           || CASE WHEN f.finished_at_ms IS NULL THEN ', is not over'
                   WHEN b.flow_id IS NULL THEN ', is over and every leaf has completed'
                   ELSE ', is over and a leaf has not completed' END AS detail
  FROM ff_flow f
  LEFT JOIN (SELECT e.partition_key, e.flow_id
               FROM ff_execution e
              WHERE e.flow_id IS NOT NULL AND e.state <> {{state:SUCCESS}}
                AND NOT EXISTS (SELECT 1 FROM ff_edge x
                                 WHERE x.partition_key = e.partition_key
                                   AND x.execution_id = e.execution_id)
              GROUP BY e.partition_key, e.flow_id) b
    ON b.partition_key = f.partition_key AND b.flow_id = f.flow_id
 WHERE f.state <> {{code:FLOW_REMOVED}}
   AND (f.state <>
        CASE WHEN f.cancel_policy <> {{code:FLOW_CANCEL_NONE}} THEN {{code:FLOW_CANCELLED}}
             WHEN f.finished_at_ms IS NULL THEN {{code:FLOW_RUNNING}}
             WHEN b.flow_id IS NULL THEN {{code:FLOW_COMPLETED}}
             ELSE {{code:FLOW_FAILED}} END)
 LIMIT :limit;

-- name: fsck_member_of_the_cancelled
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: Once a cancelled flow has looked at all its members, none lives but, where only those that
--       wait were to end, one that runs and begins no new attempt.
SELECT e.partition_key, e.execution_id,
       {{public_case:e.state}} || ' in a flow whose members have been cancelled' AS detail
  FROM ff_flow f
  JOIN ff_execution e ON e.partition_key = f.partition_key AND e.flow_id = f.flow_id
 WHERE f.state = {{code:FLOW_CANCELLED}}
   AND f.cancel_policy NOT IN ({{code:FLOW_CANCEL_NONE}}, {{code:FLOW_CANCEL_FLOW_ONLY}})
   AND f.draining = 0
   AND {{alive:e}}
   AND (f.cancel_policy = {{code:FLOW_CANCEL_ALL}} OR e.state <> {{state:ACTIVE}}
        OR (e.flags & {{code:EXEC_NO_NEW_ATTEMPT}}) = 0)
 LIMIT :limit;

-- name: fsck_hop_outlived
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A hop of an older generation has been dispatched or superseded.
SELECT e.partition_key, e.execution_id,
       'hop of generation ' || CAST(o.generation AS text) || ' is open, the row is in '
           || CAST(e.generation AS text) AS detail
  FROM ff_outbox o
  JOIN ff_execution e ON e.partition_key = o.partition_key AND e.execution_id = o.execution_id
 WHERE o.dispatched_at_ms IS NULL
   AND o.generation <> e.generation
 LIMIT :limit;

-- name: fsck_hop_stuck
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: No hop has failed again and again.
SELECT o.partition_key, o.execution_id,
       'its hop has failed ' || CAST(o.tries AS text) || ' times' AS detail
  FROM ff_outbox o
 WHERE o.dispatched_at_ms IS NULL
   AND o.tries >= {{code:HOP_TRIES_STUCK}}
 LIMIT :limit;

-- name: fsck_drain_stuck
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: No cancel of what a decided join no longer needs has failed again and again.
SELECT p.partition_key, p.execution_id,
       'what its join no longer needs could not be cancelled ' || CAST(p.tries AS text)
           || ' times' AS detail
  FROM ff_pending_cancel p
 WHERE p.tries >= {{code:HOP_TRIES_STUCK}}
 LIMIT :limit;

-- name: fsck_flow_stuck
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: No flow has failed again and again to cancel or to remove its members. The id is the
--       flow's.
SELECT f.partition_key, f.flow_id,
       'its members could not be ' || CASE WHEN f.draining = 1 THEN 'cancelled ' ELSE 'removed ' END
           || CAST(f.tries AS text) || ' times' AS detail
  FROM ff_flow f
 WHERE (f.draining = 1 OR f.state = {{code:FLOW_REMOVED}})
   AND f.tries >= {{code:HOP_TRIES_STUCK}}
 LIMIT :limit;

-- name: fsck_member_nobody_needs
-- in:   limit:i64
-- out:  cells partition_key:i64 execution_id:uuid detail:text
-- note: A living member that a decided join has asked to cancel is needed by a node that waits, or
--       will be looked at: by the drain of a join it leads to, or by that of a node whose end has
--       yet to be passed on. One that was replayed runs because somebody wanted it to.
SELECT e.partition_key, e.execution_id,
       {{public_case:e.state}} || ', a join has asked to cancel it, and nobody needs it' AS detail
  FROM ff_execution e
  JOIN ff_flow f ON f.partition_key = e.partition_key AND f.flow_id = e.flow_id
                AND f.state <> {{code:FLOW_REMOVED}}
                AND f.cancel_policy IN ({{code:FLOW_CANCEL_NONE}}, {{code:FLOW_CANCEL_FLOW_ONLY}})
 WHERE {{alive:e}}
   AND e.generation = 0
   AND EXISTS (SELECT 1 FROM ff_edge x
                 JOIN ff_edge_group g ON g.partition_key = x.partition_key
                                     AND g.execution_id = x.downstream_id
                                     AND g.group_state <> {{code:GROUP_PENDING}}
                                     AND g.policy <> {{code:JOIN_ALL_OF}}
                                     AND g.on_satisfied = {{code:ON_SATISFIED_CANCEL_REMAINING}}
                WHERE x.partition_key = e.partition_key AND x.execution_id = e.execution_id
                  AND x.outcome = {{code:EDGE_UNRESOLVED}})
   AND NOT EXISTS (SELECT 1 FROM ff_edge x
                     JOIN ff_edge_group g ON g.partition_key = x.partition_key
                                         AND g.execution_id = x.downstream_id
                                         AND g.group_state = {{code:GROUP_PENDING}}
                     JOIN ff_execution d ON d.partition_key = x.partition_key
                                        AND d.execution_id = x.downstream_id AND {{alive:d}}
                    WHERE x.partition_key = e.partition_key AND x.execution_id = e.execution_id)
   AND NOT EXISTS (SELECT 1 FROM ff_edge x
                     JOIN ff_pending_cancel p ON p.partition_key = x.partition_key
                                             AND p.execution_id = x.downstream_id
                    WHERE x.partition_key = e.partition_key AND x.execution_id = e.execution_id
                      AND x.outcome = {{code:EDGE_UNRESOLVED}}
                      AND (p.edge_cursor IS NULL OR p.edge_cursor < e.execution_id))
   AND NOT EXISTS (SELECT 1 FROM ff_edge x
                     JOIN ff_outbox o ON o.partition_key = x.partition_key
                                     AND o.execution_id = x.downstream_id
                                     AND o.dispatched_at_ms IS NULL
                    WHERE x.partition_key = e.partition_key AND x.execution_id = e.execution_id
                      AND x.outcome = {{code:EDGE_UNRESOLVED}})
 LIMIT :limit;
