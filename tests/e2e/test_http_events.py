# SPDX-License-Identifier: Apache-2.0
"""test_http_events -- the event log over HTTP: pages, long polls, streams that resume; flows."""

import json
import selectors
import socket
import time
import unittest

from serving import DEADLINE_S, Server, in_thread, wait_for


class Stream:
    """A client of an event stream, over a plain socket."""

    def __init__(self, port, path="/v1/events", last=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        if last:
            head += f"Last-Event-ID: {last}\r\n"
        self.socket.sendall((head + "\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        for line in iter(self.file.readline, b"\r\n"):
            name, value = line.decode().split(":", 1)
            self.headers[name.lower()] = value.strip()
        self.rest = b""

    def _line(self):
        """A line of the text, whatever chunks it came in."""
        while b"\n" not in self.rest:
            size = int(self.file.readline(), 16)
            if size == 0:
                raise EOFError
            self.rest += self.file.read(size)
            self.file.readline()
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def next(self):
        """The next event: its id, name and data."""
        event = {}
        while True:
            line = self._line()
            if not line and "data" in event:
                return event["id"], event["event"], json.loads(event["data"])
            if not line:
                event = {}
            elif not line.startswith(":"):
                name, value = line.split(": ", 1)
                event[name] = value

    def place(self):
        """The first id of the stream, told before there is any event."""
        while True:
            line = self._line()
            if line.startswith("id: "):
                return line[4:]

    def silence(self):
        """What the next comment says of the place: its id, or nothing."""
        while not self._line().startswith(":"):
            pass
        return self._line()[len("id: "):]

    def close(self):
        self.file.close()
        self.socket.close()


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def setUp(self):
        self.http = self.server.client()
        self.ns = self.id().rsplit(".", 1)[1]

    def finish(self, **fields):
        """One execution from submit to success; its id."""
        made = self.http.post("/v1/executions",
                              {"kind": "k", "lane": self.ns, "namespace": self.ns, **fields})
        task = self.http.post("/v1/workers/w/claim", {
            "worker_instance_id": "w-1", "lanes": [self.ns]}).json["tasks"][0]
        named = {n: task[n] for n in ("execution_id", "lease_id", "lease_epoch")}
        self.http.post("/v1/tasks/complete", {"tasks": [named]})
        return made.json["execution_id"]

    def page(self, **query):
        words = "&".join(f"{k}={v}" for k, v in query.items())
        answer = self.http.get(f"/v1/events?namespace={self.ns}&{words}")
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def test_pages_go_on_where_they_ended(self):
        made = [self.finish() for _ in range(3)]
        seen, after = [], "start"
        while True:
            page = self.page(after=after, kinds="completion", limit=2)
            if not page["events"]:
                break
            seen += page["events"]
            after = page["cursor"]
        self.assertEqual(made, [e["execution_id"] for e in seen])
        for event in seen:
            self.assertEqual(("completion", "success"), (event["kind"], event["type"]))
            self.assertEqual(self.ns, event["namespace"])
            self.assertRegex(event["cursor"], "^02[0-9a-f]{16}$")
        only = self.page(after="start", kinds="completion", execution_id=made[1])["events"]
        self.assertEqual([made[1]], [e["execution_id"] for e in only])

    def test_a_page_waits_for_the_first(self):
        cursor = self.page()["cursor"]
        self.assertEqual([], self.page(after=cursor, wait_ms=50)["events"])
        thread, got = in_thread(
            self.server.client().get,
            f"/v1/events?namespace={self.ns}&after={cursor}&kinds=completion&wait_ms=30000")
        made = self.finish()
        thread.join()
        self.assertEqual([made], [e["execution_id"] for e in got[0].json["events"]])

    def test_bad_cursors_and_gaps(self):
        answer = self.http.get("/v1/events?after=nonsense")
        self.assertEqual((400, "bad_cursor"), (answer.status, answer.json["code"]))
        answer = self.http.get("/v1/events?after=02" + "7" + "f" * 15)
        self.assertEqual((410, "gap"), (answer.status, answer.json["code"]))
        self.assertIn("oldest", answer.json)
        stream = Stream(self.server.port, last="02" + "7" + "f" * 15)
        self.assertEqual(410, stream.status)
        stream.close()

    def test_a_head_has_no_end_of_a_stream(self):
        """The last chunk of a body that there is not stood in front of the next answer."""
        head = ("HEAD /v1/events HTTP/1.1\r\nHost: localhost\r\n"
                "Accept: text/event-stream\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self.server.port), DEADLINE_S) as link:
            link.sendall(2 * head.encode())
            link.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            with link.makefile("rb") as file:
                answers = file.read().split(b"\r\n\r\n")
        self.assertEqual([b"HTTP/1.1 200 OK"] * 3, [a.split(b"\r\n")[0] for a in answers[:3]])
        for answer in answers[:2]:
            self.assertIn(b"Content-Type: text/event-stream", answer)

    def test_a_stream_resumes(self):
        stream = Stream(self.server.port, f"/v1/events?namespace={self.ns}&kinds=completion")
        self.assertEqual((200, "text/event-stream"),
                         (stream.status, stream.headers["content-type"]))
        made = [self.finish() for _ in range(4)]
        first = [stream.next() for _ in range(2)]
        stream.close()
        self.assertEqual(made[:2], [data["execution_id"] for _, _, data in first])
        self.assertEqual({"completion.success"}, {name for _, name, _ in first})
        again = Stream(self.server.port,
                       f"/v1/events?namespace={self.ns}&kinds=completion&after=start",
                       last=first[-1][0])
        self.assertEqual(made[2:], [again.next()[2]["execution_id"] for _ in range(2)])
        again.close()

    def test_a_stream_cut_before_its_first_event_resumes(self):
        path = f"/v1/events?namespace={self.ns}&kinds=completion"
        stream = Stream(self.server.port, path)
        place = stream.place()
        stream.close()
        made = self.finish()
        again = Stream(self.server.port, path, last=place)
        self.assertEqual(made, again.next()[2]["execution_id"])
        again.close()

    def test_a_quiet_stream_says_how_far_it_is(self):
        with Server(args=["--sse-comment-ms", "200", "--log-level", "warn"]) as server:
            http = server.client()
            stream = Stream(server.port, "/v1/events?kinds=flow")
            first = stream.place()
            made = http.post("/v1/executions", {"kind": "k"})
            self.assertEqual(200, http.post(made.headers["Location"] + "/cancel").status)
            end = http.get("/v1/events").json["cursor"]
            self.assertGreater(end, first)
            wait_for("the stream is at the end", lambda: stream.place() >= end)
            stream.close()

    def test_a_quiet_stream_tells_what_was_filtered_out_behind_its_last_event(self):
        with Server(args=["--sse-comment-ms", "200", "--log-level", "warn"]) as server:
            http = server.client()
            stream = Stream(server.port, "/v1/events?kinds=operator")
            stream.place()
            made = http.post("/v1/executions", {"kind": "k"})
            self.assertEqual(200, http.post(made.headers["Location"] + "/cancel").status)
            last, name, _ = stream.next()
            self.assertEqual("operator.cancel_requested", name)
            end = http.get("/v1/events").json["cursor"]  # behind the completion
            self.assertGreater(end, last)
            self.assertEqual(end, stream.silence())
            self.assertEqual("", stream.silence())
            stream.close()

    def test_a_restored_log_says_so_in_front(self):
        with Server() as server:
            http = server.client()
            made = http.post("/v1/executions", {"kind": "k"})
            self.assertEqual(200, http.post(made.headers["Location"] + "/cancel").status)
            last = int(http.get("/v1/events").json["cursor"], 16)
            self.assertEqual(0, server.run_ff("migrate", "--restored"))
            lost = f"{last + 2:018x}"  # as if two more had been seen of the copy that was lost
            page = http.get(f"/v1/events?after={lost}").json
            self.assertEqual("reset", page["notice"])
            self.assertEqual(["reset"], [e["type"] for e in page["events"]])
            behind = http.get(f"/v1/events?after={page['notice_cursor']}").json
            self.assertEqual((None, page["events"]), (behind["notice"], behind["events"]))
            alone = http.get(f"/v1/events?after={lost}&kinds=flow&wait_ms=1").json
            self.assertEqual(("reset", []), (alone["notice"], alone["events"]))
            self.assertIsNone(http.get(f"/v1/events?after={alone['cursor']}").json["notice"])
            stream = Stream(server.port, last=lost)
            cursor, name, data = stream.next()
            self.assertEqual(("notice", "reset"), (name, data["notice"]))
            self.assertEqual("log.reset", stream.next()[1])
            stream.close()
            again = Stream(server.port, last=cursor)
            self.assertEqual("log.reset", again.next()[1])
            again.close()

    def test_lane_events_name_their_lane(self):
        path = f"/v1/lanes/{self.ns}/"
        cursor = self.http.get("/v1/events").json["cursor"]
        for verb in ("pause", "resume"):
            self.assertEqual(200, self.http.post(path + verb, {}).status)
        told = self.http.get(f"/v1/events?after={cursor}&kinds=operator").json["events"]
        self.assertEqual([("lane_paused", self.ns), ("lane_resumed", self.ns)],
                         [(e["type"], e["data"]["lane"]) for e in told
                          if e["type"].startswith("lane_") and e["data"].get("lane") == self.ns])

    def test_waiting_for_an_end(self):
        made = self.http.post("/v1/executions", {"kind": "k", "lane": self.ns}).json
        link = "/v1/executions/" + made["execution_id"].replace("{", "").replace("}", "")
        self.assertFalse(self.http.get(link + "?wait_ms=30").json["finished"])
        thread, got = in_thread(self.server.client().get, link + "?wait_ms=30000")
        self.assertEqual(200, self.http.post(link + "/cancel").status)
        thread.join()
        self.assertEqual("cancelled", got[0].json["public_state"])

    def test_flow_and_its_end(self):
        flow = {"kind": "deploy", "namespace": self.ns,
                "nodes": [{"name": "a", "kind": "k", "lane": self.ns},
                          {"name": "b", "kind": "k", "lane": self.ns}],
                "edges": [{"from": "a", "to": "b"}]}
        answer = self.http.post("/v1/flows", flow)
        self.assertEqual(201, answer.status, answer)
        link = answer.headers["Location"]
        self.assertEqual("open", self.http.get(link).json["state"])
        thread, got = in_thread(self.server.client().get, link + "?wait_ms=30000")
        for name in ("a", "b"):
            tasks = wait_for("a task", lambda: self.http.post("/v1/workers/w/claim", {
                "worker_instance_id": "w-1", "lanes": [self.ns], "wait_ms": 10000}).json["tasks"])
            self.assertEqual(name, tasks[0]["node"])
            named = {n: tasks[0][n] for n in ("execution_id", "lease_id", "lease_epoch")}
            done = self.http.post("/v1/tasks/complete", {"tasks": [{**named, "result": name}]})
            self.assertEqual("completed", done.json["results"][0]["public_state"])
        self.assertEqual({"a": "success"},
                         {n: u["outcome"] for n, u in tasks[0]["upstream"].items()})
        thread.join()
        self.assertEqual("completed", got[0].json["state"])
        grown = self.http.post(link + "/grow", {"nodes": [{"name": "c", "kind": "k"}], "edges": []})
        self.assertEqual((409, "flow_terminal"), (grown.status, grown.json["code"]))
        kinds = [e["type"] for e in self.page(after="start", kinds="flow")["events"]]
        self.assertIn("completed", kinds)
        self.assertEqual([link.rsplit("/", 1)[1]],
                         [f["flow_id"] for f in self.http.get(
                             f"/v1/flows?namespace={self.ns}&state=completed").json["flows"]])

    def test_flow_errors_and_cancel(self):
        bad = self.http.post("/v1/flows", {"nodes": [{"name": "a", "kind": "k"}],
                                           "edges": [{"from": "a", "to": "a"}]})
        self.assertEqual((400, "self_edge"), (bad.status, bad.json["code"]))
        made = self.http.post("/v1/flows", {"nodes": [{"name": "a", "kind": "k"}], "edges": []})
        link = made.headers["Location"]
        grown = self.http.post(link + "/grow", {"nodes": [{"name": "b", "kind": "k"}],
                                                "edges": [{"from": "a", "to": "b"}]})
        self.assertEqual(201, grown.status, grown)
        again = self.http.post(link + "/grow", {"nodes": [{"name": "b", "kind": "k"}],
                                                "edges": [{"from": "a", "to": "b"}]})
        self.assertEqual(200, again.status, again)
        done = self.http.post(link + "/cancel?wait_ms=20000", {"reason": "enough"})
        self.assertEqual((200, "cancelled", 2, 2),
                         (done.status, done.json["state"], done.json["node_count"],
                          done.json["ended_count"]), done)
        self.assertEqual({"cancelled": 2}, self.http.get(link).json["counts"])
        self.assertEqual(404, self.http.get(
            "/v1/flows/00000000-0000-7000-8000-000000000000").status)

    def test_a_repeated_cancel_waits_for_the_end_too(self):
        """It was given what the first one would have said without waiting."""
        made = self.http.post("/v1/flows", {"nodes": [{"name": "a", "kind": "k"}]})
        path = made.headers["Location"] + "/cancel"
        key = {"Idempotency-Key": made.json["flow_id"]}
        first = self.http.post(path + "?wait_ms=60000", {}, headers=key)
        self.assertEqual((200, 1), (first.status, first.json["ended_count"]), first)
        for query in ("?wait_ms=60000", "?wait_ms=59999"):
            again = self.http.post(path + query, {}, headers=key)
            self.assertEqual((200, first.body, "true"), (
                again.status, again.body, again.headers["Idempotent-Replay"]))
        at_once = self.http.post(path, {}, headers=key)
        self.assertEqual((200, "true"), (at_once.status, at_once.headers["Idempotent-Replay"]))
        other = self.http.post(path, {"reason": "r"}, headers=key)
        self.assertEqual((422, "key_reused"), (other.status, other.json["code"]))


def percentiles(seconds):
    """p50 and p99 of durations, as a text in milliseconds."""
    ordered = sorted(seconds)
    return "p50 {:.1f} ms, p99 {:.1f} ms".format(
        *(1000 * ordered[max(0, -(-len(ordered) * percent // 100) - 1)] for percent in (50, 99)))


class ManyIdle(unittest.TestCase):
    """Memory and latency are printed; what must hold is that everybody is served."""

    def waiting_claims(self, server, count):
        body = json.dumps({"worker_instance_id": "w-1", "lanes": ["none"], "wait_ms": 60000})
        claims = []
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)
            one.sendall((f"POST /v1/workers/w/claim HTTP/1.1\r\nHost: localhost\r\n"
                         f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                         f"\r\n{body}").encode())
            claims.append(one)
        return claims

    def healthy(self, http, rounds=100):
        """What a client beside them sees: submit, claim and complete one; the time of each."""
        took = []
        for _ in range(rounds):
            begun = time.monotonic()
            self.assertEqual(201, http.post("/v1/executions", {"kind": "k"}).status)
            task = http.post("/v1/workers/w/claim", {"worker_instance_id": "x"}).json["tasks"][0]
            named = {n: task[n] for n in ("execution_id", "lease_id", "lease_epoch")}
            self.assertEqual(200, http.post("/v1/tasks/complete", {"tasks": [named]}).status)
            took.append((time.monotonic() - begun) / 3)
        return took

    def delivered(self, http, streams):
        """How long after the call the event was with each stream."""
        made = http.post("/v1/executions", {"kind": "flagged", "namespace": "seen"})
        begun, took = time.monotonic(), []
        self.assertEqual(200, http.post(made.headers["Location"] + "/cancel", {}).status)
        with selectors.DefaultSelector() as waiting:
            for stream in streams:
                waiting.register(stream.socket, selectors.EVENT_READ, stream)
            while waiting.get_map():
                ready = waiting.select(DEADLINE_S)
                self.assertTrue(ready, f"{len(waiting.get_map())} streams have heard nothing")
                for key, _ in ready:
                    took.append(time.monotonic() - begun)
                    waiting.unregister(key.fileobj)
        for stream in streams:
            self.assertEqual(made.json["execution_id"], stream.next()[2]["execution_id"])
        return took

    def test_a_thousand_streams_and_two_hundred_claims(self):
        with Server(args=["--connections-max", "2000", "--log-level", "warn"]) as server:
            http = server.client()
            alone = self.healthy(http)
            before = server.memory_kb()
            streams = [Stream(server.port, "/v1/events?kinds=completion&namespace=seen")
                       for _ in range(1000)]
            for stream in streams:
                stream.place()
            idle = server.memory_kb()
            claims = self.waiting_claims(server, 200)
            wait_for("200 waiting claims",
                     lambda: http.get("/v1/stats").json["http"]["waiting_claims"] >= 200)
            full = server.memory_kb()
            with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
                threads = [line.split()[1] for line in file if line.startswith("Threads:")]
            beside = self.healthy(http)
            heard = self.delivered(http, streams)
            print(f"\n  1,000 streams: {idle - before} KiB; 200 waiting claims: {full - idle} KiB; "
                  f"{threads[0]} threads"
                  f"\n  a call of a healthy client alone: {percentiles(alone)}"
                  f"\n  beside all of them: {percentiles(beside)}"
                  f"\n  an event is with 1,000 streams: {percentiles(heard)}")
            self.assertLess(int(threads[0]), 40)
            for one in claims:
                one.close()
            wait_for("claims are given up",
                     lambda: http.get("/v1/stats").json["http"]["waiting_claims"] == 0)
            for stream in streams:
                stream.close()


if __name__ == "__main__":
    unittest.main()
