-- Inputs and results that do not travel with their execution.

-- name: execution_payload
-- in:   partition_key:i16 execution_id:uuid kind:i16
-- out:  row:payload
-- note: The newest one of its kind: a replay without a new input runs with that of an earlier
--       generation.
SELECT {{payload.columns}}
  FROM ff_payload
 WHERE partition_key = :partition_key AND execution_id = :execution_id AND kind = :kind
 ORDER BY generation DESC
 LIMIT 1;
