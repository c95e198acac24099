#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hoard's Table 7, measured: is an allocator fast, does it scale, does it avoid false sharing, does memory blow up?
See docs/taxonomy.md."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

import instructions  # noqa: E402
from lib import allocators, measure, places, report, results  # noqa: E402
from lib.choice import complain  # noqa: E402

# What Table 7 has of each (section 6 of the paper), and LKmalloc's section 7 for those that it adds: fast, scalable,
# avoids false sharing, blowup.
DOCUMENTS = {
    "serial": ("serial single heap", "yes", "no", "no", "O(1)"),
    "dl-locallocks": ("concurrent single heap", "no", "maybe", "no", "O(1)"),
    "private": ("pure private heaps", "yes", "yes", "no", "unbounded"),
    "owned": ("private heaps with ownership", "", "", "", ""),
    "ptmalloc-like": ("  Ptmalloc", "yes", "yes", "no", "O(P)"),
    "mtmalloc-like": ("  MTmalloc", "yes", "no", "no", "O(P)"),
    "lkmalloc": ("  LKmalloc", "yes", "yes", "yes", "O(P)"),
    "thresholds": ("private heaps with thresholds", "yes", "yes", "no", "O(1)"),
    "hoard": ("  Hoard", "yes", "yes", "yes", "O(1)"),
    "nbmalloc": ("  NBmalloc", "", "", "", ""),
    "wen-deng": ("  Wen and Deng's Hoard", "", "", "", ""),
    "wen-deng-apart": ("  the same, links apart", "", "", "", ""),
    "kingsley": ("Kingsley, one lock", "", "", "", ""),
    "kingsley-coalescing": ("  with coalescing", "", "", "", ""),
    "lea": ("Lea, one lock", "", "", "", ""),
    "cairn": ("Cairn", "", "", "", ""),
}
SHARED = {"active": ["--workload", "mixed", "--batch", "8"], "passive": ["--workload", "bleeding", "--batch", "8"]}


class Measuring:
    def __init__(self, build):
        self.build = build
        self.programs = places.programs(build)

    def coherence(self, name, *arguments):
        """The counts of a run, None where there are none."""
        program = os.path.join(self.programs, "coherence-" + name)
        try:
            run = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return json.loads(run.stdout) if run.returncode == 0 else None

    def peak_mib(self, name, program, *arguments):
        allocator = allocators.parse(name, self.build)
        command = [os.path.join(self.programs, "launch"), "--timeout", "300", "--preload", allocator.library, "--stdout",
                   "/dev/null", "--", os.path.join(self.programs, program), *arguments]
        run = subprocess.run(command, env=measure.clean_environment(), capture_output=True, text=True)
        figures = json.loads(run.stdout) if run.returncode == 0 else {"status": 1}
        return figures["peak_kib"] / 1024 if figures["status"] == 0 and not figures["signal"] else None

    def row(self, name):
        pair = os.path.join(self.programs, "pair")
        found = {"instructions": instructions.a_pair(pair, allocators.parse(name, self.build), 64, 1, 8000)}
        for threads in (2, 16, 64):
            counts = self.coherence(name, "--threads", str(threads), "--workload", "mixed", "--batch", "8", "--warmup",
                                    "400", "--steps", "50")
            found["transfers_%d" % threads] = counts and counts["transfers"]
        for kind, arguments in SHARED.items():
            counts = self.coherence(name, "--threads", "8", *arguments)
            found[kind] = counts and 100 * counts["falsely_shared"] / counts["blocks"]
        for threads in (2, 8):
            peak = self.peak_mib(name, "round_robin", "--threads", str(threads), "--megabytes", "16", "--rounds", "3")
            found["round_%d" % threads] = peak and peak / 16
        short = self.peak_mib(name, "producer_consumer", "--threads", "2", "--batches", "4000")
        long = self.peak_mib(name, "producer_consumer", "--threads", "2", "--batches", "32000")
        found["growth"] = long / short if short and long else None
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--allocators", metavar="LIST", help="of the family (all that are built)")
    parser.add_argument("--build", default=places.default_build(), metavar="DIR")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    known = [name for name in DOCUMENTS if name == "cairn" or allocators.family(name, options.build)]
    chosen = options.allocators.split(",") if options.allocators else known
    for name in chosen:
        if name not in known:
            complain("no allocator of the family is called '%s'; there are %s" % (name, ", ".join(known)))
            return 2
    measuring = Measuring(os.path.abspath(options.build))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = dict(zip(chosen, pool.map(measuring.row, chosen)))
    lines = [["", "", "instr.", "lines moved a pair, P =", "", "", "shared %", "", "round robin, P =", "", "growth"],
             ["", "document: fast, scalable, no false sharing, blowup", "a pair", "2", "16", "64", "active", "passive", "2",
              "8", "in time"]]
    for name, found in rows.items():
        kind, *claims = DOCUMENTS[name]
        said = ", ".join(claims) if any(claims) else ""
        lines.append([name, kind + (": " + said if said else ""), report.number(found["instructions"], "%.0f"),
                      *(report.number(found["transfers_%d" % p], "%.2f") for p in (2, 16, 64)),
                      report.number(found["active"], "%.1f"), report.number(found["passive"], "%.1f"),
                      *(report.number(found["round_%d" % p], "%.1f") for p in (2, 8)),
                      report.number(found["growth"], "%.1f")])
    width = max(len(line[1]) for line in lines)
    lines = [[line[0], line[1].ljust(width), *line[2:]] for line in lines]
    print("\n".join(text.rstrip() for text in report.aligned(lines)))
    if options.json:
        results.write(options.json, rows)
    return 0


sys.exit(main())
