-- What a store needs for itself: its clock, its markers, its ledger, its pulse.

-- name: pulse
-- in:   contact:text namespace:text? instance_tag:text?
-- out:  cells now_ms:i64 due_at_ms:i64 hops:i64 drains:i64 event_id:i64 capsets:i64
-- out:  cells claimable:i64 contact:text
-- note: Everything an idle process wants to know, in one statement a second. due_at_ms is null when
--       no timer is set; hops and drains are 0 or 1, and these three are of the scanners' scope;
--       claimable is 0 when nothing is, and another number than before when something may have
--       become so; `contact` is the ff_meta value of that name or null. Sorted by their index, the
--       subqueries cannot turn into a walk of the table when statistics are old.
SELECT {{now_ms}} AS now_ms,
       (SELECT min(due_at_ms) FROM ff_execution
         WHERE due_at_ms IS NOT NULL
           AND {{filtered}}) AS due_at_ms,
       CASE WHEN (SELECT min(not_before_ms) FROM ff_outbox
                   WHERE dispatched_at_ms IS NULL
                     AND {{filtered}}) <= {{now_ms}}
            THEN 1 ELSE 0 END AS hops,
       CASE WHEN (SELECT min(not_before_ms) FROM ff_pending_cancel
                   WHERE {{filtered}}) <= {{now_ms}}
              OR EXISTS (SELECT 1 FROM ff_flow
                          WHERE (draining = 1 OR state = {{code:FLOW_REMOVED}})
                            AND not_before_ms <= {{now_ms}}
                            AND {{filtered}})
            THEN 1 ELSE 0 END AS drains,
       (SELECT coalesce(max(event_id), 0) FROM ff_event) AS event_id,
       (SELECT count(*) FROM ff_capset) AS capsets,
       (SELECT CASE count(*) WHEN 0 THEN 0
                    WHEN 100 THEN {{now_ms}} -- who has so much to do may look each time
                    ELSE count(*) + CAST(sum(changed_at_ms) AS bigint)
                         + (SELECT coalesce(max(changed_at_ms), 0) FROM ff_lane) END
          FROM (SELECT changed_at_ms FROM ff_execution WHERE {{claimable}}
                 ORDER BY lane, -priority, created_at_ms, execution_id LIMIT 100) c) AS claimable,
       (SELECT value FROM ff_meta WHERE name = :contact) AS contact;

-- name: clock
-- out:  cells now_ms:i64
-- note: The store's time. The last statement of a load, after all locks.
SELECT {{clock_ms}} AS now_ms;

-- name: wal_bytes
-- out:  cells bytes:i64
-- note: How much has ever been written to the write-ahead log.
-- postgres:
-- The position of the whole server; there is none for one database.
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8 AS bytes;
-- sqlite:
-- A function of ours, which knows what this process has written since it opened the file.
SELECT ff_wal_bytes() AS bytes;

-- name: clock_read
-- out:  cells now_ms:i64
-- note: The highest time this store has seen.
-- sqlite:
-- Postgres has a clock of its own; SQLite keeps one so that time never runs back.
SELECT now_ms FROM ff_clock;

-- name: clock_save
-- in:   now_ms:i64
-- out:  none
-- writes
-- sqlite:
-- As clock_read. Part of every batch that saves something.
UPDATE ff_clock SET now_ms = max(now_ms, :now_ms);

-- name: batch_mark
-- in:   batch_id:uuid
-- out:  none
-- writes
-- note: First statement of a batch; a duplicate means that it has committed before.
-- postgres:
-- SQLite writes no marker: its commit is known in process.
INSERT INTO ff_batch (batch_id, at_ms) VALUES (:batch_id, {{now_ms}});

-- name: batch_bury
-- in:   batch_id:uuid
-- out:  none
-- writes
-- note: Committed, nobody can commit that batch any more: its own marker would be a duplicate. The
--       negative time tells it from one.
-- postgres:
-- SQLite writes no marker.
INSERT INTO ff_batch (batch_id, at_ms) VALUES (:batch_id, -{{now_ms}});

-- name: lanes_are_open
-- in:   lanes:text[]
-- out:  cells yes:i64
-- note: Fails (divides by zero) if one of them is paused: the batch has handed work out in all of
--       them without having looked.
-- postgres:
-- SQLite always looks.
SELECT 1::int8 / (count(*) = 0)::int AS yes FROM ff_lane WHERE lane {{any:lanes}} AND paused <> 0;

-- name: capsets_are_there
-- in:   capsets:i64[]
-- out:  cells yes:i64
-- note: Fails (divides by zero) if one of them is not: the batch brings work that asks for all of
--       them without having looked.
-- postgres:
-- As lanes_are_open.
SELECT 1::int8 / (count(*) = cardinality(:capsets))::int AS yes
  FROM ff_capset
 WHERE capset_id {{any:capsets}};

-- name: migrations_applied
-- out:  cells version:i64 name:text checksum:text oldest_binary:i64
SELECT version, name, checksum, oldest_binary FROM ff_migration ORDER BY version;

-- name: migration_record
-- in:   version:i32 name:text checksum:text oldest_binary:i32 applied_at_ms:i64
-- out:  none
-- writes
INSERT INTO ff_migration (version, name, checksum, oldest_binary, applied_at_ms)
VALUES (:version, :name, :checksum, :oldest_binary, :applied_at_ms);
