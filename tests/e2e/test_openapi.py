# SPDX-License-Identifier: Apache-2.0
"""test_openapi -- a walk over /openapi.json: whatever is wrong with a request, the answer is a 4xx
with a problem, never a 5xx and never silence."""

import unittest

from serving import Server

READER, WORKER = "reader-token-0123456789", "worker-token-0123456789"
ADMIN = "admin-token-0123456789"
TOKENS = f"reader {READER} read\nworker {WORKER} work\nadmin {ADMIN} admin\n"
WRONG = {"string": 7, "integer": "seven", "boolean": "yes", "number": "1", "array": {},
         "object": []}


class Walk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(tokens=TOKENS,
                            args=["--log-level", "warn", "--body-bytes-max", "65536"])
        cls.api = cls.server.client().get("/openapi.json").json

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def setUp(self):
        self.http = self.server.client(ADMIN)

    def operations(self):
        for path, methods in self.api["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), path, operation

    def filled(self, path):
        return path.replace("{id}", "00000000-0000-7000-8000-000000000000").replace(
            "{worker_id}", "w").replace("{lane}", "l")

    def refused(self, answer, *what):
        self.assertTrue(400 <= answer.status < 500, (answer, *what))
        self.assertEqual("application/problem+json", answer.headers["Content-Type"], what)
        self.assertEqual(answer.status, answer.json["status"])

    def resolve(self, schema):
        while "$ref" in schema:
            schema = self.api["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def bodies(self, operation):
        if "requestBody" not in operation:
            return []
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        return [self.resolve(one) for one in schema.get("oneOf", [schema])]

    def example(self, schema, depth=0):
        """A body of the right shape; values may still be refused."""
        schema = self.resolve(schema)
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema.get("type")
        if kind == "object" and "properties" in schema:
            return {name: self.example(of, depth + 1)
                    for name, of in schema["properties"].items()
                    if name in schema.get("required", ())}
        if kind == "array":
            return [self.example(schema["items"], depth + 1)] * schema.get("minItems", 0)
        return {"string": "x", "integer": 1, "boolean": True, "number": 1.5,
                "object": {}}.get(kind)

    def variants(self, schema):
        """Bodies that are wrong in one place, and where."""
        good = self.example(schema)
        yield [], "an array"
        yield "text", "a text"
        yield {**good, "no_such_member": 1}, "an unknown member"
        for name, of in schema["properties"].items():
            kind = self.resolve(of).get("type")
            if kind:
                yield {**good, name: WRONG[kind]}, f"wrong type of {name}"
            if name in schema.get("required", ()):
                yield {k: v for k, v in good.items() if k != name}, f"without {name}"
            if kind == "string":
                yield {**good, name: "x" * 60000}, f"long {name}"
            if kind == "array":
                most = self.resolve(of)["maxItems"]
                if most < 2000:
                    yield {**good, name: [1] * (most + 1)}, f"too many {name}"
            if kind == "object":
                yield from (({**good, name: inner}, f"{name}: {why}") for inner, why in
                            self.inner(self.resolve(of)))

    def inner(self, schema):
        if "properties" not in schema:
            yield {"a": 1}, "a value that is no text"
            return
        yield {"no_such_member": 1}, "an unknown member"
        for name, of in schema["properties"].items():
            kind = self.resolve(of).get("type")
            if kind:
                yield {name: WRONG[kind]}, f"wrong type of {name}"

    def test_every_route_is_described(self):
        self.assertEqual("3.1.0", self.api["openapi"])
        names = [operation["operationId"] for _, _, operation in self.operations()]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 35)

    def test_wrong_bodies(self):
        count = 0
        for method, path, operation in self.operations():
            for schema in self.bodies(operation):
                for body, why in self.variants(schema):
                    answer = self.http.call(method, self.filled(path), body=body)
                    # Items of a bulk call are refused one by one.
                    if answer.status == 200 and "results" in answer.json:
                        self.assertTrue(all("error" in one for one in answer.json["results"]),
                                        (path, why, answer))
                    else:
                        self.refused(answer, method, path, why)
                    count += 1
                for raw in (b"", b"{", b"\xff\xfe", b'{"a":1,"a":2}', b"[" * 5000,
                            b'{"a":"\\u0000"}', b"nul", b"{}" * 2, b" " * 65537):
                    if raw == b"" and not schema.get("required"):
                        continue  # nothing is needed, and nothing said
                    self.refused(self.http.call(method, self.filled(path), raw=raw), path, raw[:20])
                    count += 1
        self.assertGreater(count, 350)

    def test_wrong_queries(self):
        for method, path, operation in self.operations():
            url = self.filled(path)
            self.refused(self.http.call(method, url + "?no_such_parameter=1"), path)
            self.refused(self.http.call(method, url + "?%zz=1"), path)
            self.refused(self.http.call(method, url + "?a=" + "x" * 3000), path)
            for parameter in operation["parameters"]:
                if parameter["in"] != "query":
                    continue
                name, kind = parameter["name"], parameter["schema"].get("type")
                if kind == "integer":
                    for value in ("x", "1.5", "99999999999999999999", "-1"):
                        if value == "-1" and name.startswith("created_"):
                            continue  # a time like any other
                        self.refused(self.http.call(method, f"{url}?{name}={value}"), path, name,
                                     value)
                    self.refused(self.http.call(method, f"{url}?{name}=1&{name}=2"), path, name)
                elif kind == "boolean":
                    for value in ("yes", "2", "truefalse"):
                        self.refused(self.http.call(method, f"{url}?{name}={value}"), path, name,
                                     value)

    # -- answers ----------------------------------------------------------------------------------

    def described(self, schema, value, place):
        """Whatever is in an answer is in its schema, with its type."""
        if "$ref" in schema:
            schema = self.api["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if "anyOf" in schema:
            schema = next((one for one in schema["anyOf"] if not isinstance(value, dict) or
                           set(value) <= set(one.get("properties", {}))), schema["anyOf"][0])
        if "type" not in schema:
            return
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
                 "number": (int, float), "null": type(None)}
        self.assertTrue(any(isinstance(value, kinds[name]) for name in names), (place, value))
        if isinstance(value, list):
            for one in value:
                self.described(schema["items"], one, place + "[]")
        elif isinstance(value, dict) and "properties" in schema:
            for name, one in value.items():
                if not place.endswith(".data"):  # what an event says depends on its type
                    self.assertIn(name, schema["properties"], place)
                self.described(schema["properties"].get(name, {}), one, f"{place}.{name}")

    def test_answers_hold_what_is_described(self):
        def say(method, path, body=None, **filled):
            answer = self.http.call(method, path.format(**filled), body=body)
            self.assertLess(answer.status, 300, (path, answer))
            operation = self.api["paths"][path.split("?")[0]][method.lower()]
            content = operation["responses"][str(answer.status)]["content"]
            self.described(content["application/json"]["schema"], answer.json,
                           operation["operationId"])
            said.add(operation["operationId"])
            return answer.json

        def leased(task, **more):
            return {"tasks": [{**{n: task[n] for n in ("execution_id", "lease_id", "lease_epoch")},
                               **more}]}

        said, lane = set(), "described"
        once = {"kind": "k", "lane": lane, "input": [1], "tags": {"a": "b"},
                "policy": {"retry_policy": {"max_retries": 0}}}
        one = say("POST", "/v1/executions", once)["execution_id"].replace("{", "").replace("}", "")
        say("POST", "/v1/executions", {"executions": [once] * 4 + [{"kind": 1}]})
        flow = say("POST", "/v1/flows", {
            "nodes": [{"name": "a", "kind": "k", "lane": lane}, {"name": "b", "kind": "k"}],
            "edges": [{"from": "a", "to": "b"}]})["flow_id"]
        say("POST", "/v1/flows/{id}/grow", {"nodes": [{"name": "c", "kind": "k"}], "edges": []},
            id=flow)
        claim = {"worker_instance_id": "d-1", "lanes": [lane], "max": 6}
        tasks = say("POST", "/v1/workers/{worker_id}/claim", claim, worker_id="d")["tasks"]
        self.assertEqual(6, len(tasks))
        for verb, more in (("renew", {}), ("progress", {"percent": 5, "message": "m"}),
                           ("complete", {"result": 1}), ("complete", {"result": 2})):
            say("POST", f"/v1/tasks/{verb}", leased(tasks[0], **more))
        say("POST", "/v1/tasks/fail", leased(tasks[1], message="m"))
        say("POST", "/v1/tasks/delay", leased(tasks[2], delay_ms=100000))
        say("POST", "/v1/tasks/release", leased(tasks[3]))
        ended = tasks[1]["execution_id"].replace("{", "").replace("}", "")
        held = tasks[4]["execution_id"].replace("{", "").replace("}", "")
        for verb, who, body in (("priority", held, {"priority": 3}),
                                ("tags", held, {"set": {"x": "y"}}),
                                ("revoke-lease", held, {}), ("cancel", held, {"reason": "r"}),
                                ("replay", ended, {})):
            say("POST", "/v1/executions/{id}/" + verb, body, id=who)
        for path in ("/v1/executions/{id}", "/v1/executions/{id}/attempts",
                     "/v1/executions/{id}/events", "/v1/executions/{id}/explain"):
            for who in (one, ended, held):
                say("GET", path, id=who)
        for verb in ("pause", "resume"):
            say("POST", "/v1/lanes/{lane}/" + verb, {}, lane=lane)
        for path in ("/v1/executions", "/v1/flows", "/v1/events?after=start", "/v1/lanes",
                     "/v1/workers", "/v1/scanners"):
            say("GET", path)
        say("GET", "/v1/flows/{id}", id=flow)
        say("POST", "/v1/flows/{id}/cancel", {"reason": "r"}, id=flow)
        for verb in ("cancel", "replay"):
            say("POST", f"/v1/executions:{verb}", {"filter": {"kind": "none"}})
        described = {operation["operationId"] for _, _, operation in self.operations()
                     if any("content" in response
                            for response in operation["responses"].values())}
        self.assertEqual(set(), described - said, "every described answer was looked at")

    def test_wrong_methods_and_types(self):
        methods = {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"}
        for path, there in self.api["paths"].items():
            for method in methods - {m.upper() for m in there}:
                answer = self.http.call(method, self.filled(path))
                self.refused(answer, method, path)
                self.assertEqual(405, answer.status, (method, path))
                self.assertEqual({m.upper() for m in there} - {"HEAD"},
                                 set(answer.headers["Allow"].split(", ")) - {"HEAD"})
        for method, path, operation in self.operations():
            if "requestBody" in operation:
                answer = self.http.call(method, self.filled(path), raw=b"{}",
                                        headers={"Content-Type": "text/plain"})
                self.assertEqual(415, answer.status, path)
                self.refused(answer, path)

    def test_wrong_tokens_and_scopes(self):
        nobody = self.server.client()
        stranger = self.server.client("not-a-token-at-all-0000")
        scoped = {"read": self.server.client(READER), "work": self.server.client(WORKER)}
        for method, path, operation in self.operations():
            url = self.filled(path)
            if "security" not in operation:
                self.assertNotIn(nobody.call(method, url).status, (401, 403), path)
                continue
            for client in (nobody, stranger):
                answer = client.call(method, url)
                self.refused(answer, method, path)
                self.assertEqual(401, answer.status, path)
                self.assertEqual("Bearer", answer.headers["WWW-Authenticate"])
            enough = [way["bearer"][0] for way in operation["security"]]
            for scope, client in scoped.items():
                if scope not in enough:
                    answer = client.call(method, url)
                    self.refused(answer, method, path)
                    self.assertEqual(403, answer.status, (scope, path))

    def test_head_is_get_without_a_body(self):
        for method, path, operation in self.operations():
            if method != "GET" or "{" in path or operation["operationId"] == "event_list":
                continue
            answer = self.http.call("HEAD", path)
            self.assertEqual((200, b""), (answer.status, answer.body), path)


if __name__ == "__main__":
    unittest.main()
