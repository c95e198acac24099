# SPDX-License-Identifier: MIT
"""Input files, a pipe is one as well; and what other programs say."""
import json
import os

from .outputs import Unusable

# For subprocess: names of files may be in any encoding, and who dies may say anything.
TEXT = {"text": True, "errors": "surrogateescape"}


def read_object(path, what):
    """A JSON object. What does not begin as one is not read to its end: it may have none."""
    try:
        with open_bytes(path) as file:
            head = file.read(4096)
            if not head.lstrip().startswith(b"{"):
                raise Unusable("%s: is %s" % (path, "no " + what if head.strip() else "empty"))
            return json.loads(head + file.read())
    except OSError as why:
        raise Unusable("%s: %s" % (path, why.strerror))
    except (ValueError, RecursionError) as why:
        raise Unusable("%s: is damaged, or no %s: %s" % (path, what, why))


def open_bytes(path):
    """Nobody is waited for: a pipe that nobody has open to write is empty."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    return open(descriptor, "rb")
