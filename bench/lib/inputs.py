# SPDX-License-Identifier: MIT
"""Input files, a pipe is one as well; and what other programs say."""
import os

# For subprocess: names of files may be in any encoding, and who dies may say anything.
TEXT = {"text": True, "errors": "surrogateescape"}


def open_bytes(path):
    """Nobody is waited for: a pipe that nobody has open to write is empty."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    return open(descriptor, "rb")
