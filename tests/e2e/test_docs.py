# SPDX-License-Identifier: Apache-2.0
"""test_docs -- the lines of the README and the guide, pasted as they are.

Only three things differ from what a reader does: the port is a free one, `make` finds everything
built, and whoever would press Ctrl-C does so when the line they watch for has come.
"""

import os
import re
import subprocess
import tempfile
import unittest

from serving import DEADLINE_S, FF, free_port

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("FF_TEST_BUILD") or os.path.join(ROOT, "build", "dev")

AROUND = r"""
set -emo pipefail
make() { [ "$1" != install ] || cmake --install "$TEST_BUILD" --prefix "$HOME/.local" >/dev/null; }
patient() {
    local line
    while IFS= read -r line; do
        printf '%s\n' "$line"
        [ -z "$WATCHED" ] || [[ $line != *"$WATCHED"* ]] || break
    done < <(exec timeout "$PATIENCE" "$@")
    kill $! 2>/dev/null || :
}
curl() { case " $* " in *' -sN '*) patient curl "$@" ;; *) command curl "$@" ;; esac; }
ff() { case " $* " in *' --follow '*) patient ff "$@" ;; *) command ff "$@" ;; esac; }
trap 'set +e; for job in $(jobs -p); do kill -- -$job; done; wait' EXIT
"""
SERVER = """
ff serve --log-level warn &
curl -s --retry 9 --retry-connrefused $FF_SERVER/readyz
"""


class Pasted(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(self.dir.name, "examples"))
        self.ports = [str(free_port()), str(free_port())]

    def paste(self, name, first=0, before="", watched=""):
        """Runs the blocks of a page from the first-th on; what they print. Who follows the log does
        so until the line that is watched for; without one nothing has to come."""
        with open(os.path.join(ROOT, name), encoding="utf-8") as page:
            blocks = re.findall(r"^```sh\n(.*?)^```", page.read(), re.S | re.M)[first:]
        self.assertTrue(blocks, name)
        text = AROUND + before + "".join(blocks)
        text = text.replace("9090", self.ports[0]).replace("9443", self.ports[1])
        env = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        env.update(HOME=self.dir.name, PATH=os.path.dirname(FF) + ":" + env["PATH"],
                   FF_LISTEN="127.0.0.1:" + self.ports[0], TEST_BUILD=BUILD,
                   WATCHED=watched, PATIENCE="60" if watched else "2")
        if before:
            env["FF_SERVER"] = "http://127.0.0.1:" + self.ports[0]
        done = subprocess.run(["bash", "-c", text], env=env, cwd=self.dir.name, timeout=DEADLINE_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        said = done.stdout.decode()
        self.assertEqual(0, done.returncode, said)
        self.assertNotIn("Sanitizer", said)
        return said

    def test_readme(self):
        said = self.paste("README.md", first=1, watched="event: completion.success")
        for what in ("completed: 3 completed", 'result     "ship done"',
                     "no live worker offers lane 'nobody'", '"to":"ann@example.org"',
                     "event: completion.success", 'hello, "Ann"'):
            self.assertIn(what, said)

    def test_guide_http(self):
        said = self.paste("docs/guide/http.md", before=SERVER, watched="event: flow.created")
        for what in ('{"results":[{"public_state":"completed"}]}', '"state":"open"',
                     "event: flow.created", '{"lanes":[{"lane":"default"'):
            self.assertIn(what, said)

    def test_guide_flows(self):
        said = self.paste("docs/guide/flows.md")
        for what in ("it waits for 2 of 2: 'test-a', 'test-b'", "revision 1"):
            self.assertIn(what, said)

    def test_guide_events(self):
        self.paste("docs/guide/events.md", before=SERVER)

    def test_guide_workers(self):
        self.assertIn("completed\n", self.paste("docs/guide/workers.md"))


if __name__ == "__main__":
    unittest.main()
