# SPDX-License-Identifier: Apache-2.0
"""talk -- calls over HTTP to whichever server is up, and a history of them that survives a kill.

A history is one file of JSON lines per client: a line before a call goes out, a line when its
answer is here. Lines are written whole, straight to the file: what a killed client knew is on
record."""

import http.client
import json
import os
import random
import time

from waits import dawdle

CALL_TIMEOUT_S = 20


def path_of(execution_id):
    """A full id as it stands in a path."""
    return execution_id.replace("{", "").replace("}", "")


class History:
    def __init__(self, directory, name):
        self.fd = os.open(os.path.join(directory, name + ".jsonl"),
                          os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        self.calls = 0

    def write(self, **line):
        os.write(self.fd, json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def begin(self, op, **what):
        """Names the call about to be made."""
        self.calls += 1
        self.write(at=time.monotonic(), call=self.calls, op=op, **what)
        return self.calls

    def end(self, call, doubts, **answer):
        """The answer, and how many times before it nobody knew whether the call had been done."""
        self.write(at=time.monotonic(), ends=call, doubts=doubts, **answer)


class Voice:
    """Speaks to one of several servers, to the next one after a failure."""

    def __init__(self, ports, stop=None):
        self.ports = ports
        self.turn = random.randrange(len(ports))
        self.connection = None
        self.stop = stop or (lambda: False)

    def hang_up(self):
        if self.connection:
            self.connection.close()
        self.connection = None
        self.turn += 1

    def connect(self, timeout_s=CALL_TIMEOUT_S):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(
                "127.0.0.1", self.ports[self.turn % len(self.ports)], timeout=timeout_s)
        return self.connection

    def once(self, method, path, body=None, headers=None):
        """(status, answer); status 0: nobody knows."""
        try:
            connection = self.connect()
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        except ConnectionRefusedError:
            self.hang_up()
            return 503, None  # it never left us
        except (OSError, http.client.HTTPException, ValueError):
            self.hang_up()
            return 0, None

    def insist(self, method, path, body=None, headers=None):
        """Says it until somebody answers: (status, answer, how many times it was in doubt).
        Status 0: we were stopped."""
        doubts = 0
        while True:
            status, answer = self.once(method, path, body, headers)
            if status and status < 500:
                return status, answer, doubts
            doubts += status in (0, 504)
            if self.stop():
                return 0, None, doubts
            if status not in (0, 503):
                self.hang_up()
            dawdle(0.02, 0.2)
