# SPDX-License-Identifier: MIT
"""What `cairn bench` and its like have measured, as files."""
import json

from . import inputs, outputs
from .outputs import Unusable


def write(path, results):
    outputs.write(path, json.dumps(results, indent=1) + "\n")


def check_format(path, found, what):
    if found.get("format") != 1:
        raise Unusable("%s: is of another version of %s" % (path, what))


def read(path):
    """What `cairn bench` has written."""
    found = inputs.read_object(path, "result of cairn bench")
    if not {"format", "samples", "cases", "allocators"} <= found.keys():
        raise Unusable("%s: is no result of cairn bench" % path)
    check_format(path, found, "cairn bench")
    return found
