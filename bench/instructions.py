#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions of a malloc and its free, under valgrind's callgrind: a figure that does not depend on
what else the machine does. See docs/benchmarks.md."""
import os
import shutil
import sys

sys.dont_write_bytecode = True

from lib import allocators, measure, places, report  # noqa: E402
from lib.entry import Parser, complain, enter  # noqa: E402
from lib.choice import choose_allocators, comma_list, positive, positives  # noqa: E402


def read_arguments(arguments):
    parser = Parser(description=__doc__)
    parser.add_argument("--allocators", type=comma_list, default=allocators.KNOWN, metavar="LIST",
                        help="names (%s), paths or NAME=PATH.so" % ", ".join(allocators.KNOWN))
    parser.add_argument("--sizes", type=positives, default=[8, 64, 512], metavar="LIST",
                        help="bytes of a block (8,64,512)")
    parser.add_argument("--batches", type=positives, default=[1, 64], metavar="LIST",
                        help="blocks allocated before the first is freed (1,64)")
    parser.add_argument("--call", default="malloc", choices=["malloc", "calloc", "aligned_alloc", "posix_memalign"],
                        help="what allocates, the latter two to 64 bytes (malloc)")
    parser.add_argument("--pairs", type=positive, default=64000, metavar="N", help="pairs in the shorter run (64000)")
    parser.add_argument("--build", default=places.default_build(), metavar="DIR",
                        help="the build to take programs and libcairn.so from (build/release)")
    return parser.parse_args(arguments)


def instructions(command, allocator, size, batch, pairs):
    """All instructions of one process; None if it did not end well, which is said."""
    run, counted = measure.count_instructions(
        [*command, "--size", str(size), "--batch", str(batch), "--pairs", str(pairs)], allocator)
    if counted is None:
        said = [line for line in run.stderr.splitlines() if line.strip() and not line.startswith("==")]
        how = "status %d" % run.returncode if run.returncode >= 0 else measure.signal_name(-run.returncode)
        complain("%s, %d B x %d: %s" % (allocator.name, size, batch, ": ".join([how, *said[-1:]])))
    return counted


def a_pair(command, allocator, size, batch, pairs):
    """The second half of the longer run: start and warm-up are in both, and cancel out. Batches are whole ones."""
    pairs = (pairs + batch - 1) // batch * batch
    short = instructions(command, allocator, size, batch, pairs)
    long = None if short is None else instructions(command, allocator, size, batch, 2 * pairs)
    return None if long is None else (long - short) / pairs


def main(arguments):
    options = read_arguments(arguments)
    program = places.program(options.build, "pair")
    if not os.path.exists(program):
        complain("%s is missing: build the project first" % program)
        return 2
    if shutil.which("valgrind") is None:
        complain("valgrind is not installed")
        return 2
    chosen = choose_allocators(options.allocators, options.build)
    if not chosen:
        complain("nothing to run")
        return 2
    cases = [(size, batch) for size in options.sizes for batch in options.batches]
    command = [program, "--call", options.call]
    missing = False
    lines = [["instructions a pair", *("%d B%s" % (size, "" if batch == 1 else " x %d" % batch)
                                       for size, batch in cases)]]
    for allocator in chosen:
        figures = [a_pair(command, allocator, size, batch, options.pairs) for size, batch in cases]
        missing = missing or None in figures
        lines.append(["  " + allocator.name, *(report.number(figure, "%.1f") for figure in figures)])
    print("\n".join(report.aligned(lines)))
    return 1 if missing else 0


if __name__ == "__main__":
    enter(main, "instructions")
