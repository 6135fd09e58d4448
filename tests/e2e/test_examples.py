# SPDX-License-Identifier: Apache-2.0
"""test_examples -- examples compile with one cc line against an installation, and work."""

import json
import os
import shlex
import signal
import subprocess
import tempfile
import unittest

from serving import DEADLINE_S, wait_for

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("FF_TEST_BUILD") or os.path.join(ROOT, "build", "dev")


def code_lines(path):
    with open(path, encoding="utf-8") as source:
        return [line for line in source
                if line.strip() and not line.startswith(("/*", " *"))]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        stage = os.path.join(cls.dir.name, "stage")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr"], check=True,
                       timeout=DEADLINE_S,
                       env={**os.environ, "DESTDIR": stage}, stdout=subprocess.DEVNULL)
        places = [at for at, _, names in os.walk(stage) if "flowfabric.pc" in names]
        cls.assertEqual(cls(), 1, len(places), places)
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        cls.env["PKG_CONFIG_PATH"] = places[0]
        cls.env["LD_LIBRARY_PATH"] = os.path.dirname(places[0])
        cls.ff = os.path.join(stage, "usr", "bin", "ff")

    def run_ff(self, *words):
        done = subprocess.run([self.ff, *words, "--json"], env=self.env, cwd=self.dir.name,
                              stdout=subprocess.PIPE, timeout=DEADLINE_S, check=True)
        return json.loads(done.stdout)

    def compile(self, name, *flags):
        program = os.path.join(self.dir.name, name)
        line = f"cc {' '.join(flags)} {shlex.quote(ROOT)}/examples/{name}.c " \
            f"$(pkg-config --cflags --libs flowfabric) -o {shlex.quote(program)}"
        subprocess.run(["sh", "-c", line], env=self.env, check=True, timeout=DEADLINE_S)
        return program

    def wait_for(self, execution, state):
        def shown():
            now = self.run_ff("show", execution)
            return now if now["public_state"] == state else None

        return wait_for(f"{execution} is {state}", shown)

    def test_worker_is_30_lines_and_works(self):
        self.assertLessEqual(len(code_lines(os.path.join(ROOT, "examples", "worker.c"))), 30)
        program = self.compile("worker", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
        url = f"sqlite:{self.dir.name}/work.db"
        self.env["FF_STORE"] = url
        greeted = self.run_ff("submit", "--kind", "greet", "--input", '"Ann"')["execution_id"]
        nobody = self.run_ff("submit", "--kind", "greet")["execution_id"]
        with subprocess.Popen([program, url], env=self.env, stdout=subprocess.PIPE) as worker:
            try:
                self.wait_for(greeted, "completed")
                failure = self.wait_for(nobody, "failed")["failure"]
                self.assertEqual("nobody to greet", failure["message"])
            finally:
                worker.send_signal(signal.SIGTERM)
            out, _ = worker.communicate(timeout=DEADLINE_S)
        self.assertEqual(0, worker.returncode)
        self.assertEqual(b'hello, "Ann"\n', out)


if __name__ == "__main__":
    unittest.main()
