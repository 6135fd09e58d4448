-- migration: 6 flow_tries
-- oldest binary: 1
--
-- A flow whose members cannot be cancelled or removed is tried again later, as hops and drains are.

ALTER TABLE ff_flow ADD COLUMN tries integer NOT NULL DEFAULT 0;
ALTER TABLE ff_flow ADD COLUMN not_before_ms bigint NOT NULL DEFAULT 0;
