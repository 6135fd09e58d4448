-- What only SQLite needs: looking at its own file.

-- name: ledger_columns
-- out:  cells count:i64
-- note: 0: nothing has ever been migrated here.
-- sqlite:
-- See ledger_exists.
SELECT count(*) AS count FROM pragma_table_info('ff_migration');

-- name: column_live
-- in:   table_name:text column_name:text
-- out:  cells type:text required:i64
-- note: What a column really looks like; those of a key count as required.
-- sqlite:
-- See columns_live.
SELECT type, "notnull" OR pk AS required FROM pragma_table_info(:table_name)
 WHERE name = :column_name;

-- name: journal_is_wal
-- out:  cells is_wal:i64
-- sqlite:
-- Postgres always has one.
SELECT journal_mode = 'wal' AS is_wal FROM pragma_journal_mode;
