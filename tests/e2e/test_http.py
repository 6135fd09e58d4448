# SPDX-License-Identifier: Apache-2.0
"""test_http -- ff serve from outside: routes, errors, claims."""

import re
import unittest

from serving import Server, in_thread, wait_for

CANONICAL = re.compile(r"^\{fp:\d{1,3}\}:[0-9a-f-]{36}$")


class Http(unittest.TestCase):
    """Against one server; every test uses lanes of its own."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.lanes = 0

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def setUp(self):
        self.http = self.server.client()
        type(self).lanes += 1
        self.lane = f"lane-{self.lanes}"

    def problem(self, answer, status, code, field=None):
        """Every error is a problem with these members."""
        self.assertEqual(status, answer.status, answer)
        self.assertEqual("application/problem+json", answer.headers["Content-Type"])
        body = answer.json
        self.assertEqual(status, body["status"], body)
        self.assertEqual(code, body["code"], body)
        for name in ("type", "title", "detail", "retryable", "request_id"):
            self.assertIn(name, body)
        if field:
            self.assertEqual(field, body["field"], body)
        return body

    def submit(self, **fields):
        answer = self.http.post("/v1/executions", {"kind": "k", "lane": self.lane, **fields})
        self.assertEqual(201, answer.status, answer)
        return answer.json["execution_id"]

    def claim(self, worker="w", **fields):
        answer = self.http.post(f"/v1/workers/{worker}/claim",
                                {"worker_instance_id": worker + "-1", "lanes": [self.lane],
                                 **fields})
        self.assertEqual(200, answer.status, answer)
        return answer.json["tasks"]

    def tell(self, verb, task, **fields):
        """One task of a bulk call."""
        named = {name: task[name] for name in ("execution_id", "lease_id", "lease_epoch")}
        answer = self.http.post(f"/v1/tasks/{verb}", {"tasks": [{**named, **fields}]})
        self.assertEqual(200, answer.status, answer)
        self.assertEqual(1, len(answer.json["results"]))
        return answer.json["results"][0]

    @staticmethod
    def link(execution_id):
        return "/v1/executions/" + execution_id.replace("{", "").replace("}", "")

    # -- executions ------------------------------------------------------------------------------

    def test_submit_claim_complete_result(self):
        answer = self.http.post("/v1/executions", {
            "kind": "k", "lane": self.lane, "input": {"b": 1, "a": 9007199254740993},
            "tags": {"colour": "red"}})
        self.assertEqual(201, answer.status, answer)
        made = answer.json
        self.assertRegex(made["execution_id"], CANONICAL)
        self.assertIs(True, made["created"])
        link = answer.headers["Location"]
        self.assertEqual(self.link(made["execution_id"]), link)
        shown = self.http.get(link).json
        self.assertEqual("waiting", shown["public_state"])
        self.assertIn(b'"input":{"b":1,"a":9007199254740993}', self.http.get(link).body)
        self.problem(self.http.get(link + "/result"), 404, "no_result")

        task = self.claim()[0]
        self.assertEqual({"colour": "red"}, task["tags"])
        self.assertEqual({}, self.tell("progress", task, percent=40, message="half"))
        self.assertGreater(self.tell("renew", task)["lease_expires_at_ms"], 0)
        self.assertEqual({"percent": 40, "message": "half"},
                         {k: self.http.get(link).json["progress"][k]
                          for k in ("percent", "message")})
        done = self.tell("complete", task, result=[1, 2.5, None])
        self.assertEqual("completed", done["public_state"])
        self.assertEqual(done, self.tell("complete", task, result=[1, 2.5, None]))
        self.assertEqual("conflict", self.tell("complete", task, result=7)["error"]["code"])
        answer = self.http.get(link + "/result")
        self.assertEqual((200, b"[1,2.5,null]", "application/json"),
                         (answer.status, answer.body, answer.headers["Content-Type"]))
        self.assertEqual(1, len(self.http.get(link + "/attempts").json["attempts"]))
        types = [e["type"] for e in self.http.get(link + "/events").json["events"]]
        self.assertEqual(["submitted", "acquired", "success"], types)
        self.assertEqual("completed", self.http.get(link + "/explain").json["public_state"])
        body = self.problem(self.http.post(link + "/cancel", {"reason": "late"}), 409,
                            "already_terminal")
        self.assertEqual("success", body["outcome"])

    def test_claim_waits_and_is_woken(self):
        thread, got = in_thread(
            self.server.client().post, "/v1/workers/w/claim",
            {"worker_instance_id": "w-1", "lanes": [self.lane], "wait_ms": 30000})
        wait_for("a waiting claim",
                 lambda: self.http.get("/v1/stats").json["http"]["waiting_claims"] > 0)
        made = self.submit()
        thread.join()
        self.assertEqual([made], [t["execution_id"] for t in got[0].json["tasks"]])

    def test_errors_are_problems(self):
        self.problem(self.http.get("/v1/nothing"), 404, "not_found")
        answer = self.http.call("PUT", "/v1/executions")
        self.problem(answer, 405, "method_not_allowed")
        self.assertEqual({"POST", "GET", "HEAD"}, set(answer.headers["Allow"].split(", ")))
        post = self.http.post
        self.problem(post("/v1/executions", {"lane": "x"}), 400, "invalid", "kind")
        self.problem(post("/v1/executions", {"kind": "k", "lanes": 1}), 400, "unknown_field",
                     "lanes")
        self.problem(post("/v1/executions", raw=b"{"), 400, "invalid")
        self.problem(post("/v1/executions", raw=b'{"kind":"a","kind":"b"}'), 400, "invalid")
        self.problem(post("/v1/executions", raw=b"kind=k",
                          headers={"Content-Type": "text/plain"}), 415, "unsupported_type")
        self.problem(self.http.get("/v1/executions?color=red"), 400, "unknown_field", "color")
        self.problem(self.http.get("/v1/executions?limit=x"), 400, "invalid", "limit")
        self.problem(self.http.get("/v1/executions/00000000-0000-7000-8000-000000000000"), 404,
                     "not_found")

    def test_bulk_has_one_result_per_item(self):
        answer = self.http.post("/v1/executions", {"executions": [
            {"kind": "k", "lane": self.lane, "idempotency_key": self.lane},
            {"kind": 7}, {"kind": "k", "surprise": 1},
            {"kind": "k", "lane": self.lane, "idempotency_key": self.lane}]})
        self.assertEqual(200, answer.status)
        results = answer.json["results"]
        self.assertEqual([True, None, None, False], [r.get("created") for r in results])
        self.assertEqual(["invalid", "unknown_field"], [r["error"]["code"] for r in results[1:3]])
        self.assertEqual(results[0]["execution_id"], results[3]["execution_id"])


if __name__ == "__main__":
    unittest.main()
