-- What only Postgres needs: a commit in doubt that must also be replicated, and stuck sessions.

-- name: batch_confirm
-- in:   batch_id:uuid
-- out:  none
-- writes
-- note: Finds the marker of a batch that has committed, not one that was buried. Changes nothing
--       but writes the log: its commit waits for the synchronous standbys, and with it the commit
--       of the batch is there too.
-- postgres:
-- SQLite writes no marker.
UPDATE ff_batch SET at_ms = at_ms WHERE batch_id = :batch_id AND at_ms >= 0;

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

-- name: batch_settings
-- in:   lock_timeout:text local:i64
-- out:  none
-- note: SET, with parameters: once for a connection that runs batches, or (behind a pooler) LOCAL
--       in each of them. The enable_* settings pin every plan to a walk along one
--       index, in its order. Otherwise the one made while a table is small (a hash join over a
--       sequential scan, or a bitmap and a sort for a claim) is kept until the next ANALYZE, and a
--       fresh store under load reads itself whole for every batch: a claim among 20,000 waiting
--       rows then took 180 ms instead of 0.4. One plan fits all sizes of batch; left to itself
--       Postgres makes a new one for every small array.
-- postgres:
-- SQLite has settings of a connection only.
SELECT set_config('synchronous_commit', 'on', :local <> 0),
       set_config('statement_timeout', '30s', :local <> 0),
       set_config('idle_in_transaction_session_timeout', '5s', :local <> 0),
       set_config('lock_timeout', :lock_timeout, :local <> 0),
       set_config('enable_hashjoin', 'off', :local <> 0),
       set_config('enable_mergejoin', 'off', :local <> 0),
       set_config('enable_seqscan', 'off', :local <> 0),
       set_config('enable_bitmapscan', 'off', :local <> 0),
       set_config('enable_sort', 'off', :local <> 0),
       set_config('plan_cache_mode', 'force_generic_plan', :local <> 0);

-- name: tx_lock_timeout
-- in:   lock_timeout:text
-- out:  none
-- note: For the one transaction that waits longer, or shorter, than others.
-- postgres:
-- SQLite has settings of a connection only.
SELECT set_config('lock_timeout', :lock_timeout, true);

-- name: tx_path
-- in:   search_path:text
-- out:  none
-- note: Behind a pooler, in every transaction: nothing is kept between them.
-- postgres:
-- SQLite has no schemas.
SELECT set_config('search_path', :search_path, true), set_config('jit', 'off', true);

-- name: tx_audit
-- out:  none
-- note: Before a statement that reads whole tables. It takes as long as they are large: the limit
--       of other statements is not for it, but from version 14 on the server looks whether somebody
--       still waits for the answer. Without statistics Postgres expects few rows and compares every
--       one with every other. What batch_settings has turned off on this connection is wanted here.
-- postgres:
-- SQLite has one kind of join, and no limits.
SELECT set_config('enable_nestloop', 'off', true),
       set_config('enable_hashjoin', 'on', true),
       set_config('enable_mergejoin', 'on', true),
       set_config('enable_seqscan', 'on', true),
       set_config('enable_bitmapscan', 'on', true),
       set_config('enable_sort', 'on', true),
       set_config('plan_cache_mode', 'auto', true),
       set_config('statement_timeout', '0', true),
       (SELECT set_config(s.name, '2s', true)
          FROM pg_settings s
         WHERE s.name = 'client_connection_check_interval');

-- name: server_facts
-- out:  cells pid:i64 search_path:text fsync:text full_page_writes:text data_checksums:text
-- out:  cells autovacuum:text track_activities:text
-- note: What a server says about itself before we trust it.
-- postgres:
-- SQLite is asked by PRAGMA.
SELECT pg_backend_pid()::int8 AS pid,
       current_setting('search_path') AS search_path,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('data_checksums') AS data_checksums,
       current_setting('autovacuum') AS autovacuum,
       current_setting('track_activities') AS track_activities;

-- name: migrate_lock
-- in:   schema:text
-- out:  none
-- note: Several servers may start at once: one migrates, the others wait and find it done.
-- postgres:
-- On SQLite the transaction of a migration is alone by itself.
SELECT pg_advisory_xact_lock(hashtextextended('flowfabric migrate ' || :schema, 0));

-- name: schema_exists
-- in:   schema:text
-- out:  cells found:i64
-- note: CREATE SCHEMA IF NOT EXISTS would ask for a privilege we may not need.
-- postgres:
-- SQLite has no schemas.
SELECT 1::int8 AS found FROM pg_namespace WHERE nspname = :schema;

-- name: ledger_exists
-- in:   schema:text
-- out:  cells found:i64
-- note: No row: nothing has ever been migrated here.
-- postgres:
-- See ledger_columns.
SELECT 1::int8 AS found
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = :schema AND c.relname = 'ff_migration';

-- name: columns_live
-- in:   schema:text
-- out:  cells table_name:text column_name:text type:i64 required:i64
-- note: What the tables really look like; compared with rows.def.
-- postgres:
-- See column_live.
SELECT c.relname::text AS table_name, a.attname::text AS column_name, a.atttypid::int8 AS type,
       a.attnotnull::int::int8 AS required
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = :schema AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p');

-- name: log_settle
-- in:   forced:i64 known_id:i64
-- out:  cells reset_id:i64 log_oid:i64 serial:i64
-- note: First statement of a new connection: after a lossy failover or a restore ids jump. How
--       events are numbered may have changed, too: as in log_mode.
-- postgres:
-- SQLite cannot tell; see log_reset.
SELECT ff_log_settle(:forced <> 0, :known_id) AS reset_id,
       CAST(CAST(CAST('ff_event' AS regclass) AS oid) AS bigint) AS log_oid,
       CASE WHEN EXISTS (SELECT 1 FROM ff_meta WHERE name = 'log_counter')
            THEN 1 ELSE 0 END AS serial;

-- name: log_lock_shared
-- in:   log_oid:i64
-- out:  none
-- note: Taken right before events get their numbers, until the commit: whoever holds it may still
--       bring ids below the highest visible one. The key is "FF" and the oid the schema has now;
--       tables that were restored under a live connection are others than it has settled (log_oid),
--       which is refused with FF001.
-- postgres:
-- SQLite has one writer at a time.
SELECT pg_advisory_xact_lock_shared((CAST(17990 AS bigint) << 32) + CAST(relnamespace AS bigint)),
       CASE WHEN CAST(oid AS bigint) <> :log_oid THEN ff_log_refuse() END
  FROM pg_class
 WHERE oid = to_regclass('ff_event');

-- name: log_enter
-- in:   known_id:i64
-- out:  none
-- note: The same behind a pooler.
-- postgres:
-- As log_lock_shared.
SELECT ff_log_enter(:known_id);

-- name: log_upkeep
-- out:  cells changed:i64
-- note: Ranges of the log made ahead, and dropped below its floor.
-- postgres:
-- SQLite has one table.
SELECT ff_log_upkeep() AS changed;

-- name: log_mode
-- out:  cells serial:i64 proven:i64
-- note: How events are numbered, and whether this server was seen to do it right.
-- postgres:
-- SQLite has one writer at a time.
SELECT CASE WHEN EXISTS (SELECT 1 FROM ff_meta WHERE name = 'log_counter')
            THEN 1 ELSE 0 END AS serial,
       CASE WHEN (SELECT value FROM ff_meta WHERE name = 'log_proof') = ff_log_identity()
            THEN 1 ELSE 0 END AS proven;

-- name: log_serial
-- out:  cells given_id:i64
-- note: From now on events are numbered under one row.
-- postgres:
-- As log_mode.
SELECT ff_log_serial() AS given_id;

-- name: log_probe
-- out:  cells event_id:i64
-- note: First half of the proof: a number, taken under the lock of the log.
-- postgres:
-- As log_mode.
SELECT ff_log_probe() AS event_id;

-- name: log_watch
-- out:  cells event_id:i64 holders:i64
-- note: Second half, on another session: the next number, and who is seen to hold the lock.
-- postgres:
-- As log_mode.
SELECT nextval('ff_log_probe_seq') AS event_id,
       (SELECT count(*)
          FROM pg_locks
         WHERE locktype = 'advisory'
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND classid = 17990
           AND objid = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
           AND objsubid = 1
           AND granted
           AND pid <> pg_backend_pid()) AS holders;

-- name: log_proven
-- out:  cells done:i64
-- postgres:
-- As log_mode.
SELECT ff_log_proven() AS done;
