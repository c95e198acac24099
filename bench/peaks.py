#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peak resident memory by the bytes that are live at once, of allocators side by side. See docs/bound.md."""
import concurrent.futures
import os
import sys
import tempfile
import threading
import time
from dataclasses import asdict, fields

sys.dont_write_bytecode = True

from lib import (choice, describe, extras, inputs, machine, markdown, measure, outputs, peaks, places, report,  # noqa: E402
                 results, series)
from lib.choice import positive, positives  # noqa: E402
from lib.entry import Parser, complain, enter, ignored_ends, named  # noqa: E402
from lib.terminal import Progress, show  # noqa: E402
from lib.workloads import Case, Missing  # noqa: E402

JUDGED = "cairn"
DEFAULT = ["cairn", "glibc", "debian", "newest", "hoard"]
TIMEOUT = 1800
BETWEEN = 30  # seconds between two writings of the results


def read_arguments(arguments):
    parser = Parser(prog="cairn peaks", description=__doc__)
    add = parser.add_argument
    add("--allocators", action="append", metavar="LIST",
        help="as those of cairn bench; the one called %s is held to the limits (%s)" % (JUDGED, ",".join(DEFAULT)))
    add("--cases", metavar="LIST", help="separated by semicolons, of: %s (all)" % "; ".join(peak.name for peak in peaks.PEAKS))
    add("--threads", type=positives, default=[2, 8, 64], metavar="LIST", help="numbers of threads (2,8,64)")
    add("--longer", type=positives, default=[2, 8], metavar="LIST",
        help="%s's cases also with so many times the work: its peak must not grow (2,8)" % JUDGED)
    add("--no-longer", action="store_true", help="not that")
    add("--quick", action="store_true", help="an eighth of the memory, a tenth of the work: does everything run?")
    add("--jobs", type=positive, default=len(os.sched_getaffinity(0)), metavar="N",
        help="runs at the same time: memory does not depend on it (the number of processors)")
    add("--with", dest="earlier", type=named, metavar="FILE", help="results of an earlier run: what is not run now, from there")
    add("--show", type=named, metavar="FILE", help="run nothing: the tables of earlier results")
    add("--markdown", action="store_true", help="tables for a page of docs/")
    add("-o", "--output", "--json", dest="output", type=named, metavar="FILE", help="where all figures go, as JSON")
    add("--build", default=places.default_build(), metavar="DIR",
        help="the build, or the prefix of an installed Cairn, to take programs and libraries from")
    options = parser.parse_args(arguments)
    options.build = os.path.abspath(options.build)
    options.longer = [] if options.no_longer else options.longer
    known = {peak.name: peak for peak in peaks.PEAKS}
    names = [name.strip() for name in options.cases.split(";")] if options.cases else list(known)
    for name in names:
        if name not in known:
            parser.error("no case is called '%s'; there are %s" % (name, "; ".join(known)))
    options.peaks = [known[name] for name in names]
    return options


class Series:
    """All runs. Each has a folder of its own, as several go on at a time."""

    def __init__(self, options, chosen, folder):
        self.options, self.chosen, self.folder = options, chosen, folder
        self.part, self.scale = peaks.share_of_work(options.quick)
        self.cells, self.runs, self.cases = {}, [], {}
        self.empty, self.live = {}, {}
        self.lock = threading.Lock()

    def runner(self):
        return extras.Runner(self.options.build, tempfile.mkdtemp(dir=self.folder))

    def run(self, case, allocator, linger_ms=0):
        runner = self.runner()
        environment = {"CAIRN_BENCH_TABLES": "1", "CAIRN_BENCH_LINGER": str(linger_ms)}
        return measure.run(runner.launcher, case, allocator, runner.folder, TIMEOUT, environment=environment)

    def measure_empty(self, threads):
        """Resident in a program with so many threads that uses no heap. The least of three: too much must not be subtracted."""
        case = Case("empty", threads, [places.program(self.options.build, "empty"), "--threads", str(threads)])
        samples = [self.run(case, series.REFERENCE) for _ in range(3)]
        for sample in samples:
            if sample["outcome"] != "ok":
                raise results.Unusable("empty/%d: %s" % (threads, sample["detail"]))
        return min(sample["peak_kib"] * 1024 - sample["figures"]["tables_bytes"] for sample in samples)

    def case(self, peak, threads, times=1):
        return peak.case(self.options.build, threads, self.part, self.scale * times)

    def plan(self):
        for threads in self.options.threads:
            for peak in self.options.peaks:
                case = self.case(peak, threads)
                self.cases[case.label] = case
                for allocator in self.chosen:
                    yield peak, threads, allocator, 1
                for times in self.options.longer:
                    yield from ((peak, threads, allocator, times) for allocator in self.chosen if allocator.name == JUDGED)

    def one(self, peak, threads, allocator, times):
        case = self.case(peak, threads, times)
        sample = self.run(case, allocator, extras.LINGER_MS if times == 1 else 0)
        cell = peaks.cell(peak, threads, sample, self.empty[threads], self.live[case.label])
        with self.lock:
            self.cells[case.label, allocator.name, times] = cell
            self.runs.append({"case": case.label, "allocator": allocator.name, "times": times, **sample})

    def count_live(self, label):
        self.live[label] = extras.live(self.runner(), self.cases[label], None)["live_bytes"]

    def go(self, pool, step, write):
        self.empty = {threads: self.measure_empty(threads) for threads in self.options.threads}
        tasks = list(self.plan())
        for label, _ in zip(self.cases, pool.map(self.count_live, self.cases)):
            step("%s live bytes" % label)
        written = time.monotonic()
        for done in concurrent.futures.as_completed([pool.submit(self.one, *task) for task in tasks]):
            done.result()
            step("")
            if time.monotonic() > written + BETWEEN:
                write()
                written = time.monotonic()


def cell_record(label, name, times, cell):
    judged = name == JUDGED
    return {"case": label, "allocator": name, "times": times, **asdict(cell), "ratio": cell.ratio,
            "over": judged and cell.over, "unsettled": judged and cell.unsettled}


def format_tables(found, cells, as_markdown=False):
    names = sorted((about["name"] for about in found["allocators"]), key=lambda name: name != JUDGED)
    parts = []
    for head, lines in peaks.tables(cells, names, JUDGED):
        parts.append(markdown.table(head, lines) if as_markdown else
                     "\n".join(report.aligned([head, *(["  " + line[0], *line[1:]] for line in lines)])))
    parts.append(
        "! a limit of %s's is missed, or with more work its peak is more than %.2f times that with little, and %d MiB.\n"
        "A second after the drain %d MiB may be resident. Left out everywhere: the program's own tables, and what is resident in\n"
        "a program of as many threads that uses no heap (%s)."
        % (JUDGED, peaks.GROWTH, peaks.NOISE // peaks.MIB, peaks.SETTLED // peaks.MIB,
           ", ".join("%s threads: %.1f MiB" % (threads, size / peaks.MIB) for threads, size in found["empty_bytes"].items())))
    return "\n\n".join(parts)


def print_tables(found, cells, as_markdown):
    show(format_tables(found, cells, as_markdown))
    return any(peaks.bad(cells, key, JUDGED) for key in cells)


def read(path):
    """Earlier results, and their cells by (case, allocator, times the work)."""
    found = inputs.read_object(path, "result of cairn peaks")
    if found.get("what") != "cairn peaks":
        raise results.Unusable("%s: is no result of cairn peaks" % path)
    results.check_format(path, found, "cairn peaks")
    try:
        names = [field.name for field in fields(peaks.Cell)]
        cells = {(cell["case"], cell["allocator"], cell["times"]): peaks.Cell(**{name: cell[name] for name in names})
                 for cell in found["cells"]}
        format_tables(found, cells)
        return found, cells
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as why:
        raise results.Unusable("%s: is damaged, or no result of cairn peaks: %r" % (path, why))


class Record:
    """What is known: of this run, and from earlier results what this one does not run."""

    def __init__(self, options, chosen):
        self.options, self.started, self.unwritten = options, time.time(), False
        self.allocators = [describe.allocator(allocator) for allocator in chosen]
        self.constant = {"machine": machine.facts(), "cairn": describe.cairn(options.build)}
        self.earlier = {}
        if options.earlier:
            found, self.earlier = read(options.earlier)
            if found.get("parameters", {}).get("quick") != options.quick:
                raise results.Unusable("%s: was made %s --quick, this is not" % (options.earlier, "without" if options.quick else "with"))
            known = {about["name"] for about in self.allocators}
            self.allocators += [about for about in found["allocators"] if about["name"] not in known]

    def results(self, runs, interrupted):
        options = self.options
        return {"format": 1, "what": "cairn peaks", "started": self.started, "seconds": time.time() - self.started,
                "interrupted": interrupted, **self.constant, "allocators": self.allocators,
                "parameters": {"threads": options.threads, "longer": options.longer, "quick": options.quick,
                               "ratio": peaks.RATIO, "idle_heap": peaks.IDLE_HEAP, "settled": peaks.SETTLED},
                "cases": [describe.case(case) for case in runs.cases.values()],
                "empty_bytes": runs.empty, "live_bytes": runs.live,
                "cells": [cell_record(*key, cell) for key, cell in {**self.earlier, **runs.cells}.items()], "runs": runs.runs}

    def write(self, runs, interrupted):
        """Where there is no room, that is said once, and what was measured is still shown. Nothing is no result."""
        if self.options.output is None or not runs.cells:
            return
        with runs.lock:
            found = self.results(runs, interrupted)
        try:
            results.write(self.options.output, found)
            self.unwritten = False
        except OSError as why:
            if not self.unwritten:
                complain("%s: %s" % (self.options.output, why.strerror))
            self.unwritten = True


def measure_all(options):
    if not os.path.exists(places.program(options.build, "launch")):
        complain("%s is missing: build the project first" % places.program(options.build, "launch"))
        return 2
    chosen = choice.choose_allocators(choice.allocator_words(options.allocators or DEFAULT, options.build), options.build)
    if not chosen:
        complain("nothing to run")
        return 2
    record = Record(options, chosen)
    if options.output:
        outputs.check_writable(options.output)
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="cairn-peaks-") as folder:
        runs = Series(options, chosen, folder)
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        judged = sum(allocator.name == JUDGED for allocator in chosen)
        try:
            with Progress(len(options.threads) * len(options.peaks) * (1 + len(chosen) + judged * len(options.longer))) as progress:
                runs.go(pool, progress.step, lambda: record.write(runs, True))
        except KeyboardInterrupt:
            interrupted = True
            pool.shutdown(wait=False, cancel_futures=True)
            measure.end_all()
        finally:
            pool.shutdown(cancel_futures=True)
            with ignored_ends():
                record.write(runs, interrupted)
    if not runs.cells and not record.earlier:
        complain("no run was made")
        return 130 if interrupted else 1
    wrong = print_tables(record.results(runs, interrupted), {**record.earlier, **runs.cells}, options.markdown)
    return 130 if interrupted else int(wrong or record.unwritten)


def main(arguments):
    options = read_arguments(arguments)
    if options.show:
        return int(print_tables(*read(options.show), options.markdown))
    try:
        return measure_all(options)
    except Missing as why:
        complain(str(why))
        return 1


if __name__ == "__main__":
    enter(main, "peaks")
