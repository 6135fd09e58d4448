# SPDX-License-Identifier: Apache-2.0
"""serving -- a real `ff serve` for tests, and a small client for it; standard library only."""

import http.client
import http.server
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from ports import free_port  # pylint: disable=wrong-import-position,unused-import

FF = os.environ.get("FF_TEST_FF") or os.path.join(HERE, "..", "..", "build", "asan", "ff")
PG = os.environ.get("FF_TEST_PG")
DEADLINE_S = 120
FILES = 4096  # a thousand connections are more than a shell allows unasked

if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < FILES:
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       (FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def wait_for(what, condition, seconds=DEADLINE_S):
    """The first true answer of condition(), or an error that says what did not happen."""
    until = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.01)


def postgres_url():
    """A schema of its own on the private server."""
    return f"{PG}{'&' if '?' in PG else '?'}schema=e2e_{uuid.uuid4().hex[:12]}"


class Proxy:
    """In front of the private Postgres; frozen, nothing comes through any more."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory(dir="/tmp")
        parts = urllib.parse.urlsplit(PG)
        query = dict(urllib.parse.parse_qsl(parts.query))
        name = f".s.PGSQL.{query.get('port', '5432')}"
        self.behind = os.path.join(query["host"], name)
        query.update(host=self.dir.name, schema=f"e2e_{uuid.uuid4().hex[:12]}")
        self.url = parts._replace(query=urllib.parse.urlencode(query)).geturl()
        self.flows = threading.Event()
        self.flows.set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(self.dir.name, name))
        self.listener.listen(100)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.behind)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        try:
            while data := source.recv(65536):
                self.flows.wait()
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            one.close()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.flows.set()
        self.listener.close()
        self.dir.cleanup()


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Client:
    """One kept connection, like a worker's."""

    def __init__(self, host, port, token=None):
        self.host, self.port, self.token = host, port, token
        self.connection = None

    def call(self, method, path, body=None, headers=None, raw=None):
        sent = {}
        if self.token:
            sent["Authorization"] = "Bearer " + self.token
        data = raw
        if body is not None:
            data = json.dumps(body).encode()
        if data is not None:
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE_S)
        try:
            self.connection.request(method, path, body=data,
                                    headers={k: v for k, v in sent.items() if v is not None})
            answer = Answer(self.connection.getresponse())
        except Exception:
            self.close()
            raise
        if answer.headers.get("Connection") == "close":
            self.close()
        return answer

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.call("POST", path, body=body, **options)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Server:
    """ff serve on a port of its own; stopped by its context."""

    def __init__(self, store=None, args=(), env=None, tokens=None, listen="127.0.0.1:0",
                 before=None):
        self.dir = tempfile.TemporaryDirectory(dir=os.environ.get("FF_TEST_TMP"))
        self.store = store or "sqlite:" + os.path.join(self.dir.name, "ff.db")
        self.args = list(args)
        if tokens is not None:
            path = os.path.join(self.dir.name, "tokens")
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w",
                      encoding="utf-8") as file:
                file.write(tokens)
            self.args += ["--token-file", path]
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        self.env.update(env or {})
        self.before = before  # runs in the new process, before ff does
        self.log_path = os.path.join(self.dir.name, "log")
        self.process = None
        self.port = None
        self.clients = []
        self.start(listen)

    def start(self, listen="127.0.0.1:0"):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [FF, "serve", "--store", self.store, "--listen", listen, *self.args],
                stdout=subprocess.PIPE, stderr=log, env=self.env, cwd=self.dir.name,
                preexec_fn=self.before)
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on "):
            raise AssertionError(f"server did not start: {line}{self.log()}")
        self.url = line.split()[2]
        self.port = urllib.parse.urlsplit(self.url).port

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def client(self, token=None):
        made = Client("127.0.0.1", self.port, token)
        self.clients.append(made)
        return made

    def metric(self, name):
        """The sum of a metric over its labels."""
        text = self.client().get("/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith(name + " ") or line.startswith(name + "{"))

    def memory_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; returns the exit status."""
        for client in self.clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=DEADLINE_S)
        self.process.stdout.close()
        return code

    def run_ff(self, *words):
        """A verb on the same store; its exit status."""
        return subprocess.run([FF, *words, "--store", self.store], env=self.env,
                              stdout=subprocess.DEVNULL, check=False).returncode

    def fsck(self):
        done = subprocess.run([FF, "fsck", "--store", self.store], env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise AssertionError("fsck: " + done.stdout.decode())

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        code = self.stop() if self.process.poll() is None else self.process.returncode
        log = self.log()
        if problem[0] is None:
            self.fsck()
        self.dir.cleanup()
        if problem[0] is None and (code not in (0, -signal.SIGKILL) or "Sanitizer" in log):
            raise AssertionError(f"server ended with {code}:\n{log[-4000:]}")


class Gate:
    """A proxy in front of a server. rule(path, body) is the status it answers by itself, in words
    of its own (`words`, of what type), or None; `refused` counts those."""

    def __init__(self, server, rule):
        gate = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, (type_, answer) = gate.rule(self.path, body), gate.words
                gate.refused += status is not None
                if status is None:
                    client = Client("127.0.0.1", server.port)
                    there = client.call(self.command, self.path, raw=body or None)
                    client.close()
                    status, type_, answer = there.status, there.headers["Content-Type"], there.body
                self.send_response(status)
                self.send_header("Content-Type", type_)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST

        self.rule = rule
        self.words = ("text/plain", b"no\n")
        self.refused = 0
        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.listener.daemon_threads = True
        self.listener.handle_error = lambda *about: None  # a client that was killed
        self.url = f"http://127.0.0.1:{self.listener.server_port}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.listener.shutdown()
        self.listener.server_close()


def in_thread(function, *args):
    """Runs it beside us; the list gets its answer or the exception."""
    got = []

    def run():
        try:
            got.append(function(*args))
        except Exception as problem:  # pylint: disable=broad-except
            got.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, got


def expect_woken_by_hint(server, lane, submit, tries=20):
    """A claim waits on `server` until submit(); now and then a poll is faster, but not always."""
    for _ in range(tries):
        thread, got = in_thread(server.client().post, "/v1/workers/w/claim", {
            "worker_instance_id": "w", "lanes": [lane], "wait_ms": 60000})
        wait_for("a waiting claim", lambda: server.client().get(
            "/v1/stats").json["http"]["waiting_claims"] == 1)
        before = server.metric("ff_claim_wakeups_total")
        made = submit()
        thread.join()
        told = [task["execution_id"] for task in got[0].json["tasks"]]
        if told != [made]:
            raise AssertionError(f"{made} was submitted, {told} was claimed")
        if server.metric("ff_claim_wakeups_total") > before:
            return
    raise AssertionError("claims are woken by polls only")
