# SPDX-License-Identifier: MIT
"""Input files. A pipe is one as well."""
import os


def open_bytes(path):
    """Nobody is waited for: a pipe that nobody has open to write is empty."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    return open(descriptor, "rb")
