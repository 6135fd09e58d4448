# SPDX-License-Identifier: Apache-2.0
"""test_cluster -- several servers on one Postgres: hints between them, one killed under load."""

import http.client
import threading
import time
import unittest

from serving import PG, Proxy, Server, expect_woken_by_hint, in_thread, postgres_url, wait_for


class Cluster(unittest.TestCase):
    def setUp(self):
        if not PG:
            self.fail("FF_TEST_PG is not set: run inside tests/support/pg-private run")

    def test_a_claim_is_woken_from_another_server(self):
        url = postgres_url()
        with Server(store=url) as one, Server(store=url) as two:
            other = two.client()
            expect_woken_by_hint(one, "l", lambda: other.post(
                "/v1/executions", {"kind": "k", "lane": "l"}).json["execution_id"])

    def test_a_store_that_hangs_is_told(self):
        with Proxy() as proxy, Server(store=proxy.url, args=["--log-level", "warn"]) as server:
            http = server.client()
            wait_for("ready", lambda: http.get("/readyz").status == 200)
            proxy.flows.clear()
            stream = in_thread(lambda: server.client().get(
                "/v1/events", headers={"Accept": "text/event-stream"}))
            readers = [in_thread(server.client().get, "/v1/executions") for _ in range(8)]
            wait_for("eight that wait", lambda: int(http.get(
                "/metrics").body.split(b"\nff_http_connections ")[1].split()[0]) >= 9)
            begun = time.monotonic()
            self.assertEqual(200, http.get("/livez").status)
            self.assertEqual(503, http.get("/readyz").status)
            self.assertIn([], [got for _, got in readers], "others still wait for the store")
            answer = http.get("/metrics")
            print(f"\n  health beside a store that hangs: {time.monotonic() - begun:.1f} s")
            self.assertIn("\nff_store_up 0\n", answer.body.decode())
            stream[0].join()
            self.assertEqual((503, "unavailable"), (stream[1][0].status,
                                                    stream[1][0].json["code"]))
            proxy.flows.set()
            for thread, _ in readers:
                thread.join()
            wait_for("ready again", lambda: http.get("/readyz").status == 200)

    def test_readyz_tells_how_events_are_numbered(self):
        with Server(store=postgres_url()) as server:
            self.assertEqual("concurrent", server.client().get("/readyz?verbose=true").json["log"])
        url = postgres_url()
        with Server(store=f"{url}&log=serial") as server:
            self.assertEqual("serial", server.client().get("/readyz?verbose=true").json["log"])
        with Server(store=url) as server:  # the store remembers
            self.assertEqual("serial", server.client().get("/readyz?verbose=true").json["log"])

    def test_one_killed_under_load_loses_nothing(self):
        url = postgres_url()
        with Server(store=url, args=["--log-level", "warn"]) as one, \
                Server(store=url, args=["--log-level", "warn"]) as two:
            wanted, accepted, ended = 300, {}, {}
            stop = threading.Event()

            def call(clients, path, body):
                """The first server that answers; a client retries what it does not know."""
                while True:
                    for client in clients:
                        try:
                            answer = client.post(path, body)
                        except (OSError, http.client.HTTPException):
                            continue
                        if answer.status < 500:
                            return answer

            def submit(first):
                clients = [one.client(), two.client()]
                for i in range(first, wanted, 3):
                    answer = call(clients, "/v1/executions",
                                  {"kind": "k", "input": i, "idempotency_key": f"key-{i}"})
                    accepted[i] = answer.json["execution_id"]

            def work(name):
                clients = [one.client(), two.client()]
                while not stop.is_set():
                    tasks = call(clients, f"/v1/workers/{name}/claim", {
                        "worker_instance_id": name, "max": 8, "wait_ms": 200,
                        "lease_ttl_ms": 5000}).json["tasks"]
                    if not tasks:
                        continue
                    said = [{**{n: t[n] for n in ("execution_id", "lease_id", "lease_epoch")},
                             "result": t["input"]} for t in tasks]
                    results = call(clients, "/v1/tasks/complete", {"tasks": said}).json["results"]
                    for task, result in zip(tasks, results):
                        if "error" not in result:
                            ended[task["execution_id"]] = task["input"]

            threads = [threading.Thread(target=submit, args=(n,)) for n in range(3)]
            threads += [threading.Thread(target=work, args=(f"w{n}",)) for n in range(2)]
            for thread in threads:
                thread.start()
            wait_for("some work is done", lambda: len(ended) > 50)
            one.kill()
            for thread in threads[:3]:
                thread.join()
            look = two.client()
            wait_for("all have ended", lambda: not look.get(
                "/v1/executions?state=waiting&limit=1").json["executions"] and not look.get(
                    "/v1/executions?state=active&limit=1").json["executions"])
            stop.set()
            for thread in threads[3:]:
                thread.join()
            self.assertEqual(wanted, len(set(accepted.values())))
            for i, made in accepted.items():
                link = "/v1/executions/" + made.replace("{", "").replace("}", "")
                self.assertEqual(str(i).encode(), look.get(link + "/result").body)


if __name__ == "__main__":
    unittest.main()
