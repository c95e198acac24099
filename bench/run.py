#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs workloads under several allocators side by side, and prints time and memory. See docs/benchmarks.md."""
import argparse
import os
import sys
import tempfile
import time
from dataclasses import asdict

sys.dont_write_bytecode = True

from lib import allocators, figures, machine, measure, places, report, results, series, workloads  # noqa: E402

ROOT = places.ROOT


def complain(text):
    print("bench: " + text, file=sys.stderr)


def comma_list(text):
    return [part for part in text.split(",") if part]


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def thread_counts(text):
    return [positive(part) for part in comma_list(text)]


def read_arguments(arguments):
    parser = argparse.ArgumentParser(prog="cairn bench", description=__doc__)
    parser.add_argument("--allocators", action="append", metavar="LIST",
                        help="names (%s), paths or NAME=PATH.so, separated by commas; repeat the option for one "
                             "with settings: NAME=PATH.so;VARIABLE=VALUE" % ", ".join(allocators.KNOWN))
    parser.add_argument("--workloads", type=comma_list, default=workloads.DEFAULT, metavar="LIST",
                        help="of: %s" % ", ".join(workload.name for workload in workloads.WORKLOADS).replace("%", "%%"))
    parser.add_argument("--repeat", type=positive, metavar="N", help="repetitions (5; with --quick 1)")
    parser.add_argument("--threads", type=thread_counts, default=[len(os.sched_getaffinity(0))], metavar="LIST",
                        help="numbers of threads (the number of processors)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, once: does everything run?")
    parser.add_argument("--baseline", default="glibc", metavar="NAME", help="what ratios are taken to (glibc)")
    parser.add_argument("--by", choices=sorted(figures.TIMES), default="wall", help="the time to compare (wall)")
    parser.add_argument("--sample", type=int, default=0, metavar="MS",
                        help="look at smaps_rollup every MS milliseconds (off: it costs time)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS",
                        help="when a run counts as hung (10 times its reference run, at least %d s)"
                             % series.LEAST_TIMEOUT)
    parser.add_argument("--build", default=places.default_build(), metavar="DIR",
                        help="the build to take programs and libcairn.so from (build/release)")
    parser.add_argument("--json", metavar="FILE", help="where results go (bench/results/local/DATE-TIME.json)")
    return parser.parse_args(arguments)


def choose_allocators(given, build):
    """Those that can take part; for every other one a line that says why not."""
    chosen, probe = [], places.program(build, "probe")
    for specification in given:
        try:
            allocator = allocators.parse(specification, build)
            provider = allocators.confirm(allocator, probe, measure.clean_environment())
        except allocators.Unavailable as why:
            complain("skipped: %s" % why)
            continue
        if any(other.name == allocator.name for other in chosen):
            complain("skipped: %s: a second allocator of that name" % allocator.name)
            continue
        chosen.append(allocator)
        allocator.provider = provider
    return chosen


def choose_cases(names, build, threads, scale):
    known = {workload.name: workload for workload in workloads.WORKLOADS}
    cases = []
    for name in names:
        if name not in known:
            complain("no workload is called '%s'; there are %s" % (name, ", ".join(known)))
            raise SystemExit(2)
        try:
            cases += known[name].cases(build, threads, scale)
        except workloads.Missing as why:
            complain("skipped: %s" % why)
    return cases


def portable(word):
    """Words in result files: the system's paths as they are, this tree's from its root, of all others the name."""
    if ROOT + os.sep in word:
        return word.replace(ROOT + os.sep, "")
    return os.path.basename(word) if word.startswith("/") and not word.startswith(("/usr/", "/lib")) else word


def describe_allocator(allocator):
    return {"name": allocator.name, "library": portable(os.path.realpath(allocator.provider)),
            "sha256": allocators.sha256(allocator.provider), "package": allocators.package(allocator.provider),
            "environment": allocator.environment}


def describe_case(case):
    return {"case": case.label, "workload": case.name, "threads": case.threads,
            "command": [portable(word) for word in case.command],
            "environment": case.environment}


def main(arguments):
    options = read_arguments(arguments)
    repeat = options.repeat or (1 if options.quick else 5)
    launcher = places.program(options.build, "launch")
    if not os.path.exists(launcher):
        complain("%s is missing: build the project first" % launcher)
        return 2
    given = [part for text in options.allocators or allocators.KNOWN
             for part in ([text] if ";" in text else comma_list(text))]
    chosen = choose_allocators(given, options.build)
    cases = choose_cases(options.workloads, options.build, options.threads,
                         workloads.QUICK_SCALE if options.quick else 100)
    if not chosen or not cases:
        complain("nothing to run")
        return 2
    names = [allocator.name for allocator in chosen]
    baseline = options.baseline
    if baseline not in names:
        complain("%s is not among the allocators: ratios are to %s" % (baseline, names[0]))
        baseline = names[0]

    started = time.time()
    samples, left_out, interrupted = [], 0, False
    described = {"machine": machine.facts()}
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as folder:
        try:
            expected = series.references(launcher, cases, folder, options.timeout, complain)
            left_out = len(cases) - len(expected)
            cases = [case for case in cases if case.label in expected]
            for sample in series.run(launcher, cases, chosen, repeat, folder, expected, options.timeout,
                                     options.sample):
                samples.append(sample)
        except KeyboardInterrupt:
            interrupted = True
    if not samples:
        complain("no run was made")
        return 1

    rows = figures.rows(samples, [case.label for case in cases], names, baseline, options.by)
    path = options.json or os.path.join(places.results_folder(), time.strftime("%Y%m%d-%H%M%S.json", time.localtime(started)))
    results.write(path, {
        "format": 1, "started": started, "seconds": time.time() - started, "interrupted": interrupted,
        **described, "repeat": repeat, "quick": options.quick, "baseline": baseline, "by": options.by,
        "allocators": [describe_allocator(allocator) for allocator in chosen],
        "cases": [describe_case(case) for case in cases],
        "summary": [asdict(row) for row in rows], "samples": samples})
    print(report.whole(rows, names, baseline, options.by))
    print("\n%d runs in %.0f s%s; all samples are in %s" %
          (len(samples), time.time() - started, ", interrupted" if interrupted else "", os.path.relpath(path)))
    return 1 if interrupted or left_out or any(row.trouble for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
