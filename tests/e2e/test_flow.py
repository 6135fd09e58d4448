# SPDX-License-Identifier: Apache-2.0
"""test_flow -- ff flow create, grow, show, ls and cancel, on SQLite and on Postgres."""

import json
import unittest

from ff_cli import CANONICAL, Ff, OnPostgres, OnSqlite


def graph(nodes, edges, **more):
    """graph("a b", "a>b") as the body of flow.create."""
    return dict(more, nodes=[{"name": name, "kind": "k"} for name in nodes.split()],
                edges=[dict(zip(("from", "to"), edge.split(">"))) for edge in edges.split()])


class Flow(Ff):
    def create(self, body, *words):
        return self.ff("flow", "create", "-", *words, stdin=json.dumps(body).encode()).strip()

    def states(self, flow):
        return {node["name"]: node["public_state"]
                for node in self.ff_json("flow", "show", flow)["nodes"]}

    # -- create ----------------------------------------------------------------------------------

    def test_create_from_file_and_show(self):
        body = graph("build test-a test-b ship",
                     "build>test-a build>test-b test-a>ship test-b>ship",
                     kind="deploy", tags={"colour": "red"})
        body["nodes"][3]["join"] = {"policy": "quorum", "k": 1, "on_satisfied": "let_run"}
        body["edges"][0]["pass"] = "input"
        with open(self.dir.name + "/flow.json", "w", encoding="utf-8") as file:
            json.dump(body, file)
        made = self.ff_json("flow", "create", self.dir.name + "/flow.json")
        self.assertEqual({"flow_id", "revision", "created", "nodes"}, set(made))
        self.assertIs(True, made["created"])
        self.assertEqual({"build", "test-a", "test-b", "ship"}, set(made["nodes"]))
        for execution in made["nodes"].values():
            self.assertRegex(execution, CANONICAL)
        shown = self.ff_json("flow", "show", made["flow_id"])
        self.assertEqual("open", shown["state"])
        self.assertEqual("deploy", shown["kind"])
        self.assertEqual({"colour": "red"}, shown["tags"])
        self.assertEqual({"waiting": 1, "waiting_children": 3}, shown["counts"])
        self.assertEqual(made["nodes"],
                         {node["name"]: node["execution_id"] for node in shown["nodes"]})
        self.assertIn({"from": "build", "to": "test-a", "pass": "input", "outcome": "unresolved"},
                      shown["edges"])
        self.assertIn({"node": "ship", "policy": "quorum", "k": 1, "on_satisfied": "let_run",
                       "success": 0, "fail": 0, "skip": 0, "total": 2, "group_state": "pending"},
                      shown["joins"])
        self.ff("fsck")

    def test_create_prints_the_id_and_ids_may_be_short(self):
        flow = self.create(graph("a b", "a>b"))
        self.assertRegex(flow, r"^[0-9a-f-]{36}$")
        self.assertEqual(flow, self.ff_json("flow", "show", flow[:18])["flow_id"])
        self.assertEqual("a", self.ff_json("show", flow + "/a")["node"])
        out = self.ff("explain", flow[:18] + "/b")
        self.assertIn("'a'", out)
        self.run_ff("flow", "show", flow[:18] + "ffff", code=3)
        self.run_ff("show", flow + "/c", code=3)
        self.run_ff("show", flow + "/", code=2)
        self.run_ff("flow", "show", "nonsense", code=2)

    def test_create_twice_with_one_key(self):
        body = graph("a", "")
        first = self.create(body, "--key", "once")
        self.assertEqual(first, self.create(body, "--key", "once"))
        self.run_ff("flow", "create", "-", "--key", "once", code=4,
                    stdin=json.dumps(graph("b", "")).encode())
        self.assertEqual(1, len(self.ff_json("flow", "ls")["flows"]))

    def test_create_refuses_and_names_the_culprit(self):
        for body, word in (
                (graph("a b", "a>b b>a"), "cycle"),
                (graph("a", "a>x"), "'x'"),
                (graph("a a", ""), "'a'"),
                (graph("a b", "a>b a>b"), "'a'"),
                (graph("a", "a>a"), "'a'"),
                (dict(graph("a", ""), knid="x"), "knid"),
                (graph("", ""), "nodes"),
                ({"nodes": [{"name": "a", "kind": "k", "lanes": "x"}]}, "nodes[0].lanes"),
                ({"nodes": [{"name": "a"}]}, "nodes[0].kind")):
            _, err = self.run_ff("flow", "create", "-", stdin=json.dumps(body).encode(), code=2)
            self.assertIn(word, err)
        self.run_ff("flow", "create", "-", stdin=b"{", code=2)
        self.run_ff("flow", "create", "nowhere.json", code=2)
        self.run_ff("flow", "create", code=2)
        self.run_ff("flow", code=2)
        self.run_ff("flow", "frobnicate", code=2)
        self.assertEqual([], self.ff_json("flow", "ls")["flows"])

    # -- grow ------------------------------------------------------------------------------------

    def test_grow(self):
        flow = self.create(graph("a b", "a>b"))
        more = json.dumps(graph("c", "a>c")).encode()
        grown = self.ff_json("flow", "grow", flow, "-", stdin=more)
        self.assertIs(True, grown["created"])
        self.assertIn("had grown so", self.ff("flow", "grow", flow, "-", stdin=more))
        self.assertEqual({"a", "b", "c"}, set(self.states(flow)))
        into = json.dumps(graph("d", "d>b")).encode()
        self.run_ff("flow", "grow", flow, "-", stdin=into, code=4)
        late = json.dumps(graph("e", "a>e")).encode()
        self.run_ff("flow", "grow", flow, "-", "--revision", "77", stdin=late, code=4)
        self.ff("flow", "cancel", flow)
        self.run_ff("flow", "grow", flow, "-", stdin=late, code=4)

    # -- show ------------------------------------------------------------------------------------

    def test_show_draws_the_graph(self):
        flow = self.create(graph("a b c d", "a>b a>c b>d c>d"))
        out = self.ff("flow", "show", flow, env={"LC_ALL": "C.UTF-8"})
        self.assertIn("  ○    a  waiting           k\n"
                      "  ├─╮\n"
                      "  ○ │  b  waiting_children  k\n"
                      "  │ ○  c  waiting_children  k\n"
                      "  ├─╯\n"
                      "  ○    d  waiting_children  k  all of 2\n", out)
        out = self.ff("flow", "show", flow, env={"LC_ALL": "C"})
        self.assertTrue(out.isascii())
        self.assertIn("  |-.\n", out)
        self.assertNotIn("\x1b", out)
        dot = self.ff("flow", "show", flow, "--dot")
        self.assertTrue(dot.startswith("digraph "))
        self.assertEqual(4, dot.count(" -> "))
        self.run_ff("flow", "show", flow, "--dot", "--json", code=2)

    def test_show_of_large_flows_is_short(self):
        names = " ".join(f"m{i:04}" for i in range(500))
        edges = " ".join(f"a>m{i:04} m{i:04}>z" for i in range(500))
        flow = self.create(graph("a z " + names, edges))
        out, err = self.run_ff("flow", "show", flow)
        self.assertLess(out.count("\n"), 12)
        self.assertIn("m0000 .. m0499 (500)", out)
        self.assertEqual("", err)
        every, _ = self.run_ff("flow", "show", flow, "--all")
        self.assertGreater(every.count("\n"), 500)

    # -- ls and cancel ---------------------------------------------------------------------------

    def test_ls(self):
        first = self.create(graph("a", "", kind="x", namespace="n"))
        second = self.create(graph("a", "", kind="y"))
        every = self.ff_json("flow", "ls")["flows"]
        self.assertEqual([second, first], [f["flow_id"] for f in every])
        self.assertIn(first, self.ff("flow", "ls", "--kind", "x", "--namespace", "n"))
        page = self.ff_json("flow", "ls", "--limit", "1")
        self.assertEqual([second], [f["flow_id"] for f in page["flows"]])
        rest = self.ff_json("flow", "ls", "--cursor", page["next_cursor"])
        self.assertEqual([first], [f["flow_id"] for f in rest["flows"]])
        self.assertEqual(1, self.ff("flow", "ls", "--state", "completed").count("\n"), "titles")
        self.run_ff("flow", "ls", "--state", "x", code=2)

    def test_cancel_is_done_when_it_returns(self):
        """There is no server: the tool itself cancels every node before it ends."""
        flow = self.create(graph("a b c", "a>b b>c"))
        told = self.ff_json("flow", "cancel", flow, "--reason", "no more")
        self.assertEqual(("cancelled", "cancel_all", "no more"),
                         (told["state"], told["policy"], told["reason"]))
        self.assertEqual({"a": "cancelled", "b": "cancelled", "c": "cancelled"}, self.states(flow))
        self.assertIn("no more", self.ff("flow", "show", flow))
        self.ff("fsck")

    def test_cancel_of_one_node_reaches_the_others(self):
        flow = self.create(graph("a b c", "a>b b>c"))
        self.ff("cancel", flow + "/a")
        self.assertEqual({"a": "cancelled", "b": "skipped", "c": "skipped"}, self.states(flow))
        self.assertEqual("failed", self.ff_json("flow", "show", flow)["state"])
        _, err = self.run_ff("replay", flow + "/c", code=4)
        self.assertIn("'b' (skipped)", err)
        self.ff("replay", flow + "/c", "--scope", "failed_ancestors")
        self.assertEqual({"a": "waiting", "b": "waiting_children", "c": "waiting_children"},
                         self.states(flow))
        self.ff("fsck")

    def test_replay_downstream(self):
        flow = self.create(graph("a b", "a>b"))
        self.ff("cancel", flow + "/a")
        self.ff("replay", flow + "/a", "--reopen-downstream")
        self.assertEqual({"a": "waiting", "b": "waiting_children"}, self.states(flow))
        self.run_ff("replay", "--all", "--scope", "self", code=2)

    def test_cancel_policies(self):
        flow = self.create(graph("a b", "a>b"))
        self.ff("flow", "cancel", flow, "--policy", "cancel_flow_only")
        self.assertEqual({"a": "waiting", "b": "waiting_children"}, self.states(flow))
        self.ff("flow", "cancel", flow, "--policy", "cancel_pending")
        self.assertEqual({"a": "cancelled", "b": "cancelled"}, self.states(flow))
        self.run_ff("flow", "cancel", flow, "--policy", "x", code=2)
        self.run_ff("flow", "cancel", "01890000-0000-7000-8000-000000000000", code=3)


class SqliteFlow(OnSqlite, Flow, unittest.TestCase):
    def test_more_steps_than_the_list_holds_are_done_too(self):
        names = " ".join(f"m{i}" for i in range(6000))
        flow = self.create(graph("a " + names, " ".join(f"a>m{i}" for i in range(6000))))
        _, err = self.run_ff("cancel", flow + "/a")
        self.assertEqual("", err)
        shown = self.ff_json("flow", "ls")["flows"][0]
        self.assertEqual({"cancelled": 1, "skipped": 6000}, shown["counts"])
        self.assertEqual(6001, shown["ended_count"])


class PostgresFlow(OnPostgres, Flow, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
