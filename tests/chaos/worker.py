# SPDX-License-Identifier: Apache-2.0
"""worker -- a worker that is killed at any moment, and is not always good.

Usage: worker.py HISTORY-DIRECTORY NAME SEED PORT... Does what the input says, most of the time; now
and then it fails, gives back, holds on for too long, or says two things about one task."""

import random
import sys

from talk import History, Voice
from waits import dawdle

TTL_MS = 1500
MAX = 4


class Worker:
    def __init__(self, directory, name, ports):
        self.history = History(directory, name)
        self.voice = Voice(ports)
        self.name = name
        self.words = 0

    def claim(self):
        self.words += 1
        request = f"{self.name}-{self.words}"
        call = self.history.begin("claim", request=request)
        status, answer, doubts = self.voice.insist("POST", f"/v1/workers/{self.name}/claim", {
            "worker_instance_id": self.name, "lanes": ["chaos"], "kinds": ["said"],
            "max": random.randint(1, MAX), "lease_ttl_ms": TTL_MS, "wait_ms": 500,
            "request_id": request})
        tasks = answer["tasks"] if status == 200 else []
        self.history.end(call, doubts, status=status,
                         tasks=[[t["execution_id"], t["lease_epoch"]] for t in tasks])
        return tasks

    def say(self, op, task, **more):
        """One word about one task; the word has a name of its own."""
        self.words += 1
        word = f"{self.name}/{self.words}"
        if op == "complete":
            more["result"] = {"word": word}
        call = self.history.begin(op, id=task["execution_id"], epoch=task["lease_epoch"],
                                  generation=task["generation"], word=word)
        named = {key: task[key] for key in ("execution_id", "lease_id", "lease_epoch")}
        while True:
            status, answer, doubts = self.voice.insist("POST", "/v1/tasks/" + op,
                                                       {"tasks": [{**named, **more}]})
            result = answer["results"][0] if status == 200 else {"error": answer}
            error = result.get("error")
            if not error or error["status"] < 500:
                break
            if error["status"] == 504:
                doubts += 1
        self.history.end(call, doubts, code=error["code"] if error else "ok")
        return not error

    def work(self, task):
        mood = random.random()
        if task["input"]["say"] == "fail":
            self.say("fail", task, message="as told", **{"class": "permanent"})
        elif mood < 0.08:
            self.say("fail", task, message="no luck", **{"class": "transient"})
        elif mood < 0.12:
            self.say("release", task, reason="not now")
        elif mood < 0.16:
            self.say("delay", task, delay_ms=100)
        elif mood < 0.20:  # a zombie: it does not know that it has lost its lease
            dawdle(0.9 * TTL_MS / 1000, 2 * TTL_MS / 1000)
            self.say("complete", task)
        elif mood < 0.25:  # two results: at most one may count
            self.say("complete", task)
            self.say("complete", task)
        else:
            if mood < 0.4:
                self.say("renew", task)
            if mood < 0.5:
                dawdle(0, 0.5)
            self.say("complete", task)


def main():
    directory, name, seed = sys.argv[1:4]
    random.seed(seed)
    worker = Worker(directory, name, [int(port) for port in sys.argv[4:]])
    while True:
        for task in worker.claim():
            worker.work(task)


if __name__ == "__main__":
    main()
