# SPDX-License-Identifier: Apache-2.0
"""test_events -- ff events and --wait: pages, following, filters, cursors, exit codes."""

import fcntl
import json
import os
import subprocess
import tempfile
import threading
import unittest
import uuid

from serving import DEADLINE_S, Server, free_port

FF = os.environ.get("FF_TEST_FF") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "asan", "ff")
PG = os.environ.get("FF_TEST_PG")


class Events:
    """The same on every store; the subclass names it."""

    by, url = "FF_STORE", None

    def surroundings(self):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        clean[self.by] = self.url
        return clean

    def ff(self, *words, code=0):
        done = subprocess.run([FF, *words], env=self.surroundings(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False)
        self.assertEqual(code, done.returncode, f"ff {' '.join(words)}\n{done.stderr.decode()}")
        self.error = done.stderr.decode()
        return done.stdout.decode()

    def start(self, *words):
        process = subprocess.Popen([FF, *words], env=self.surroundings(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def submit(self, *words):
        return self.ff("submit", "--kind", "k", *words).strip()

    def cancelled(self, *words):
        made = self.submit(*words)
        self.ff("cancel", made)
        return made

    def events(self, *words):
        return [json.loads(line) for line in self.ff("events", "--json", *words).splitlines()]

    def test_log_is_printed_and_goes_on_behind_a_cursor(self):
        first = self.cancelled()
        told = self.events("--kinds", "completion,operator")
        self.assertEqual({first}, {event["execution_id"] for event in told})
        self.assertIn("completion.cancelled",
                      [f"{event['kind']}.{event['type']}" for event in told])
        second = self.cancelled()
        later = self.events("--kinds", "completion", "--after", told[-1]["cursor"])
        self.assertEqual([second], [event["execution_id"] for event in later])
        self.assertEqual([], self.events("--after", later[-1]["cursor"], "--kinds", "completion"))

    def cancelled_many(self):
        """So many that what is told of them does not fit a pipe."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as items:
            items.write('{"kind":"k"}\n' * 50)
            items.flush()
            self.ff("submit", "--bulk", items.name)
        self.ff("cancel", "--state", "waiting")

    def test_what_is_written_meanwhile_does_not_keep_it_from_ending(self):
        self.cancelled_many()
        there = len(self.events())
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([FF, "events", "--json"], env=self.surroundings(),
                                   stdout=writing)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(writing)
        with os.fdopen(reading, "rb", buffering=0) as out:
            told = out.read(1)  # it has read its first page, and is stuck with it
            self.cancelled_many()
            told += out.readall()
        self.assertEqual(there, len(told.splitlines()))
        self.assertEqual(0, process.wait(DEADLINE_S))

    def test_text_shows_one_line_each_and_says_how_to_go_on(self):
        made = self.cancelled()
        lines = self.ff("events", "--execution", made).splitlines()
        self.assertTrue(any("completion.cancelled" in line and made in line for line in lines))
        self.assertRegex(self.error, r"^ff: go on with --after 02[0-9a-f]{16}\n$")

    def test_filters(self):
        blue = self.cancelled("--namespace", "shop", "--tag", "instance=blue")
        self.cancelled("--namespace", "shop")
        self.cancelled()

        def ids(*words):
            return {event["execution_id"] for event in self.events("--kinds", "completion", *words)}

        self.assertEqual({blue}, ids("--instance-tag", "blue"))
        self.assertEqual(2, len(ids("--namespace", "shop")))
        self.assertEqual({blue}, ids("--execution", blue))
        partition = blue[4:blue.index("}")]
        self.assertIn(blue, ids("--partition", partition))
        self.assertEqual(3, len(ids("--partition", "0-255")))

    def test_restored_log_is_told(self):
        if self.by != "FF_STORE":
            return  # through a server: test_http_events
        self.cancelled()
        last = int(self.events()[-1]["cursor"], 16)
        self.ff("migrate", "--restored")
        lines = self.events("--after", f"{last + 2:018x}")
        self.assertEqual("reset", lines[0]["notice"])
        self.assertEqual(lines[1:], self.events("--after", lines[0]["cursor"]))
        self.assertEqual(("log", "reset"), (lines[1]["kind"], lines[1]["type"]))
        self.ff("events", "--after", f"{last + 2:018x}")
        self.assertIn("ff: notice: reset, goes on behind 02", self.error)

    def test_follow_prints_what_comes(self):
        follower = self.start("events", "--follow", "--json", "--after", "start", "--kinds",
                              "completion", "--limit", "2")
        first, second = self.cancelled(), self.cancelled()
        out, _ = follower.communicate(timeout=DEADLINE_S)
        self.assertEqual([first, second],
                         [json.loads(line)["execution_id"] for line in out.splitlines()])
        self.assertEqual(0, follower.returncode)

    def test_bad_words_are_refused(self):
        self.ff("submit", "--kind", "k")
        for words in (["--after", "nonsense"], ["--kinds", "gossip"], ["--partition", "256"],
                      ["--partition", "9-3"], ["--limit", "0"]):
            self.ff("events", *words, code=2)
            self.assertTrue(self.error.startswith("ff: "))
        self.ff("events", "--after", "027fffffffffffffff", code=4)
        self.assertIn("--after 02", self.error)

    def test_submit_waits_and_its_exit_status_says_how_it_ended(self):
        waiting = self.start("submit", "--kind", "k", "--wait")
        made = waiting.stdout.readline().strip()
        self.ff("cancel", made)
        self.assertEqual("cancelled\n", waiting.stdout.readline())
        self.assertEqual(1, waiting.wait(timeout=DEADLINE_S))

    def test_show_waits(self):
        made = self.submit()
        self.ff("show", made, "--wait-ms", "50", code=5)
        canceller = threading.Timer(0.2, self.ff, ["cancel", made])
        canceller.start()
        shown = self.ff("show", made, "--wait", "--json", code=1)
        canceller.join()
        self.assertEqual("cancelled", json.loads(shown)["public_state"])
        self.ff("show", made, "--wait", code=1)

    def test_ages_are_told_as_of_the_end_of_a_wait(self):
        made = self.submit()
        canceller = threading.Timer(0.5, self.ff, ["cancel", made])
        canceller.start()
        shown = self.ff("show", made, "--wait", code=1)
        canceller.join()
        self.assertIn(" ago)", shown)
        self.assertNotIn("(in ", shown)


class EventsOnSqlite(Events, unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.url = f"sqlite:{self.dir.name}/work.db"
        self.ff("migrate")


class EventsOnPostgres(Events, unittest.TestCase):
    def setUp(self):
        self.assertTrue(PG, "FF_TEST_PG is not set: run me through tests/run")
        self.url = f"{PG}&schema=events_{uuid.uuid4().hex[:12]}"
        self.ff("migrate")


class EventsThroughAServer(Events, unittest.TestCase):
    by = "FF_SERVER"

    def setUp(self):
        self.server = Server(listen=f"127.0.0.1:{free_port()}")
        self.addCleanup(self.server.__exit__, None, None, None)
        self.url = self.server.url

    def test_following_outlives_the_server(self):
        follower = self.start("events", "--follow", "--json", "--after", "start", "--kinds",
                              "completion", "--limit", "2")
        first = self.cancelled()
        self.assertEqual(first, json.loads(follower.stdout.readline())["execution_id"])
        self.server.kill()
        self.assertEqual("disconnected", json.loads(follower.stdout.readline())["notice"])
        self.server.start(f"127.0.0.1:{self.server.port}")
        second = self.cancelled()
        self.assertEqual(second, json.loads(follower.stdout.readline())["execution_id"])
        self.assertEqual(0, follower.wait(timeout=DEADLINE_S))


if __name__ == "__main__":
    unittest.main()
