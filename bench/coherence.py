#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the cache lines that allocators move between processors, side by side. See docs/coherence.md."""
import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

from lib import places, results  # noqa: E402

PREFIX = "coherence-"

# What a row of the table is: a name, and what the program is told. The documents' extremes: nothing passes between
# threads; every block does, one at a time and many; a few do.
ROWS = {
    "local": ["--workload", "local"],
    "local, 64 at a time": ["--workload", "local", "--batch", "64", "--steps", "40", "--warmup", "40"],
    "mixed sizes": ["--workload", "mixed", "--batch", "8", "--warmup", "400"],
    "2 % bleeding": ["--workload", "bleeding", "--batch", "8", "--warmup", "400"],
    "remote free": ["--workload", "remote"],
    "remote, 32 at a time": ["--workload", "remote", "--batch", "32", "--steps", "40", "--warmup", "40"],
    "one producer": ["--workload", "producer"],
    "larson": ["--workload", "larson", "--batch", "64", "--steps", "400", "--warmup", "400"],
    "larson, once a block": ["--workload", "larson", "--batch", "64", "--steps", "400", "--warmup", "400",
                             "--replacements", "1"],
}


def fail(text):
    print("coherence: " + text, file=sys.stderr)
    raise SystemExit(2)


def programs(build):
    found = sorted(glob.glob(places.program(build, PREFIX + "*")))
    return {os.path.basename(path)[len(PREFIX):]: path for path in found}


def numbers(text):
    values = [int(part) for part in text.split(",")]
    if any(not 1 <= value <= 256 for value in values):
        raise argparse.ArgumentTypeError("numbers of threads are 1 to 256")
    return values


def count(task):
    """One run, or the worst of several seeds."""
    program, row, threads, seeds = task
    worst = None
    for seed in seeds:
        command = [program, *ROWS[row], "--threads", str(threads), "--seed", str(seed)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            return {"trouble": "HANG"}
        if ended.returncode == 2:
            return None  # too few threads for this workload
        if ended.returncode != 0:
            return {"trouble": "CRASH" if ended.returncode < 0 else "FAILED", "detail": ended.stderr.strip()[-200:]}
        counts = json.loads(ended.stdout)
        if worst is None or counts["transfers"] > worst["transfers"]:
            worst = counts
    return worst


def cell(counts, what):
    if counts is None:
        return "-"
    return counts["trouble"] if "trouble" in counts else "%.2f" % counts[what]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--allocators", metavar="LIST", help="those that are built, by name (all)")
    parser.add_argument("--threads", type=numbers, default=[2, 16], metavar="LIST", help="processors (2,16)")
    parser.add_argument("--rows", metavar="LIST", help="of: %s (all)" % "; ".join(ROWS).replace("%", "%%"))
    parser.add_argument("--seeds", type=int, default=0, metavar="N",
                        help="besides, stop threads inside the allocator in N ways, and give the worst (0)")
    parser.add_argument("--count", default="transfers", metavar="WHAT",
                        choices=["transfers", "reads", "writes", "upgrades", "rmws", "cold", "falsely_shared"],
                        help="transfers (all of reads, writes, upgrades), rmws, cold or falsely_shared")
    parser.add_argument("--build", default=places.default_build(), metavar="DIR")
    parser.add_argument("--json", metavar="FILE", help="write all counts there")
    options = parser.parse_args()

    known = programs(options.build)
    if not known:
        fail("no %s* in %s: build the project with clang++-19 installed" % (PREFIX, places.programs(options.build)))
    chosen = options.allocators.split(",") if options.allocators else list(known)
    rows = [row.strip() for row in options.rows.split(";")] if options.rows else list(ROWS)
    for name in chosen:
        if name not in known:
            fail("no allocator is called '%s'; there are: %s" % (name, ", ".join(known)))
    for row in rows:
        if row not in ROWS:
            fail("no row is called '%s'; there are: %s" % (row, "; ".join(ROWS)))

    tasks = [(name, row, threads) for row in rows for threads in options.threads for name in chosen]
    seeds = range(options.seeds + 1)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = dict(zip(tasks, pool.map(count, [(known[n], row, p, seeds) for n, row, p in tasks])))
    width = max(len(row) for row in rows)
    print("%s a pair of malloc and free" % options.count if options.count != "falsely_shared"
          else "blocks handed out in a line with another thread's")
    print("%-*s %4s  %s" % (width, "", "P", "  ".join("%*s" % (max(7, len(name)), name) for name in chosen)))
    for row in rows:
        for threads in options.threads:
            cells = [cell(counted[name, row, threads], options.count) for name in chosen]
            print("%-*s %4d  %s" % (width, row, threads,
                                    "  ".join("%*s" % (max(7, len(name)), text) for name, text in zip(chosen, cells))))
    if options.json:
        results.write(options.json, [{"row": row, "threads": threads, "allocator": name, "counts": counts}
                                     for (name, row, threads), counts in counted.items()])
    return 1 if any(counts and "trouble" in counts for counts in counted.values()) else 0


sys.exit(main())
