# SPDX-License-Identifier: MIT
"""What results were made of and with: this tree, libraries, programs, each with its hash."""
import functools
import hashlib
import json
import os
import subprocess

from . import allocators, inputs, places


def portable(word):
    """Words in result files: the system's paths as they are, this tree's from its root, of all others the name."""
    if places.ROOT + os.sep in word:
        return word.replace(places.ROOT + os.sep, "")
    return os.path.basename(word) if word.startswith("/") and not word.startswith(("/usr/", "/lib")) else word


@functools.cache
def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def output_of(*command):
    try:
        run = subprocess.run(command, capture_output=True, **inputs.TEXT)
    except OSError:
        return None
    return run.stdout.strip() if run.returncode == 0 else None


@functools.cache
def package(path):
    """Name and version of the Debian package a file is from, or None."""
    real = os.path.realpath(path)
    for candidate in (real, real.removeprefix("/usr")):
        owner = output_of("dpkg-query", "-S", candidate)
        if owner:
            name = owner.split(": ")[0].split(",")[0]
            return "%s %s" % (name, output_of("dpkg-query", "-W", "-f", "${Version}", name))
    return None


def peer(path):
    """Where bench/peers.py has a library from: the names and versions that stand beside it."""
    try:
        with open(os.path.join(allocators.peers_folder(), "versions.json")) as file:
            versions = json.load(file)
    except (OSError, ValueError):
        return None
    inside = os.path.dirname(os.path.realpath(path)) == os.path.realpath(allocators.peers_folder())
    return versions.get(os.path.basename(path)) if inside else None


def cairn(build):
    """The version, and the commit of the sources. An installed lab has a note of it."""
    commit = output_of("git", "-C", places.LAB, "rev-parse", "HEAD") if not places.INSTALLED else None
    # Without optional locks: one that is ended, or finds no room, would leave a lock behind.
    changed = output_of("git", "--no-optional-locks", "-C", places.ROOT, "status", "--porcelain", "--untracked-files=no") if commit else None
    if places.INSTALLED:
        try:
            with open(os.path.join(places.LAB, "commit")) as file:
                commit = file.read().strip() or None
        except OSError:
            pass
    about = output_of(os.path.join(build, "bin", "cairn"), "info", "--json")
    about = json.loads(about) if about else {}
    return {"version": about.get("version"), "build": about.get("build"), "commit": commit, "changed": bool(changed)}


def allocator(chosen):
    library = chosen.provider
    return {"name": chosen.name, "library": portable(os.path.realpath(library)), "sha256": sha256(library),
            "package": package(library) or peer(library), "environment": chosen.environment}


def case(chosen):
    files = [word for word in chosen.command if word.startswith("/usr/") or word.startswith(places.ROOT + os.sep)
             or word == chosen.command[0]]
    return {"case": chosen.label, "workload": chosen.name, "threads": chosen.threads,
            "command": [portable(word) for word in chosen.command], "environment": chosen.environment,
            "files": [{"path": portable(os.path.realpath(path)), "sha256": sha256(path), "package": package(path)}
                      for path in dict.fromkeys(files) if os.path.isfile(path)]}
