# SPDX-License-Identifier: MIT
"""From samples to figures: medians, spreads, and ratios taken pair by pair.

The machine drifts, so times are only compared within a repetition, where the allocators ran one right after
the other; the figure is the median of those ratios.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

TIMES = {"wall": lambda sample: sample["wall"], "cpu": lambda sample: sample["user"] + sample["system"]}


@dataclass
class Spread:
    middle: float
    low: float
    high: float


@dataclass
class Row:
    """One allocator in one case. Figures are None where no run was good."""
    case: str
    allocator: str
    runs: int
    good: int
    trouble: str
    time: Spread | None
    cpu: float | None
    ratio: Spread | None
    peak_kib: float | None
    peak_ratio: float | None
    minor_faults: float | None


def spread(values):
    return Spread(median(values), min(values), max(values)) if values else None


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else None


def trouble_of(samples):
    bad = [sample for sample in samples if sample["outcome"] != "ok"]
    if not bad:
        return ""
    first = "%s, %s" % (bad[0]["outcome"].upper(), bad[0]["detail"])
    return first if len(bad) == len(samples) else "%d of %d runs: %s" % (len(bad), len(samples), first)


def pair_ratios(samples, baseline, value):
    reference = {sample["repetition"]: value(sample) for sample in baseline if sample["outcome"] == "ok"}
    return [value(sample) / reference[sample["repetition"]] for sample in samples
            if sample["outcome"] == "ok" and reference.get(sample["repetition"])]


def row(case, allocator, samples, baseline, time):
    good = [sample for sample in samples if sample["outcome"] == "ok"]
    peak = spread([sample["peak_kib"] for sample in good])
    peak_ratio = spread(pair_ratios(samples, baseline, lambda sample: sample["peak_kib"]))
    faults = spread([sample["minor_faults"] for sample in good])
    cpu = spread([TIMES["cpu"](sample) for sample in good])
    return Row(case, allocator, len(samples), len(good), trouble_of(samples),
               time=spread([time(sample) for sample in good]), cpu=cpu and cpu.middle,
               ratio=spread(pair_ratios(samples, baseline, time)), peak_kib=peak and peak.middle,
               peak_ratio=peak_ratio and peak_ratio.middle, minor_faults=faults and faults.middle)


def rows(samples, cases, allocators, baseline, by="wall"):
    def select(case, allocator):
        return [sample for sample in samples if sample["case"] == case and sample["allocator"] == allocator]

    return [row(case, allocator, select(case, allocator), select(case, baseline), TIMES[by])
            for case in cases for allocator in allocators if select(case, allocator)]
