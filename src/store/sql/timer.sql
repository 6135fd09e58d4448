-- Timers: due rows of one kind each. due_at_ms is a lower bound; the rule that fires is found by
-- looking at the row. Filters are part of the scan, so a filtered loop is never starved by others.

-- fragment: filtered
-- note: A scanner may be asked to look after one namespace or instance only.
(:namespace IS NULL OR namespace = :namespace)
   AND (:instance_tag IS NULL OR instance_tag = :instance_tag);

-- name: timer_leases
-- in:   namespace:text? instance_tag:text? limit:i64
-- out:  row:execution
-- note: Lease ends and attempt deadlines.
SELECT {{execution.columns}}
  FROM ff_execution
 WHERE due_at_ms <= {{now_ms}}
   AND state IN ({{states:ACTIVE,RECLAIMABLE}})
   AND {{filtered}}
 ORDER BY due_at_ms
 LIMIT :limit
 {{lock_skip}};

-- name: timer_delays
-- in:   namespace:text? instance_tag:text? limit:i64
-- out:  row:execution
-- note: Delays and back-offs that are over.
SELECT {{execution.columns}}
  FROM ff_execution
 WHERE due_at_ms <= {{now_ms}}
   AND state IN ({{public:delayed}})
   AND {{filtered}}
 ORDER BY due_at_ms
 LIMIT :limit
 {{lock_skip}};

-- name: timer_deadlines
-- in:   namespace:text? instance_tag:text? limit:i64
-- out:  row:execution
-- note: Executions of any living phase whose deadline has passed. Found by due_at_ms, which is
--       never later than the deadline.
SELECT {{execution.columns}}
  FROM ff_execution
 WHERE due_at_ms <= {{now_ms}}
   AND deadline_at_ms <= {{now_ms}}
   AND {{alive}}
   AND {{filtered}}
 ORDER BY due_at_ms
 LIMIT :limit
 {{lock_skip}};

-- name: retention_scan
-- in:   cutoff_ms:i64 namespace:text? instance_tag:text? limit:i64
-- out:  row:execution
-- note: Executions that ended before the cutoff, oldest first. Members go with their flow.
SELECT {{execution.columns}}
  FROM ff_execution
 WHERE finished_at_ms < :cutoff_ms
   AND {{terminal}}
   AND flow_id IS NULL
   AND {{filtered}}
 ORDER BY finished_at_ms
 LIMIT :limit
 {{lock_skip}};
