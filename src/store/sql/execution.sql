-- Executions: the scans that hand out and fire work, and what the API reads.

-- name: execution_claim_scan
-- in:   lane:text namespace:text? kinds:text[]? capsets:i64[]
-- in:   from_rank:i32 from_created_ms:i64 from_id:uuid? limit:i64
-- out:  row:execution
-- note: The next executions of a lane, best first, from a place in that order on. `capsets` holds
--       the ids of all sets the worker satisfies, always with 0. A row whose deadline has passed is
--       the timer's, not a worker's. The rank is the negative priority, so that one comparison
--       names a range of the index.
SELECT {{execution.columns}}
  FROM ff_execution
 WHERE lane = :lane
   AND {{claimable}}
   AND (:namespace IS NULL OR namespace = :namespace)
   AND (:kinds IS NULL OR kind {{any:kinds}})
   AND capset_id {{any:capsets}}
   AND (deadline_at_ms IS NULL OR deadline_at_ms > {{now_ms}})
   AND (-priority, created_at_ms, execution_id) >= (:from_rank, :from_created_ms, :from_id)
 ORDER BY -priority, created_at_ms, execution_id
 LIMIT :limit
 {{lock_skip}};

-- name: execution_get
-- in:   partition_key:i16 execution_id:uuid
-- out:  row:execution
SELECT {{execution.columns}}
  FROM ff_execution
 WHERE partition_key = :partition_key AND execution_id = :execution_id;

-- name: execution_by_uuid
-- in:   first:uuid last:uuid limit:i64
-- out:  row:execution
-- note: A uuid without its partition, or the beginning of one: all ids from `first` to `last`. Two
--       rows mean that the beginning is not unique. One range of the key.
SELECT {{execution.columns:e}}
  FROM ff_execution e
 WHERE e.execution_id BETWEEN :first AND :last
 ORDER BY e.execution_id
 LIMIT :limit;

-- fragment: execution_filter
-- note: Of an execution `e`. (before_created_ms, before_id) is the last row of the page before;
--       both null on the first page. A worker has what it runs: who completed an execution stays on
--       its row, see ff_attempt_is_kept.
(e.created_at_ms, e.execution_id)
           < (coalesce(:before_created_ms, 9223372036854775807), :before_id)
   AND e.created_at_ms > coalesce(:created_after_ms, -1)
   AND e.created_at_ms < coalesce(:created_before_ms, 9223372036854775807)
   AND (:namespace IS NULL OR e.namespace = :namespace)
   AND (:lane IS NULL OR e.lane = :lane)
   AND (:kind IS NULL OR e.kind = :kind)
   AND (:states IS NULL OR e.state {{any:states}})
   AND (:flow_id IS NULL OR e.flow_id = :flow_id)
   AND (:worker_id IS NULL OR (e.worker_id = :worker_id AND {{alive:e}}));

-- name: execution_list
-- in:   namespace:text? lane:text? kind:text? states:i64[]? flow_id:uuid? worker_id:text?
-- in:   tag_name:text? tag_value:text? created_after_ms:i64? created_before_ms:i64?
-- in:   before_created_ms:i64? before_id:uuid? limit:i64
-- out:  row:execution
-- note: Newest first. `tag_value` null: the tag exists, whatever its value. Two branches of which
--       one runs: without a tag the index of creation times is walked, with one the index of tags,
--       so that a rare tag is found without walking all executions.
SELECT *
  FROM (SELECT {{execution.columns:e}}
          FROM ff_execution e
         WHERE :tag_name IS NULL
           AND {{execution_filter}}
         ORDER BY e.created_at_ms DESC, e.execution_id DESC
         LIMIT :limit) plain
UNION ALL
SELECT *
  FROM (SELECT {{execution.columns:e}}
          FROM ff_tag t
          JOIN ff_execution e ON e.partition_key = t.partition_key
                             AND e.execution_id = t.execution_id
         WHERE :tag_name IS NOT NULL
           AND t.name = :tag_name
           AND (:tag_value IS NULL OR t.value = :tag_value)
           AND {{execution_filter}}
         ORDER BY e.created_at_ms DESC, e.execution_id DESC
         LIMIT :limit) tagged
 ORDER BY created_at_ms DESC, execution_id DESC
 LIMIT :limit;

-- name: execution_tags
-- in:   partition_key:i16 execution_id:uuid
-- out:  row:tag
SELECT {{tag.columns}}
  FROM ff_tag
 WHERE partition_key = :partition_key AND execution_id = :execution_id
 ORDER BY name;

-- name: execution_attempts
-- in:   partition_key:i16 execution_id:uuid
-- out:  row:attempt
SELECT {{attempt.columns}}
  FROM ff_attempt
 WHERE partition_key = :partition_key AND execution_id = :execution_id
 ORDER BY lease_epoch;
