-- migration: 8 log_ranges
-- oldest binary: 1
--
-- A jump of the log makes the ranges for its new ids itself, so that nothing lands in the default.
-- What landed there all the same is not moved any more: the default becomes a range. A binary of
-- before calls the same functions.

CREATE FUNCTION ff_log_range_name(part bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'ff_event_' || lpad(CAST(part AS text), greatest(4, length(CAST(part AS text))), '0')
$$;

-- Ranges for the ids to come after `given`. What lies in the default goes first: the default itself
-- becomes the range of that, under the name of its last part, which says when it may be dropped.
-- That reads it once and writes nothing, so writers do not stand still for long. Rows below a range
-- that is there already are an exception (an older copy of the rows alone was put back): they wait
-- in the new default until the next time. A row that was about to enter the default and belongs
-- elsewhere by then is refused with 23514. Returns how many ranges were made.
CREATE FUNCTION ff_log_ranges(given bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    span CONSTANT bigint DEFAULT 2000000;
    lowest bigint;
    highest bigint;
    part bigint;
    range_name text;
    made bigint DEFAULT 0;
BEGIN
    IF EXISTS (SELECT 1 FROM ff_event_default) THEN
        LOCK TABLE ONLY ff_event IN ACCESS EXCLUSIVE MODE;
        LOCK TABLE ff_event_default IN ACCESS EXCLUSIVE MODE;
        SELECT min(event_id) / span, max(event_id) / span INTO lowest, highest
          FROM ff_event_default;
        SELECT ff_log_range_name(highest) INTO range_name;
        SELECT greatest(lowest, max(number) FILTER (WHERE number < highest) + 1) INTO lowest
          FROM (SELECT CAST(substr(c.relname, 10) AS bigint) AS number
                  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                 WHERE i.inhparent = CAST('ff_event' AS regclass)
                   AND c.relname ~ '^ff_event_[0-9]+$') r;
        ALTER TABLE ff_event DETACH PARTITION ff_event_default;
        EXECUTE format('ALTER TABLE ff_event_default RENAME TO %I', range_name);
        CREATE TABLE ff_event_default (LIKE ff_event INCLUDING ALL);
        ALTER TABLE ff_event ATTACH PARTITION ff_event_default DEFAULT;
        EXECUTE format('WITH below AS (DELETE FROM %I WHERE event_id < %s RETURNING *) '
                       'INSERT INTO ff_event SELECT * FROM below', range_name, lowest * span);
        EXECUTE format('ALTER TABLE ff_event ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                       range_name, lowest * span, (highest + 1) * span);
        made = made + 1;
    END IF;
    FOR part IN
        SELECT greatest(given / span, highest + 1) + ahead FROM generate_series(0, 4) ahead
    LOOP
        SELECT ff_log_range_name(part) INTO range_name;
        CONTINUE WHEN to_regclass(range_name) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE ff_event INCLUDING ALL)', range_name);
        EXECUTE format('ALTER TABLE ff_event ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                       range_name, part * span, (part + 1) * span);
        made = made + 1;
    END LOOP;
    RETURN made;
END
$$;

-- As in migration 7, but the ranges are made by ff_log_ranges.
CREATE OR REPLACE FUNCTION ff_log_upkeep() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    span CONSTANT bigint DEFAULT 2000000;
    floor_id bigint;
    range_name text;
    changed bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(17991, CAST(ff_log_key() & 2147483647 AS integer)) THEN
        RETURN 0;
    END IF;
    PERFORM set_config('lock_timeout', '200ms', true);
    SELECT ff_log_ranges(ff_log_given()) INTO changed;
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

-- As in migration 7, but the ids behind the jump have their ranges before the first of them is
-- given out. Nobody writes meanwhile, so only readers can be in the way, and if they are upkeep
-- does it.
CREATE OR REPLACE FUNCTION ff_log_settle(forced boolean, known bigint) RETURNS bigint
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
    BEGIN
        IF pg_try_advisory_xact_lock(17991, CAST(ff_log_key() & 2147483647 AS integer)) THEN
            PERFORM set_config('lock_timeout', '200ms', true);
            PERFORM ff_log_ranges(given);
        END IF;
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
    INSERT INTO ff_event (event_id, kind, type, at_ms, num_a)
    VALUES (given, {{event:log}}, {{event:log.reset}}, {{now_ms}}, seen);
    RETURN given;
END
$$;
