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
SELECT {{event.columns}}
  FROM ff_event
 WHERE event_id > :after_event_id
   AND event_id <= :upto_event_id
 ORDER BY event_id
 LIMIT :limit;

-- name: event_head
-- out:  cells event_id:i64
-- note: The highest id visible now; 0 when there is none.
SELECT coalesce(max(event_id), 0) AS event_id FROM ff_event;
