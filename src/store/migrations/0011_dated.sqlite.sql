-- migration: 11 dated
-- oldest binary: 1
--
-- Lists are newest first by (created_at_ms, execution_id). Of a dated execution the key says so:
-- only the others need an index. Nor do dated members of flows need one, since their ids have the
-- time of their flow's. What was there before is not dated, nor is what an older binary adds.
-- docs/decisions/0017-lists-go-by-the-key.md has the figures.

CREATE INDEX ff_execution_undated ON ff_execution (created_at_ms, execution_id)
 WHERE (flags & {{code:EXEC_DATED}}) = 0;

DROP INDEX ff_execution_created;

DROP INDEX ff_execution_flow;

CREATE INDEX ff_execution_flow ON ff_execution (flow_id, execution_id)
 WHERE flow_id IS NOT NULL AND (flags & {{code:EXEC_DATED}}) = 0;

-- Every step of a flow changes changed_at_ms: an update of an indexed column is never HOT.
DROP INDEX ff_flow_draining;

CREATE INDEX ff_flow_draining ON ff_flow (flow_id)
 WHERE draining = 1 OR state = {{code:FLOW_REMOVED}};

-- Members are removed with their flow, and nobody asks for them by the time of their end.
DROP INDEX ff_execution_finished;

CREATE INDEX ff_execution_finished ON ff_execution (finished_at_ms)
 WHERE finished_at_ms IS NOT NULL AND flow_id IS NULL;
