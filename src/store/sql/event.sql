-- The event log. Readers go no further than the settled horizon they are given.

-- name: events_of_execution
-- in:   execution_id:uuid partition_key:i16 after_event_id:i64 limit:i64
-- out:  row:event
SELECT {{event.columns}}
  FROM ff_event
 WHERE execution_id = :execution_id
   AND partition_key = :partition_key
   AND event_id > :after_event_id
 ORDER BY event_id
 LIMIT :limit;

-- name: events_after
-- in:   after_event_id:i64 upto_event_id:i64 limit:i64
-- out:  row:event
-- note: Nothing at all if some of it is no longer kept: an empty page is asked about (log_floor).
SELECT {{event.columns}}
  FROM ff_event
 WHERE event_id > :after_event_id
   AND event_id <= :upto_event_id
   AND NOT EXISTS (SELECT 1 FROM ff_meta
                    WHERE name = 'log_floor' AND CAST(value AS bigint) > :after_event_id + 1)
 ORDER BY event_id
 LIMIT :limit;

-- name: events_of_execution_after
-- in:   execution_id:uuid after_event_id:i64 upto_event_id:i64 limit:i64
-- out:  row:event
-- note: As events_after.
SELECT {{event.columns}}
  FROM ff_event
 WHERE execution_id = :execution_id
   AND event_id > :after_event_id
   AND event_id <= :upto_event_id
   AND NOT EXISTS (SELECT 1 FROM ff_meta
                    WHERE name = 'log_floor' AND CAST(value AS bigint) > :after_event_id + 1)
 ORDER BY event_id
 LIMIT :limit;

-- name: events_of_flow_after
-- in:   flow_id:uuid after_event_id:i64 upto_event_id:i64 limit:i64
-- out:  row:event
-- note: As events_after.
SELECT {{event.columns}}
  FROM ff_event
 WHERE flow_id = :flow_id
   AND event_id > :after_event_id
   AND event_id <= :upto_event_id
   AND NOT EXISTS (SELECT 1 FROM ff_meta
                    WHERE name = 'log_floor' AND CAST(value AS bigint) > :after_event_id + 1)
 ORDER BY event_id
 LIMIT :limit;

-- name: log_floor
-- out:  cells floor_id:i64
-- note: The lowest id kept; no row while everything is.
SELECT CAST(value AS bigint) AS floor_id FROM ff_meta WHERE name = 'log_floor';

-- name: log_head
-- out:  cells event_id:i64 given_id:i64 floor_id:i64 holders:text
-- note: The highest id visible, and who may still bring lower ones: the transactions that hold the
--       lock of the log, read after it. Null holders: ids become visible in their order.
-- postgres:
-- SQLite has one writer at a time. Foreign databases may use the same key.
SELECT (SELECT coalesce(max(event_id), 0) FROM ff_event) AS event_id,
       (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END
          FROM ff_event_id_seq) AS given_id,
       (SELECT CAST(value AS bigint) FROM ff_meta WHERE name = 'log_floor') AS floor_id,
       (SELECT coalesce(string_agg(virtualtransaction, ','), '')
          FROM pg_locks
         WHERE locktype = 'advisory'
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND classid = 17990
           AND objid = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
           AND objsubid = 1
           AND granted) AS holders;
-- sqlite:
-- Its counter of the table is part of the transaction.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ff_event'), 0) AS event_id,
       coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ff_event'), 0) AS given_id,
       (SELECT CAST(value AS bigint) FROM ff_meta WHERE name = 'log_floor') AS floor_id,
       CAST(NULL AS text) AS holders;

-- name: execution_ended
-- in:   partition_key:i16 execution_id:uuid
-- out:  cells ended:i64
SELECT CASE WHEN {{terminal}} THEN 1 ELSE 0 END AS ended
  FROM ff_execution
 WHERE partition_key = :partition_key AND execution_id = :execution_id;

-- name: flow_ended
-- in:   partition_key:i16 flow_id:uuid
-- out:  cells ended:i64
SELECT CASE WHEN finished_at_ms IS NULL THEN 0 ELSE 1 END AS ended
  FROM ff_flow
 WHERE partition_key = :partition_key AND flow_id = :flow_id;
