#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one program of tests/process/ under libcairn.so and judges how it ended.

Directives, each in a comment of its own within the first ten lines of the source:
    // env: NAME=VALUE        set for the program; may be repeated
    // ulimit-v: KB           its address space is limited (RLIMIT_AS)
    // link: so|a|static|preload
                              linked with libcairn.so, with libcairn.a, with that and nothing shared, or preloaded (the default)
    // library: NAME          preloaded is libcairn-NAME.so of the family; skipped where that was not built
    // expect-death: REGEX    it must be ended by SIGABRT, with REGEX found in its stderr
Without expect-death it must end with status 0; status 77 means that it cannot run here.
"""
import argparse
import os
import re
import resource
import signal
import subprocess
import sys

directive = re.compile(r"^//\s*(env|ulimit-v|link|library|expect-death):\s*(.*?)\s*$")


def directives(source):
    with open(source, encoding="utf-8") as lines:
        for _, line in zip(range(10), lines):
            if found := directive.match(line):
                yield found[1], found[2]


def ending(status):
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--link", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("source")
    parser.add_argument("program")
    options = parser.parse_args()

    environment = {name: value for name, value in os.environ.items() if not name.startswith("CAIRN_")}
    limit = death = None
    for name, value in directives(options.source):
        if name == "env":
            key, _, text = value.partition("=")
            environment[key] = text
        elif name == "ulimit-v":
            limit = int(value) * 1024
        elif name == "library":
            options.library = os.path.join(os.path.dirname(options.library), f"libcairn-{value}.so")
            if not os.path.exists(options.library):
                sys.exit(77)
        elif name == "expect-death":
            death = re.compile(value)
    if options.link == "preload":
        environment["LD_PRELOAD"] = options.library

    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    ended = subprocess.run([options.program], env=environment, preexec_fn=prepare, stdin=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, check=False)
    errors = ended.stderr.decode(errors="replace")
    sys.stderr.write(errors)
    if "cannot be preloaded" in errors:
        sys.exit("the loader refused the library")
    if death is None:
        if ended.returncode == 77:
            sys.exit(77)
        if ended.returncode != 0:
            sys.exit(f"ended with {ending(ended.returncode)}, expected status 0")
    elif ended.returncode != -signal.SIGABRT:
        sys.exit(f"ended with {ending(ended.returncode)}, expected SIGABRT")
    elif not death.search(errors):
        sys.exit(f"died as expected, but its stderr does not match: {death.pattern}")


main()
