# SPDX-License-Identifier: MIT
"""Source packages of the Debian that this is, without a change to the system: the machine's own list of where packages come from, asked for sources."""
from __future__ import annotations

import glob
import os
import shutil
import subprocess


class Unavailable(Exception):
    """Why there is no source; the text is one line for the user."""


def run(command, **options):
    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    except FileNotFoundError:
        raise Unavailable("%s is not installed" % command[0])
    if ended.returncode != 0:
        raise Unavailable("%s failed: %s" % (command[0], ended.stdout.strip().split("\n")[-1]))
    return ended.stdout


def source_lists():
    """The machine's Debian entries, as entries for sources."""
    form = "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)"
    found = run(["apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian"])
    lines = sorted(set(found.splitlines()))
    if not lines:
        raise Unavailable("this machine's package lists have no entry of Debian's")
    return lines


def source(folder, package):
    """The unpacked and patched source of a package, fetched once."""
    into = os.path.join(folder, package)
    found = [path for path in glob.glob(os.path.join(into, "*")) if os.path.isdir(path)]
    if found:
        return found[0]
    if shutil.which("dpkg-source") is None:
        raise Unavailable("dpkg-source is not installed (package dpkg-dev)")
    scratch = into + ".new"
    shutil.rmtree(scratch, ignore_errors=True)
    for name in ("apt/lists/partial", "apt/archives/partial"):
        os.makedirs(os.path.join(scratch, name))
    lists = os.path.join(scratch, "apt", "sources.list")
    with open(lists, "w") as file:
        file.write("\n".join(source_lists()) + "\n")
    apart = ["-o", "Dir::Etc::SourceList=" + lists, "-o", "Dir::Etc::SourceParts=/dev/null", "-o", "Dir::State=" + os.path.join(scratch, "apt"),
             "-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "Dir::Cache=" + os.path.join(scratch, "apt")]
    run(["apt-get", *apart, "update"])
    run(["apt-get", *apart, "source", package], cwd=scratch)
    shutil.rmtree(os.path.join(scratch, "apt"))
    os.rename(scratch, into)
    return source(folder, package)
