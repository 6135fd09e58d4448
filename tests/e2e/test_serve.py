# SPDX-License-Identifier: Apache-2.0
"""test_serve -- ff serve itself: options from three places, refusals, open files, what it logs."""

import os
import re
import resource
import socket
import subprocess
import tempfile
import unittest

from serving import DEADLINE_S, FF, PG, Server, postgres_url, wait_for

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# A value that each option refuses, and a word of the refusal.
BAD = {
    "store": ("mysql://x", "store url"), "listen": ("9191", "HOST:PORT"),
    "token-file": ("/nonexistent", "/nonexistent"), "tls-cert": ("/nonexistent", "go together"),
    "tls-key": ("/nonexistent", "go together"), "host": (":", "not a host"),
    "log": ("xml", "text or json"), "log-level": ("loud", "debug"),
    "event-renewals": ("some", "sampled"), "instance-tag-name": ("No Tag", "instance"),
}
NUMBERS = {"grace-ms", "body-bytes-max", "connections-max", "bodies-bytes-max", "sse-comment-ms",
           "retention-ms", "event-retention-ms", "event-count-max", "input-bytes-max",
           "result-bytes-max", "flow-nodes-max", "flow-edges-max"}
NOT_REFUSED = {"migrate", "config", "server", "json", "help"}


def serve(*args, env=None, cwd=None):
    """Runs ff serve that is expected to refuse; its exit status and message."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
    clean.update(env or {})
    done = subprocess.run([FF, "serve", *args], env=clean, cwd=cwd, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stderr.decode()


class Options(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def refused(self, why, *args, **options):
        code, err = serve(*args, cwd=self.dir.name, **options)
        self.assertEqual(2, code, err)
        self.assertIn(why, err)
        self.assertEqual((True, 1), (err.startswith("ff: "), err.count("\n")), err)

    def test_every_option_from_three_places(self):
        text = subprocess.run([FF, "serve", "--help"], stdout=subprocess.PIPE, check=True).stdout
        known = set(re.findall(r"^  --([a-z-]+)", text.decode(), re.M))
        self.assertEqual(known, set(BAD) | NUMBERS | NOT_REFUSED, "a new option wants a line above")
        bad = {**{name: ("many", name) for name in NUMBERS}, **BAD}
        config = os.path.join(self.dir.name, "ff.conf")
        for name, (value, why) in bad.items():
            with self.subTest(name):
                self.refused(why, f"--{name}", value)
                self.refused(why, env={"FF_" + name.upper().replace("-", "_"): value})
                with open(config, "w", encoding="utf-8") as file:
                    file.write(f"# from here\n\n  {name}={value}  \n")
                self.refused(why, "--config", config)
                self.refused(why, env={"FF_CONFIG": config})

    def test_the_command_line_wins_over_the_environment_and_that_over_the_file(self):
        config = os.path.join(self.dir.name, "ff.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write("log = csv\n")
        self.refused("'csv'", "--config", config)
        self.refused("'xml'", "--config", config, env={"FF_LOG": "xml"})
        self.refused("'html'", "--config", config, "--log", "html", env={"FF_LOG": "xml"})

    def test_streams_show_that_they_live_before_they_are_taken_for_dead(self):
        """Every quiet stream was cut off after a minute, whatever had been asked for."""
        for value in ("60000", "3600000"):
            self.refused("--sse-comment-ms is below 60000", "--sse-comment-ms", value)

    def test_places_that_are_none(self):
        for listen in ("9191", ":9191", "127.0.0.1:", "127.0.0.1:65536", "[::1"):
            self.refused("HOST:PORT", "--listen", listen)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.refused("in use", "--listen", "127.0.0.1:%d" % taken.getsockname()[1])
        self.refused("works on a store", "--server", "http://localhost:9090")

    def test_a_certificate_that_is_none(self):
        junk = os.path.join(self.dir.name, "junk")
        with open(junk, "w", encoding="utf-8") as file:
            file.write("not PEM\n")
        self.refused("certificate and key cannot be used", "--listen", "127.0.0.1:0",
                     "--tls-cert", junk, "--tls-key", junk)


class Credentials(unittest.TestCase):
    def test_the_unit_sets_no_option_that_the_file_could_not_change(self):
        # FF_STORE in the unit used to win over `store` in /etc/flowfabric/ff.conf.
        with open(os.path.join(ROOT, "packaging", "flowfabric.service"), encoding="utf-8") as unit:
            told = re.findall(r"^Environment=(\w+)", unit.read(), re.M)
        self.assertEqual(["FF_TOKEN_FILE"], told)

    def test_what_systemd_hands_over_is_private(self):
        token = "admin-token-0123456789"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokens")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"ops {token} admin\n")
            os.chmod(path, 0o440)  # as an access list looks from outside
            env = {"FF_TOKEN_FILE": path}
            code, err = serve(env=env, cwd=folder)
            self.assertEqual((2, True), (code, "can be read by others" in err), err)
            code, err = serve(env={**env, "CREDENTIALS_DIRECTORY": folder[:-1]}, cwd=folder)
            self.assertEqual(2, code, err)
            with Server(env={**env, "CREDENTIALS_DIRECTORY": folder}) as server:
                self.assertEqual(200, server.client(token).get("/v1/lanes").status)
                self.assertEqual(401, server.client().get("/v1/lanes").status)


class Files(unittest.TestCase):
    @staticmethod
    def few(soft, hard=None):
        def limit():
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard or most))
        return limit

    def crowd(self, server, count):
        """So many connections, each of which has asked for the events."""
        held = []
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)
            self.addCleanup(one.close)
            held.append(one)
        for one in held:  # streams: a connection that has nothing to do would be cut and make room
            one.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n"
                        b"Accept: text/event-stream\r\n\r\n")
        return held

    def test_as_many_files_as_connections_may_be_open(self):
        # A shell's limit of 1,024 files used to be the limit of connections.
        with Server(args=["--log-level", "warn"], before=self.few(300)) as server:
            for one in self.crowd(server, 500):
                self.assertIn(b" 200 ", one.recv(4096))

    def test_fewer_connections_where_files_are_few(self):
        with Server(args=["--log-level", "warn"], before=self.few(300, 300)) as server:
            self.assertIn("connections_max=108 wanted=4096 open_files_max=300", server.log())
            held = self.crowd(server, 140)
            said = [one.recv(4096)[:12] for one in held]
            self.assertEqual((108, 32), (said.count(b"HTTP/1.1 200"), said.count(b"HTTP/1.1 503")))


class Log(unittest.TestCase):
    def test_the_start_is_told_without_secrets(self):
        with Server(args=["--log", "json"]) as server:
            self.assertIn('"store":"sqlite:', server.log())
        if not PG:
            self.fail("FF_TEST_PG is not set: run me through tests/run")
        url = re.sub(r"://(\w+)@", r"://\1:very-secret@", postgres_url())
        self.assertIn("secret", url)
        with Server(store=url) as server:
            self.assertRegex(server.log(), r"serving url=http://[0-9.:]+ store=postgres://\S* ")
            self.assertNotIn("secret", server.log())
        with Server(store=postgres_url() + "&password=a@very-secret") as server:
            self.assertRegex(server.log(), r"serving url=http://[0-9.:]+ store=postgres://\S* ")
            self.assertNotIn("secret", server.log())

    def test_claims_without_work_are_not_worth_a_line(self):
        with Server() as server:
            http = server.client()
            claim = {"worker_instance_id": "w-1", "request_id": "r"}
            self.assertEqual([], http.post("/v1/workers/w/claim", claim).json["tasks"])
            http.post("/v1/executions", {"kind": "k"})
            claim["request_id"] = "s"
            self.assertEqual(1, len(http.post("/v1/workers/w/claim", claim).json["tasks"]))
            wait_for("the claim that got something", lambda: "/claim" in server.log())
            self.assertEqual(1, server.log().count("/claim"), server.log())


if __name__ == "__main__":
    unittest.main()
