-- migration: 3 progress
-- oldest binary: 1
--
-- Progress belongs to a generation: a replayed execution has made none yet. A binary of before
-- writes its progress as that of the first generation, and it is not shown after a replay.

ALTER TABLE ff_progress ADD COLUMN generation integer NOT NULL DEFAULT 0;
