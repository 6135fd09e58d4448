# SPDX-License-Identifier: Apache-2.0
"""clients -- those who hand in work, change their minds, and follow the log; a thread each."""

import http.client
import json
import random
import threading

from talk import History, Voice, path_of
from waits import dawdle

OPEN_MAX = 150  # more than this many accepted and not seen to end: wait
RECENT_MAX = 200
POLICY = {"retry_policy": {"max_retries": 1000, "backoff": {"type": "fixed", "delay_ms": 50}},
          "max_reclaim_count": 1000, "max_replay_count": 100}


class Clients:
    """What they share."""

    def __init__(self, directory, ports, seed):
        self.directory = directory
        self.ports = ports
        self.seed = seed
        self.quiet = threading.Event()  # no new work
        self.over = threading.Event()   # the log has been read
        self.lock = threading.Lock()
        self.recent = []
        self.accepted = 0
        self.ended = 0
        self.threads = []
        self.subscribers = []

    def start(self):
        for number in range(3):
            self.thread(Submitter(self, f"submitter-{number}").run)
        self.thread(Operator(self, "operator").run)
        for number, (sse, after, kinds) in enumerate((
                (True, "start", None), (True, None, "completion"), (False, "start", None),
                (False, None, None))):
            self.subscribers.append(Subscriber(self, f"subscriber-{number}", sse, after, kinds))
            self.thread(self.subscribers[-1].run)

    def thread(self, run):
        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def open(self):
        with self.lock:
            return self.accepted - self.ended

    def note(self, ids, replay=False):
        with self.lock:
            self.accepted += len(ids)
            if not replay:
                self.recent = (self.recent + ids)[-RECENT_MAX:]


class Client:
    def __init__(self, clients, name):
        self.clients = clients
        self.name = name
        self.history = History(clients.directory, name)
        self.random = random.Random(f"{clients.seed}/{name}")
        self.voice = Voice(clients.ports, clients.quiet.is_set)
        self.made = 0

    def key(self):
        self.made += 1
        return f"{self.name}/{self.made}"

    def run(self):
        while not self.clients.quiet.is_set():
            if self.clients.open() < OPEN_MAX:
                self.act()
            dawdle(0, 0.1, self.random)


class Submitter(Client):
    def act(self):
        self.random.choices((self.keyed, self.bulk, self.once, self.flow), (5, 1, 2, 3))[0]()

    def item(self, key):
        command = self.random.random() < 0.2
        return {"kind": "command" if command else "said", "lane": "chaos", "policy": POLICY,
                "input": {"key": key, "say": "fail" if not command and self.random.random() < 0.1
                          else "ok"}}

    def keyed(self):
        key = self.key()
        call = self.history.begin("submit", keys=[key])
        status, answer, doubts = self.voice.insist(
            "POST", "/v1/executions", {**self.item(key), "idempotency_key": key})
        ids = [answer["execution_id"]] if status in (200, 201) else []
        self.history.end(call, doubts, status=status, ids=ids)
        self.clients.note(ids)

    def bulk(self):
        keys = [self.key() for _ in range(5)]
        items = [{**self.item(key), "idempotency_key": key} for key in keys]
        call = self.history.begin("submit", keys=keys)
        while True:
            status, answer, doubts = self.voice.insist("POST", "/v1/executions",
                                                       {"executions": items})
            results = answer.get("results", []) if status == 200 else []
            if status != 200 or all("execution_id" in result for result in results):
                break
        ids = [result["execution_id"] for result in results]
        self.history.end(call, doubts, status=status, ids=ids)
        self.clients.note(ids)

    def once(self):
        """Without a key, and said only once: what is refused must not be there."""
        key = self.key()
        call = self.history.begin("submit", keys=[key])
        status, answer = self.voice.once("POST", "/v1/executions", self.item(key))
        ids = [answer["execution_id"]] if status == 201 else []
        self.history.end(call, int(status in (0, 504)), status=status, ids=ids)
        self.clients.note(ids)

    def node(self, name, key, joins):
        made = {"name": name, **self.item(key)}
        if joins and self.random.random() < 0.3:
            made["join"] = {"policy": "any_of", "on_satisfied": "let_run"}
        return made

    def flow(self):
        """A random graph whose outcome follows from what its nodes will say."""
        key = self.key()
        count = self.random.randint(3, 6)
        edges = [{"from": f"n{a}", "to": f"n{b}"} for b in range(1, count) for a in range(b)
                 if self.random.random() < 0.5]
        nodes = [self.node(f"n{n}", f"{key}/n{n}", any(e["to"] == f"n{n}" for e in edges))
                 for n in range(count)]
        body = {"kind": "graph", "nodes": nodes, "edges": edges, "idempotency_key": key}
        call = self.history.begin("flow", nodes=nodes, edges=edges)
        status, answer, doubts = self.voice.insist("POST", "/v1/flows", body)
        good = status in (200, 201)
        self.history.end(call, doubts, status=status, flow=answer["flow_id"] if good else None,
                         ids=answer["nodes"] if good else {})
        if good:
            with self.clients.lock:
                self.clients.accepted += count
            if self.random.random() < 0.3:
                self.grow(answer["flow_id"], key)

    def grow(self, flow, key):
        nodes = [self.node("more", f"{key}/more", False)]
        edges = [{"from": "n0", "to": "more"}]
        call = self.history.begin("grow", flow=flow, nodes=nodes, edges=edges)
        status, answer, doubts = self.voice.insist(
            "POST", f"/v1/flows/{path_of(flow)}/grow", {"nodes": nodes, "edges": edges})
        good = status in (200, 201)
        self.history.end(call, doubts, status=status, ids=answer["nodes"] if good else {})
        if good:
            with self.clients.lock:
                self.clients.accepted += 1


class Operator(Client):
    def act(self):
        with self.clients.lock:
            chosen = self.random.choice(self.clients.recent) if self.clients.recent else None
        if chosen:
            op = self.random.choices(("cancel", "replay", "revoke-lease"), (2, 3, 2))[0]
            key = self.key()
            call = self.history.begin(op, id=chosen)
            status, answer, doubts = self.voice.insist(
                "POST", f"/v1/executions/{path_of(chosen)}/{op}", {"reason": key},
                {"Idempotency-Key": key})
            self.history.end(call, doubts, status=status, reason=key,
                             generation=answer.get("generation") if status == 200 else None)
            if op == "replay" and status == 200:
                self.clients.note([chosen], replay=True)
        dawdle(0, 0.4, self.random)


class Subscriber(Client):
    """Follows the log from server to server; what it got, in the order in which it came."""

    def __init__(self, clients, name, sse, after, kinds):
        super().__init__(clients, name)
        self.sse, self.cursor, self.kinds = sse, after, kinds
        self.first = None  # the cursor it began behind
        self.got = 0
        self.last = 0
        self.restarts = 0

    def run(self):
        self.history.write(op="subscribe", kinds=self.kinds, sse=self.sse)
        if self.cursor == "start":
            self.began("02" + "0" * 16)
        while not self.clients.over.is_set():
            try:
                if self.sse:
                    self.stream()
                else:
                    self.page()
            except (OSError, http.client.HTTPException, ValueError):
                self.voice.hang_up()
                self.restarts += 1
                dawdle(0.02, 0.2, self.random)

    def query(self):
        words = ["limit=200"] if not self.sse else []
        if not self.sse and self.cursor:
            words.append("wait_ms=1000")
        if self.kinds:
            words.append("kinds=" + self.kinds)
        if self.cursor:
            words.append("after=" + self.cursor)
        return "/v1/events?" + "&".join(words)

    def began(self, cursor):
        if self.first is None:
            self.first = cursor
            self.history.write(op="began", cursor=cursor)

    def take(self, event):
        self.history.write(op="event", event=event["event_id"])
        self.cursor = event["cursor"]
        self.got += 1
        self.last = event["event_id"]
        if self.name == "subscriber-0" and event["kind"] == "completion":
            with self.clients.lock:
                self.clients.ended += 1

    def refuse(self, response):
        raise OSError(f"status {response.status}: {response.read()[:200]}")

    def page(self):
        connection = self.voice.connect()
        connection.request("GET", self.query())
        response = connection.getresponse()
        if response.status != 200:
            self.refuse(response)
        answer = json.loads(response.read())
        if not answer["events"]:
            self.began(answer["cursor"])
        for event in answer["events"] if self.first else ():
            self.take(event)
        self.cursor = answer["cursor"]

    def stream(self):
        connection = self.voice.connect(timeout_s=30)
        connection.request("GET", self.query(), headers={"Accept": "text/event-stream"})
        response = connection.getresponse()
        if response.status != 200:
            self.refuse(response)
        fields = {}
        while not self.clients.over.is_set():
            line = response.readline()
            if not line:
                raise OSError("the stream has ended")
            line = line.decode().rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
                continue
            self.message(fields)
            fields = {}

    def message(self, fields):
        if "data" in fields and fields.get("event") != "notice":
            self.take(json.loads(fields["data"]))
        elif "id" in fields:
            if self.cursor is None:
                self.began(fields["id"])
            if fields["id"]:
                self.cursor = fields["id"]
