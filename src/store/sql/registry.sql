-- Lanes, workers and capability sets.

-- name: capsets_all
-- out:  row:capset
SELECT {{capset.columns}} FROM ff_capset ORDER BY capset_id;

-- name: lanes_all
-- out:  row:lane
SELECT {{lane.columns}} FROM ff_lane ORDER BY lane;

-- name: lane_counts
-- out:  cells lane:text state:i64 count:i64 oldest_ms:i64
-- note: Living executions by lane and state. Three ranges that do not overlap, each served by a
--       partial index: claimable rows, the other rows with a timer, blocked rows without one.
SELECT lane, state, count(*) AS count, min(created_at_ms) AS oldest_ms
  FROM ff_execution
 WHERE {{claimable}}
 GROUP BY lane, state
UNION ALL
SELECT lane, state, count(*) AS count, min(created_at_ms) AS oldest_ms
  FROM ff_execution
 WHERE due_at_ms IS NOT NULL AND NOT {{claimable}} AND state NOT IN ({{public:waiting_children}})
 GROUP BY lane, state
UNION ALL
SELECT lane, state, count(*) AS count, min(created_at_ms) AS oldest_ms
  FROM ff_execution
 WHERE state IN ({{public:waiting_children}})
 GROUP BY lane, state
 ORDER BY lane, state;

-- name: workers_all
-- out:  row:registration
SELECT {{registration.columns}} FROM ff_worker ORDER BY worker_instance_id;
