# SPDX-License-Identifier: Apache-2.0
"""test_metrics -- /metrics: every name that is promised, its form, and numbers that are true."""

import re
import unittest

from serving import Server, expect_woken_by_hint

NAMES = {
    "ff_runs_total": "counter", "ff_run_duration_seconds": "histogram",
    "ff_queue_wait_seconds": "histogram", "ff_queue_depth": "gauge",
    "ff_oldest_ready_age_seconds": "gauge", "ff_lease_expired_total": "counter",
    "ff_lease_renew_seconds": "histogram", "ff_timers_late_seconds": "gauge",
    "ff_store_tx_seconds": "histogram", "ff_store_busy_total": "counter",
    "ff_events_lag": "gauge", "ff_sse_clients": "gauge", "ff_wal_bytes_total": "counter",
    "ff_http_request_duration_seconds": "histogram", "ff_build_info": "gauge",
}
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? ([-+0-9.e]+)$')


class Metrics(unittest.TestCase):
    def setUp(self):
        self.server = Server(args=["--log-level", "warn"])
        self.addCleanup(self.server.__exit__, None, None, None)
        self.http = self.server.client()

    def scrape(self):
        """{name: {labels: value}}, and the types; every line must be one or the other."""
        answer = self.http.get("/metrics")
        self.assertIn("version=0.0.4", answer.headers["Content-Type"])
        values, types = {}, {}
        for line in answer.body.decode().splitlines():
            if line.startswith("# TYPE "):
                name, kind = line.split()[2:]
                self.assertNotIn(name, types)
                types[name] = kind
            elif not line.startswith("# HELP "):
                name, labels, value = SAMPLE.match(line).groups()
                self.assertNotIn(labels, values.setdefault(name, {}), line)
                values[name][labels] = float(value)
        return values, types

    def claim(self, lane):
        task = self.http.post("/v1/workers/w/claim", {
            "worker_instance_id": "w", "lanes": [lane]}).json["tasks"][0]
        return {name: task[name] for name in ("execution_id", "lease_id", "lease_epoch")}

    def test_openmetrics_for_those_who_ask(self):
        answer = self.http.get("/metrics", headers={
            "Accept": "application/openmetrics-text; version=1.0.0,text/plain;q=0.5"})
        self.assertEqual("application/openmetrics-text; version=1.0.0; charset=utf-8",
                         answer.headers["Content-Type"])
        text = answer.body.decode()
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.assertIn("\n# TYPE ff_batches counter\nff_batches_total ", text)
        self.assertIn("\n# TYPE ff_store_up gauge\nff_store_up 1\n", text)
        for line in text.splitlines():
            if line.startswith("#") and line != "# EOF":
                self.assertNotIn("_total", line.split()[2])

    def test_names_and_forms(self):
        values, types = self.scrape()
        self.assertEqual(NAMES, {name: types.get(name) for name in NAMES})
        for name, kind in types.items():
            self.assertTrue(kind != "counter" or name.endswith("_total"), name)
            if kind != "histogram":
                continue
            for labels, value in values.get(name + "_count", {}).items():
                inside = labels + "," if labels else ""
                self.assertEqual(value, values[name + "_bucket"][inside + 'le="+Inf"'])
                rising = [v for key, v in values[name + "_bucket"].items()
                          if key.startswith(inside)]
                self.assertEqual(sorted(rising), rising)

    def test_what_was_done_is_counted(self):
        before, _ = self.scrape()
        for lane in ("a", "a", 'q"\\'):
            self.assertEqual(201, self.http.post("/v1/executions", {
                "kind": "k", "lane": lane, "policy": {"retry_policy": {"max_retries": 0}}}).status)
        first, second = self.claim("a"), self.claim("a")
        self.assertEqual(200, self.http.post("/v1/tasks/renew", {"tasks": [first]}).status)
        self.http.post("/v1/tasks/complete", {"tasks": [first]})
        self.http.post("/v1/tasks/fail", {"tasks": [{**second, "message": "m"}]})
        other = self.http.get("/v1/executions?state=waiting").json["executions"][0]
        link = "/v1/executions/" + other["execution_id"].replace("{", "").replace("}", "")
        self.http.post(link + "/cancel")
        after, _ = self.scrape()
        self.assertEqual({'queue="a",outcome="success"': 1, 'queue="a",outcome="failed"': 1,
                          'queue="q\\"\\\\",outcome="cancelled"': 1}, after["ff_runs_total"])
        for name, labels, more in (("ff_run_duration_seconds_count", "", 2),
                                   ("ff_queue_wait_seconds_count", "", 2),
                                   ("ff_lease_renew_seconds_count", "", 1)):
            self.assertEqual(more, after[name][labels] - before[name][labels], name)
        for op in ("batch", "read"):
            name, labels = "ff_store_tx_seconds_count", f'op="{op}"'
            self.assertGreater(after[name][labels], before[name][labels])
        self.assertEqual(0, after["ff_timers_late_seconds"][None])
        self.assertGreater(after["ff_wal_bytes_total"][None],
                           before["ff_wal_bytes_total"][None] + 4096)

    def test_lanes_are_bounded(self):
        for start in range(0, 120, 60):
            made = self.http.post("/v1/executions", {"executions": [
                {"kind": "k", "lane": f"lane-{n}"} for n in range(start, start + 60)]})
            self.assertEqual(200, made.status)
        done = self.http.post("/v1/executions:cancel", {"filter": {"kind": "k"}})
        self.assertEqual(200, done.status, done)
        runs = self.scrape()[0]["ff_runs_total"]
        self.assertEqual((101, 120, 20), (len(runs), sum(runs.values()),
                                          runs['queue="",outcome="cancelled"']))

    def test_a_hint_wakes_a_claim(self):
        expect_woken_by_hint(self.server, "l", lambda: self.http.post(
            "/v1/executions", {"kind": "k", "lane": "l"}).json["execution_id"])


if __name__ == "__main__":
    unittest.main()
