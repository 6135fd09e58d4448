-- migration: 8 log_ranges
-- oldest binary: 1
--
-- What Postgres needs to look after its log is not needed here.

SELECT 1;
