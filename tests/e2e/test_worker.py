# SPDX-License-Identifier: Apache-2.0
"""test_worker -- ff worker with real commands: results, failures, cancellation, stops and kills."""

import fcntl
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from serving import DEADLINE_S, Gate, Server, free_port, wait_for

FF = os.environ.get("FF_TEST_FF") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "asan", "ff")
TTL_MS = "15000"  # renewed after a third of it; the rest is for a slow machine
LAPSE_MS = "6000"  # its end is waited for
AT_ONCE_S = 25  # on a slow machine; a call that gets no answer takes 32


class Worker:
    """The same tests on a store and through a server; the subclass says where."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        self.place()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def run_ff(self, *words):
        done = subprocess.run([FF, *words, "--json"], env=self.env, stdout=subprocess.PIPE,
                              timeout=DEADLINE_S, check=True)
        return json.loads(done.stdout)

    def result(self, execution):
        return subprocess.run([FF, "show", "--result", execution], env=self.env, timeout=DEADLINE_S,
                              stdout=subprocess.PIPE, check=True).stdout

    def submit(self, *words):
        return self.run_ff("submit", "--kind", "k", *words)["execution_id"]

    def show(self, execution):
        return self.run_ff("show", execution)

    def fifo(self, name):
        """Its path and an end that both reads and writes: nobody who opens it has to wait."""
        os.mkfifo(self.path(name))
        end = os.open(self.path(name), os.O_RDWR)
        self.addCleanup(os.close, end)
        return self.path(name), end

    def heard(self, end):
        """The next line a command has written."""
        line = b""
        while not line.endswith(b"\n"):
            self.assertTrue(select.select([end], [], [], DEADLINE_S)[0], "a command says something")
            line += os.read(end, 1)
        return line.strip()

    def until_state(self, execution, state):
        return wait_for(f"{execution} is {state}", lambda: (
            lambda shown: shown if shown["public_state"] == state else None)(self.show(execution)))

    def worker(self, *words, script):
        """ff worker OPTIONS -- sh -c SCRIPT, ended at the end of the test."""
        started = subprocess.Popen([FF, "worker", *words, "--", "sh", "-c", script], env=self.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, started)
        return started

    def end(self, worker):
        if worker.poll() is None:
            worker.kill()
        worker.communicate()

    def stop(self, worker, code=0, told=False):
        if not told:
            worker.send_signal(signal.SIGTERM)
        out, err = worker.communicate(timeout=DEADLINE_S)
        self.assertEqual(code, worker.returncode, err.decode())
        return out.decode()

    # -- what a command says -----------------------------------------------------------------------

    def test_input_output_and_environment(self):
        one = self.submit("--input", '{"a": 1}')
        worker = self.worker(script='printf "[\\"%s\\", %s, %s, " "$FF_EXECUTION_ID" '
                             '"$FF_LEASE_EPOCH" "$FF_ATTEMPT_INDEX"; cat; echo "]"')
        shown = self.until_state(one, "completed")
        self.assertEqual([one, shown["lease_epoch"] - 1, 0, {"a": 1}],
                         json.loads(self.result(one)))
        out = self.stop(worker)
        self.assertEqual(f"{one} attempt 0: exit status 0\n", out)

    def test_the_command_may_use_the_same_server(self):
        """What ff needs to reach it is passed on; the rest of FF_* belongs to the worker."""
        one = self.submit()
        self.env.update(FF_TOKEN="t-0123456789abcdef", FF_TLS_CA="/ca.pem", FF_LISTEN="x")
        self.worker(script='printf "%s %s %s." "$FF_TOKEN" "$FF_TLS_CA" "$FF_LISTEN"')
        self.until_state(one, "completed")
        self.assertEqual(b"t-0123456789abcdef /ca.pem .", self.result(one))

    def test_output_that_is_no_json(self):
        text = self.submit()
        self.worker(script='printf "a\\nb\\n"')
        self.until_state(text, "completed")
        self.assertEqual(b"a\nb\n", self.result(text))

    def test_failure_is_retried_with_its_message(self):
        one = self.submit("--policy", '{"retry_policy": {"max_retries": 2, "backoff": '
                          '{"type": "fixed", "delay_ms": 10}}}')
        self.worker(script='echo "no luck" >&2; [ "$FF_ATTEMPT_INDEX" = 1 ] || exit 3')
        shown = self.until_state(one, "completed")
        self.assertEqual(1, shown["retry_count"])
        attempts = self.run_ff("show", "--attempts", one)["attempts"]
        self.assertEqual("exit status 3: no luck", attempts[0]["failure"]["message"])

    def test_status_65_is_permanent(self):
        one = self.submit()
        self.worker(script="echo bad input >&2; exit 65")
        shown = self.until_state(one, "failed")
        self.assertEqual({"message": "exit status 65: bad input", "class": "permanent"},
                         shown["failure"])

    def test_command_that_kills_itself(self):
        one = self.submit("--policy", '{"retry_policy": {"max_retries": 0}}')
        self.worker(script="kill -9 $$")
        shown = self.until_state(one, "failed")
        self.assertEqual("infra_crash", shown["failure"]["class"])
        self.assertIn("signal 9", shown["failure"]["message"])

    def test_too_much_output_fails_for_good(self):
        one = self.submit()
        self.worker(script="head -c 1048577 /dev/zero | tr '\\0' x")
        self.assertEqual("permanent", self.until_state(one, "failed")["failure"]["class"])

    def test_output_without_end_is_not_waited_for(self):
        """It comes faster than our own can leave: the command's end, or a cancel, went unseen."""
        go, say = self.fifo("go")
        self.submit()
        worker = self.worker(script=f'for i in 1 2 3 4; do yes >&2 & done; read x < "{go}"')
        fcntl.fcntl(worker.stderr, fcntl.F_SETPIPE_SZ, 4096)
        told = len(os.read(worker.stderr.fileno(), 1024))
        os.write(say, b"\n")
        both = [worker.stdout, worker.stderr]
        while worker.stdout not in (ready := select.select(both, [], [], DEADLINE_S)[0]):
            self.assertTrue(ready, "it says something")
            told += len(os.read(worker.stderr.fileno(), 1024))
            self.assertLess(told, 1 << 20)
            time.sleep(0.002)  # somebody slower than all of them
        self.assertIn(b"exit status 0", worker.stdout.readline())

    def test_how_much_output_is_too_much_is_an_option(self):
        one = self.submit()
        self.worker("--result-bytes-max", str(3 << 20),
                    script="head -c 3000000 /dev/zero | tr '\\0' x")
        shown = self.until_state(one, "completed")
        self.assertIsNone(shown["failure"])
        self.assertEqual(3000000, len(self.result(one)))

    def test_large_input_that_is_not_read(self):
        big = self.path("big.json")
        with open(big, "w", encoding="ascii") as out:
            json.dump("x" * 500000, out)
        one = self.submit("--input", "@" + big)
        self.worker(script="echo 1")
        self.until_state(one, "completed")

    def test_a_command_that_cannot_start(self):
        """It is there when the worker looks, but its interpreter is not."""
        script = self.path("script")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        one = self.submit("--policy", '{"retry_policy": {"max_retries": 0}}')
        started = subprocess.Popen([FF, "worker", "--", script], env=self.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, started)
        shown = self.until_state(one, "failed")
        self.assertIn(f"cannot run '{script}'", shown["failure"]["message"])

    # -- lanes and kinds ---------------------------------------------------------------------------

    def test_only_its_lane_and_kind(self):
        mine = self.submit("--lane", "fast")
        slow = self.submit("--lane", "slow")
        other = self.run_ff("submit", "--kind", "z", "--lane", "fast")["execution_id"]
        worker = self.worker("--lane", "fast", "--kind", "k", script="true")
        self.until_state(mine, "completed")
        self.stop(worker)
        self.assertEqual("waiting", self.show(slow)["public_state"])
        self.assertEqual("waiting", self.show(other)["public_state"])

    def test_many_at_a_time(self):
        made = [self.submit() for _ in range(8)]
        # Each waits until all of them are running: a newline is read whole, by one of them.
        (here, heard), (go, say) = self.fifo("here"), self.fifo("go")
        self.worker("--concurrency", "8", script=f'echo here > "{here}"; read x < "{go}"')
        for _ in made:
            self.heard(heard)
        os.write(say, b"\n" * len(made))
        for one in made:
            self.until_state(one, "completed")

    # -- leases ------------------------------------------------------------------------------------

    def test_lease_is_renewed_while_it_runs(self):
        go, say = self.fifo("go")
        one = self.submit()
        self.worker("--lease-ttl-ms", TTL_MS, script=f'read x < "{go}"')
        first = self.until_state(one, "active")["lease"]["expires_at_ms"]
        wait_for("one more lease", lambda: self.show(one)["lease"]["expires_at_ms"] >
                 first + int(TTL_MS))
        os.write(say, b"\n")
        self.assertEqual(0, self.until_state(one, "completed")["retry_count"])

    def test_cancel_ends_the_command_and_what_it_started(self):
        (here, heard), (never, _) = self.fifo("here"), self.fifo("never")
        one = self.submit()
        worker = self.worker("--lease-ttl-ms", TTL_MS, script=f'trap "echo told > {here}; exit 0" '
                             f'TERM; echo runs > {here}; cat {never} & wait')
        self.assertEqual(b"runs", self.heard(heard))
        self.run_ff("cancel", one)
        self.assertEqual(b"told", self.heard(heard))
        self.assertIn("cancelled, exit status 0", self.stop(worker))
        self.assertEqual("cancelled", self.show(one)["public_state"])

    def test_one_that_does_not_listen_is_killed(self):
        (here, heard), (never, _) = self.fifo("here"), self.fifo("never")
        one = self.submit()
        worker = self.worker("--lease-ttl-ms", TTL_MS, "--kill-after-ms", "100",
                             script=f'trap "" TERM; echo runs > {here}; read x < {never}')
        self.heard(heard)
        self.run_ff("cancel", one)
        line = worker.stdout.readline()
        self.assertIn(b"cancelled, signal 9", line)

    def test_a_stop_lets_it_finish_and_gives_back_the_rest(self):
        (here, heard), (go, say) = self.fifo("here"), self.fifo("go")
        first = self.submit("--priority", "9")
        second = self.submit()
        worker = self.worker("--ahead", "4", script=f'echo runs > {here}; read x < {go}')
        self.heard(heard)
        self.until_state(second, "active")
        worker.send_signal(signal.SIGTERM)
        self.until_state(second, "waiting")
        self.assertEqual("active", self.show(first)["public_state"])
        os.write(say, b"\n")
        self.stop(worker, told=True)
        self.assertEqual("completed", self.show(first)["public_state"])
        self.assertEqual(["released"], [a["outcome"] for a in
                                        self.run_ff("show", "--attempts", second)["attempts"]])

    def children(self, pid):
        found = []
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    if int(file.read().rpartition(b")")[2].split()[1]) == pid:
                        found.append(int(name))
            except (OSError, ValueError):
                pass
        return found

    def test_a_killed_worker_leaves_nothing_behind(self):
        """What a command had started went on for ever."""
        (here, heard), (never, _) = self.fifo("here"), self.fifo("never")
        self.submit()
        self.submit()
        worker = self.worker("--concurrency", "2", script=f'(sh -c "echo \\$\\$ > {here}; '
                             f'read x < {never}"; true) & trap "" TERM; wait')
        left = [int(self.heard(heard)), int(self.heard(heard))]
        for command in self.children(worker.pid):
            left += [command, *self.children(command)]
        self.assertGreaterEqual(len(set(left)), 6, "two of three each")
        worker.kill()
        for pid in left:
            wait_for(f"{pid} is gone", lambda pid=pid: not os.path.exists(f"/proc/{pid}"), 20)

    def test_a_command_has_no_pipe_but_its_own_three(self):
        """Whoever has the guard's could keep it, or tell it lies."""
        one = self.submit()
        self.worker(script="ls -l /proc/$$/fd")
        self.until_state(one, "completed")
        self.assertEqual(3, self.result(one).count(b"pipe:"))

    def test_a_killed_worker_takes_its_command_along_and_another_takes_over(self):
        (here, heard), (go, say) = self.fifo("here"), self.fifo("go")
        one = self.submit()
        script = f'echo $$ > {here}; read x < {go}'
        worker = self.worker("--lease-ttl-ms", LAPSE_MS, script=script)
        pid = int(self.heard(heard))
        worker.kill()
        worker.wait()
        wait_for("its command is gone", lambda: not os.path.exists(f"/proc/{pid}"))
        os.write(say, b"\n")
        self.worker("--lease-ttl-ms", TTL_MS, script=script)
        shown = self.until_state(one, "completed")
        self.assertEqual(1, shown["retry_count"])


class OnSqlite(Worker, unittest.TestCase):
    def place(self):
        self.env["FF_STORE"] = f"sqlite:{self.path('work.db')}"


class ThroughAServer(Worker, unittest.TestCase):
    def place(self):
        server = subprocess.Popen(
            [FF, "serve", "--store", f"sqlite:{self.path('work.db')}", "--listen", "127.0.0.1:0",
             "--result-bytes-max", str(4 << 20)],
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        line = server.stdout.readline().decode()
        self.env["FF_SERVER"] = re.search(r"http://[0-9.:]+", line).group(0)


def plain(execution):
    """An id as it may stand in a path."""
    return execution.replace("{", "").replace("}", "")


class BehindAProxy(unittest.TestCase):
    """What a proxy says in the place of the server is no word about any task."""

    def setUp(self):
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}
        self.server = self.enterContext(Server())
        self.gate = self.enterContext(Gate(self.server, lambda path, body: None))
        self.http = self.server.client()

    def worker(self, *words, script):
        """ff worker OPTIONS -- sh -c SCRIPT through the proxy, ended at the end of the test."""
        worker = subprocess.Popen([FF, "worker", "--server", self.gate.url, *words, "--", "sh",
                                   "-c", script], env=self.env, cwd=self.server.dir.name,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(worker.communicate)
        self.addCleanup(worker.kill)
        return worker

    def submit(self):
        return self.http.post("/v1/executions", {"kind": "k"}).json["execution_id"]

    def ended(self, execution):
        return wait_for("its end", lambda: (
            lambda shown: shown if shown["finished"] else None)(
                self.http.get(f"/v1/executions/{plain(execution)}?wait_ms=10000").json))

    def refuse(self, verb, status=404):
        """Until it has been said again."""
        before = self.gate.refused
        self.gate.rule = lambda path, body: status if path.endswith(verb) else None
        wait_for(f"{verb} is said again", lambda: self.gate.refused >= before + 2)
        self.gate.rule = lambda path, body: None

    def test_a_404_to_a_renewal_cancels_nobody(self):
        one = self.submit()
        self.worker(script="touch begun; while [ ! -e go ]; do sleep 0.1; done; echo 42")
        folder = self.server.dir.name
        wait_for("it runs", lambda: os.path.exists(os.path.join(folder, "begun")))
        self.refuse("/renew")
        with open(os.path.join(folder, "go"), "wb"):
            pass
        shown = self.ended(one)
        self.assertEqual(("completed", 1), (shown["public_state"], shown["attempt_count"]))

    def test_a_404_to_a_report_is_not_the_end_of_it(self):
        one = self.submit()
        self.worker(script="echo 42")
        self.refuse("/complete")
        shown = self.ended(one)
        self.assertEqual(("completed", 1), (shown["public_state"], shown["attempt_count"]))

    def test_a_404_to_a_claim_does_not_end_the_worker(self):
        self.gate.rule = lambda path, body: 403
        worker = self.worker(script="echo 42")
        self.refuse("/claim", 404)
        self.assertEqual("completed", self.ended(self.submit())["public_state"])
        self.assertIsNone(worker.poll())

    def test_a_302_is_no_answer(self):
        """Its page was printed as the result of the execution, and its JSON read as an answer."""
        one = self.submit()
        self.worker(script="echo 42")
        self.ended(one)
        for words in (("text/html", b"<html>sign in</html>\n"), ("application/json", b"{}")):
            self.gate.words = words
            for rule, verb in (("/result", ["show", one, "--result"]), ("/v1/executions", ["ls"]),
                               ("/v1/executions", ["submit", "--kind", "k"])):
                self.gate.rule = lambda path, _, rule=rule: 302 if rule in path else None
                done = subprocess.run([FF, *verb, "--server", self.gate.url], env=self.env,
                                      timeout=DEADLINE_S, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, check=False)
                self.assertEqual((5, b""), (done.returncode, done.stdout), done.stderr)
                self.assertIn(b"the server answered 302", done.stderr)

    # -- a stop waits for no call; it used to begin when the claim under way had been answered ---

    def hold(self, verb):
        """From now on such calls get no answer; those that wait for one."""
        go_on, waiting = threading.Event(), []
        self.addCleanup(go_on.set)

        def rule(path, _):
            if verb in path:
                waiting.append(path)
                go_on.wait()
                return 503
            return None

        self.gate.rule = rule
        return waiting

    def test_a_stop_gives_back_what_waits_although_a_claim_is_not_answered(self):
        first, second = self.submit(), self.submit()
        worker = self.worker("--ahead", "4", script="until [ -e end ]; do sleep 0.1; done; echo 42")
        wait_for("both are claimed", lambda: len(self.http.get(
            "/v1/executions?state=active").json["executions"]) == 2)
        waiting = self.hold("/claim")
        wait_for("a claim is under way", lambda: waiting)
        worker.terminate()
        path = f"/v1/executions/{plain(second)}/attempts"
        wait_for("it is given back", lambda: ["released"] == [
            one["outcome"] for one in self.http.get(path).json["attempts"]], AT_ONCE_S)
        with open(os.path.join(self.server.dir.name, "end"), "wb"):
            pass
        self.assertEqual("completed", self.ended(first)["public_state"])
        self.assertEqual(0, worker.wait(timeout=DEADLINE_S))

    def test_a_stop_ends_although_nothing_is_answered(self):
        self.submit()
        worker = self.worker("--concurrency", "2", "--grace-ms", "1", script="trap 'touch told; "
                             "exit 1' TERM; touch begun; sleep 1000 & wait")
        folder = self.server.dir.name
        wait_for("it runs", lambda: os.path.exists(os.path.join(folder, "begun")))
        waiting = self.hold("")
        wait_for("a claim is under way", lambda: any("claim" in path for path in waiting))
        began_s = time.monotonic()
        worker.terminate()
        wait_for("the command is told", lambda: os.path.exists(os.path.join(folder, "told")),
                 AT_ONCE_S)
        self.assertEqual(0, worker.wait(timeout=DEADLINE_S))
        self.assertLess(time.monotonic() - began_s, AT_ONCE_S)

    def test_what_is_too_large_together_is_said_in_parts(self):
        """All of them were failed for good, although each would have been taken."""
        folder = self.server.dir.name
        said = []

        def rule(path, body):
            if not path.endswith("/complete"):
                return None
            said.append(len(json.loads(body)["tasks"]))
            if len(said) == 1:  # the others gather meanwhile
                wait_for("all have run", lambda: sum(
                    name.startswith("ran-") for name in os.listdir(folder)) == 8)
            return 413 if len(body) > 100000 else None

        made = [self.submit() for _ in range(8)]
        self.gate.rule = rule
        self.worker("--concurrency", "8",
                    script="head -c 60000 /dev/zero | tr '\\0' x; mktemp ran-XXXXXX >&2")
        for one in made:
            shown = self.ended(one)
            self.assertEqual("completed", shown["public_state"], shown["failure"])
        self.assertGreater(max(said), 1)


class Refused(unittest.TestCase):
    """A worker whose server is away, or does not want it, says so once."""

    def setUp(self):
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("FF_")}

    def test_a_server_that_comes_back(self):
        with Server(args=["--log-level", "warn"], listen=f"127.0.0.1:{free_port()}") as server:
            done = os.path.join(server.dir.name, "done")
            os.mkfifo(done)
            worker = subprocess.Popen([FF, "worker", "--server", server.url, "--concurrency", "2",
                                       "--", "cat", done], env=self.env,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(worker.stdout.close)
            self.addCleanup(worker.stderr.close)
            self.addCleanup(worker.kill)
            http = server.client()
            made = http.post("/v1/executions", {"kind": "k"}).json["execution_id"]
            wait_for("it runs", lambda: http.get("/v1/executions?state=active").json["executions"])
            http.close()
            server.kill()
            # It can neither claim nor report now: one line tells all of that.
            self.assertRegex(worker.stderr.readline(), b"^ff: cannot [a-z ]+, and tries again: ")
            with open(done, "wb"):
                pass
            self.assertIn(made.encode(), worker.stdout.readline())
            server.start(listen=server.url.split("/")[2])
            self.assertEqual(b"ff: calls are answered again\n", worker.stderr.readline())
            wait_for("its word has come through", lambda: http.get(
                "/v1/executions?state=completed").json["executions"])
            worker.terminate()
            self.assertEqual(b"", worker.stderr.read())
            self.assertEqual(0, worker.wait(timeout=DEADLINE_S))

    def test_a_command_that_is_not_there(self):
        # It used to fail every task of the lane, for good after a few retries.
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "plain.sh")
            with open(plain, "w", encoding="utf-8") as file:
                file.write("true\n")
            for name, why in (("./slip.sh", b"No such file"), ("no-such-command", b"No such file"),
                              (plain, b"Permission denied")):
                done = subprocess.run([FF, "worker", "--", name], cwd=folder, timeout=DEADLINE_S,
                                      env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      check=False)
                self.assertEqual((2, 1), (done.returncode, done.stderr.count(b"\n")), done.stderr)
                self.assertIn(why, done.stderr)
            self.assertEqual(["plain.sh"], os.listdir(folder), "and made no store")

    def test_a_token_that_may_not_work(self):
        token = "reader-token-0123456789"
        with Server(tokens=f"reader {token} read\n") as server:
            done = subprocess.run([FF, "worker", "--server", server.url, "--", "true"],
                                  env={**self.env, "FF_TOKEN": token}, timeout=DEADLINE_S,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            self.assertEqual((4, b"ff: cannot work: this needs the scope 'work'\n"),
                             (done.returncode, done.stderr))


if __name__ == "__main__":
    unittest.main()
