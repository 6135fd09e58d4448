# SPDX-License-Identifier: Apache-2.0
"""waits -- the only two reasons to stand still: a condition, or chance as part of the load."""

import random
import time

LOOK_S = 0.02


def wait_until(condition, seconds, look_s=LOOK_S):
    """Whether condition() has come true before the deadline."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(look_s)
    return True


def dawdle(least, most, chance=random):
    """Load is uneven: nothing waits for this to pass."""
    time.sleep(chance.uniform(least, most))
