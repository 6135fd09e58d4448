-- migration: 9 checks
-- oldest binary: 1
--
-- SQLite prepares its CHECKs once, with the statement: they cost little and stay.

SELECT 1;
