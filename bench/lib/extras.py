# SPDX-License-Identifier: MIT
"""Runs that measure what would disturb a timed one: one for each figure, case and allocator. Each kind is a function
that gives a sample as measure.run does, with its own figures in it."""
import glob
import os
import re
import shutil

from . import measure, places
from .allocators import Allocator

SAMPLE_MS = 10
# Callgrind makes a program a hundred times slower, so it gets one percent of the work.
INSTRUCTIONS_SCALE = 1
LINGER_MS = 1000
LEAST_TIMEOUT = 60


class Runner:
    """What is the same for all extra runs."""

    def __init__(self, build, folder, sample_ms=SAMPLE_MS):
        self.launcher, self.folder, self.sample_ms = places.program(build, "launch"), folder, sample_ms
        self.counter = places.program(build, "libbench-live.so")

    def file(self, name):
        return os.path.join(self.folder, name)

    def run(self, case, allocator, reference, times_longer, **how):
        """`reference` is the case's run on the C library; None where its output is not known."""
        timeout = max(LEAST_TIMEOUT, times_longer * reference["wall"]) if reference else 1800
        expected = reference["output_sha256"] if reference else None
        return measure.run(self.launcher, case, allocator, self.folder, timeout, expected=expected, **how)


def live(runner, case, reference):
    """The most bytes that the program held at once, as it asked for them."""
    count = runner.file("live")
    with open(count, "wb") as file:
        file.write(bytes(8))
    counter = Allocator("live", runner.counter, {"CAIRN_BENCH_LIVE": count})
    sample = runner.run(case, counter, reference, 30)
    with open(count, "rb") as file:
        peak = int.from_bytes(file.read(), "little")
    return {**essence(sample, "live"), "live_bytes": peak if sample["outcome"] == "ok" and peak else None}


def memory(runner, case, allocator, reference):
    sample = runner.run(case, allocator, reference, 20, sample_ms=runner.sample_ms,
                        environment={"CAIRN_BENCH_LINGER": str(LINGER_MS)})
    own = sample.get("figures", {})
    if "drained_at" in own:
        own["drained_at"] -= sample["started_at"]
    return sample


def essence(sample, figure):
    """Without times and memory, which are those of the tool that was in between."""
    return {name: sample[name] for name in ("outcome", "detail", "wall", figure) if name in sample}


def preloaded(allocator):
    return [] if allocator.library is None else ["-E", "LD_PRELOAD=" + allocator.library]


def read_syscalls(path):
    """Counts by name. Lines are a number and a name; the last is the total."""
    with open(path) as file:
        rows = re.findall(r"^\s*(\d+)\s+(\w+)$", file.read(), re.MULTILINE)
    return {name: int(count) for count, name in rows if name != "total"}


def syscalls(runner, case, allocator, reference):
    table = runner.file("syscalls")
    through = ["strace", "-f", "-qq", "-c", "-U", "calls,name", "-o", table, *preloaded(allocator)]
    sample = runner.run(case, allocator, reference, 50, through=through)
    if sample["outcome"] == "ok":
        sample["syscalls"] = read_syscalls(table)
    return essence(sample, "syscalls")


def read_instructions(path, client):
    """Of one process; none of the client's."""
    with open(path) as file:
        text = file.read()
    command = re.search(r"^cmd: (.*)$", text, re.MULTILINE)
    if client is not None and command and client in command.group(1).split():
        return 0
    found = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def instructions(runner, case, allocator, reference):
    """Of all processes of the program, but for a server's client."""
    for path in glob.glob(runner.file("callgrind.*")):
        os.unlink(path)
    preload = [] if allocator.library is None else ["LD_PRELOAD=" + allocator.library]
    through = ["env", *preload, "valgrind", "--tool=callgrind", "--trace-children=yes", "--fair-sched=yes",
               "--callgrind-out-file=" + runner.file("callgrind.%p"), "--log-file=" + runner.file("log.%p")]
    sample = runner.run(case, allocator, reference, 300, through=through)
    if sample["outcome"] == "ok":
        total = 0
        for path in glob.glob(runner.file("callgrind.*")):
            total += read_instructions(path, case.client)
        sample["instructions"] = total
    return essence(sample, "instructions")


KINDS = {"memory": memory, "syscalls": syscalls, "instructions": instructions}
NEEDS = {"syscalls": "strace", "instructions": "valgrind"}


def missing(kind):
    """The program that a kind needs and that is not there."""
    return NEEDS[kind] if kind in NEEDS and shutil.which(NEEDS[kind]) is None else None
