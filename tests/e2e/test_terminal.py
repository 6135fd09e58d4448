# SPDX-License-Identifier: Apache-2.0
"""test_terminal -- ff on a terminal: bars while something lasts, colours; none of it in pipes."""

import json
import os
import pty
import re
import select
import subprocess
import tempfile
import unittest

from ff_cli import FF, Ff, OnSqlite
from serving import DEADLINE_S, Server, wait_for

BAR = re.compile(rb"\r\[([#.]{30})\] (\w+) (\d+) of (\d+)\x1b\[K")


class Terminal:
    """ff with a terminal for standard error, and for standard output if asked."""

    def __init__(self, words, url, stdin=None, out=False):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        env.update(FF_STORE=url, TERM="xterm")
        ours, theirs = pty.openpty()
        self.terminal = ours
        self.out = tempfile.TemporaryFile()  # not a pipe: nobody reads while the terminal is read
        self.process = subprocess.Popen(
            [FF, *words], env=env, stdin=subprocess.PIPE, stderr=theirs,
            stdout=theirs if out else self.out)
        os.close(theirs)
        if stdin:
            self.process.stdin.write(stdin)
        self.process.stdin.close()

    def until(self, *texts):
        """Reads until all of them have been shown."""
        shown = b""
        while not all(text in shown for text in texts):
            ready, _, _ = select.select([self.terminal], [], [], DEADLINE_S)
            if not ready:
                raise AssertionError(f"{texts} not shown: {shown!r}")
            shown += os.read(self.terminal, 65536)
        return shown

    def seen(self):
        """What the terminal has shown when it is over."""
        shown = b""
        while True:
            try:
                more = os.read(self.terminal, 65536)
            except OSError:  # the other side is closed
                break
            if not more:
                break
            shown += more
        return shown

    def end(self):
        shown = self.seen()
        code = self.process.wait(DEADLINE_S)
        os.close(self.terminal)
        with self.out:
            self.out.seek(0)
            return code, self.out.read().decode(), shown


class Bars(OnSqlite, Ff, unittest.TestCase):
    def lines(self, count):
        return b"".join(b'{"kind": "k", "input": %d}\n' % n for n in range(count))

    def test_bulk_shows_how_far_it_is(self):
        code, out, shown = Terminal(["submit", "--bulk", "-"], self.url, self.lines(2500)).end()
        self.assertEqual((0, 2500), (code, len(out.splitlines())), shown)
        bars = [(what, int(done), int(total)) for _, what, done, total in BAR.findall(shown)]
        self.assertEqual([(b"submitted", n, 2500) for n in (0, 1000, 2000)], bars)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "nothing is left of it")
        for done, _, count, total in BAR.findall(shown):
            self.assertEqual(30 * int(count) // int(total), done.count(b"#"))

    def test_pipes_see_no_bar(self):
        out, err = self.run_ff("submit", "--bulk", "-", stdin=self.lines(3))
        self.assertEqual(("", 3), (err, out.count("\n")))
        out, err = self.run_ff("show", out.split()[0], "--wait-ms", "700", code=5)
        self.assertNotIn("\r", err)

    def test_a_bad_item_does_not_stop_the_next_thousand(self):
        body = b'{"kind": 1}\n' + self.lines(2000)
        done = subprocess.run([FF, "submit", "--bulk", "-"], input=body, check=False, timeout=60,
                              env=dict(os.environ, FF_STORE=self.url), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        lines = done.stdout.split()
        self.assertEqual((2, 2001, b"-"), (done.returncode, len(lines), lines[0]))
        self.assertEqual(1, done.stderr.count(b"\n"))

    def test_bulk_waits_for_all(self):
        """Two end well, one is cancelled while it is waited for: in order, exit status 1."""
        with Server(store=self.url, args=["--log-level", "warn"]) as server:
            http = server.client()
            run = Terminal(["submit", "--bulk", "-", "--wait"], self.url,
                           self.lines(2) + b'{"kind": 7}\n{"kind": "last", "lane": "z"}\n')

            def listed():
                found = http.get("/v1/executions").json["executions"]
                return found if len(found) == 3 else None

            made = wait_for("all are in", listed)
            tasks = http.post("/v1/workers/w/claim", {
                "worker_instance_id": "w", "max": 2}).json["tasks"]
            named = [{n: t[n] for n in ("execution_id", "lease_id", "lease_epoch")} for t in tasks]
            http.post("/v1/tasks/complete", {"tasks": named})
            last = next(e["execution_id"] for e in made if e["kind"] == "last")
            link = "/v1/executions/" + last.replace("{", "").replace("}", "")
            # The bar has been drawn for the last one before it ends.
            shown = run.until(b"ended 3 of 4")
            self.assertEqual(200, http.post(link + "/cancel", {}).status)
            code, out, rest = run.end()
            self.assertEqual(["completed", "completed", "", "cancelled"],
                             [(line + " ").split(" ")[1] for line in out.splitlines()])
            self.assertEqual((2, last), (code, out.splitlines()[3].split()[0]), shown + rest)

    def test_waiting_shows_the_progress(self):
        with Server(store=self.url, args=["--log-level", "warn"]) as server:
            http = server.client()
            run = Terminal(["submit", "--kind", "k", "--wait", "--json"], self.url)
            task = http.post("/v1/workers/w/claim", {"worker_instance_id": "w", "wait_ms": 30000,
                                                     }).json["tasks"][0]
            named = {n: task[n] for n in ("execution_id", "lease_id", "lease_epoch")}
            http.post("/v1/tasks/progress", {"tasks": [
                {**named, "percent": 40, "message": "half\x1b[2J"}]})
            shown = run.until(b"40 of 100", b"half")
            self.assertNotIn(b"half\x1b", shown, "what others wrote does not drive the terminal")
            http.post("/v1/tasks/complete", {"tasks": [named]})
            code, out, _ = run.end()
            self.assertEqual((0, "completed"), (code, json.loads(out)["public_state"]))

    def test_a_flow_shows_its_nodes(self):
        flow = json.dumps({"nodes": [{"name": "a", "kind": "k"}], "edges": []}).encode()
        made = self.ff("flow", "create", "-", stdin=flow).strip()
        code, _, shown = Terminal(["flow", "show", made, "--wait-ms", "1200"], self.url).end()
        self.assertEqual(5, code, shown)
        self.assertIn(b"] nodes ended, 0 of 1", shown)

    def test_a_worker_says_where_it_looks(self):
        self.submit("--lane", "a")
        words = ["worker", "--lane", "a", "--lane", "b", "--", "sh", "-c", "kill $PPID"]
        code, _, shown = Terminal(words, self.url).end()
        self.assertEqual(0, code, shown)
        self.assertIn(b"ff: waiting for work in lane a, b; Ctrl-C ends it", shown)

    def test_colours_are_for_terminals(self):
        made = self.submit()
        self.assertNotIn("\x1b", self.ff("ls"))
        _, _, shown = Terminal(["ls"], self.url, out=True).end()
        self.assertIn(b"\x1b[", shown)
        self.assertIn(made.split(":")[2].encode(), shown)

    def test_what_needs_the_store_says_how_to_name_it(self):
        with Server(store=self.url, args=["--log-level", "warn"]) as server:
            for verb in ("doctor", "gc", "fsck"):
                _, err = self.run_ff(verb, code=2, env={"FF_SERVER": server.url, "FF_STORE": ""})
                self.assertIn("--store URL", err)
                self.run_ff(verb, "--store", self.url, env={"FF_SERVER": server.url})

    def test_ids_may_be_cut_short_and_options_given_once(self):
        made = self.submit()
        bare = made.split("}:")[1]
        self.assertIn(made, self.ff("show", bare[:13]))
        other = self.submit().split("}:")[1]
        _, err = self.run_ff("show", bare[:4], code=2)
        for one in (bare, other):
            self.assertIn(one, err)
        for words in (("show", "01"), ("flow", "show", "zz"), ("explain", "0x/node")):
            _, err = self.run_ff(*words, code=2)
            self.assertIn("at least 4", err)
        _, err = self.run_ff("submit", "--kind", "k", "--input", "hello", code=2)
        self.assertIn("quotes", err)
        for words in (("submit", "--kind", "k", "--key", "a", "--key", "b"),
                      ("ls", "--lane", "a", "--lane", "b"), ("ls", "--tag", "a=1", "--tag", "b=1"),
                      ("ls", "--store", self.url, "--store", self.url)):
            _, err = self.run_ff(*words, code=2)
            self.assertIn("is given twice", err)
        self.submit("--tag", "a=1", "--tag", "b=2", "--capability", "x", "--capability", "y")


if __name__ == "__main__":
    unittest.main()
