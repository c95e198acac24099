#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the cache lines that allocators move between processors, side by side. See docs/coherence.md."""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

from lib import allocators, measure, outputs, places, results  # noqa: E402
from lib.entry import Parser, complain, enter, ignored_ends, named  # noqa: E402

PREFIX = "coherence-"
PEER = "peer-coherence"  # the program that has a preloaded library for its allocator
GROWS = 0.25  # new lines a pair: memory that was never used before, so the count is not that of a heap at rest

# What a row of the table is: a name, and what the program is told. The documents' extremes: nothing passes between
# threads; every block does, one at a time and many; a few do.
ROWS = {
    "local": ["--workload", "local"],
    "local, 64 at a time": ["--workload", "local", "--batch", "64", "--steps", "40", "--warmup", "40"],
    "mixed sizes": ["--workload", "mixed", "--batch", "8", "--warmup", "400"],
    "2 % bleeding": ["--workload", "bleeding", "--batch", "8", "--warmup", "400"],
    "remote free": ["--workload", "remote", "--steps", "400", "--warmup", "1000"],
    "remote, 32 at a time": ["--workload", "remote", "--batch", "32", "--steps", "40", "--warmup", "80"],
    "one producer": ["--workload", "producer", "--steps", "400", "--warmup", "1000"],
    "producer, 32 at a time": ["--workload", "producer", "--batch", "32", "--steps", "40", "--warmup", "80"],
    "active-false": ["--workload", "active", "--size", "8"],
    "passive-false": ["--workload", "passive", "--size", "8"],
    "larson": ["--workload", "larson", "--batch", "64", "--steps", "400", "--warmup", "400"],
    "larson, once a block": ["--workload", "larson", "--batch", "64", "--steps", "400", "--warmup", "400",
                             "--replacements", "1"],
}
# With more threads than these, fewer steps of each: they take turns, and all their steps would take minutes. In larson, still as
# many as it takes to pass each block on. The counts are within a percent of those of all steps.
MANY = 64
SHORTER = {
    "2 % bleeding": ["--steps", "50"],
    "larson": ["--steps", "200"],
    "larson, once a block": ["--steps", "50", "--warmup", "100"],
}
LIMIT = 3600  # seconds for one count: on a machine that others keep busy the longest have taken ten minutes


def fail(text):
    complain(text)
    raise SystemExit(2)


def subjects(build):
    """Name: command and environment. Those of the project, and the peers that bench/peers.py --coherence has built."""
    found = {os.path.basename(path)[len(PREFIX):]: (path, None) for path in sorted(glob.glob(places.program(build, PREFIX + "*")))}
    peer = places.program(build, PEER)
    if os.path.exists(peer):
        for library in sorted(glob.glob(os.path.join(allocators.peers_folder(), "coherence", "*.so"))):
            found.setdefault(os.path.splitext(os.path.basename(library))[0], (peer, library))
    return found


def choose(words, known):
    """The names that a list stands for; `peers` and `family` are all of theirs."""
    names = []
    for word in words.split(","):
        if word == "peers":
            names += [name for name, (_, library) in known.items() if library]
        elif word == "family":
            names += [name for name, (_, library) in known.items() if not library and name != "cairn"]
        elif word in known:
            names.append(word)
        else:
            fail("no allocator is called '%s'; there are: %s" % (word, ", ".join(known)))
    return list(dict.fromkeys(names))


def numbers(text):
    values = list(dict.fromkeys(int(part) for part in text.split(",")))
    if any(not 1 <= value <= 256 for value in values):
        raise argparse.ArgumentTypeError("numbers of threads are 1 to 256")
    return values


def seeds(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be at least 0")
    return value


def count(subject, row, threads, with_seeds, where):
    """One run, or the worst of several seeds."""
    program, library = subject
    environment = {**os.environ, "LD_PRELOAD": library} if library else None
    worst = None
    for seed in with_seeds:
        shorter = SHORTER.get(row, []) if threads > MANY else []
        command = [program, *ROWS[row], *shorter, "--threads", str(threads), "--seed", str(seed), "--places", str(int(where))]
        try:
            ended = measure.call(command, text=True, timeout=LIMIT, env=environment)
        except subprocess.TimeoutExpired:
            return {"trouble": "HANG"}
        if ended.returncode == 2 and ended.stderr.rstrip().endswith(" threads"):
            return None  # this workload needs more of them
        if ended.returncode != 0:
            return {"trouble": "CRASH" if ended.returncode < 0 else "FAILED", "detail": ended.stderr.strip()[-200:]}
        counts = json.loads(ended.stdout)
        counts["total"] = round(counts["transfers"] + counts["program"], 4)
        if worst is None or counts["transfers"] > worst["transfers"]:
            worst = counts
    return worst


def cell(counts, what):
    if counts is None:
        return "-"
    if "trouble" in counts:
        return counts["trouble"]
    return ("%d" if what == "falsely_shared" else "%.2f") % counts[what] + ("*" if counts["cold"] > GROWS else "")


def without_parameters(name):
    """C++ names without what stands in <> and ()."""
    shorter = re.sub(r"<[^<>]*>|\([^()]*\)", "", name)
    return name if shorter == name else without_parameters(shorter)


def lines_of(module, offset):
    """The source lines that an address stands for, the innermost first: function and file."""
    ended = subprocess.run(["addr2line", "-Cfipse", module, hex(offset - 1)], capture_output=True, text=True)
    lines = [line.strip().removeprefix("(inlined by) ") for line in ended.stdout.splitlines()]
    return [without_parameters(line) for line in lines] or ["?"]


def print_where(name, row, threads, counts):
    print("\n%s, %s, P = %d: reads, writes, upgrades, rmws a pair" % (name, row, threads))
    for place in sorted(counts["places"], key=lambda place: -(place["transfers"] + place["rmws"] / 1000)):
        if max(place["transfers"], place["rmws"]) < 0.01:
            continue
        inner, *outer = lines_of(place["module"], place["offset"])
        print("  %.2f %.2f %.2f %.2f  %s" % (*(place[what] for what in ("reads", "writes", "upgrades", "rmws")), inner))
        for line in outer[:3]:
            print("%21s in %s" % ("", line))


def main(arguments):
    parser = Parser(description=__doc__)
    parser.add_argument("--allocators", metavar="LIST",
                        help="by name; family, peers: all of those (all that are built, see bench/peers.py --coherence)")
    parser.add_argument("--threads", type=numbers, default=[2, 16], metavar="LIST", help="processors (2,16)")
    parser.add_argument("--rows", metavar="LIST", help="of: %s (all)" % "; ".join(ROWS).replace("%", "%%"))
    parser.add_argument("--seeds", type=seeds, default=0, metavar="N",
                        help="besides, stop threads inside the allocator in N ways, and give the worst (0)")
    parser.add_argument("--count", default="transfers", metavar="WHAT",
                        choices=["transfers", "program", "total", "reads", "writes", "upgrades", "rmws", "cold", "falsely_shared"],
                        help="transfers (all of reads, writes, upgrades), program (transfers in the program's own use of the "
                        "blocks), total (of both), rmws, cold or falsely_shared")
    parser.add_argument("--where", action="store_true", help="also which lines of the allocators' source make the transfers")
    parser.add_argument("--build", default=places.default_build(), metavar="DIR")
    parser.add_argument("--json", type=named, metavar="FILE", help="write all counts there")
    options = parser.parse_args(arguments)

    if options.where and shutil.which("addr2line") is None:
        fail("--where needs addr2line (package binutils)")
    known = subjects(options.build)
    if not known:
        fail("no %s* in %s: build the project with clang++-19 installed" % (PREFIX, places.programs(options.build)))
    chosen = choose(options.allocators, known) if options.allocators else list(known)
    rows = list(dict.fromkeys(row.strip() for row in options.rows.split(";"))) if options.rows else list(ROWS)
    for row in rows:
        if row not in ROWS:
            fail("no row is called '%s'; there are: %s" % (row, "; ".join(ROWS)))

    if options.json:
        outputs.check_writable(options.json)

    tasks = [(name, row, threads) for row in rows for threads in options.threads for name in chosen]
    with_seeds = range(options.seeds + 1)
    counted, interrupted = {}, False
    try:
        for (name, row, threads), counts in measure.at_once(
                lambda task: count(known[task[0]], *task[1:], with_seeds, options.where), tasks):
            counted[name, row, threads] = counts
    except KeyboardInterrupt:
        if not counted:
            raise
        interrupted = True
        complain("interrupted after %d of %d counts" % (len(counted), len(tasks)))
    counted = {task: counted[task] for task in tasks if task in counted}
    unwritten = False
    if options.json:
        with ignored_ends():
            try:
                results.write(options.json, [{"row": row, "threads": threads, "allocator": name, "counts": counts}
                                             for (name, row, threads), counts in counted.items()])
            except OSError as why:
                complain("%s: %s" % (options.json, why.strerror))
                unwritten = True
    for (name, row, threads), counts in counted.items():
        if counts and counts.get("detail"):
            complain("%s, %s, P = %d: %s" % (name, row, threads, counts["detail"].split("\n")[-1]))
    width = max(len(row) for row in rows)
    print("%s a pair of malloc and free" % options.count if options.count != "falsely_shared"
          else "blocks handed out in a line with another thread's")
    print("%-*s %4s  %s" % (width, "", "P", "  ".join("%*s" % (max(7, len(name)), name) for name in chosen)))
    for row in rows:
        for threads in options.threads:
            cells = [cell(counted.get((name, row, threads)), options.count) for name in chosen]
            print("%-*s %4d  %s" % (width, row, threads,
                                    "  ".join("%*s" % (max(7, len(name)), text) for name, text in zip(chosen, cells))))
    if any(counts and counts.get("cold", 0) > GROWS for counts in counted.values()):
        print("* takes memory that was never used before: more than %.2f lines a pair" % GROWS)
    if options.where:
        for (name, row, threads), counts in counted.items():
            if counts and "places" in counts:
                print_where(name, row, threads, counts)
    if interrupted:
        return 130
    return int(unwritten or any(counts and "trouble" in counts for counts in counted.values()))


if __name__ == "__main__":
    enter(main, "coherence")
