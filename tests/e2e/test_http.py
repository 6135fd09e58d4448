# SPDX-License-Identifier: Apache-2.0
"""test_http -- ff serve from outside: routes, errors, claims."""

import re
import unittest
import urllib.parse

from serving import Server, expect_woken_by_hint

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

    # -- Idempotency-Key -------------------------------------------------------------------------

    def keyed(self, path, body, key, again=None, **options):
        """The same twice: the second answer is the first one."""
        headers = {"Idempotency-Key": key}
        first = self.http.post(path, body, headers=headers, **options)
        second = self.http.post(path, body if again is None else again, headers=headers)
        self.assertEqual((first.status, first.body), (second.status, second.body))
        self.assertEqual((None, "true"), (first.headers["Idempotent-Replay"],
                                          second.headers["Idempotent-Replay"]))
        self.assertEqual(first.headers["Location"], second.headers["Location"])
        return first

    def test_keys_repeat_the_first_answer(self):
        key = self.lane + "-" + "k" * 200
        body = {"kind": "k", "lane": self.lane}
        made = self.keyed("/v1/executions", body, key,
                          again={"lane": self.lane, "priority": 0, "kind": "k", "tags": None,
                                 "namespace": "default"})
        self.assertEqual((201, True), (made.status, made.json["created"]))
        other = self.http.post("/v1/executions", {**body, "kind": "j"},
                               headers={"Idempotency-Key": key})
        self.problem(other, 422, "key_reused", "Idempotency-Key")
        link = made.headers["Location"]
        self.assertEqual(1, len(self.http.get(f"/v1/executions?lane={self.lane}").json[
            "executions"]))
        self.keyed(link + "/priority", {"priority": 7}, key)
        self.keyed(link + "/tags", {"set": {"a": "b"}}, key)
        self.keyed(link + "/cancel", {"reason": "r"}, key)
        done = self.keyed(link + "/replay", {}, key)
        self.assertEqual(1, done.json["generation"])
        self.assertEqual(1, self.http.get(link).json["replay_count"])
        self.keyed(f"/v1/lanes/{self.lane}/pause", {"reason": "r"}, key)
        self.keyed(f"/v1/lanes/{self.lane}/resume", {}, key)
        flow = self.keyed("/v1/flows", {"nodes": [{"name": "a", "kind": "k"}], "edges": []}, key)
        self.assertEqual(201, flow.status)
        self.keyed(flow.headers["Location"] + "/grow",
                   {"nodes": [{"name": "b", "kind": "k"}], "edges": []}, key)
        self.keyed(flow.headers["Location"] + "/cancel", {"policy": "cancel_all"}, key)
        # An error is no answer to keep: the next try may go better.
        again = self.http.post(link + "/revoke-lease", {}, headers={"Idempotency-Key": key})
        self.problem(again, 409, "not_leased")
        self.problem(self.http.post("/v1/executions", body, headers={"Idempotency-Key": "x" * 256}),
                     400, "invalid", "Idempotency-Key")

    def test_a_key_knows_defaults_that_are_said(self):
        """Whatever may be left out may be said, and it is the same request."""
        work = {"kind": "k", "lane": self.lane}
        node = {"name": "a", **work}
        flow = {"nodes": [node]}
        ended = self.link(self.submit())
        self.http.post(ended + "/cancel", {})
        bytes_ = {"input_base64": "AA=="}
        typed = {**bytes_, "input_content_type": "application/octet-stream"}
        backoff = {"type": "exponential", "initial_delay_ms": 1000, "max_delay_ms": 60000,
                   "multiplier": 2, "jitter": True}

        def policy(**members):
            return {**work, "policy": members}

        def fixed(**members):
            return policy(retry_policy={"backoff": {"type": "fixed", **members}})

        def joined(**join):
            return {"nodes": [node, {**work, "name": "b", "join": join}],
                    "edges": [{"from": "a", "to": "b"}]}

        def made():
            return self.http.post("/v1/flows", flow).headers["Location"]

        for row, (path, body, again) in enumerate((
                ("/v1/executions", work, {**work, "tags": {}, "required_capabilities": []}),
                ("/v1/executions", work, policy()),
                ("/v1/executions", work, policy(max_replay_count=10, max_reclaim_count=100)),
                ("/v1/executions", work, policy(dedup_window_ms=86400000, lease_lapse="retry",
                                                attempt_timeout_ms=0)),
                ("/v1/executions", work, policy(retry_policy={"max_retries": 3})),
                ("/v1/executions", work, policy(retry_policy={"max_retries": 3, "backoff": {}})),
                ("/v1/executions", work, policy(retry_policy={"max_retries": 3,
                                                              "backoff": backoff})),
                ("/v1/executions", policy(retry_policy={}),
                 policy(retry_policy={"max_retries": 0, "backoff": backoff})),
                ("/v1/executions", fixed(), fixed(delay_ms=1000, jitter=True, multiplier=None)),
                ("/v1/executions", {**work, **bytes_}, {**work, **typed}),
                ("/v1/executions", {"executions": [work]}, {"executions": [policy()]}),
                ("/v1/flows", flow, {**flow, "edges": [], "tags": {}}),
                ("/v1/flows", flow, {"nodes": [{**node, "join": {}}]}),
                ("/v1/flows", joined(), joined(policy="all_of")),
                ("/v1/flows", joined(policy="any_of"),
                 joined(policy="any_of", on_satisfied="cancel_remaining")),
                ("/v1/flows", joined(), {
                    **joined(), "edges": [{"from": "a", "to": "b", "pass": "upstream"}]}),
                (ended + "/replay", {}, {"scope": "self", "reopen_downstream": False}),
                (ended + "/tags", {"set": {"a": "b"}}, {"set": {"a": "b"}, "remove": []}),
                (made() + "/grow", {"nodes": [{**work, "name": "b"}]},
                 {"nodes": [{**work, "name": "b", "tags": {}}], "edges": []}),
                (made() + "/cancel", {}, {"policy": "cancel_all"}))):
            with self.subTest(again=again):
                self.keyed(path, body, f"{self.lane}-{row}", again=again)
        # What is said where it must not be is no default.
        for row, (body, again) in enumerate((
                (work, {**work, "input_content_type": "application/octet-stream"}),
                (fixed(), fixed(initial_delay_ms=1000)),
                (policy(retry_policy={}), policy()))):
            key = {"Idempotency-Key": f"{self.lane}-other-{row}"}
            self.http.post("/v1/executions", {"executions": [body]}, headers=key)
            self.problem(self.http.post("/v1/executions", {"executions": [again]}, headers=key),
                         422, "key_reused", "Idempotency-Key")

    def test_a_key_knows_an_id_however_it_is_spelled(self):
        made = self.submit()
        full = urllib.parse.quote(made, safe="")
        partition, bare = made[1:].split("}:")
        flow = self.http.post("/v1/flows", {"nodes": [{"name": "a", "kind": "k"}]}).json["flow_id"]
        for root, spellings in (
                ("/v1/executions/", (bare, f"{partition}:{bare}", full, bare.upper())),
                ("/v1/flows/", (flow, flow.upper()))):
            answers = [self.http.post(f"{root}{name}/cancel", {"reason": "r"},
                                      headers={"Idempotency-Key": self.lane})
                       for name in spellings]
            for answer in answers[1:]:
                self.assertEqual((200, answers[0].body, "true"), (
                    answer.status, answer.body, answer.headers["Idempotent-Replay"]))
        other = self.http.post(self.link(self.submit()) + "/cancel",
                               {"reason": "r"}, headers={"Idempotency-Key": self.lane})
        self.problem(other, 422, "key_reused", "Idempotency-Key")

    def test_a_key_is_of_the_namespace_that_a_call_names(self):
        """Of a filter and of items, too: it is another key in another namespace."""
        for path, body in (("/v1/executions", lambda ns: {"executions": [
                               {"kind": "k", "lane": self.lane, "namespace": ns}]}),
                           ("/v1/executions:cancel", lambda ns: {
                               "filter": {"lane": self.lane, "namespace": ns}, "reason": "r"}),
                           ("/v1/executions:replay", lambda ns: {
                               "filter": {"lane": self.lane, "namespace": ns}})):
            for ns in ("one", "two"):
                answer = self.keyed(path, body(ns), self.lane)
                self.assertEqual(200, answer.status, answer)
                self.assertIn(answer.json.get("done"), (None, 1))

    def test_a_key_covers_a_bulk_call(self):
        items = [{"kind": "k", "lane": self.lane}] * 3 + [{"kind": 1}]
        made = self.keyed("/v1/executions", {"executions": items}, self.lane)
        self.assertEqual(3, len({r["execution_id"] for r in made.json["results"][:3]}))
        self.problem(self.http.post("/v1/executions", {"executions": items[:2]},
                                    headers={"Idempotency-Key": self.lane}), 422, "key_reused")
        self.problem(self.http.post("/v1/executions", items[0],
                                    headers={"Idempotency-Key": self.lane}), 422, "key_reused")
        # An item is refused for what nobody knows: without that it is another request.
        odd = [{"kind": "k", "lane": self.lane + "-odd", "bogus": 1}]
        refused = self.keyed("/v1/executions", {"executions": odd}, self.lane + "-odd")
        self.assertEqual("unknown_field", refused.json["results"][0]["error"]["code"])
        for member in ({}, {"bogus": 2}, {"bogus": None}):
            item = {"kind": "k", "lane": self.lane + "-odd", **member}
            self.problem(self.http.post("/v1/executions", {"executions": [item]},
                                        headers={"Idempotency-Key": self.lane + "-odd"}),
                         422, "key_reused")
        where = {"filter": {"lane": self.lane}, "reason": "r"}
        done = self.keyed("/v1/executions:cancel", where, self.lane)
        self.assertEqual((3, 3), (done.json["matched"], done.json["done"]))
        self.submit()
        again = self.http.post("/v1/executions:cancel", where,
                               headers={"Idempotency-Key": self.lane})
        self.assertEqual(done.body, again.body)
        self.assertEqual(1, len(self.http.get(
            f"/v1/executions?lane={self.lane}&state=waiting").json["executions"]))
        done = self.keyed("/v1/executions:replay", where, self.lane)
        self.assertEqual(3, done.json["done"])

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
        expect_woken_by_hint(self.server, self.lane, self.submit)

    def test_answers_are_lines(self):
        made = self.http.post("/v1/executions", {"kind": "k", "lane": "lines"})
        for answer in (made, self.http.get("/v1/lanes"), self.http.get("/nothing"),
                       self.http.get(made.headers["Location"]), self.http.get("/openapi.json"),
                       self.http.get("/readyz?verbose"), self.http.get("/livez")):
            self.assertTrue(answer.body.endswith(b"\n"), answer)
            self.assertEqual(1, answer.body.count(b"\n"), answer)

    def test_pages_link_to_the_next_one(self):
        made = {self.http.post("/v1/executions", {"kind": "a&b", "lane": self.lane}).json[
            "execution_id"] for _ in range(5)}
        self.http.post("/v1/executions", {"kind": "other", "lane": self.lane})
        path, seen, pages = f"/v1/executions?cursor=&kind=a%26b&lane={self.lane}&limit=2", [], 0
        while path:
            page = self.http.get(path)
            seen += [one["execution_id"] for one in page.json["executions"]]
            pages += 1
            link = re.fullmatch(r'<([^>]*)>; rel="next"', page.headers["Link"] or "")
            self.assertEqual(page.json["next_cursor"] is not None, link is not None)
            path = link and link.group(1)
        self.assertEqual((made, 5), (set(seen), len(seen)))
        self.assertGreaterEqual(pages, 3)

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
