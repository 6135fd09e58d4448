# SPDX-License-Identifier: Apache-2.0
"""cluster -- the processes that are killed: a Postgres, servers and workers, started again at once.

Nothing here looks at what they do; see clients.py and checker.py for that."""

import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from waits import dawdle, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from ports import free_port  # pylint: disable=wrong-import-position

PG_PRIVATE = os.path.join(HERE, "..", "support", "pg-private")


class Postgres:
    def __init__(self, directory):
        self.dir = directory
        out = subprocess.run([PG_PRIVATE, "-c", "restart_after_crash=on", "start", directory],
                             stdout=subprocess.PIPE, check=True).stdout.decode()
        values = dict(line.split("=", 1) for line in out.splitlines())
        self.url = values["FF_TEST_PG"].replace("\\", "")
        self.data = values["FF_TEST_PG_DATA"]

    def postmaster(self):
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as file:
            return int(file.readline())

    def backends(self):
        """Sessions of clients."""
        found = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="ascii", errors="replace") as file:
                    stat = file.read()
                with open(path[:-4] + "cmdline", encoding="ascii", errors="replace") as file:
                    title = file.read()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == self.postmaster() and "[local]" in title:
                found.append(int(path.split("/")[2]))
        return found

    def kill(self, sign):
        """Ends the server without a word, and starts it again."""
        os.kill(self.postmaster(), sign)
        if not wait_until(self.starts, 60, 0.1):
            raise AssertionError("Postgres does not start again")

    def starts(self):
        return subprocess.run([PG_PRIVATE, "restart", self.dir], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    def kill_backend(self, sign):
        """Killed, one takes all others along; ended, only itself."""
        try:
            victims = self.backends()
            if victims:
                os.kill(random.choice(victims), sign)
            return bool(victims)
        except (OSError, ValueError):  # it ends, or begins, just now
            return False

    def ask(self, sql):
        return subprocess.run(["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d",
                               self.url, "-c", sql],
                              stdout=subprocess.PIPE, check=True).stdout.decode()

    def stop(self):
        subprocess.run([PG_PRIVATE, "stop", self.dir], check=False)


class Keeper:
    """Keeps one process running: whenever it has ended it is started again, perhaps with orders to
    end itself at a failpoint."""

    def __init__(self, chaos, name, command, kind):
        self.chaos, self.name, self.command, self.kind = chaos, name, command, kind
        self.log_path = os.path.join(chaos.dir, name + ".log")
        self.process = None
        self.lock = threading.Lock()
        self.lives = 0
        self.began = 0
        self.order = None
        self.stopping = False
        self.thread = threading.Thread(target=self.keep, daemon=True)
        self.thread.start()

    def keep(self):
        while not self.stopping:
            self.began = time.monotonic()
            with self.lock:
                self.lives += 1
                self.order = self.chaos.next_order(self.kind)
                env = {k: v for k, v in os.environ.items()
                       if not k.startswith("FF_") or k == "FF_MUTANT"}  # see tests/mutants
                if self.order:
                    env["FF_FAILPOINT"] = self.order
                with open(self.log_path, "ab") as log:
                    self.process = subprocess.Popen(self.command(self.lives), stdout=log,
                                                    stderr=log, env=env, cwd=self.chaos.dir)
            code = self.process.wait()
            if code == -signal.SIGKILL:
                self.chaos.died(self)
            elif code < 0 or code == 99:
                self.chaos.wrong(f"{self.name} ended with {code}, see {self.log_path}")
            elif not self.stopping:
                self.chaos.gave_up(self, code)
            if time.monotonic() - self.began < 1:
                dawdle(0.2, 0.4)

    def send(self, sign):
        with self.lock:
            if self.process and self.process.poll() is None:
                self.process.send_signal(sign)
                return True
        return False

    def kill(self):
        """True if it was alive."""
        with self.lock:
            if not self.process or self.process.poll() is not None:
                return False
            self.order = None  # it is us, not the failpoint
            self.process.kill()
            return True

    def stop(self, sign=signal.SIGTERM):
        self.stopping = True
        self.send(signal.SIGCONT)
        self.send(sign)
        self.thread.join(60)
        return not self.thread.is_alive()


class Cluster:
    def __init__(self, chaos, servers, workers, commands):
        self.chaos = chaos
        self.postgres = Postgres(os.path.join(chaos.dir, "pg"))
        self.store = self.postgres.url + "&schema=chaos"
        self.ports = [free_port() for _ in range(servers)]
        self.servers = []
        self.workers = []
        self.worker_count, self.command_count = workers, commands

    def start(self):
        subprocess.run([self.chaos.ff, "migrate", "--store", self.store], check=True,
                       stdout=subprocess.DEVNULL)
        self.servers = [Keeper(self.chaos, f"server-{n}", self.server_command(port), "server")
                        for n, port in enumerate(self.ports)]
        self.workers = [Keeper(self.chaos, f"worker-{n}", self.worker_command(n), "script")
                        for n in range(self.worker_count)]
        self.workers += [Keeper(self.chaos, f"command-{n}", self.run_command(n),
                                "worker" if n % 2 == 0 else "embedded")
                         for n in range(self.command_count)]

    def server_command(self, port):
        return lambda life: [self.chaos.ff, "serve", "--store", self.store, "--listen",
                             f"127.0.0.1:{port}", "--log-level", "warn"]

    def worker_command(self, number):
        return lambda life: [sys.executable, "-S", "-E", os.path.join(HERE, "worker.py"),
                             self.chaos.history, f"worker-{number}-{life}",
                             f"{self.chaos.seed}/{number}/{life}", *map(str, self.ports)]

    def run_command(self, number):
        """ff worker: the even ones through a server, the others with an engine of their own."""
        place = ["--server", f"http://127.0.0.1:{self.ports[number % len(self.ports)]}"] \
            if number % 2 == 0 else ["--store", self.store]
        effects = os.path.join(self.chaos.history, "effects")
        script = f'echo "$FF_EXECUTION_ID $FF_LEASE_EPOCH" >> {effects}; ' \
            'echo "{\\"word\\": \\"command/$FF_LEASE_EPOCH\\"}"'
        return lambda life: [self.chaos.ff, "worker", *place, "--lane", "chaos", "--kind",
                             "command", "--concurrency", "2", "--lease-ttl-ms", "1500",
                             "--worker-id", f"command-{number}-{life}", "--", "sh", "-c", script]

    def remove(self):
        self.postgres.stop()
        shutil.rmtree(self.chaos.dir, ignore_errors=True)
