-- migration: 4 claim_order
-- oldest binary: 1
--
-- Claims begin at a place in the order of their lane. With the rank (minus the priority) all
-- columns of that order run in one direction: a place is one comparison the index understands.

DROP INDEX ff_execution_claim;

CREATE INDEX ff_execution_claim ON ff_execution (lane, (-priority), created_at_ms, execution_id)
 WHERE {{claimable}};
