# SPDX-License-Identifier: MIT
"""What the clients of bench/serve have in common: they wait for the server, put their load on it, and when it is gone
they clear the folder away that both work in. Descriptor 3 is a pipe that brings the server's number, and ends with it."""
import os
import select
import shutil
import signal
import sys
import time

SERVER = 3


class Failed(Exception):
    """Why a load came to nothing; the text is one line."""


def gone(seconds):
    """Whether the server ends within so much time."""
    line = select.poll()
    line.register(SERVER, 0)  # the end is told without being asked for
    return bool(line.poll(seconds * 1000))


def wait_for(path):
    while not os.path.exists(path):
        if gone(0.005):
            raise Failed("the server is gone before there is a socket")


def await_end(seconds=300):
    if not gone(seconds):
        raise Failed("the server does not end")


def work(load):
    """All of a client's life. A server that is in a bad way is killed, and the reason is the last line of stderr,
    unless it ended by itself: then it has said why."""
    folder = os.getcwd()
    process = int(os.read(SERVER, 20))
    assert os.path.basename(folder).startswith("cairn-serve-"), folder
    try:
        load()
        sys.stdout.flush()
        await_end()
        status = 0
    except Exception as why:  # whatever it is, the server must not be left to itself
        if not gone(1):
            expected = isinstance(why, (Failed, OSError))
            print("client: %s" % (why if expected else repr(why)), file=sys.stderr, flush=True)
            os.kill(process, signal.SIGKILL)
            gone(60)
        status = 1
    for _ in range(20):  # files that the dying server still made
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            break
        time.sleep(0.05)
    return status
