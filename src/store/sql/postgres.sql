-- What only Postgres needs: a commit in doubt that must also be replicated, and stuck sessions.

-- name: batch_confirm
-- in:   batch_id:uuid
-- out:  none
-- writes
-- note: Changes nothing but writes the log: its commit waits for the synchronous standbys, and with
--       it the commit of the batch is there too.
-- postgres:
-- SQLite writes no marker.
UPDATE ff_batch SET at_ms = at_ms WHERE batch_id = :batch_id;

-- name: sessions_reap
-- in:   stuck_ms:i64
-- out:  cells ended:i64
-- note: Ends sessions of ours whose client stopped in the middle of a pipeline: they hold locks and
--       no timeout of the server covers them. Called about every 15 seconds with 15,000.
-- postgres:
-- SQLite frees the locks of a process that has gone.
SELECT count(pg_terminate_backend(pid)) AS ended
  FROM pg_stat_activity
 WHERE datname = current_database()
   AND usename = current_user
   AND application_name = 'flowfabric'
   AND pid <> pg_backend_pid()
   AND state = 'active'
   AND wait_event = 'ClientRead'
   AND xact_start IS NOT NULL
   AND state_change < clock_timestamp() - :stuck_ms * interval '1 millisecond';
