-- migration: 7 log_settled
-- oldest binary: 1
--
-- What Postgres needs to look after its log is not needed here.

SELECT 1;
