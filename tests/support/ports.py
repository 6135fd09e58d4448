# SPDX-License-Identifier: Apache-2.0
"""ports -- ports of 127.0.0.1 that are named before anybody listens there.

The kernel hands out ports to whoever asks for any, and to every connection. One that was probed, or
whose server is away for a moment, could be somebody else's by then: ours are below that range."""

import itertools
import os
import socket

FIRST, COUNT = 20000, 12000  # Linux begins at 32768
drawn = itertools.count(os.getpid() * 37)  # processes begin at places of their own


def free_port():
    """Free now, and never the same one twice in a process."""
    while True:
        port = FIRST + next(drawn) % COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
