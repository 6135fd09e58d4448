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

-- fragment: log_kept
-- note: Nothing at all if some of it is no longer kept: an empty page is asked about (log_floor).
NOT EXISTS (SELECT 1 FROM ff_meta
             WHERE name = 'log_floor' AND CAST(value AS bigint) > :after_event_id + 1);

-- name: events_after
-- in:   after_event_id:i64 upto_event_id:i64 limit:i64
-- out:  row:event
SELECT {{event.columns}}
  FROM ff_event
 WHERE event_id > :after_event_id
   AND event_id <= :upto_event_id
   AND {{log_kept}}
 ORDER BY event_id
 LIMIT :limit;

-- name: events_of_execution_after
-- in:   execution_id:uuid after_event_id:i64 upto_event_id:i64 limit:i64
-- out:  row:event
SELECT {{event.columns}}
  FROM ff_event
 WHERE execution_id = :execution_id
   AND event_id > :after_event_id
   AND event_id <= :upto_event_id
   AND {{log_kept}}
 ORDER BY event_id
 LIMIT :limit;

-- name: events_of_flow_after
-- in:   flow_id:uuid after_event_id:i64 upto_event_id:i64 limit:i64
-- out:  row:event
SELECT {{event.columns}}
  FROM ff_event
 WHERE flow_id = :flow_id
   AND event_id > :after_event_id
   AND event_id <= :upto_event_id
   AND {{log_kept}}
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
       ff_log_given() AS given_id,
       (SELECT CAST(value AS bigint) FROM ff_meta WHERE name = 'log_floor') AS floor_id,
       (SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM ff_meta WHERE name = 'log_counter')
                    THEN coalesce(string_agg(virtualtransaction, ','), '') END
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

-- name: log_trim_scan
-- in:   floor_id:i64 limit:i64
-- out:  row:event
-- note: Where the log may begin: if one of these has outlived its time, so have all before it.
--       Nothing is locked, an event never changes.
SELECT {{event.columns}}
  FROM ff_event
 WHERE event_id >= :floor_id
 ORDER BY event_id
 LIMIT :limit;
-- postgres:
-- Only whole ranges can be dropped: the first event of each. LATERAL, since a join under a LIMIT is
-- planned as a walk over the whole log.
WITH RECURSIVE range(event_id) AS (
    SELECT min(event_id) FROM ff_event WHERE event_id >= :floor_id
    UNION ALL
    SELECT (SELECT min(e.event_id) FROM ff_event e
             WHERE e.event_id >= (r.event_id / 2000000 + 1) * 2000000)
      FROM range r WHERE r.event_id IS NOT NULL)
SELECT {{event.columns:e}}
  FROM range r
 CROSS JOIN LATERAL (SELECT * FROM ff_event x WHERE x.event_id = r.event_id LIMIT 1) e
 ORDER BY e.event_id
 LIMIT :limit;

-- name: log_stretches
-- in:   limit:i64
-- out:  row:event
-- note: How many events there are, without counting them: the first and the last one of every
--       stretch, newest first. Only a log that was restored jumps, and always by 2^32 at least, so
--       the ids of a stretch have the same upper half.
WITH RECURSIVE stretch(first_id) AS (
    SELECT min(event_id) FROM ff_event
    UNION ALL
    SELECT (SELECT min(e.event_id) FROM ff_event e
             WHERE e.event_id >= (s.first_id / 4294967296 + 1) * 4294967296)
      FROM stretch s WHERE s.first_id IS NOT NULL)
SELECT {{event.columns:e}}
  FROM ff_event e
  JOIN (SELECT first_id AS event_id FROM stretch
        UNION
        SELECT (SELECT max(x.event_id) FROM ff_event x
                 WHERE x.event_id < (t.first_id / 4294967296 + 1) * 4294967296) AS event_id
          FROM stretch t) ends ON ends.event_id = e.event_id
 ORDER BY e.event_id DESC
 LIMIT :limit;
-- postgres:
-- As above.
WITH RECURSIVE stretch(first_id) AS (
    SELECT min(event_id) FROM ff_event
    UNION ALL
    SELECT (SELECT min(e.event_id) FROM ff_event e
             WHERE e.event_id >= (s.first_id / 4294967296 + 1) * 4294967296)
      FROM stretch s WHERE s.first_id IS NOT NULL)
SELECT {{event.columns:e}}
  FROM (SELECT first_id AS event_id FROM stretch
        UNION
        SELECT (SELECT max(y.event_id) FROM ff_event y
                 WHERE y.event_id < (t.first_id / 4294967296 + 1) * 4294967296) AS event_id
          FROM stretch t) ends
 CROSS JOIN LATERAL (SELECT * FROM ff_event x WHERE x.event_id = ends.event_id LIMIT 1) e
 ORDER BY e.event_id DESC
 LIMIT :limit;

-- name: log_trim
-- in:   floor_id:i64
-- out:  none
-- writes
-- note: Part of the transaction that moves the floor.
-- sqlite:
-- Postgres drops whole ranges later.
DELETE FROM ff_event WHERE event_id < :floor_id;

-- name: log_reset
-- in:   now_ms:i64 forced:i64 known_id:i64
-- out:  none
-- writes
-- note: The file was restored from an older copy: jump over ids the lost one may have given out. It
--       was if somebody says so, or if an id was seen that has not been given out.
-- sqlite:
-- Its counter follows the highest id there is; Postgres has ff_log_settle.
INSERT INTO ff_event (event_id, kind, type, at_ms, num_a)
SELECT max(given.id, :known_id) + 4294967296, {{event:log}}, {{event:log.reset}}, :now_ms,
       coalesce((SELECT max(event_id) FROM ff_event), 0)
  FROM (SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ff_event'), 0) AS id) given
 WHERE :forced <> 0 OR given.id < :known_id;
