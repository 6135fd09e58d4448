# SPDX-License-Identifier: Apache-2.0
"""ff_cli -- ff as a user calls it, on a store of the test's own; for the test files beside this."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import tempfile
import uuid

from serving import DEADLINE_S

FF = os.environ.get("FF_TEST_FF") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "asan", "ff")
PG = os.environ.get("FF_TEST_PG")
CANONICAL = re.compile(r"^\{fp:\d{1,3}\}:[0-9a-f-]{36}$")


class Ff:
    """Calls ff; the store is named by one of the classes below."""

    url = None

    def run_ff(self, *words, stdin=None, code=0, env=None):
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        surroundings["FF_STORE"] = self.url
        surroundings.update(env or {})
        done = subprocess.run([FF, *words], input=stdin, env=surroundings, cwd=self.dir.name,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE_S,
                              check=False)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(code, done.returncode, f"ff {' '.join(words)}\n{out}\n{err}")
        if code > 1:
            self.assertTrue(err.startswith("ff: "), err)
            self.assertEqual(1, err.count("\n"), err)
        return out, err

    def ff(self, *words, **options):
        return self.run_ff(*words, **options)[0]

    def ff_json(self, *words, **options):
        return json.loads(self.ff(*words, "--json", **options))

    def tearDown(self):
        """Who has damaged the store has repaired it."""
        try:
            self.ff("fsck")
        finally:
            self.dir.cleanup()

    def submit(self, *words):
        made = self.ff("submit", "--kind", "k", *words).strip()
        self.assertRegex(made, CANONICAL)
        return made


class OnSqlite:
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.url = "sqlite:" + os.path.join(self.dir.name, "test.db")
        self.ff("migrate")

    def empty_url(self):
        path = os.path.join(self.dir.name, "empty.db")
        open(path, "w").close()
        return "sqlite:" + path

    def sql(self, text):
        """For damage that no call can do."""
        with contextlib.closing(sqlite3.connect(self.url[len("sqlite:"):])) as store:
            store.execute(text)
            store.commit()


class OnPostgres:
    def setUp(self):
        self.assertTrue(PG, "FF_TEST_PG is not set: run me through tests/run")
        self.dir = tempfile.TemporaryDirectory()
        self.url = self.empty_url()
        self.ff("migrate")

    def empty_url(self):
        return f"{PG}&schema=cli_{uuid.uuid4().hex[:12]}"

    def sql(self, text):
        """For damage that no call can do."""
        schema = self.url.rpartition("&schema=")[2]
        subprocess.run([os.path.join(os.environ["FF_TEST_PG_BIN"], "psql"), "-qX", "-v",
                        "ON_ERROR_STOP=1", "-d", PG, "-c", f"SET search_path = {schema}", "-c",
                        text], check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE_S)
