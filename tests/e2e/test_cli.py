# SPDX-License-Identifier: Apache-2.0
"""test_cli -- every verb of ff, on SQLite and on Postgres: output, JSON, exit codes, ids."""

import json
import os
import shutil
import subprocess
import unittest
import uuid

from ff_cli import FF, Ff, OnPostgres, OnSqlite
from serving import DEADLINE_S


# Every verb that opens a store, in words that are complete.
VERBS = (["ls"], ["show", "abcd"], ["explain", "abcd"], ["events"], ["cancel", "--all"],
         ["replay", "--all"], ["flow", "show", "abcd"], ["flow", "ls"], ["lanes"], ["workers"],
         ["submit", "--kind", "k"], ["fsck"], ["doctor"], ["gc"], ["migrate"], ["bench"],
         ["serve", "--listen", "127.0.0.1:0"], ["worker", "true"])


class Cli(Ff):
    """The verbs, over a store the subclass names."""

    # -- submit ----------------------------------------------------------------------------------

    def test_submit_and_show(self):
        made = self.ff_json(
            "submit", "--kind", "render", "--lane", "l", "--namespace", "n", "--priority", "7",
            "--input", '{"b": 1, "a": 0.1, "big": 9007199254740993}', "--tag", "colour=red",
            "--tag", "x=a=b", "--capability", "gpu", "--deadline-ms", "60000",
            "--policy", '{"retry_policy": {"max_retries": 2}, "lease_lapse": "reclaim"}')
        self.assertEqual({"execution_id", "public_state", "created"}, set(made))
        self.assertIs(True, made["created"])
        text = self.ff("show", made["execution_id"], "--json")
        self.assertIn('"input":{"b":1,"a":0.1,"big":9007199254740993}', text)
        shown = json.loads(text)
        self.assertEqual(made["execution_id"], shown["execution_id"])
        self.assertEqual("waiting", shown["public_state"])
        self.assertEqual({"colour": "red", "x": "a=b"}, shown["tags"])
        self.assertEqual(["gpu"], shown["required_capabilities"])
        self.assertEqual(2, shown["policy"]["retry_policy"]["max_retries"])
        self.assertEqual("reclaim", shown["policy"]["lease_lapse"])
        self.assertEqual(7, shown["priority"])
        self.assertIsNone(shown["lease"])
        self.assertIsNone(shown["started_at_ms"])
        self.assertEqual(shown["changed_at_ms"] + 60000, shown["deadline_at_ms"])
        human = self.ff("show", made["execution_id"])
        self.assertIn("waits for a worker", human)
        self.assertIn("colour=red", human)
        self.assertIn("execution.submitted", human)
        self.assertNotIn("\x1b", human)

    def test_submit_input_from_file_and_stdin(self):
        path = os.path.join(self.dir.name, "input.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"from": "file", "pad": "x" * 5000}, file)
        first = self.submit("--input", "@" + path)
        self.assertEqual("file", self.ff_json("show", first)["input"]["from"])
        second = self.ff("submit", "--kind", "k", "--input", "-", stdin=b"[1, 2]").strip()
        self.assertEqual([1, 2], self.ff_json("show", second)["input"])

    def test_submit_twice_with_one_key(self):
        first = self.ff_json("submit", "--kind", "k", "--key", "once")
        again = self.ff_json("submit", "--kind", "k", "--key", "once")
        self.assertEqual(first["execution_id"], again["execution_id"])
        self.assertIs(False, again["created"])
        self.run_ff("submit", "--kind", "other", "--key", "once", code=4)

    def test_submit_refuses(self):
        self.run_ff("submit", code=2)
        self.run_ff("submit", "--kind", "", code=2)
        self.run_ff("submit", "--kind", "k", "--input", "{", code=2)
        self.run_ff("submit", "--kind", "k", "--policy", '{"retries": 1}', code=2)
        self.run_ff("submit", "--kind", "k", "--priority", "high", code=2)
        self.run_ff("submit", "--kind", "k", "--tag", "novalue", code=2)
        self.run_ff("submit", "--kind", "k", "--id", "nonsense", code=2)
        self.run_ff("submit", "--kind", "k", "--delay-ms", "1", "--delay-until-ms", "1", code=2)
        self.run_ff("submit", "--kind", "k", "--input", "@nowhere.json", code=2)
        self.assertEqual([], self.ff_json("ls")["executions"])

    def test_submit_bulk(self):
        lines = b'{"kind": "a"}\n\n{"kind": "b", "lane": "l"}\n'
        ids = self.ff("submit", "--bulk", "-", stdin=lines).split()
        self.assertEqual(2, len(ids))
        mixed = json.dumps([{"kind": "c"}, {"kind": 1}, {"kind": "d", "colour": "red"},
                            {"kind": "e"}]).encode()
        out, err = self.bulk_with_errors(mixed)
        results = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(4, len(results))
        self.assertIn("execution_id", results[0])
        self.assertEqual("kind", results[1]["error"]["field"])
        self.assertEqual("unknown_field", results[2]["error"]["code"])
        self.assertIn("execution_id", results[3])
        self.assertEqual(2, err.count("ff: cannot submit an item"))
        self.assertEqual(4, len(self.ff_json("ls")["executions"]))
        self.run_ff("submit", "--bulk", "-", stdin=b"", code=2)
        self.run_ff("submit", "--bulk", "-", stdin=b'{"kind"', code=2)

    def bulk_with_errors(self, body):
        surroundings = dict(os.environ, FF_STORE=self.url)
        done = subprocess.run([FF, "submit", "--bulk", "-", "--json"], input=body,
                              env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(2, done.returncode)
        return done.stdout.decode(), done.stderr.decode()

    def test_submit_bulk_of_thousands(self):
        body = "\n".join(json.dumps({"kind": "k", "input": n}) for n in range(2500)).encode()
        ids = self.ff("submit", "--bulk", "-", stdin=body).split()
        self.assertEqual(2500, len(set(ids)))
        self.assertEqual(2499, self.ff_json("show", ids[2499])["input"])

    # -- ls --------------------------------------------------------------------------------------

    def test_ls_filters(self):
        first = self.submit("--lane", "a", "--tag", "t=1")
        second = self.submit("--lane", "b", "--delay-ms", "600000", "--namespace", "n")

        def ids(*words, code=0):
            return [e["execution_id"] for e in self.ff_json("ls", *words, code=code)["executions"]]

        self.assertEqual([second, first], ids())
        self.assertEqual([first], ids("--lane", "a"))
        self.assertEqual([second], ids("--state", "delayed"))
        self.assertEqual([second], ids("--namespace", "n"))
        self.assertEqual([first], ids("--tag", "t=1"))
        self.assertEqual([first], ids("--tag", "t"))
        self.assertEqual([], ids("--tag", "t=2"))
        self.assertEqual([], ids("--kind", "other"))
        self.assertEqual([], ids("--created-after-ms", "99999999999999"))
        self.assertEqual([], ids("--created-before-ms", "1"))
        self.assertEqual([], ids("--worker", "w"))
        self.run_ff("ls", "--state", "sleeping", code=2)
        table = self.ff("ls")
        lines = table.splitlines()
        self.assertEqual(3, len(lines))
        self.assertEqual(lines[0].index("STATE"), lines[1].index("delayed"))
        self.assertEqual(lines[0].index("STATE"), lines[2].index("waiting"))

    def test_ls_pages(self):
        made = {self.submit() for _ in range(5)}
        seen, cursor = [], None
        while True:
            words = ["ls", "--limit", "2"] + (["--cursor", cursor] if cursor else [])
            page = self.ff_json(*words)
            seen += [e["execution_id"] for e in page["executions"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        self.assertEqual(5, len(seen))
        self.assertEqual(made, set(seen))
        self.run_ff("ls", "--cursor", "nonsense", code=2)
        self.run_ff("ls", "--limit", "1001", code=2)

    # -- show and explain ------------------------------------------------------------------------

    def test_ids_in_every_form(self):
        own = "{fp:7}:" + str(uuid.uuid4())
        bare = own.split(":", 2)[2]
        made = self.submit("--id", own)
        self.assertEqual(own, made)
        for text in (own, "fp:7:" + bare, bare, bare[:13], bare[:8]):
            self.assertEqual(own, self.ff_json("show", text)["execution_id"])
        twin = "{fp:8}:" + bare[:-1] + ("0" if bare[-1] != "0" else "1")
        self.submit("--id", twin)
        _, err = self.run_ff("show", bare[:8], code=2)
        self.assertIn("not unique", err)
        self.assertIn(bare, err)
        self.run_ff("show", "{fp:9}:" + str(uuid.uuid4()), code=3)
        self.run_ff("show", str(uuid.uuid4()), code=3)
        self.run_ff("show", "what", code=2)

    def test_show_parts(self):
        made = self.submit()
        self.assertEqual([], self.ff_json("show", made, "--attempts")["attempts"])
        events = self.ff_json("show", made, "--events")
        self.assertEqual(["submitted"], [e["type"] for e in events["events"]])
        self.assertIsNone(events["next_cursor"])
        self.run_ff("show", made, "--result", code=3)
        self.run_ff("show", made, "--attempts", "--events", code=2)

    def test_explain(self):
        made = self.submit("--lane", "quiet")
        told = self.ff_json("explain", made)
        self.assertEqual("waiting", told["public_state"])
        self.assertIn("no_worker", [r["code"] for r in told["reasons"]])
        self.ff("lanes", "pause", "quiet", "--reason", "repairs")
        self.assertIn("repairs", self.ff("explain", made))
        late = self.submit("--delay-ms", "600000")
        self.assertEqual(["delayed"], [r["code"] for r in self.ff_json("explain", late)["reasons"]])

    # -- cancel, replay --------------------------------------------------------------------------

    def test_cancel_and_replay(self):
        made = self.submit()
        self.run_ff("replay", made, code=4)
        for words in (["--reason", "no"], []):
            self.assertEqual("cancelled", self.ff_json("cancel", made, *words)["public_state"])
        shown = self.ff_json("show", made)
        self.assertEqual("no", shown["cancellation"]["reason"])
        self.assertIs(True, shown["finished"])
        self.assertIn("finished", [r["code"] for r in self.ff_json("explain", made)["reasons"]])
        self.assertIn("waiting", self.ff("replay", made, "--input", "[3]"))
        again = self.ff_json("show", made)
        self.assertEqual([1, [3], None],
                         [again["generation"], again["input"], again["cancellation"]])
        types = [e["type"] for e in self.ff_json("show", made, "--events")["events"]]
        self.assertEqual(["submitted", "cancel_requested", "cancelled", "replayed"], types)
        self.run_ff("cancel", made, str(uuid.uuid4()), code=3)
        self.assertEqual("cancelled", self.ff_json("show", made)["public_state"])

    def test_cancel_and_replay_tell_the_full_id(self):
        made = self.submit()
        short = made.split(":")[2]
        self.assertEqual({"execution_id": made, "public_state": "cancelled"},
                         self.ff_json("cancel", short[:13]))
        self.assertEqual({"execution_id": made, "public_state": "waiting"},
                         self.ff_json("replay", short))
        self.assertEqual(f"cancelled {made}\n", self.ff("cancel", short[:20]))
        unknown = str(uuid.uuid4())
        self.assertEqual(unknown, self.ff_json("cancel", unknown, code=3)["execution_id"])

    def test_cancel_and_replay_by_filter(self):
        for lane in ("a", "a", "b"):
            self.submit("--lane", lane)
        self.run_ff("cancel", code=2)
        self.assertEqual({"matched": 2, "done": 2, "unchanged": 0, "refused": 0, "more": False},
                         self.ff_json("cancel", "--lane", "a"))
        self.ff_json("cancel", "--lane", "a", code=1)
        self.assertEqual(1, self.ff_json("cancel", "--all")["done"])
        self.assertEqual(2, self.ff_json("replay", "--lane", "a", "--reason", "again")["done"])
        self.assertIn("matched 1, done 1", self.ff("replay", "--state", "cancelled"))

    # -- the rest --------------------------------------------------------------------------------

    def test_lanes(self):
        self.submit("--lane", "a")
        self.submit("--lane", "a", "--delay-ms", "600000")
        self.assertEqual("paused a\n", self.ff("lanes", "pause", "a", "--reason", "repairs"))
        lane, = self.ff_json("lanes")["lanes"]
        self.assertEqual(("a", True, "repairs", 1, 1, 0, 0),
                         tuple(lane[k] for k in ("lane", "paused", "paused_reason", "waiting",
                                                 "delayed", "blocked", "active")))
        self.assertIn("repairs", self.ff("lanes"))
        self.assertEqual({"lane": "a", "paused": False}, self.ff_json("lanes", "resume", "a"))
        self.assertIs(False, self.ff_json("lanes")["lanes"][0]["paused"])
        self.run_ff("lanes", "stop", "a", code=2)

    def test_fsck(self):
        self.submit()
        self.assertEqual([], self.ff_json("fsck")["findings"])
        self.assertRegex(self.ff("fsck"), r"^\d+ checks, 0 findings\n$")

    def test_fsck_tells_of_damage(self):
        # By hand: the engine makes no such rows. One audit of each kind, and how it is told.
        made = self.submit("--policy", '{"retry_policy": {"max_retries": 2}}')
        for check, damage, repair, named in (
                ("negative_counter", "priority = -1", "priority = 0", made),
                ("illegal_step", "state = 11", "state = 10", made),
                ("policy_exceeded", "retry_count = 3", "retry_count = 0", None),
                ("unreadable_policy", "policy = submit_hash", "policy = NULL", None)):
            with self.subTest(check):
                self.sql(f"UPDATE ff_execution SET {damage}")
                findings = self.ff_json("fsck", code=1)["findings"]
                self.assertEqual([(check, named)],
                                 [(f["check"], f["execution_id"]) for f in findings])
                told = self.ff("fsck", code=1).splitlines()
                self.assertTrue(told[0].startswith(f"{check}: {named or ''}"), told)
                self.assertRegex(told[1], r"^\d+ checks, 1 findings$")
                self.sql(f"UPDATE ff_execution SET {repair}")
                self.ff("fsck")

    def test_fsck_says_when_there_is_more(self):
        self.ff("submit", "--bulk", "-", stdin=b'{"kind": "k"}\n' * 101)
        self.sql("UPDATE ff_execution SET priority = -1")
        told = self.ff("fsck", code=1).splitlines()
        self.assertEqual(100, sum(line.startswith("negative_counter: {fp:") for line in told))
        self.assertRegex(told[100], "^negative_counter: there are more than 100")
        said = self.ff_json("fsck", code=1)
        self.assertEqual((101, True), (len(said["findings"]), said["more"]))
        self.sql("UPDATE ff_execution SET priority = 0 WHERE execution_id ="
                 " (SELECT execution_id FROM ff_execution LIMIT 1)")
        said = self.ff_json("fsck", code=1)
        self.assertEqual((100, False), (len(said["findings"]), said["more"]))
        self.sql("UPDATE ff_execution SET priority = 0")

    def test_bench_leaves_nothing_undone(self):
        seen = self.ff_json("bench", "--count", "20")
        self.assertEqual(20, seen["executions"])
        for name in ("submit_per_s", "drain_per_s", "single_p50_ms", "single_p95_ms"):
            self.assertGreater(seen[name], 0)
        done = self.ff_json("ls", "--lane", "ff-bench", "--state", "completed")["executions"]
        self.assertEqual(40, len(done))
        self.assertEqual([], self.ff_json("fsck")["findings"])

    def test_workers(self):
        self.submit()
        self.assertEqual([], self.ff_json("workers")["workers"])

    def test_migrate(self):
        self.submit()
        said = self.ff_json("migrate")
        self.assertEqual(said["from"], said["to"])
        self.assertRegex(self.ff("migrate", "--dry-run"), r"^schema \d+ is up to date$")

    def test_what_is_not_for_servers(self):
        for verb in ("migrate", "fsck", "doctor", "gc"):
            for words, env in ((["--server", "http://localhost:1"], None),
                               ([], {"FF_SERVER": "http://localhost:1"})):
                _, err = self.run_ff(verb, *words, code=2, env=env)
                self.assertIn(f"{verb} works on a store", err)
        self.ff("migrate", "--store", self.url, env={"FF_SERVER": "http://localhost:1"})

    def test_migrate_dry_run_changes_nothing(self):
        # It used to migrate an empty store and to report from == to.
        url = self.empty_url()
        for _ in range(2):
            said = self.ff_json("migrate", "--dry-run", "--store", url)
            self.assertEqual(0, said["from"])
            self.assertLess(0, said["to"])
        self.assertEqual(0, self.ff_json("migrate", "--store", url)["from"])

    def test_a_server_that_is_away_says_so(self):
        _, err = self.run_ff("ls", "--server", "http://localhost:1", code=5)
        self.assertIn("the server is away", err)
        self.run_ff("ls", env={"FF_SERVER": "http://localhost:1"}, code=5)
        self.run_ff("ls", "--server", "http://localhost:1", "--store", self.url, code=2)
        self.submit()
        self.ff("ls", "--store", self.url, env={"FF_SERVER": "http://localhost:1"})
        _, err = self.run_ff("ls", "--server", "https://localhost:1", code=2,
                             env={"FF_TLS_CA": "/nonexistent"})
        self.assertIn("FF_TLS_CA", err)

    def test_a_table_names_the_nodes_of_a_flow(self):
        self.ff("flow", "create", "-", stdin=b'{"nodes": [{"name": "first", "kind": "k"}]}')
        self.assertIn("k (first)", self.ff("ls"))

    def test_what_came_of_it_is_shown(self):
        one = self.submit("--input", '{"a": 1}')
        self.ff("worker", "--", "sh", "-c", 'cat; kill $PPID')
        self.assertRegex(self.ff("show", one), r'(?s)\ninput +\{"a":1\}\nresult +\{"a":1\}\n')


class SqliteCli(OnSqlite, Cli, unittest.TestCase):
    def test_looking_makes_no_file(self):
        missing = "sqlite:" + os.path.join(self.dir.name, "missing.db")
        for words in (["ls"], ["show", "abcd"], ["fsck"], ["lanes"], ["cancel", "--all"]):
            _, err = self.run_ff(*words, "--store", missing, code=3)
            self.assertIn("cannot open the store", err)
        self.assertFalse(os.path.exists(os.path.join(self.dir.name, "missing.db")))
        _, err = self.run_ff("ls", env={"FF_STORE": ""}, code=3)
        self.assertIn("--store", err, "who has named none hears how")

    def test_a_file_that_is_no_store(self):
        junk = os.path.join(self.dir.name, "junk.db")
        with open(junk, "w", encoding="utf-8") as file:
            file.write("Dear diary\n" * 1000)
        for verb in VERBS:
            with self.subTest(verb[0]):
                _, err = self.run_ff(*verb, "--store", "sqlite:" + junk, code=7)
                self.assertIn("is not a SQLite file", err)
                _, err = self.run_ff(*verb, "--store", "sqlite:" + self.dir.name, code=2)
                self.assertIn("is a directory", err)
                code = 3 if verb[0] not in ("submit", "serve", "worker", "migrate", "bench") else 5
                self.run_ff(*verb, "--store", "sqlite:/nonexistent/x.db", code=code)

    def test_a_store_that_cannot_be_written(self):
        """As somebody who may read it only; one line each, and nothing hangs."""
        self.submit()
        os.chmod(self.dir.name, 0o755)
        ff = FF
        if os.geteuid() == 0:  # root may write everywhere
            ff = shutil.copy(FF, os.path.join(self.dir.name, "ff"))
            os.chmod(ff, 0o755)
        path = self.url[len("sqlite:"):]
        for folder_mode, looks in ((0o555, 5), (0o777, 0)):
            os.chmod(path, 0o444)
            os.chmod(self.dir.name, folder_mode)
            for verb in VERBS:
                writes = verb[0] in ("submit", "serve", "worker", "cancel", "bench", "migrate")
                found = {"abcd": 3, "--all": 1}.get(verb[-1], 0)
                with self.subTest(verb=verb, looks=looks):
                    self.as_nobody(ff, verb, 5 if writes else looks or found)
        os.chmod(self.dir.name, 0o755)

    def as_nobody(self, ff, verb, code):
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        who = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run([ff, *verb[:1], "--store", self.url, *verb[1:]], env=surroundings,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE_S,
                              check=False, **who)
        err = done.stderr.decode()
        self.assertEqual(code, done.returncode, err)
        if code > 1:
            self.assertEqual((True, 1), (err.startswith("ff: cannot "), err.count("\n")), err)

    def test_completion(self):
        script = (f"source <({FF} help --completion); COMP_WORDS=(\"$@\"); "
                  "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ff; echo ${COMPREPLY[*]}")
        for words, offered in ((["flow", "c"], "create cancel"), (["se"], "serve"),
                               (["ls", "--st"], "--state --store"), (["flow", "create", ""], ""),
                               (["ls", "--state", "f"], "failed"),
                               (["serve", "--log", ""], "text json"),
                               (["flow", "grow", "--r"], "--revision"), (["--j"], "--json")):
            done = subprocess.run(["bash", "-c", script, "bash", "ff", *words],
                                  stdout=subprocess.PIPE, check=True)
            self.assertEqual(offered, done.stdout.decode().strip(), words)

    def test_default_store_is_in_this_directory(self):
        self.ff("submit", "--kind", "k", env={"FF_STORE": ""})
        self.assertTrue(os.path.exists(os.path.join(self.dir.name, "flowfabric.db")))

    def test_doctor_knows_how_others_are_heard(self):
        told = {check["name"]: check["value"] for check in self.ff_json("doctor")["checks"]}
        self.assertEqual("data_version", told["wake_up"], "SQLite has no NOTIFY")

    def test_a_bad_url_is_refused(self):
        self.run_ff("ls", "--store", "mysql://x", code=2)


class PostgresCli(OnPostgres, Cli, unittest.TestCase):
    def test_looking_makes_no_schema(self):
        url = self.empty_url()
        for words in (["ls"], ["show", "abcd"], ["fsck"], ["lanes"], ["cancel", "--all"]):
            _, err = self.run_ff(*words, "--store", url, code=3)
            self.assertIn("no store in this database", err)
        self.assertEqual(0, self.ff_json("migrate", "--dry-run", "--store", url)["from"])

    def test_a_database_that_is_away(self):
        for verb in VERBS:
            _, err = self.run_ff(*verb, "--store", "postgres:///x?host=/nonexistent", code=5)
            self.assertIn("cannot connect", err)


if __name__ == "__main__":
    unittest.main()
