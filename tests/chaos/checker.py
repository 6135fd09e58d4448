# SPDX-License-Identifier: Apache-2.0
"""checker -- judges a run by what its clients have written down and by the tables at its end.

Knows nothing of the engine but its contract. Usage: checker.py DIRECTORY of a kept run."""

import collections
import glob
import json
import os
import sys

DUMPS = {
    "executions": """
        SELECT '{fp:' || c.partition_key || '}:' || c.execution_id AS id, c.public_state AS state,
               c.terminal_outcome AS outcome, c.generation, c.flow_id AS flow, c.node,
               convert_from(e.input, 'UTF8') AS input
          FROM chaos.ff_exec_core c
          JOIN chaos.ff_execution e USING (partition_key, execution_id)""",
    "attempts": """
        SELECT '{fp:' || partition_key || '}:' || execution_id AS id, lease_epoch AS epoch,
               generation, outcome AS ending, worker_instance_id AS worker
          FROM chaos.ff_attempt
         UNION ALL
        SELECT '{fp:' || partition_key || '}:' || execution_id, last_epoch, generation, last_end,
               worker_instance_id
          FROM chaos.ff_execution
         WHERE state = 90 AND worker_instance_id IS NOT NULL""",
    "results": """
        SELECT '{fp:' || partition_key || '}:' || execution_id AS id, generation,
               convert_from(data, 'UTF8') AS result
          FROM chaos.ff_payload WHERE kind = 1""",
    "events": """
        SELECT event_id AS event, kind, type, generation, lease_epoch AS epoch,
               '{fp:' || partition_key || '}:' || execution_id AS id
          FROM chaos.ff_event ORDER BY event_id""",
}
COMPLETION, LEASE, OPERATOR = 1, 2, 4
ACQUIRED, RECLAIMED, REPLAYED = (LEASE, 1), (LEASE, 4), (OPERATOR, 2)
OUTCOMES = {1: "success", 2: "failed", 3: "cancelled", 4: "expired", 5: "skipped"}
ENDINGS = {"complete": (1,), "fail": (2, 3), "delay": (4,), "release": (8,)}


def dump(postgres, directory):
    """The tables, as JSON lines beside the histories."""
    for name, sql in DUMPS.items():
        with open(os.path.join(directory, name + ".table"), "w", encoding="utf-8") as out:
            out.write(postgres.ask(f"SELECT row_to_json(r) FROM ({sql}) r"))


def lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):  # a killed client may leave half a line
                yield json.loads(line)


class Checker:
    def __init__(self, directory):
        self.dir = directory
        self.found = collections.Counter()
        self.seen = collections.Counter()
        self.examples = []
        self.executions = {row["id"]: row for row in self.table("executions")}
        self.attempts = {(row["id"], row["epoch"]): row for row in self.table("attempts")}
        self.results = {(row["id"], row["generation"]): json.loads(row["result"]).get("word")
                        for row in self.table("results")}
        self.words = set(self.results.values())
        self.events = list(self.table("events"))
        self.by_input = collections.defaultdict(list)
        for row in self.executions.values():
            self.by_input[json.loads(row["input"])["key"]].append(row["id"])
        self.story = collections.defaultdict(list)
        for event in self.events:
            if event["id"]:
                self.story[event["id"]].append(event)
        self.calls = list(self.read_calls())

    def table(self, name):
        return lines(os.path.join(self.dir, name + ".table"))

    def read_calls(self):
        for path in sorted(glob.glob(os.path.join(self.dir, "*.jsonl"))):
            name = os.path.basename(path)[:-6]
            if name.startswith("subscriber"):
                continue
            begun = {}
            for line in lines(path):
                if "call" in line:
                    begun[line["call"]] = {**line, "who": name, "doubts": 1}  # until it is answered
                elif "ends" in line:
                    begun[line["ends"]].update(line, answered=True)
            yield from begun.values()

    def wrong(self, kind, what):
        self.found[kind] += 1
        if self.found[kind] <= 5:
            self.examples.append(f"{kind}: {what}")

    # -- what was promised ------------------------------------------------------------------------

    def check_calls(self):
        for call in self.calls:
            self.seen[call["op"]] += 1
            if call.get("answered"):
                getattr(self, "check_" + call["op"].replace("-", "_"))(call)
        for key, ids in self.by_input.items():
            if len(ids) > 1:
                self.wrong("doubled", f"{key} is there {len(ids)} times")

    def check_submit(self, call):
        for key, made in zip(call["keys"], call["ids"]):
            if made not in self.by_input[key]:
                self.wrong("lost", f"{made} was accepted for {key}")
            self.seen["acknowledged"] += 1
        if not call["ids"] and not call["doubts"] and any(self.by_input[k] for k in call["keys"]):
            self.wrong("applied", f"{call['keys']} was refused with {call['status']}, and is there")

    def check_flow(self, call):
        for node, made in call["ids"].items():
            if made not in self.executions or self.executions[made]["node"] != node:
                self.wrong("lost", f"node {node} of {call['flow']}")
            self.seen["acknowledged"] += 1

    check_grow = check_flow

    def check_claim(self, call):
        for name, epoch in call["tasks"]:
            owner = self.attempts.get((name, epoch))
            if not owner:
                self.wrong("lost", f"{name} was handed out in epoch {epoch}, and nobody knows")
            elif not call["request"].startswith(owner["worker"] + "-"):
                self.wrong("stale", f"{name} in epoch {epoch}: {call['request']} has it, too")

    def check_word(self, call):
        """One that was accepted is what ended its tenancy; one that was refused has no effect."""
        tenancy = self.attempts.get((call["id"], call["epoch"]))
        applied = self.results.get((call["id"], call["generation"])) == call["word"]
        if call["code"] == "ok":
            self.seen["acknowledged"] += 1
            if not tenancy or tenancy["ending"] not in ENDINGS[call["op"]]:
                self.wrong("lost", f"{call['op']} of {call['id']} in epoch {call['epoch']}: "
                           f"{tenancy}")
            elif call["op"] == "complete" and not applied:
                self.wrong("lost", f"the result {call['word']} of {call['id']}")
        else:
            self.seen["refused"] += 1
            self.seen["refused " + call["code"]] += 1
            if call["word"] in self.words and not call["doubts"]:
                self.wrong("stale", f"{call['word']} was refused ({call['code']}) and counted")

    check_complete = check_fail = check_delay = check_release = check_word

    def check_renew(self, call):
        if call["code"] == "ok" and (call["id"], call["epoch"]) not in self.attempts:
            self.wrong("lost", f"the lease {call['epoch']} of {call['id']} was renewed")

    def check_cancel(self, call):
        if call["status"] == 200 and not any(
                (e["kind"], e["type"]) == (COMPLETION, 3) for e in self.story[call["id"]]):
            self.wrong("lost", f"the cancel of {call['id']}")

    def check_replay(self, call):
        if call["status"] == 200:
            times = sum((e["kind"], e["type"]) == REPLAYED and
                        e["generation"] == call["generation"] for e in self.story[call["id"]])
            if times != 1:
                self.wrong("lost", f"the replay {call['generation']} of {call['id']}: {times}")

    def check_revoke_lease(self, call):
        del call  # shows in the epochs

    # -- what must hold of every execution --------------------------------------------------------

    def check_stories(self):
        for name, row in self.executions.items():
            if not row["outcome"] or row["outcome"] == "none":
                self.wrong("unfinished", f"{name} is {row['state']}")
            self.check_story(name, row)

    def check_story(self, name, row):
        completed = collections.Counter()
        epoch = -1
        for event in self.story[name]:
            what = (event["kind"], event["type"])
            if what in (ACQUIRED, RECLAIMED):
                if event["epoch"] <= epoch:
                    self.wrong("stale", f"epoch {event['epoch']} of {name} after {epoch}")
                if completed[event["generation"]]:
                    self.wrong("stale", f"{name} was handed out after its end")
                epoch = event["epoch"]
            elif event["kind"] == COMPLETION:
                completed[event["generation"]] += 1
                if event["type"] == 1:
                    self.check_success(name, event, epoch)
        for generation in range(row["generation"] + 1):
            times = completed.pop(generation, 0)
            if times > 1:
                self.wrong("doubled", f"{times} completions of {name}, generation {generation}")
            elif not times and row["outcome"] not in (None, "none"):
                self.wrong("lost", f"the completion of {name}, generation {generation}")
        if completed:
            self.wrong("doubled", f"completions of {name} that have no generation: {completed}")

    def check_success(self, name, event, epoch):
        """Only the last owner may have succeeded."""
        self.seen["successes"] += 1
        tenancy = self.attempts.get((name, epoch))
        if not tenancy or tenancy["ending"] != 1 or tenancy["generation"] != event["generation"]:
            self.wrong("stale", f"{name} has succeeded, its last owner (epoch {epoch}) has not")
        if (name, event["generation"]) not in self.results:
            self.wrong("lost", f"the result of {name}, generation {event['generation']}")

    def check_effects(self):
        """A command has run once per lease, and for each success of one there is a command."""
        path = os.path.join(self.dir, "effects")
        ran = collections.Counter()
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                ran.update(tuple(line.split()) for line in file if line.endswith("\n"))
        for (name, epoch), times in ran.items():
            if times > 1:
                self.wrong("stale", f"epoch {epoch} of {name} was run {times} times")
        for (name, epoch), row in self.attempts.items():
            if row["worker"].startswith("worker-") or row["ending"] != 1:
                continue
            self.seen["commands"] += 1
            if (name, str(epoch)) not in ran:
                self.wrong("lost", f"{name} has succeeded in epoch {epoch}, and nobody ran it")

    # -- flows ------------------------------------------------------------------------------------

    def check_flows(self):
        grown = {call["flow"]: call for call in self.calls
                 if call["op"] == "grow" and call.get("ids")}
        for call in self.calls:
            if call["op"] != "flow" or not call.get("flow"):
                continue
            more = grown.get(call["flow"], {"nodes": [], "edges": [], "ids": {}})
            ids = {**call["ids"], **more["ids"]}
            expected = self.expect(call["nodes"] + more["nodes"], call["edges"] + more["edges"])
            self.seen["flows"] += 1
            for node, outcome in expected.items():
                if self.executions.get(ids[node], {}).get("outcome") != outcome:
                    self.wrong("outcome", f"node {node} of {call['flow']}: {outcome} expected, "
                               f"got {self.executions.get(ids[node])}")

    @staticmethod
    def expect(nodes, edges):
        """Nodes come after those they depend on."""
        outcome = {}
        for node in nodes:
            upstream = [outcome[e["from"]] == "success" for e in edges if e["to"] == node["name"]]
            runs = not upstream or (any(upstream) if "join" in node else all(upstream))
            says = "failed" if node["input"]["say"] == "fail" else "success"
            outcome[node["name"]] = says if runs else "skipped"
        return outcome

    # -- subscribers ------------------------------------------------------------------------------

    def check_subscribers(self):
        for path in sorted(glob.glob(os.path.join(self.dir, "subscriber-*.jsonl"))):
            name, got, after, kinds = os.path.basename(path)[:-6], [], None, None
            for line in lines(path):
                if line["op"] == "event":
                    got.append(line["event"])
                elif line["op"] == "began":
                    after = int(line["cursor"][2:], 16)
                else:
                    kinds = line["kinds"]
            if after is None:
                self.wrong("subscriber", f"{name} never began")
                continue
            expected = [e["event"] for e in self.events if e["event"] > after and
                        (not kinds or e["kind"] == COMPLETION)]
            self.seen["delivered"] += len(got)
            if got != expected:
                missing, many = set(expected) - set(got), len(got) - len(set(got))
                self.wrong("subscriber", f"{name}: {len(missing)} missing, {many} twice, "
                           f"{len(set(got) - set(expected))} unknown, first {sorted(missing)[:5]}")

    def check(self):
        self.check_calls()
        self.check_stories()
        self.check_effects()
        self.check_flows()
        self.check_subscribers()
        return self


def main():
    checker = Checker(sys.argv[1]).check()
    print(dict(checker.seen), dict(checker.found), *checker.examples, sep="\n")
    return 1 if checker.found else 0


if __name__ == "__main__":
    sys.exit(main())
