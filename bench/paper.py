#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The documents' tables and figures, measured again, beside the documents' own figures. See docs/paper.md."""
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from lib import machine, outputs, places, results  # noqa: E402
from lib.choice import positive  # noqa: E402
from lib.entry import Parser, complain, enter, named  # noqa: E402
from papers import form, heap_layers, hoard, lkmalloc, nbmalloc, wen_deng  # noqa: E402
from papers.lab import Lab, Missing  # noqa: E402

TABLES = {table.name: table for document in (hoard, heap_layers, nbmalloc, lkmalloc, wen_deng)
          for table in document.TABLES}


def read_arguments(arguments):
    parser = Parser(prog="cairn paper", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="see --list")
    parser.add_argument("--list", action="store_true", help="say what tables there are")
    parser.add_argument("--quick", action="store_true", help="little work, once: does everything run?")
    parser.add_argument("--repeat", type=positive, metavar="N", help="interleaved repetitions of times (5; with --quick 1)")
    parser.add_argument("-o", "--output", type=named, metavar="FILE", help="complete results, as JSON")
    parser.add_argument("--build", default=places.default_build(), metavar="DIR",
                        help="the build to take programs and libraries from (build/release)")
    return parser.parse_args(arguments)


def listing():
    lines = [[table.name, ("%s, %s: " % (table.document, table.where) + table.title)] for table in TABLES.values()]
    width = max(len(line[0]) for line in lines)
    return "\n".join("%s  %s" % (name.ljust(width), text) for name, text in lines)


def here(facts):
    return "%d processors (%s), Linux %s, %s, load %.1f" % (facts["processors"], facts["processor"], facts["kernel"],
                                                          facts["libc"], facts["load"])


def main(arguments):
    options = read_arguments(arguments)
    if options.list:
        print(listing())
        return 0
    unknown = [name for name in options.tables if name not in TABLES]
    if unknown or not options.tables:
        complain("no table is called '%s'; see --list" % unknown[0] if unknown else "which table? see --list")
        return 2
    if options.output:
        outputs.check_writable(options.output)
    done, bad = [], 0
    for name in options.tables:
        table, facts, started = TABLES[name], machine.facts(), time.time()
        with tempfile.TemporaryDirectory(prefix="cairn-paper-") as folder:
            lab = Lab(options.build, folder, options.quick, options.repeat or (1 if options.quick else 5), complain)
            try:
                measured = table.measure(lab)
            except (Missing, subprocess.TimeoutExpired) as why:
                complain("%s: %s" % (name, why))
                bad = 1
                continue
        if done:
            print()
        print(form.page(table, measured, here(facts)))
        sys.stdout.flush()
        done.append({**form.record(table, measured), "machine": facts, "quick": options.quick,
                     "seconds": round(time.time() - started, 1)})
        if options.output:
            try:
                results.write(options.output, {"format": 1, "tables": done})
            except OSError as why:
                complain("%s: %s" % (options.output, why.strerror))
                bad = 1
    return bad


if __name__ == "__main__":
    enter(main, "paper")
