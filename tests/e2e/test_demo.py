# SPDX-License-Identifier: Apache-2.0
"""test_demo -- what make run shows: the flow goes on although its server is killed; what it says
where packages are missing."""

import os
import signal
import subprocess
import tempfile
import unittest

from serving import DEADLINE_S, free_port

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FF = os.environ.get("FF_TEST_FF") or os.path.join(ROOT, "build", "asan", "ff")


class Demo(unittest.TestCase):
    def test_the_flow_survives_its_server(self):
        with tempfile.TemporaryDirectory() as place:
            env = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
            env.update(FF_DEMO_FF=FF, FF_DEMO_DIR=place, FF_DEMO_ONCE="yes",
                       FF_LISTEN=f"127.0.0.1:{free_port()}")
            with subprocess.Popen([os.path.join(ROOT, "tools", "run-demo")], env=env,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as demo:
                said = b""
                while b"the flow is running" not in said:
                    line = demo.stdout.readline()
                    self.assertTrue(line, said.decode())
                    said += line
                with open(os.path.join(place, "server.pid"), encoding="ascii") as pid:
                    os.kill(int(pid.read()), signal.SIGKILL)
                rest, _ = demo.communicate(timeout=DEADLINE_S)
            self.assertEqual(0, demo.returncode, (said + rest).decode())
            self.assertIn(b"the server has died", rest)
            self.assertIn(b"completed: 5 completed, 1 cancelled", rest)
            # What it says at last may be pasted where nobody has told the shell of ff.
            last = rest.decode().splitlines()[-1]
            shown = subprocess.run(["sh", "-c", last], env={"PATH": "/usr/bin:/bin"}, check=True,
                                   stdout=subprocess.PIPE, timeout=DEADLINE_S)
            self.assertIn(b"step (tell)", shown.stdout)


class Setup(unittest.TestCase):
    def test_who_may_not_install_is_told_what_to_say(self):
        """A fresh machine knows no packages before apt-get update."""
        with tempfile.TemporaryDirectory() as place:
            for name, says in (("id", "echo 1000"), ("dpkg-query", "exit 1")):
                path = os.path.join(place, name)
                with open(path, "w", encoding="ascii") as stub:
                    stub.write(f"#!/bin/sh\n{says}\n")
                os.chmod(path, 0o755)
            done = subprocess.run(["/bin/bash", os.path.join(ROOT, "tools", "setup"), "build"],
                                  env={"PATH": place}, stdout=subprocess.PIPE, timeout=DEADLINE_S,
                                  stderr=subprocess.STDOUT, check=False)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn(b"  apt-get update && apt-get install -y --no-install-recommends "
                      b"build-essential ", done.stdout)


if __name__ == "__main__":
    unittest.main()
