# SPDX-License-Identifier: MIT
"""Result files: complete or absent, never half written."""
import json
import os
import tempfile


def write(path, results):
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=folder, prefix=".results-", suffix=".json")
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
        os.chmod(aside, 0o644)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise


class Unusable(Exception):
    """Why a file can not be taken for results; the text is one line for the user."""


def read(path):
    """What `cairn bench` has written."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except OSError as why:
        raise Unusable("%s: %s" % (path, why.strerror))
    except (ValueError, RecursionError) as why:
        raise Unusable("%s: is damaged, or no result of cairn bench: %s" % (path, why))
    if not isinstance(found, dict) or not {"format", "samples", "cases", "allocators"} <= found.keys():
        raise Unusable("%s: is no result of cairn bench" % path)
    if found["format"] != 1:
        raise Unusable("%s: is of another version of cairn bench" % path)
    return found


def check_writable(path):
    """Before hours of measuring, not after."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".results-"):
            pass
    except OSError as why:
        raise Unusable("%s: %s" % (path, why.strerror))
    if os.path.isdir(path):
        raise Unusable("%s: is a folder" % path)
