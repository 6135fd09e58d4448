# SPDX-License-Identifier: Apache-2.0
"""test_access -- who may do what, from where, how much and how slowly."""

import base64
import json
import os
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from serving import DEADLINE_S, FF, Client, Server, in_thread, wait_for

ADMIN, TENANT, WORKER = "admin-token-0123456789", "tenant-token-012345678", "worker-token-012345678"
TOKENS = f"""# name token scopes namespaces
admin  {ADMIN}  admin
tenant {TENANT} read,submit  acme,beta
worker {WORKER} work         acme
"""


def serve(*args, env=None, cwd=None):
    """Runs ff serve that is expected to refuse; its exit status and message."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
    clean.update(env or {})
    done = subprocess.run([FF, "serve", *args], env=clean, cwd=cwd, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stderr.decode()


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(tokens=TOKENS)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def test_namespaces_hide_what_is_outside(self):
        admin, tenant = self.server.client(ADMIN), self.server.client(TENANT)
        other = admin.post("/v1/executions", {"kind": "k", "namespace": "other"}).json
        link = "/v1/executions/" + other["execution_id"].replace("{", "").replace("}", "")
        for path in ("", "/result", "/attempts", "/events", "/explain", "?wait_ms=1"):
            self.assertEqual(404, tenant.get(link + path).status, path)
        for verb, body in (("cancel", {}), ("replay", {}), ("priority", {"priority": 1}),
                           ("tags", {"set": {"a": "b"}})):
            self.assertEqual(404, tenant.post(f"{link}/{verb}", body).status, verb)
        self.assertEqual(404, tenant.post("/v1/executions",
                                          {"kind": "k", "namespace": "other"}).status)
        self.assertEqual(404, tenant.get("/v1/executions?namespace=other").status)
        for path in ("/v1/lanes", "/v1/scanners", "/v1/stats", "/"):
            self.assertEqual(404, tenant.get(path).status, path)
        made = tenant.post("/v1/executions", {"kind": "k", "lane": "ns"})
        self.assertEqual(201, made.status)
        shown = tenant.get(made.headers["Location"]).json
        self.assertEqual("acme", shown["namespace"], "the first is the default")
        self.assertEqual({"acme"}, {e["namespace"] for e in
                                    tenant.get("/v1/executions").json["executions"]})
        self.assertEqual(201, tenant.post("/v1/executions",
                                          {"kind": "k", "namespace": "beta"}).status)
        flow = admin.post("/v1/flows", {"namespace": "other", "edges": [],
                                        "nodes": [{"name": "a", "kind": "k"}]})
        for call in (lambda p: tenant.get(p), lambda p: tenant.post(p + "/cancel", {}),
                     lambda p: tenant.post(p + "/grow", {"nodes": [], "edges": []})):
            self.assertEqual(404, call(flow.headers["Location"]).status)
        cut = other["execution_id"].split(":")[2][:4]
        for path in (f"/v1/executions/{cut}", f"/v1/flows/{cut}", f"/v1/events?execution_id={cut}"):
            self.assertNotIn(other["execution_id"][-12:], str(tenant.get(path).json), path)
            self.assertEqual(404, tenant.get(path).status, path)
        worker = self.server.client(WORKER)
        claimed = worker.post("/v1/workers/w/claim", {
            "worker_instance_id": "w-1", "lanes": ["ns", "default"], "max": 100}).json["tasks"]
        self.assertEqual({"acme"}, {t["namespace"] for t in claimed})

    def test_keys_of_tokens_and_namespaces_that_join_alike_are_apart(self):
        """Token 'a' in 'b/c' and token 'a/b' in 'c' were one scope."""
        tokens = f"a {ADMIN} submit b/c\na/b {TENANT} submit c\n"
        with Server(tokens=tokens) as server:
            for secret in (ADMIN, TENANT):
                for replay in (None, "true"):
                    made = server.client(secret).post("/v1/executions", {"kind": "k"},
                                                      headers={"Idempotency-Key": "k"})
                    self.assertEqual((201, replay), (made.status,
                                                     made.headers["Idempotent-Replay"]))

    def test_what_is_outside_and_what_is_nowhere_look_the_same(self):
        """Else a tenant could spell out the ids of others, digit by digit."""
        admin, tenant = self.server.client(ADMIN), self.server.client(TENANT)
        graph = {"namespace": "other", "nodes": [{"name": "a", "kind": "k"}]}
        flows = [admin.post("/v1/flows", graph).json for _ in range(2)]
        names = [flow["nodes"]["a"] for flow in flows]
        bare, flow = names[0].split(":")[-1], flows[0]["flow_id"]

        def looks(path, name):
            answer = tenant.get(path.replace("ID", urllib.parse.quote(name, safe="")))
            self.assertEqual(404, answer.status, (path, name, answer))
            return {**answer.json, "request_id": None,
                    "detail": answer.json["detail"].replace(name, "ID")}

        for path, foreign, absent in (
                ("/v1/executions/ID", (bare, bare[:20], bare[:4], names[0]),
                 ("f" * 8, "f" * 8 + bare[8:], "{fp:7}:" + "f" * 8 + bare[8:])),
                ("/v1/executions/ID", (flow + "/a", flow[:20] + "/a"),
                 ("f" * 8 + flow[8:] + "/a", "f" * 8 + "/a", flow + "/b")),
                ("/v1/events?after=start&execution_id=ID", (bare, bare[:20], bare[:4], flow + "/a"),
                 ("f" * 8, "f" * 8 + bare[8:], "f" * 8 + "/a")),
                ("/v1/flows/ID", (flow, flow[:20], flow[:4]), ("f" * 8, "f" * 8 + flow[8:]))):
            first = looks(path, absent[0])
            for name in foreign + absent:
                self.assertEqual(first, looks(path, name), (path, name))
        # With its partition an id may be followed before there is an execution.
        for name in (names[0], "{fp:7}:" + "f" * 8 + bare[8:]):
            page = tenant.get("/v1/events?after=start&execution_id=" + urllib.parse.quote(name))
            self.assertEqual((200, []), (page.status, page.json["events"]))
        mine = tenant.post("/v1/executions", {"kind": "k", "lane": "own"}).json["execution_id"]
        self.assertEqual(200, tenant.post(
            f"/v1/executions/{mine.split(':')[-1]}/cancel", {}).status)
        page = tenant.get("/v1/events?after=start&wait_ms=30000&execution_id="
                          + mine.split(":")[-1])
        self.assertEqual({mine}, {event["execution_id"] for event in page.json["events"]})

    def test_a_key_knows_the_namespace_that_is_meant(self):
        tenant = self.server.client(TENANT)
        one, flow = {"kind": "k", "lane": "keyed"}, {"nodes": [{"name": "a", "kind": "k"}]}
        here = {"namespace": "acme"}
        for path, body, again in (("/v1/executions", one, {**one, **here}),
                                  ("/v1/executions", {"executions": [one]},
                                   {"executions": [{**one, **here}]}),
                                  ("/v1/flows", flow, {**flow, **here}),
                                  ("/v1/executions:cancel", {"filter": {"lane": "keyed"}},
                                   {"filter": {"lane": "keyed", **here}})):
            key = {"Idempotency-Key": f"here-{len(str(body))}"}
            first = tenant.post(path, body, headers=key)
            second = tenant.post(path, again, headers=key)
            self.assertEqual((first.status, first.body, "true"),
                             (second.status, second.body, second.headers["Idempotent-Replay"]))

    def test_a_task_outside_is_not_there(self):
        admin, worker = self.server.client(ADMIN), self.server.client(WORKER)
        claim = {"worker_instance_id": "shared-1", "lanes": ["fence"], "request_id": "r-1",
                 "namespace": "other"}
        ids = {}
        for namespace in ("other", "acme"):
            ids[namespace] = admin.post("/v1/executions", {
                "kind": "k", "lane": "fence", "namespace": namespace}).json["execution_id"]
        task = admin.post("/v1/workers/w/claim", claim).json["tasks"][0]
        self.assertEqual(ids["other"], task["execution_id"])
        again = worker.post("/v1/workers/w/claim", dict(claim, namespace="acme"))
        self.assertEqual([], again.json["tasks"], "a repeat of somebody else's claim")
        lease = {name: task[name] for name in ("execution_id", "lease_id", "lease_epoch")}
        words = {"renew": {}, "progress": {"percent": 1}, "delay": {"delay_ms": 1},
                 "fail": {"message": "m"}, "release": {}, "complete": {"result": 1}}
        for word, more in words.items():
            problem = worker.post(f"/v1/tasks/{word}",
                                  {"tasks": [dict(lease, **more)]}).json["results"][0]["error"]
            self.assertEqual("not_found", problem["code"], word)
            unknown = dict(lease, execution_id=lease["execution_id"][:-4] + "0000", **more)
            absent = worker.post(f"/v1/tasks/{word}",
                                 {"tasks": [unknown]}).json["results"][0]["error"]
            self.assertEqual({k: v for k, v in problem.items() if k != "detail"},
                             {k: v for k, v in absent.items() if k != "detail"}, word)
        link = "/v1/executions/" + task["execution_id"].replace("{", "").replace("}", "")
        self.assertEqual("active", admin.get(link).json["public_state"])
        own = worker.post("/v1/workers/w/claim", {"worker_instance_id": "w-own",
                                                  "lanes": ["fence"]}).json["tasks"][0]
        own = {name: own[name] for name in lease}
        for word in ("renew", "progress", "complete"):
            done = worker.post(f"/v1/tasks/{word}", {"tasks": [dict(own, **words[word])]})
            self.assertNotIn("error", done.json["results"][0], word)
        done = admin.post("/v1/tasks/complete", {"tasks": [lease]}).json["results"][0]
        self.assertEqual("completed", done["public_state"])

    def test_a_wrong_filter_of_events_is_told_also_to_tenants(self):
        tenant = self.server.client(TENANT)
        for query, field in (("kinds=gossip", "kinds"), ("partition=256", "partition"),
                             ("after=nonsense", "cursor")):
            answer = tenant.get("/v1/events?" + query)
            self.assertEqual((400, field), (answer.status, answer.json.get("field")), query)

    def test_scopes(self):
        tenant, worker = self.server.client(TENANT), self.server.client(WORKER)
        self.assertEqual(403, worker.get("/v1/executions").status)
        self.assertEqual(403, tenant.post("/v1/workers/w/claim",
                                          {"worker_instance_id": "w"}).status)
        self.assertEqual(403, tenant.post("/v1/lanes/l/pause", {}).status)
        self.assertEqual(200, self.server.client(ADMIN).post("/v1/lanes/l/pause", {}).status)
        flow = tenant.post("/v1/flows", {"nodes": [{"name": "a", "kind": "k", "lane": "grow"}],
                                         "edges": []})
        more = {"nodes": [{"name": "b", "kind": "k", "lane": "grow"}], "edges": []}
        path = flow.headers["Location"] + "/grow"
        self.assertEqual(403, worker.post(path, more).status, "nobody works on it")
        self.assertEqual(1, len(worker.post("/v1/workers/w/claim", {
            "worker_instance_id": "w-1", "lanes": ["grow"]}).json["tasks"]))
        self.assertEqual(201, worker.post(path, more).status)

    def test_a_worker_may_read_the_results_it_is_pointed_to(self):
        """A large result of a node upstream does not come along with the task."""
        tenant, worker = self.server.client(TENANT), self.server.client(WORKER)
        node = {"kind": "k", "lane": "results"}
        made = tenant.post("/v1/flows", {"nodes": [{"name": "a", **node}, {"name": "b", **node}],
                                         "edges": [{"from": "a", "to": "b"}]})
        self.assertEqual(201, made.status, made)

        def claimed():
            tasks = worker.post("/v1/workers/w/claim", {
                "worker_instance_id": "w-r", "lanes": ["results"], "wait_ms": 10000}).json["tasks"]
            return tasks[0] if tasks else None

        task = wait_for("node a", claimed)
        done = worker.post("/v1/tasks/complete", {"tasks": [{
            "execution_id": task["execution_id"], "lease_id": task["lease_id"],
            "lease_epoch": task["lease_epoch"], "result": "x" * 1000000}]})
        self.assertEqual("completed", done.json["results"][0]["public_state"])
        url = wait_for("node b", claimed)["upstream"]["a"]["result_url"]
        answer = worker.get(url)
        self.assertEqual((200, "x" * 1000000), (answer.status, answer.json))
        link = url.split("/result")[0]
        self.assertEqual(403, worker.get(link).status, "nothing more")
        other = self.server.client(ADMIN).post("/v1/executions", {
            "kind": "k", "namespace": "other"}).headers["Location"]
        self.assertEqual(404, worker.get(other + "/result").status, "of its own namespaces")

    def test_who_did_it_is_told_and_no_secret_is_logged(self):
        admin = self.server.client(ADMIN)
        made = admin.post("/v1/executions", {"kind": "k"})
        admin.post(made.headers["Location"] + "/cancel", {"reason": "r"},
                   headers={"X-Request-Id": "my-own-id", "traceparent":
                            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
        shown = admin.get(made.headers["Location"]).json
        self.assertEqual({"reason": "r", "by": "admin"}, shown["cancellation"])
        admin.get("/v1/executions?lane=" + ADMIN)
        log = self.server.log()
        self.assertIn("request_id=my-own-id", log)
        self.assertIn("trace_id=0af7651916cd43dd8448eb211c80319c", log)
        for secret in (ADMIN, TENANT, WORKER):
            self.assertNotIn(secret, log)

    def test_a_browser_gives_a_token_as_password(self):
        def basic(token, name="whoever"):
            text = base64.b64encode(f"{name}:{token}".encode()).decode()
            return {"Authorization": "Basic " + text}

        http = self.server.client()
        asked = http.get("/")
        self.assertEqual(401, asked.status)
        self.assertIn('Basic realm="FlowFabric', ", ".join(
            asked.headers.get_all("WWW-Authenticate")))
        self.assertEqual(["Bearer"], http.get("/v1/lanes").headers.get_all("WWW-Authenticate"))
        self.assertEqual(200, http.get("/", headers=basic(ADMIN)).status)
        self.assertEqual(200, http.get("/v1/executions", headers=basic(ADMIN)).status)
        self.assertEqual(404, http.get("/", headers=basic(TENANT)).status, "has namespaces")
        self.assertEqual(401, http.get("/", headers=basic(ADMIN + "x")).status)
        # A browser sends it along with whatever a page makes it send: never for a change.
        refused = http.post("/v1/executions", {"kind": "k"}, headers=basic(ADMIN))
        self.assertEqual((401, "this token is not known here"),
                         (refused.status, refused.json["detail"]))
        self.assertNotIn(ADMIN, self.server.log())

    def test_what_serve_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            store = ["--store", f"sqlite:{folder}/x.db"]
            code, err = serve(*store, "--listen", "0.0.0.0:0")
            self.assertEqual(2, code, err)
            self.assertIn("without a token", err)
            path = os.path.join(folder, "tokens")
            with open(path, "w", encoding="utf-8") as file:
                file.write(TOKENS)
            os.chmod(path, 0o644)
            code, err = serve(*store, "--token-file", path)
            self.assertIn("0600", err)
            os.chmod(path, 0o600)
            for line, why in (("a short admin", "16 to 512"), (f"a {ADMIN} root", "scopes"),
                              (f"a {ADMIN} admin n x", "NAME TOKEN SCOPES"),
                              (f"a {ADMIN} admin\na {TENANT} read", "has this name")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(line)
                code, err = serve(*store, "--token-file", path)
                self.assertEqual(2, code)
                self.assertIn(why, err)
                self.assertNotIn(ADMIN, err)
            self.assertIn("go together", serve(*store, "--tls-cert", path)[1])
            self.assertIn("--log is", serve(*store, "--log", "xml")[1])
            config = os.path.join(folder, "ff.conf")
            with open(config, "w", encoding="utf-8") as file:
                file.write("listen = 127.0.0.1:0\ncolour = red\n")
            self.assertIn("colour", serve(*store, "--config", config)[1])

    def test_options_from_file_and_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "ff.conf")
            with open(config, "w", encoding="utf-8") as file:
                file.write("# comment\nlog = json\nbody-bytes-max = 100\n")
            with Server(args=["--config", config],
                        env={"FF_BODY_BYTES_MAX": "200", "FF_TOKEN": ADMIN}) as server:
                self.assertEqual(401, server.client().get("/v1/executions").status)
                http = server.client(ADMIN)
                body = {"kind": "k", "lane": "x" * 64, "input": "y" * 60}
                self.assertEqual(201, http.post("/v1/executions", body).status)
                body["input"] = "y" * 160
                self.assertEqual(413, http.post("/v1/executions", body).status)
                # a request is logged after its answer has been sent
                wait_for("three lines of log", lambda: server.log().count('"status"') == 3)
                lines = [json.loads(line) for line in server.log().splitlines()]
                self.assertEqual([401, 201, 413], [l["status"] for l in lines if "status" in l])

    def test_limits_of_work_are_options(self):
        """One from the file, one from the environment, one from the command line."""
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "ff.conf")
            with open(config, "w", encoding="utf-8") as file:
                file.write("input-bytes-max = 20\ninstance-tag-name = cell\n")
            with Server(args=["--config", config, "--flow-edges-max", "1"],
                        env={"FF_FLOW_NODES_MAX": "2"}) as server:
                http = server.client()
                made = http.post("/v1/executions", {"kind": "k", "input": "y" * 18,
                                                    "tags": {"cell": "c7"}})
                self.assertEqual(201, made.status)
                refused = http.post("/v1/executions", {"kind": "k", "input": "y" * 19})
                self.assertEqual((413, "input"), (refused.status, refused.json["field"]))

                def flow(names, edges):
                    answer = http.post("/v1/flows", {
                        "nodes": [{"name": name, "kind": "k"} for name in names],
                        "edges": [{"from": a, "to": b} for a, b in edges]})
                    return answer.status, answer.json.get("field")

                self.assertEqual((413, "nodes"), flow("abc", []))
                self.assertEqual((413, "edges"), flow("ab", ["ab", "ab"]))
                self.assertEqual((201, None), flow("ab", ["ab"]))
        with Server(args=["--event-retention-ms", "3600000", "--event-count-max", "1000",
                          "--event-renewals", "none", "--result-bytes-max", "100"]) as server:
            wait_for("ready", lambda: server.client().get("/readyz").status == 200)


class Places(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(args=["--host", "ff.example,other.example"])

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def test_host_and_origin(self):
        http = self.server.client()
        port = self.server.port
        for host in (f"127.0.0.1:{port}", "localhost", "ff.example", "other.example:80", "[::1]"):
            self.assertEqual(200, http.get("/livez", headers={"Host": host}).status, host)
        for host in ("evil.example", "169.254.169.254", "", "a b"):
            answer = http.get("/livez", headers={"Host": host})
            self.assertEqual((421, "misdirected"), (answer.status, answer.json["code"]), host)
        same = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
        self.assertEqual(200, http.get("/livez", headers=same).status)
        for origin in ("http://evil.example", "null", f"http://localhost:{port + 1}"):
            answer = http.post("/v1/executions", {"kind": "k"}, headers={**same, "Origin": origin})
            self.assertEqual((403, "forbidden"), (answer.status, answer.json["code"]), origin)
            self.assertNotIn("Access-Control-Allow-Origin", answer.headers)

    def test_downloads_cannot_run(self):
        http = self.server.client()
        for kind, attached, text in (
                ("text/html", True, b"<b>"), ("image/svg+xml", True, b"<b>"),
                ("text/plain", False, b"<b>"), ("application/json", False, b' "<b>"')):
            lane = kind.replace("/", "-")
            http.post("/v1/executions", {"kind": "k", "lane": lane})
            task = http.post("/v1/workers/w/claim", {
                "worker_instance_id": "w", "lanes": [lane]}).json["tasks"][0]
            named = {n: task[n] for n in ("execution_id", "lease_id", "lease_epoch")}
            done = http.post("/v1/tasks/complete", {"tasks": [{
                **named, "result_base64": base64.b64encode(text).decode(),
                "result_content_type": kind}]})
            self.assertEqual("completed", done.json["results"][0]["public_state"])
            link = "/v1/executions/" + task["execution_id"].replace("{", "").replace("}", "")
            answer = http.get(link + "/result")
            self.assertEqual((text, kind), (answer.body, answer.headers["Content-Type"]))
            self.assertEqual("nosniff", answer.headers["X-Content-Type-Options"])
            self.assertEqual(attached, answer.headers["Content-Disposition"] == "attachment", kind)
            policy = answer.headers["Content-Security-Policy"] or ""
            self.assertEqual(attached, "sandbox" in policy)

    def test_page(self):
        http = self.server.client()
        http.post("/v1/executions", {"kind": "<script>alert(1)</script>", "lane": "page"})
        answer = http.get("/")
        self.assertEqual(200, answer.status)
        text = answer.body.decode()
        self.assertIn("&lt;script>alert", text)
        self.assertNotIn("<script", text)
        self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])


class Hostile(unittest.TestCase):
    @staticmethod
    def connect(server):
        return socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)

    def test_limits_at_the_edge(self):
        with Server(args=["--body-bytes-max", "2000"]) as server:
            http = server.client()

            def sized(bytes_):
                body = json.dumps({"kind": "k", "input": ""})
                return json.dumps({"kind": "k", "input": "x" * (bytes_ - len(body))}).encode()

            self.assertEqual(201, http.post("/v1/executions", raw=sized(2000)).status)
            for headers in ({}, {"Transfer-Encoding": "chunked"}):
                raw = sized(2001)
                if headers:
                    raw = b"%x\r\n%s\r\n0\r\n\r\n" % (len(raw), raw)
                answer = http.post("/v1/executions", raw=raw,
                                   headers={**headers, **({"Content-Length": None} if headers
                                                          else {})})
                self.assertEqual((413, "too_large", "body"),
                                 (answer.status, answer.json["code"], answer.json["field"]))
            for bytes_, status in ((14000, 200), (17000, 431)):
                answer = http.get("/livez", headers={"X-Long": "x" * bytes_})
                self.assertEqual(status, answer.status)
                http.close()
            self.assertEqual(431, http.get("/livez?x=" + "x" * 3000).status)

    def test_an_answer_that_is_too_large_is_no_lack_of_memory(self):
        """It was 503 no_memory, with the advice to try again, for ever."""
        names = [f"{i:03}" + '"' * 125 for i in range(500)]  # a quote has two bytes in JSON
        with Server(args=["--body-bytes-max", str(24 << 20)]) as server:
            http = server.client()
            path = "/v1/flows"
            for at in range(0, len(names), 50):
                new = range(at, at + 50)
                made = http.post(path, {
                    "nodes": [{"name": names[i], "kind": "k"} for i in new],
                    "edges": [{"from": names[j], "to": names[i]} for i in new for j in range(i)]})
                self.assertEqual(201, made.status, made)
                link = made.headers["Location"]
                path = link + "/grow"
            answer = http.get(link)
            self.assertEqual((413, "too_large", "answer", False), (
                answer.status, *(answer.json[name] for name in ("code", "field", "retryable"))))
            self.assertIn(str(64 << 20), answer.json["detail"])
            self.assertIsNone(answer.headers["Retry-After"])

    def test_who_asks_before_sending_is_told_at_once(self):
        """However large: nothing of the body is sent, and there is no 100 Continue."""
        head = (b"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n")
        with Server(args=["--log-level", "warn"]) as server:
            for type_, bytes_, status in ((b"application/json", 10 ** 12, b"413"),
                                          (b"text/plain", 13, b"415")):
                text = self.all_of(server, head % (type_, bytes_))
                self.assertEqual(status, text.split(b" ")[1], text)
                self.assertIn(b"Connection: close", text)
                self.assertIn(b"application/problem+json", text)
            with self.connect(server) as one:
                one.sendall(head % (b"application/json", 13))
                self.assertEqual(b"100", one.recv(65536).split(b" ")[1])
                one.sendall(b'{"kind": "k"}')
                self.assertEqual(b"201", one.recv(65536).split(b" ")[1])

    def test_nested_too_deep_is_too_large(self):
        with Server(args=["--log-level", "warn"]) as server:
            http = server.client()
            for depth, status in ((63, 201), (64, 413)):
                raw = b'{"kind": "k", "input": %s1%s}' % (b"[" * depth, b"]" * depth)
                answer = http.post("/v1/executions", raw=raw)
                self.assertEqual(status, answer.status, answer)
            self.assertEqual(("too_large", "body"), (answer.json["code"], answer.json["field"]))
            self.assertIn("64", answer.json["detail"])

    def test_large_bodies_have_a_limit_together(self):
        head = ("POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n"
                "Content-Type: application/json\r\n\r\n").encode()
        with Server(args=["--bodies-bytes-max", "1000000", "--log-level", "warn"]) as server:
            http = server.client()
            large = json.dumps({"kind": "k", "input": "x" * 700000}).encode()
            self.assertEqual(201, http.post("/v1/executions", raw=large).status)

            def fill():
                """Another large body is under way, unless one of ours was not over yet: then that
                one was refused."""
                one = self.connect(server)
                one.sendall(head + b" " * 600000)
                answer = http.post("/v1/executions", raw=large)
                if answer.status == 503:
                    return one, answer
                one.close()
                return None

            one, answer = wait_for("no room", fill)
            with one:
                self.assertEqual(("overloaded", True, "1"),
                                 (answer.json["code"], answer.json["retryable"],
                                  answer.headers["Retry-After"]))
                self.assertEqual(201, http.post("/v1/executions", {
                    "kind": "k", "input": "x" * 50000}).status, "small ones have room")
            wait_for("room again",
                     lambda: http.post("/v1/executions", raw=large).status == 201)

    def test_what_can_be_read_in_two_ways_is_refused(self):
        body = b'{"kind": "k"}'
        chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        length = b"Content-Length: %d\r\n" % len(body)
        coded = b"Transfer-Encoding: chunked\r\n"
        host = b"Host: localhost\r\n"
        with Server(args=["--log-level", "warn"]) as server:
            for head, sent, status in ((host + length, body, b"201"),
                                       (host + coded, chunked, b"201"),
                                       (host + host + length, body, b"400"),
                                       (host + b"Host: 127.0.0.1\r\n" + length, body, b"400"),
                                       (host + length + coded, chunked, b"400"),
                                       (host + coded + length, chunked, b"400"),
                                       (host + length + length, body, b"400"),
                                       (host + b"Content-Length : 13\r\n", body, b"400"),
                                       (host + b": empty\r\n" + length, body, b"400"),
                                       (host + b"X@Y: z\r\n" + length, body, b"400"),
                                       (host + b"X-Y: a\x7fb\r\n" + length, body, b"400"),
                                       (host + b"X-Y: a\tb\r\n" + length, body, b"201"),
                                       (host + b"Transfer-Encoding: gzip\r\n", b"", b"400")):
                with self.connect(server) as one:
                    one.sendall(b"POST /v1/executions HTTP/1.1\r\nContent-Type: application/json"
                                b"\r\n" + head + b"\r\n" + sent)
                    answer = one.recv(65536)
                    self.assertEqual(status, answer.split(b" ")[1], (head, answer))
                    if status == b"400":
                        self.assertIn(b"application/problem+json", answer)
                        while answer:
                            answer = one.recv(65536)

    def test_a_target_may_name_the_server(self):
        """As a proxy asks, RFC 9112, 3.2.2; it stands for Host."""
        with Server(args=["--log-level", "warn"]) as server:
            for target, host, status in (("http://127.0.0.1/livez", "127.0.0.1", 200),
                                         ("HTTP://localhost:80/livez?verbose", "localhost", 200),
                                         ("http://localhost/v1/lanes", "evil.example", 200),
                                         ("http://localhost", "localhost", 200),
                                         ("http://localhost?x=1", "localhost", 400),
                                         ("http://localhost/nothing", "localhost", 404),
                                         ("http://evil.example/livez", "localhost", 421),
                                         ("http://a@localhost/livez", "localhost", 421),
                                         ("http:///livez", "localhost", 421),
                                         ("ftp://localhost/livez", "localhost", 404)):
                with self.connect(server) as one:
                    one.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n"
                                "Connection: close\r\n\r\n".encode())
                    answer = one.makefile("rb").read()
                    self.assertEqual(str(status).encode(), answer.split(b" ")[1], (target, answer))

    def test_what_is_no_text_is_refused_in_text(self):
        """Bytes that are no UTF-8, and characters that a message would cut in two."""
        long = "a" + "%C3%A9" * 100
        with Server(args=["--log-level", "warn"]) as server:
            for line, host, status in ((b"GET /\xff\xfe", b"localhost", b"404"),
                                       (b"GET /livez", b"\xff", b"421"),
                                       (b"G\xff /livez", b"localhost", b"405"),
                                       (f"GET /v1/lanes?{long}=1".encode(), b"localhost", b"400"),
                                       (f"GET /v1/executions?state={long}".encode(), b"localhost",
                                        b"400"),
                                       (f"GET /v1/events?kinds={long}".encode(), b"localhost",
                                        b"400")):
                with self.connect(server) as one:
                    one.sendall(line + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
                    answer = one.recv(65536)
                    self.assertEqual(status, answer.split(b" ")[1], (line, answer))
                    self.assertIn(b"application/problem+json", answer)

    def test_listening_everywhere_names_are_still_checked(self):
        tokens = f"a {ADMIN} admin\n"
        server = Server(tokens=tokens, listen="0.0.0.0:0")
        with server:
            http = server.client(ADMIN)
            for host, status in (("127.0.0.1", 200), ("10.1.2.3:9090", 200), ("[::1]", 200),
                                 ("[fe80::1]:80", 200), ("abc.de", 421), ("face", 421),
                                 ("dead.beef", 421), ("1.2.3", 421), ("a:b", 421)):
                self.assertEqual(status, http.get("/v1/lanes", headers={"Host": host}).status, host)

    def all_of(self, server, raw):
        """Everything the server says until it closes the connection."""
        text = b""
        with self.connect(server) as one:
            try:
                one.sendall(raw)
                one.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # cut: what it has said can still be read
            try:
                while more := one.recv(65536):
                    text += more
            except OSError:
                pass  # it has said all it will
        return text

    def test_what_is_not_http_is_answered_by_the_library(self):
        """Before there is a request libmicrohttpd answers by itself, without a problem body:
        docs/guide/http.md lists what; here is what it says, and that it does no harm."""
        post = b"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\n"
        get = b"GET /v1/lanes HTTP/1.1\r\nHost: localhost\r\n"
        cases = (("no version", b"GET /livez\r\n\r\n", b"400"),
                 ("not HTTP", b"GET /livez HTTX/1.1\r\n\r\n", b"400"),
                 ("other HTTP", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"505"),
                 ("no colon", get + b"nonsense\r\n\r\n", b"400"),
                 ("length is no number", post + b"Content-Length: x\r\n\r\n", b"400"),
                 ("negative length", post + b"Content-Length: -1\r\n\r\n", b"400"),
                 ("length of 23 digits", post + b"Content-Length: " + b"9" * 23 + b"\r\n\r\n",
                  b"413"),
                 ("bad chunk", post + b"Content-Type: application/json\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", b"400"),
                 ("head of 40 KiB", get + b"X: " + b"a" * 40960 + b"\r\n\r\n", b"431"),
                 ("3,000 headers", get + b"X: a\r\n" * 3000 + b"\r\n", b"431"),
                 ("path of 40 KiB", b"GET /" + b"a" * 40960 + b" HTTP/1.1\r\n\r\n", b"414"),
                 ("no line", b"blah\r\n\r\n", None), ("TLS", b"\x16\x03\x01\x02\x00\x01", None),
                 ("no end", b"A" * 70000, None))
        again = b"GET /v1/lanes HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with Server(args=["--log-level", "warn"]) as server:
            for name, raw, status in cases:
                with self.subTest(name):
                    text = self.all_of(server, raw + again)
                    if status:
                        self.assertTrue(text.startswith(b"HTTP/1.1 " + status), text[:200])
                    self.assertNotIn(b" 200 OK", text, "nothing after it is served")
                    self.assertNotIn(raw[-20:].strip(), text, "nothing is said back")
            http = server.client()
            self.assertEqual([], http.get("/v1/executions").json["executions"])
            told = server.metric("ff_http_malformed_total")
            self.assertTrue(sum(1 for case in cases if case[2]) <= told <= len(cases), told)

    def test_too_many_connections_are_refused_politely(self):
        with Server(args=["--connections-max", "5", "--log-level", "warn"]) as server:
            held = [self.connect(server) for _ in range(5)]
            extra = Client("127.0.0.1", server.port)
            answer = wait_for("a refusal", lambda: (lambda a: a if a.status == 503 else None)(
                extra.get("/livez")))
            self.assertEqual(("overloaded", "1", "close"),
                             (answer.json["code"], answer.headers["Retry-After"],
                              answer.headers["Connection"]))
            for one in held:
                one.close()
            wait_for("room again", lambda: extra.get("/livez").status == 200)
            extra.close()

    def test_slow_clients_do_not_disturb_others(self):
        with Server(args=["--log-level", "warn"]) as server:
            slow = []
            for i in range(500):
                one = self.connect(server)
                one.sendall(b"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\n"[:20 + i % 30])
                slow.append(one)
            http = server.client()
            worst = 0
            for _ in range(50):
                begun = time.monotonic()
                self.assertEqual(201, http.post("/v1/executions", {"kind": "k"}).status)
                worst = max(worst, time.monotonic() - begun)
            print(f"\n  slowest of 50 submits beside 500 slow clients: {worst * 1000:.0f} ms")
            # Whoever does not finish a head in time is cut.
            wait_for("slow clients are cut", lambda: server.metric("ff_http_cut_total") >= 500)
            for one in slow:
                one.close()

    def test_a_claim_whose_client_has_gone_is_not_served(self):
        with Server() as server:
            http = server.client()
            body = json.dumps({"worker_instance_id": "w", "lanes": ["l"], "wait_ms": 60000})
            with self.connect(server) as one:
                one.sendall((f"POST /v1/workers/w/claim HTTP/1.1\r\nHost: localhost\r\n"
                             f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                             f"\r\n{body}").encode())
                wait_for("a waiting claim",
                         lambda: http.get("/v1/stats").json["http"]["waiting_claims"] == 1)
            wait_for("it is given up",
                     lambda: http.get("/v1/stats").json["http"]["waiting_claims"] == 0)
            made = http.post("/v1/executions", {"kind": "k", "lane": "l"})
            shown = http.get(made.headers["Location"]).json
            self.assertEqual(("waiting", 0), (shown["public_state"], shown["lease_epoch"]))
            self.assertEqual(1, server.metric("ff_http_gone_total"))


class Stopping(unittest.TestCase):
    def test_sigterm_answers_what_waits(self):
        server = Server()
        http = server.client()
        claim = in_thread(server.client().post, "/v1/workers/w/claim",
                          {"worker_instance_id": "w", "lanes": ["l"], "wait_ms": 60000})
        page = in_thread(server.client().get, "/v1/events?kinds=completion&wait_ms=60000")
        wait_for("two that wait", lambda: http.get("/v1/stats").json["http"]["requests_under_way"]
                 >= 3)
        self.assertEqual(0, server.stop())
        claim[0].join()
        page[0].join()
        self.assertEqual((200, []), (claim[1][0].status, claim[1][0].json["tasks"]))
        self.assertEqual((200, []), (page[1][0].status, page[1][0].json["events"]))
        server.__exit__(None, None, None)

    def test_sigterm_lets_a_body_come(self):
        """A body that was still coming was cut off at once, whatever the grace."""
        server = Server(args=["--grace-ms", "60000"])
        body = json.dumps({"kind": "k"}).encode()
        with socket.create_connection(("127.0.0.1", server.port), DEADLINE_S) as one:
            one.sendall(b"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\n"
                        b"Content-Type: application/json\r\nExpect: 100-continue\r\n"
                        + f"Content-Length: {len(body)}\r\n\r\n".encode())
            with one.makefile("rb") as answer:
                self.assertEqual(b"HTTP/1.1 100 Continue\r\n", answer.readline())
                self.assertEqual(b"\r\n", answer.readline())
                one.sendall(body[:4])
                stop = in_thread(server.stop)
                wait_for("nobody else is let in", lambda: self.is_closed(server))
                one.sendall(body[4:])
                self.assertEqual(b"HTTP/1.1 201 Created\r\n", answer.readline())
        stop[0].join()
        self.assertEqual([0], stop[1])
        server.__exit__(None, None, None)

    @staticmethod
    def is_closed(server):
        try:
            socket.create_connection(("127.0.0.1", server.port), DEADLINE_S).close()
        except OSError:
            return True
        return False

    def test_a_killed_server_comes_back(self):
        server = Server()
        http = server.client()
        made = http.post("/v1/executions", {"kind": "k"})
        task = http.post("/v1/workers/w/claim", {"worker_instance_id": "w"}).json["tasks"][0]
        server.kill()
        http.close()
        server.start()
        http = server.client()
        named = {n: task[n] for n in ("execution_id", "lease_id", "lease_epoch")}
        done = http.post("/v1/tasks/complete", {"tasks": [named]}).json["results"][0]
        self.assertEqual("completed", done["public_state"], "leases stay valid")
        self.assertEqual("completed", http.get(made.headers["Location"]).json["public_state"])
        server.__exit__(None, None, None)


class Tls(unittest.TestCase):
    def test_https(self):
        with tempfile.TemporaryDirectory() as folder:
            key, cert = os.path.join(folder, "key"), os.path.join(folder, "cert")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
                            "1", "-subj", "/CN=localhost", "-addext",
                            "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with Server(args=["--tls-cert", cert, "--tls-key", key]) as server:
                self.assertTrue(server.url.startswith("https://"))
                trust = ssl.create_default_context(cafile=cert)
                with socket.create_connection(("127.0.0.1", server.port), DEADLINE_S) as plain:
                    with trust.wrap_socket(plain, server_hostname="localhost") as one:
                        one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
                                    b"Connection: close\r\n\r\n")
                        text = b""
                        while True:
                            more = one.recv(4096)
                            if not more:
                                break
                            text += more
                self.assertTrue(text.startswith(b"HTTP/1.1 200"), text)
                self.client(server, cert)

    def client(self, server, cert):
        """ff itself: trusts only whom it is told to, and only under the right name."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        for host, trusted, code in (("localhost", cert, 0), ("localhost", None, 5),
                                    ("127.0.0.1", cert, 5)):
            env = dict(clean, **({"FF_TLS_CA": trusted} if trusted else {}))
            done = subprocess.run([FF, "submit", "--kind", "k", "--server",
                                   f"https://{host}:{server.port}"], env=env, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=DEADLINE_S)
            self.assertEqual(code, done.returncode, done.stderr)


if __name__ == "__main__":
    unittest.main()
