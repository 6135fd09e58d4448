-- migration: 5 log
-- oldest binary: 1
--
-- What Postgres needs to look after its log is not needed here.

SELECT 1;
