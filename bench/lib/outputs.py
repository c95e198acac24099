# SPDX-License-Identifier: MIT
"""Output files: complete or absent, never half written."""
import os
import tempfile
import uuid


class Unusable(Exception):
    """Why a file can not be read or written; the text is one line for the user."""


def write(path, text):
    """A symbolic link stays, and the file that it names is made."""
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    aside = os.path.join(folder, ".%s.%s" % (uuid.uuid4().hex, name[-100:]))
    try:
        with open(aside, "x", encoding="utf-8", errors="replace") as file:  # names of files may be in any encoding
            file.write(text)
        os.replace(aside, path)
    except BaseException:
        if os.path.exists(aside):
            os.unlink(aside)
        raise


def check_writable(path):
    """Before hours of measuring, not after."""
    if os.path.isdir(path):
        raise Unusable("%s: is a folder" % path)
    if os.path.exists(path) and not os.path.isfile(path):  # a device, for example: no file is to replace it
        raise Unusable("%s: is there, and no regular file" % path)
    folder = os.path.dirname(os.path.realpath(path))
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".results-"):
            pass
    except OSError as why:
        raise Unusable("%s: %s" % (path, why.strerror))
