-- migration: 10 lighter
-- oldest binary: 1
--
-- SQLite keeps its CHECKs, and compresses nothing.

SELECT 1;
