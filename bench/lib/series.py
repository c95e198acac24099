# SPDX-License-Identifier: MIT
"""The order of the runs: every repetition goes through all cases, and in each through all allocators, one right
after the other, starting with another one each time."""
from . import measure
from .allocators import Allocator

REFERENCE = Allocator("reference", None)
LEAST_TIMEOUT = 60  # a machine that is busy with other things must not look like a hang


def no_step(_text):
    """For those who do not want to know how far it is."""


def references(launcher, cases, folder, limit, complain, step=no_step):
    """A run of each case on the C library's malloc, not counted: what its output must be, and how long it may
    take. It also brings the files into memory. A case that fails even here is not in the answer."""
    expected = {}
    for case in cases:
        step("%s reference" % case.label)
        sample = measure.run(launcher, case, REFERENCE, folder, limit or 600)
        if sample["outcome"] == "ok":
            expected[case.label] = sample
        else:
            complain("%s: left out, its reference run is no good: %s" % (case.label, sample["detail"]))
    return expected


def run(launcher, cases, allocators, repeat, folder, expected, limit=None, sample_ms=0, step=no_step):
    """Yields a sample for each run. An allocator that hung in a case is not tried there again."""
    hung = set()
    for repetition in range(repeat):
        for case in cases:
            reference = expected[case.label]
            timeout = limit or max(LEAST_TIMEOUT, 10 * reference["wall"])
            first = repetition % len(allocators)
            for position, allocator in enumerate(allocators[first:] + allocators[:first]):
                step("%s %s" % (case.label, allocator.name))
                if (case.label, allocator.name) in hung:
                    continue
                sample = measure.run(launcher, case, allocator, folder, timeout, sample_ms,
                                     reference["output_sha256"])
                if sample["outcome"] == "hang":
                    hung.add((case.label, allocator.name))
                yield {"case": case.label, "allocator": allocator.name, "repetition": repetition,
                       "position": position, **sample}
