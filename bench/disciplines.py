#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares programs with a discipline of their own for memory (workloads xalloc and obstack) on the allocator that was
written by hand for it, on the kit's layers and on a malloc: by instructions and peak memory, which do not depend on what
else the machine does. See docs/paper.md."""
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.dont_write_bytecode = True

from lib import allocators, measure, places, report  # noqa: E402
from lib.choice import positive  # noqa: E402
from lib.entry import Parser, complain, enter  # noqa: E402

# The first one is what the others are compared with.
VARIANTS = {
    "xalloc": ["original", "inlined", "layered"],
    "obstack": ["original", "functions", "layered", "freelist"],
}
# What is counted: one percent of the work, and two, of a text that is read in a second under valgrind.
COUNTED = {"xalloc": [], "obstack": ["--functions", "4"]}


@dataclass
class Row:
    name: str
    instructions: int
    peak_kib: int
    output: str


class Failed(Exception):
    """Why there is no figure; the text is one line."""


def count(command, allocator):
    """All instructions of one process."""
    run, counted = measure.count_instructions(command, allocator)
    if counted is None:
        raise Failed("%s: status %d" % (" ".join(command), run.returncode))
    return counted


def row(build, workload, variant, allocator, work):
    program = [places.program(build, workload), "--variant", variant]
    shorter, longer = (count([*program, *COUNTED[workload], "--scale", scale], allocator) for scale in ("1", "2"))
    # Peak memory is of the whole work, without valgrind's own.
    with tempfile.NamedTemporaryFile("r") as output:
        preload = [] if allocator.library is None else ["--preload", allocator.library]
        run = subprocess.run([places.program(build, "launch"), "--timeout", "3600", *preload, "--stdout", output.name, "--", *program, "--scale",
                              str(work)], env={**measure.clean_environment(), **allocator.environment},
                             capture_output=True, text=True, check=True)
        figures = json.loads(run.stdout)
        if figures["status"] != 0 or figures["signal"] != 0:
            raise Failed("%s %s: status %d, signal %d" % (workload, variant, figures["status"], figures["signal"]))
        name = variant if variant != "malloc" else "malloc, " + allocator.name
        return Row(name, longer - shorter, figures["peak_kib"], output.read())


def rows(build, workload, chosen, work):
    system = allocators.Allocator("glibc", None)
    answer = [row(build, workload, variant, system, work) for variant in VARIANTS[workload]]
    answer += [row(build, workload, "malloc", allocator, work) for allocator in chosen]
    if len({each.output for each in answer}) != 1:
        raise Failed("%s: the variants do not do the same work" % workload)
    return answer


def read_arguments(arguments):
    parser = Parser(description=__doc__)
    parser.add_argument("--allocators", default="glibc,cairn", metavar="LIST",
                        help="for the variant that uses malloc: names, paths or NAME=PATH.so (glibc,cairn)")
    parser.add_argument("--workloads", default=",".join(VARIANTS), metavar="LIST", help="of: " + ", ".join(VARIANTS))
    parser.add_argument("--scale", type=positive, default=100, metavar="PERCENT",
                        help="how much of the work peak memory is taken of (100)")
    parser.add_argument("--build", default=places.default_build(), metavar="DIR", help="the build to take programs from")
    return parser.parse_args(arguments)


def main(arguments):
    options = read_arguments(arguments)
    try:
        chosen = [allocators.parse(name, options.build) for name in options.allocators.split(",") if name]
        for allocator in chosen:
            allocators.confirm(allocator, places.program(options.build, "probe"), measure.clean_environment())
        for workload in options.workloads.split(","):
            if workload not in VARIANTS:
                raise Failed("no discipline is called '%s'; there are %s" % (workload, ", ".join(VARIANTS)))
            table = [[workload, "instructions", "x original", "peak MiB"]]
            found = rows(options.build, workload, chosen, options.scale)
            for each in found:
                table.append(["  " + each.name, "%d" % each.instructions,
                              "%.3f" % (each.instructions / found[0].instructions), "%.1f" % (each.peak_kib / 1024)])
            print("\n".join(report.aligned(table)), flush=True)
    except (Failed, allocators.Unavailable) as why:
        complain(str(why))
        return 1
    except FileNotFoundError as missing:
        complain("%s is not there" % missing.filename)
        return 2
    return 0


if __name__ == "__main__":
    enter(main, "disciplines")
