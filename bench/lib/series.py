# SPDX-License-Identifier: MIT
"""The order of the runs: every repetition goes through all cases, and in each through all allocators, one right
after the other, starting with another one each time."""
import sys
import time

from . import measure
from .allocators import Allocator

REFERENCE = Allocator("reference", None)
LEAST_TIMEOUT = 10


class Progress:
    """One line on a terminal that rewrites itself; nothing elsewhere."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.shown = sys.stderr.isatty()

    def step(self, text):
        if self.shown:
            elapsed = time.monotonic() - self.start
            left = elapsed / self.done * (self.total - self.done) if self.done else 0
            sys.stderr.write("\r\033[K[%d/%d] %s  (%d s left)" % (self.done, self.total, text, left))
            sys.stderr.flush()
        self.done += 1

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def references(launcher, cases, folder, limit, complain):
    """A run of each case on the C library's malloc, not counted: what its output must be, and how long it may
    take. It also brings the files into memory. A case that fails even here is not in the answer."""
    expected = {}
    for case in cases:
        sample = measure.run(launcher, case, REFERENCE, folder, limit or 600)
        if sample["outcome"] == "ok":
            expected[case.label] = sample
        else:
            complain("%s: left out, its reference run is no good: %s" % (case.label, sample["detail"]))
    return expected


def run(launcher, cases, allocators, repeat, folder, expected, limit=None, sample_ms=0):
    """Yields a sample for each run. An allocator that hung in a case is not tried there again."""
    hung = set()
    progress = Progress(repeat * len(cases) * len(allocators))
    for repetition in range(repeat):
        for case in cases:
            reference = expected[case.label]
            timeout = limit or max(LEAST_TIMEOUT, 10 * reference["wall"])
            first = repetition % len(allocators)
            for position, allocator in enumerate(allocators[first:] + allocators[:first]):
                progress.step("%s %s" % (case.label, allocator.name))
                if (case.label, allocator.name) in hung:
                    continue
                sample = measure.run(launcher, case, allocator, folder, timeout, sample_ms,
                                     reference["output_sha256"])
                if sample["outcome"] == "hang":
                    hung.add((case.label, allocator.name))
                yield {"case": case.label, "allocator": allocator.name, "repetition": repetition,
                       "position": position, **sample}
    progress.clear()
