-- Rows that have outlived their use. One table each, locked, oldest first.

-- name: prune_batches
-- in:   cutoff_ms:i64 limit:i64
-- out:  row:marker
-- note: Markers older than any batch whose commit may still be in doubt, buried ones (their time is
--       negative) too. Nothing on SQLite.
SELECT {{marker.columns}}
  FROM ff_batch
 WHERE at_ms < :cutoff_ms AND at_ms > -:cutoff_ms
 ORDER BY at_ms
 LIMIT :limit
 {{lock_skip}};

-- name: prune_dedup
-- in:   limit:i64
-- out:  row:dedup
SELECT {{dedup.columns}}
  FROM ff_dedup
 WHERE expires_at_ms <= {{now_ms}}
 ORDER BY expires_at_ms
 LIMIT :limit
 {{lock_skip}};

-- name: prune_replies
-- in:   limit:i64
-- out:  row:reply
SELECT {{reply.columns}}
  FROM ff_reply
 WHERE expires_at_ms <= {{now_ms}}
 ORDER BY expires_at_ms
 LIMIT :limit
 {{lock_skip}};

-- name: prune_claims
-- in:   cutoff_ms:i64 limit:i64
-- out:  row:claim
SELECT {{claim.columns}}
  FROM ff_claim
 WHERE at_ms < :cutoff_ms
 ORDER BY at_ms
 LIMIT :limit
 {{lock_skip}};

-- name: prune_workers
-- in:   limit:i64
-- out:  row:registration
-- note: Workers not seen for longer than they said they would be away.
SELECT {{registration.columns}}
  FROM ff_worker
 WHERE seen_at_ms + ttl_ms <= {{now_ms}}
 ORDER BY seen_at_ms + ttl_ms
 LIMIT :limit
 {{lock_skip}};
