# SPDX-License-Identifier: MIT
"""A whole measurement: references, the timed series, the extra runs, and the results that all of it makes."""
import os
import tempfile
import time
from dataclasses import asdict

from . import choice, describe, extras, figures, machine, places, results, series
from .entry import complain, ignored_ends
from .terminal import Progress


class Session:
    def __init__(self, options, chosen, cases, baseline, by):
        self.options, self.allocators, self.cases = options, chosen, cases
        self.baseline, self.by = baseline, by
        self.launcher = places.program(options.build, "launch")
        self.started, self.interrupted = time.time(), True  # until it has come to its end
        self.expected, self.samples, self.extras = {}, [], []
        self.left_out, self.unwritten = 0, False
        self.constant = {"machine": machine.facts(), "cairn": describe.cairn(options.build),
                         "allocators": [describe.allocator(allocator) for allocator in chosen]}
        self.path = options.output or places.unnamed_results(self.started)

    def run(self):
        kinds = [kind for kind in self.options.extras if not self.lacks(kind)]
        runs = len(self.cases) * (2 + len(self.allocators) * (self.options.repeat + len(kinds)))
        try:
            with tempfile.TemporaryDirectory(prefix="cairn-bench-") as folder, Progress(runs) as progress:
                self.measure(folder, kinds, progress.step)
            self.interrupted = False
        except KeyboardInterrupt:
            pass  # what there is, is shown
        finally:
            with ignored_ends():
                self.write()

    def lacks(self, kind):
        tool = extras.missing(kind)
        if tool:
            complain("skipped: --%s: %s is not installed" % (kind, tool))
        return tool

    def measure(self, folder, kinds, step):
        options = self.options
        self.expected = series.references(self.launcher, self.cases, folder, options.timeout, complain, step)
        self.left_out = len(self.cases) - len(self.expected)
        self.cases = [case for case in self.cases if case.label in self.expected]
        runner = extras.Runner(options.build, folder, options.sample)
        for case in self.cases:
            step("%s live bytes" % case.label)
            self.keep_extra("live", case, None, extras.live(runner, case, self.expected[case.label]))
        repetition = 0
        for sample in series.run(self.launcher, self.cases, self.allocators, options.repeat, folder, self.expected,
                                 options.timeout, step=step):
            if sample["repetition"] != repetition:  # whatever happens to this process, these are not lost
                repetition = sample["repetition"]
                self.write()
            self.samples.append(sample)
        for kind in kinds:
            self.extra_runs(kind, runner, step)

    def extra_runs(self, kind, runner, step):
        small = {}
        if kind == "instructions":
            names = dict.fromkeys(case.part_of or case.name for case in self.cases)
            small = {case.label: case for case in choice.choose_cases(names, self.options.build, self.options.threads,
                                                                      extras.INSTRUCTIONS_SCALE)}
        hung = {(sample["case"], sample["allocator"]) for sample in self.samples if sample["outcome"] == "hang"}
        for case in self.cases:
            for allocator in self.allocators:
                step("%s %s %s" % (case.label, allocator.name, kind))
                if (case.label, allocator.name) not in hung:
                    reference = None if small else self.expected[case.label]
                    self.keep_extra(kind, case, allocator.name,
                                    extras.KINDS[kind](runner, small.get(case.label, case), allocator, reference))
            self.write()

    def keep_extra(self, kind, case, name, sample):
        self.extras.append({"kind": kind, "case": case.label, "allocator": name, **sample})

    def results(self):
        options = self.options
        names = [allocator.name for allocator in self.allocators]
        rows = figures.rows(self.samples, [case.label for case in self.cases], names, self.baseline, self.by,
                            self.extras)
        return {"format": 1, "what": "cairn bench", "started": self.started, "seconds": time.time() - self.started,
                "interrupted": self.interrupted, "left_out": self.left_out, **self.constant,
                "repeat": options.repeat, "quick": options.quick, "baseline": self.baseline, "by": self.by,
                "parameters": {"repeat": options.repeat, "scale": options.scale, "threads": options.threads,
                               "timeout": options.timeout, "extras": options.extras, "sample_ms": options.sample,
                               "linger_ms": extras.LINGER_MS, "instructions_scale": extras.INSTRUCTIONS_SCALE},
                "cases": [describe.case(case) for case in self.cases],
                "summary": [asdict(row) for row in rows], "samples": self.samples, "extras": self.extras}

    def write(self):
        """Where there is no room, that is said once, and what was measured is still shown."""
        if not self.samples:
            return
        try:
            results.write(self.path, self.results())
            self.unwritten = False
        except OSError as why:
            if not self.unwritten:
                complain("%s: %s" % (self.path, why.strerror))
            self.unwritten = True
