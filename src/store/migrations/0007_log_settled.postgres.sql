-- migration: 7 log_settled
-- oldest binary: 1
--
-- Nobody numbers events of a log that is not the one it was: not after a restore under a live
-- connection, not behind a pooler whose server has changed, not below an id that was seen. A binary
-- of before goes on as it did.

-- As in migration 5; `known` is the highest id the caller has seen. If this log has not come so far
-- it is an older copy, even if everything else is the same. A server that only reads is refused:
-- it does not know who writes.
CREATE FUNCTION ff_log_settle(forced boolean, known bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    mine text;
    was text;
    seen bigint;
    given bigint;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'this server only reads' USING ERRCODE = 'read_only_sql_transaction';
    END IF;
    SELECT ff_log_identity() INTO mine;
    SELECT value INTO was FROM ff_meta WHERE name = 'log_identity';
    IF was = mine AND ff_log_given() >= known AND NOT forced THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(ff_log_key()); -- nobody is between its ids and its commit
    SELECT value INTO was FROM ff_meta WHERE name = 'log_identity';
    IF was IS NULL THEN
        INSERT INTO ff_meta (name, value) VALUES ('log_identity', mine);
    ELSE
        UPDATE ff_meta SET value = mine WHERE name = 'log_identity';
    END IF;
    SELECT ff_log_given() INTO given;
    IF given >= known AND NOT forced AND (was IS NULL OR was = mine) THEN
        RETURN 0;
    END IF;
    SELECT coalesce(max(event_id), 0) INTO seen FROM ff_event;
    SELECT greatest(given, known) + 4294967296 INTO given;
    UPDATE ff_meta SET value = CAST(given AS text) WHERE name = 'log_counter';
    IF NOT FOUND THEN
        PERFORM setval('ff_event_id_seq', given);
    END IF;
    INSERT INTO ff_event (event_id, kind, type, at_ms, num_a)
    VALUES (given, {{event:log}}, {{event:log.reset}}, {{now_ms}}, seen);
    RETURN given;
END
$$;

CREATE OR REPLACE FUNCTION ff_log_settle(forced boolean) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN pg_is_in_recovery() THEN 0 ELSE ff_log_settle(forced, 0) END
$$;

-- What a writer hears whose connection has settled another log: it is to settle this one first.
CREATE FUNCTION ff_log_refuse() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION 'the event log is not the one it was' USING ERRCODE = 'FF001';
END
$$;

-- The way to an id behind a pooler, where every transaction may be on another server: as
-- log_lock_shared, but all of what is settled is looked at.
CREATE FUNCTION ff_log_enter(known bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(ff_log_key());
    IF ff_log_given() < known OR ff_log_identity() IS DISTINCT FROM
            (SELECT value FROM ff_meta WHERE name = 'log_identity') THEN
        PERFORM ff_log_refuse();
    END IF;
    RETURN 0;
END
$$;

-- As in migration 5, but whatever lies in the default gets its range, not only what is of the range
-- in use: after a jump, or when ranges could not be made for long.
CREATE OR REPLACE FUNCTION ff_log_upkeep() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    span CONSTANT bigint DEFAULT 2000000;
    given bigint;
    floor_id bigint;
    parts bigint[];
    part bigint;
    range_name text;
    changed bigint DEFAULT 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(17991, CAST(ff_log_key() & 2147483647 AS integer)) THEN
        RETURN 0;
    END IF;
    PERFORM set_config('lock_timeout', '200ms', true);
    SELECT ff_log_given() INTO given;
    SELECT array_agg(p.part) INTO parts
      FROM (SELECT given / span + ahead AS part FROM generate_series(0, 4) ahead
            UNION
            SELECT event_id / span FROM ff_event_default) p;
    FOREACH part IN ARRAY parts LOOP
        SELECT 'ff_event_' || lpad(CAST(part AS text), greatest(4, length(CAST(part AS text))), '0')
          INTO range_name;
        CONTINUE WHEN to_regclass(range_name) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE ff_event INCLUDING ALL)', range_name);
        LOCK TABLE ff_event_default IN ACCESS EXCLUSIVE MODE;
        EXECUTE format('WITH moved AS (DELETE FROM ff_event_default '
                       'WHERE event_id >= %s AND event_id < %s RETURNING *) '
                       'INSERT INTO %I SELECT * FROM moved',
                       part * span, (part + 1) * span, range_name);
        EXECUTE format('ALTER TABLE ff_event ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                       range_name, part * span, (part + 1) * span);
        changed = changed + 1;
    END LOOP;
    SELECT CAST(value AS bigint) INTO floor_id FROM ff_meta WHERE name = 'log_floor';
    FOR range_name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = CAST('ff_event' AS regclass) AND c.relname ~ '^ff_event_[0-9]+$'
           AND (CAST(substr(c.relname, 10) AS bigint) + 1) * span <= floor_id
    LOOP
        EXECUTE format('DROP TABLE %I', range_name);
        changed = changed + 1;
    END LOOP;
    RETURN changed;
END
$$;

-- As in migration 5, but all of it stands or falls with the transaction: the sequence is stopped by
-- its limit, which is rolled back, and not by its value, which never is. The numbers taken here (a
-- limit is 2 at least) are lost then, and nobody minds.
CREATE OR REPLACE FUNCTION ff_log_serial() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    given bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(ff_log_key());
    IF NOT EXISTS (SELECT 1 FROM ff_meta WHERE name = 'log_counter') THEN
        PERFORM nextval('ff_event_id_seq') FROM generate_series(1, 2);
        SELECT last_value INTO given FROM ff_event_id_seq;
        INSERT INTO ff_meta (name, value) VALUES ('log_counter', CAST(given AS text));
        EXECUTE format('ALTER SEQUENCE ff_event_id_seq MAXVALUE %s', given);
    END IF;
    RETURN ff_log_given();
END
$$;

-- A store whose sequence was stopped by a switch that was then rolled back.
SELECT setval('ff_event_id_seq', (SELECT coalesce(max(event_id), 0) + 4294967296 FROM ff_event))
  FROM ff_event_id_seq
 WHERE last_value = 9223372036854775807
   AND NOT EXISTS (SELECT 1 FROM ff_meta WHERE name = 'log_counter');
