# SPDX-License-Identifier: MIT
"""Allocators: a name, the library to preload (none: the C library's own), and settings for its environment."""
from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field

from . import inputs, places

# What each peer's library is called, without its version.
PEERS = {
    "jemalloc": "libjemalloc.so",
    "mimalloc": "libmimalloc.so",
    "tcmalloc": "libtcmalloc_minimal.so",
    "tbb": "libtbbmalloc_proxy.so",
}
KNOWN = ["glibc", *PEERS, "cairn"]


class Unavailable(Exception):
    """Why an allocator cannot take part; the text is one line for the user."""


@dataclass
class Allocator:
    name: str
    library: str | None
    environment: dict[str, str] = field(default_factory=dict)


def installed_library(soname):
    """The path that the loader's cache has for a library, any version."""
    try:
        listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, check=True, **inputs.TEXT).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r"^\s*%s[.\d]* .*=> (\S+)$" % re.escape(soname), listing, re.MULTILINE)
    return match.group(1) if match else None


def peers_folder():
    """Where bench/peers.py puts what it has built."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("CAIRN_PEERS") or os.path.join(cache, "cairn", "peers")


def built_peer(word):
    """The library of a peer that bench/peers.py has built, None if it has not."""
    path = os.path.join(peers_folder(), "lib%s.so" % word)
    return path if os.path.exists(path) else None


def family(word, build):
    """The library of an allocator of the family, None if there is none of that name."""
    return places.library(build, "libcairn-%s.so" % word)


def locate(word, build):
    """The library that a known name or a path stands for; None for the C library."""
    if word == "glibc":
        return None
    if word == "cairn":
        path = places.library(build, "libcairn.so")
        if path is None:
            raise Unavailable("cairn: there is no libcairn.so in %s" % build)
        return path
    if word in PEERS:
        path = installed_library(PEERS[word])
        if path is None:
            raise Unavailable("%s: %s is not installed" % (word, PEERS[word]))
        return path
    if "/" not in word and (family(word, build) or built_peer(word)):
        return family(word, build) or built_peer(word)
    if os.path.exists(word):
        return os.path.abspath(word)
    raise Unavailable("%s: no such file, none of %s, and none of the family" % (word, ", ".join(KNOWN)))


def parse(specification, build):
    """NAME, PATH.so or NAME=PATH.so, then any number of ;VARIABLE=VALUE."""
    head, *settings = specification.split(";")
    name, equals, target = head.partition("=")
    if not equals:
        name, target = (head if head in KNOWN or "/" not in head and "." not in head else os.path.basename(head).split(".")[0]), head
    if not name:
        raise Unavailable("%s: has no name" % specification)
    environment = {}
    for setting in settings:
        variable, equals, value = setting.partition("=")
        if not equals:
            raise Unavailable("%s: '%s' is not VARIABLE=VALUE" % (name, setting))
        environment[variable] = value
    return Allocator(name, locate(target, build), environment)


def confirm(allocator, probe, environment):
    """Checks that a preloaded library really provides malloc, and returns the file that does."""
    variables = {**environment, **allocator.environment}
    if allocator.library is not None:
        variables["LD_PRELOAD"] = allocator.library
    try:
        run = subprocess.run([probe], env=variables, capture_output=True, timeout=20, **inputs.TEXT)
    except subprocess.TimeoutExpired:
        raise Unavailable("%s: hangs in a program that does nothing" % allocator.name)
    provider = run.stdout.strip()
    if run.returncode != 0 or not provider:
        raise Unavailable("%s: a program that does nothing fails (status %d) %s"
                          % (allocator.name, run.returncode, run.stderr.strip().split("\n")[0]))
    if allocator.library is not None and not os.path.samefile(provider, allocator.library):
        raise Unavailable("%s: preloading %s has no effect, malloc still comes from %s"
                          % (allocator.name, allocator.library, provider))
    return provider
