-- migration: 5 log
-- oldest binary: 1
--
-- The log about itself: whose it is, ranges made ahead and dropped, numbering without a sequence.
-- A binary of before goes on writing; it only does not notice a restore.

-- The key of the lock that writers hold from before they take their ids until they commit.
CREATE FUNCTION ff_log_key() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (CAST(17990 AS bigint) << 32) + CAST(oid AS bigint)
      FROM pg_namespace WHERE nspname = current_schema()
$$;

-- The last id given out.
CREATE FUNCTION ff_log_given() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT coalesce((SELECT CAST(value AS bigint) FROM ff_meta WHERE name = 'log_counter'),
                    (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END
                       FROM ff_event_id_seq))
$$;

-- Another server, another timeline or other tables: another log. What a server does not tell to
-- this user is left out.
CREATE FUNCTION ff_log_identity() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    server text DEFAULT '-';
    timeline text DEFAULT '-';
BEGIN
    BEGIN
        SELECT CAST(system_identifier AS text) INTO server FROM pg_control_system();
        SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) INTO timeline;
    EXCEPTION WHEN insufficient_privilege OR undefined_function OR feature_not_supported THEN
        NULL;
    END;
    RETURN concat_ws(' ', server, timeline,
                     CAST((SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AS text),
                     CAST(CAST(CAST('ff_event' AS regclass) AS oid) AS text));
END
$$;

-- Called on every new connection before anything is written. If the log is not the one it was, ids
-- beyond those we can see may have been given out: jump over them and say so in the log. Returns
-- the id of that event, or 0.
CREATE FUNCTION ff_log_settle(forced boolean) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    mine text;
    known text;
    seen bigint;
    given bigint;
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN 0;
    END IF;
    SELECT ff_log_identity() INTO mine;
    SELECT value INTO known FROM ff_meta WHERE name = 'log_identity';
    IF known = mine AND NOT forced THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(ff_log_key()); -- nobody is between its ids and its commit
    SELECT value INTO known FROM ff_meta WHERE name = 'log_identity';
    IF known IS NULL THEN
        INSERT INTO ff_meta (name, value) VALUES ('log_identity', mine);
    ELSE
        UPDATE ff_meta SET value = mine WHERE name = 'log_identity';
    END IF;
    IF NOT forced AND (known IS NULL OR known = mine) THEN
        RETURN 0;
    END IF;
    SELECT coalesce(max(event_id), 0) INTO seen FROM ff_event;
    SELECT ff_log_given() + 4294967296 INTO given;
    UPDATE ff_meta SET value = CAST(given AS text) WHERE name = 'log_counter';
    IF NOT FOUND THEN
        PERFORM setval('ff_event_id_seq', given);
    END IF;
    INSERT INTO ff_event (event_id, kind, type, at_ms, num_a)
    VALUES (given, {{event:log}}, {{event:log.reset}}, {{now_ms}}, seen);
    RETURN given;
END
$$;

-- Ranges for ids to come, and no ranges below the floor. Waits for nobody for long: what cannot be
-- done now is done the next time. Returns how many ranges were made and dropped.
CREATE FUNCTION ff_log_upkeep() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    span CONSTANT bigint DEFAULT 2000000;
    given bigint;
    floor_id bigint;
    part bigint;
    range_name text;
    changed bigint DEFAULT 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(17991, CAST(ff_log_key() & 2147483647 AS integer)) THEN
        RETURN 0;
    END IF;
    PERFORM set_config('lock_timeout', '200ms', true);
    SELECT ff_log_given() INTO given;
    FOR part IN SELECT generate_series(given / span, given / span + 4) LOOP
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

-- From now on ids come from one row that is held until the commit. Whoever still takes them from
-- the sequence is refused and must be restarted.
CREATE FUNCTION ff_log_serial() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    given bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(ff_log_key());
    SELECT ff_log_given() INTO given;
    IF NOT EXISTS (SELECT 1 FROM ff_meta WHERE name = 'log_counter') THEN
        INSERT INTO ff_meta (name, value) VALUES ('log_counter', CAST(given AS text));
        PERFORM setval('ff_event_id_seq', 9223372036854775807);
    END IF;
    RETURN given;
END
$$;

-- Made on two sessions, in this order: ids must follow each other, and the lock must show.
CREATE SEQUENCE ff_log_probe_seq CACHE 1;

CREATE FUNCTION ff_log_probe() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    PERFORM pg_advisory_xact_lock(ff_log_key());
    RETURN nextval('ff_log_probe_seq');
END
$$;

CREATE FUNCTION ff_log_proven() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE ff_meta SET value = ff_log_identity() WHERE name = 'log_proof';
    IF NOT FOUND THEN
        INSERT INTO ff_meta (name, value) VALUES ('log_proof', ff_log_identity());
    END IF;
    RETURN 1;
EXCEPTION WHEN unique_violation THEN -- somebody was faster
    RETURN 1;
END
$$;
