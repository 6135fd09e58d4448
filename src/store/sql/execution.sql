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

-- fragment: dated
-- note: Of an execution `e`: it was created at the time in its id, so the key has its place.
(e.flags & {{code:EXEC_DATED}}) <> 0;

-- fragment: undated
-- note: All others; the words of the index ff_execution_undated.
(e.flags & {{code:EXEC_DATED}}) = 0;

-- fragment: execution_place
-- note: Of an execution `e`: behind the last row of the page before, between two times.
(e.created_at_ms, e.execution_id)
           < (coalesce(:before_created_ms, 9223372036854775807), :before_id)
   AND e.created_at_ms > coalesce(:created_after_ms, -1)
   AND e.created_at_ms < coalesce(:created_before_ms, 9223372036854775807);

-- fragment: execution_filter
-- note: Of an execution `e`. A worker has what it runs: who completed an execution stays on its
--       row, see ff_attempt_is_kept.
(:namespace IS NULL OR e.namespace = :namespace)
   AND (:lane IS NULL OR e.lane = :lane)
   AND (:kind IS NULL OR e.kind = :kind)
   AND (:states IS NULL OR e.state {{any:states}})
   AND (:flow_id IS NULL OR e.flow_id = :flow_id)
   AND (:worker_id IS NULL OR (e.worker_id = :worker_id AND {{alive:e}}));

-- name: execution_list
-- in:   namespace:text? lane:text? kind:text? states:i64[]? flow_id:uuid? worker_id:text?
-- in:   tag_name:text? tag_value:text? created_after_ms:i64? created_before_ms:i64?
-- in:   before_created_ms:i64? before_id:uuid? from_id:uuid below_id:uuid limit:i64
-- out:  row:execution
-- note: Newest first, by (created_at_ms, execution_id). Both `before` are of the last row of the
--       page before, null on the first page. Without a tag the dated are walked by their key, from
--       `below_id` down to `from_id`, which say for them what place and times say for others; and
--       beside them those few by an index of their own. With one the index of tags is walked, so
--       that a rare tag is found without walking all executions. `tag_value` null: any. A range
--       that is written as two comparisons of one column is small to Postgres, as long as it knows
--       nothing of the table: it would sort.
SELECT *
  FROM (SELECT {{execution.columns:e}}
          FROM ff_execution e
         WHERE :tag_name IS NULL
           AND {{dated}}
           AND (e.execution_id, e.partition_key) >= (:from_id, 0)
           AND e.execution_id < :below_id
           AND {{execution_filter}}
         ORDER BY e.execution_id DESC
         LIMIT :limit) dated
UNION ALL
SELECT *
  FROM (SELECT {{execution.columns:e}}
          FROM ff_execution e
         WHERE :tag_name IS NULL
           AND {{undated}}
           AND {{execution_place}}
           AND {{execution_filter}}
         ORDER BY e.created_at_ms DESC, e.execution_id DESC
         LIMIT :limit) undated
UNION ALL
SELECT *
  FROM (SELECT {{execution.columns:e}}
          FROM ff_tag t
          JOIN ff_execution e ON e.partition_key = t.partition_key
                             AND e.execution_id = t.execution_id
         WHERE :tag_name IS NOT NULL
           AND t.name = :tag_name
           AND (:tag_value IS NULL OR t.value = :tag_value)
           AND {{execution_place}}
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
