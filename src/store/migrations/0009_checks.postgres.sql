-- migration: 9 checks
-- oldest binary: 1
--
-- Every statement that writes a table prepares all of its CHECKs anew, however few rows it writes:
-- of an update of one execution they were half. Those that tie columns to the state stay.
-- Lengths and partitions are refused long before they come here; `ff fsck` looks at the counts.

ALTER TABLE ff_execution
    DROP CONSTRAINT IF EXISTS ff_execution_partition_key_check,
    DROP CONSTRAINT IF EXISTS ff_execution_check2,
    DROP CONSTRAINT IF EXISTS ff_execution_check3;
ALTER TABLE ff_flow
    DROP CONSTRAINT IF EXISTS ff_flow_partition_key_check,
    DROP CONSTRAINT IF EXISTS ff_flow_check,
    DROP CONSTRAINT IF EXISTS ff_flow_check1,
    DROP CONSTRAINT IF EXISTS ff_flow_check2;
