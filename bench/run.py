#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs workloads under several allocators side by side, and prints time and memory. See docs/benchmarks.md."""
import os
import sys

sys.dont_write_bytecode = True

from lib import allocators, choice, command_line, compare, figures, markdown, outputs, places, report, results, workloads  # noqa: E402
from lib.entry import complain, enter  # noqa: E402
from lib.session import Session  # noqa: E402
from lib.terminal import show  # noqa: E402


def print_tables(found, baseline, by, as_markdown):
    names = [allocator["name"] for allocator in found["allocators"]]
    cases = [case["case"] for case in found["cases"]]
    if baseline not in names:
        raise results.Unusable("%s is not among the allocators: %s" % (baseline, ", ".join(names)))
    rows = figures.rows(found["samples"], cases, names, baseline, by, found.get("extras", []))
    if as_markdown:
        print(markdown.whole(found, rows, names, baseline, by))
    else:
        show(report.whole(rows, names, baseline, by))
    return rows


def print_comparison(path, old, new):
    show("\n" + report.comparison(*compare.changes(old, new), os.path.basename(path)))


def read_results(path):
    """Looked through now, not when something has been measured for hours."""
    found = results.read(path)
    try:
        compare.changes(found, found)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as why:
        raise results.Unusable("%s: is damaged, or of another version: %r" % (path, why))
    return found


def list_what_is_there(build):
    for name, members in choice.groups(build).items():
        if name != "all":
            print("%-8s %s" % (name, ", ".join(members) or "none"))
    print("others   glibc, cairn, NAME=PATH.so")
    print("workloads")
    for workload in workloads.WORKLOADS:
        try:
            workload.cases(build, [1], workloads.QUICK_SCALE)
            print("  " + workload.name)
        except workloads.Missing as why:
            print("  " + str(why))


def prepare(options):
    """A session, None if there is nothing to run."""
    if not os.path.exists(places.program(options.build, "launch")):
        complain("%s is missing: build the project first" % places.program(options.build, "launch"))
        return None
    words = choice.allocator_words(options.allocators or allocators.KNOWN, options.build)
    chosen = choice.choose_allocators(words, options.build)
    cases = choice.choose_cases(options.workloads, options.build, options.threads, options.scale)
    if not chosen or not cases:
        complain("nothing to run")
        return None
    baseline = options.baseline or choice.BASELINE
    if baseline not in [allocator.name for allocator in chosen]:
        complain("%s is not among the allocators: ratios are to %s" % (baseline, chosen[0].name))
        baseline = chosen[0].name
    return Session(options, chosen, cases, baseline, options.by or choice.BY)


def measure_and_show(options, old):
    session = prepare(options)
    if session is None:
        return 2
    outputs.check_writable(session.path)
    session.run()
    if not session.samples:
        complain("no run was made")
        return 130 if session.interrupted else 1
    found = session.results()
    rows = print_tables(found, found["baseline"], found["by"], options.markdown)
    if old:
        print_comparison(options.compare, old, found)
    print("\n%d runs in %.0f s%s; %s" %
          (len(found["samples"]) + len(found["extras"]), found["seconds"], ", interrupted" if session.interrupted else "",
           "the samples could not be written" if session.unwritten else
           "all samples are in " + os.path.relpath(session.path)), file=sys.stderr if options.markdown else sys.stdout)
    if session.interrupted:
        return 130
    return 1 if session.unwritten or session.left_out or any(row.trouble for row in rows) else 0


def main(arguments):
    options = command_line.read(arguments, __doc__)
    options.build = os.path.abspath(options.build)
    if options.list:
        list_what_is_there(options.build)
        return 0
    old = read_results(options.compare) if options.compare else None
    found = read_results(options.show) if options.show else None
    if found is None:
        return measure_and_show(options, old)
    try:
        print_tables(found, options.baseline or found["baseline"], options.by or found["by"], options.markdown)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as why:
        raise results.Unusable("%s: is damaged, or of another version: %r" % (options.show, why))
    if old:
        print_comparison(options.compare, old, found)
    return 0


if __name__ == "__main__":
    enter(main, "bench")
