-- migration: 10 lighter
-- oldest binary: 1
--
-- Of the CHECKs that were left (see 9) one stays: an execution is in a legal state. What the others
-- said is asserted where it is decided, looked at by `ff fsck`, and still refused by SQLite, to
-- which the same rules write. docs/decisions/0015-statements-that-carry-less.md has the figures.

DO $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT conname, CAST(conrelid AS regclass) AS place
          FROM pg_constraint
         WHERE contype = 'c'
           AND conname <> 'ff_execution_state_check'
           AND conrelid IN (SELECT CAST(name AS regclass)
                              FROM unnest(ARRAY['ff_flow', 'ff_execution', 'ff_attempt',
                                                'ff_outbox', 'ff_edge', 'ff_edge_group',
                                                'ff_pending_cancel']) AS name)
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.place, found.conname);
    END LOOP;
END
$$;

-- Rows of 2 KB and more are compressed on their way into the table, which lz4 does in a fraction of
-- the time. Servers before 14 do not know it, and some are built without.
DO $$
BEGIN
    IF CAST(current_setting('server_version_num') AS integer) >= 140000 THEN
        EXECUTE 'ALTER TABLE ff_payload ALTER COLUMN data SET COMPRESSION lz4';
    END IF;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;
