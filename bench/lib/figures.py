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
    """One allocator in one case. Figures are None where no run was good, or nobody asked."""
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
    user: float | None = None
    system: float | None = None
    major_faults: float | None = None
    live_kib: float | None = None  # the case's, on the C library
    sampled_peak_kib: float | None = None  # without what was given back lazily
    drained_kib: float | None = None
    settled_kib: float | None = None  # a second later
    syscalls: int | None = None
    instructions: int | None = None
    instructions_ratio: float | None = None


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


def middle(samples, value):
    return median(map(value, samples)) if samples else None


def row(case, allocator, samples, baseline, time):
    good = [sample for sample in samples if sample["outcome"] == "ok"]
    peak_ratio = spread(pair_ratios(samples, baseline, lambda sample: sample["peak_kib"]))
    return Row(case, allocator, len(samples), len(good), trouble_of(samples),
               time=spread([time(sample) for sample in good]), cpu=middle(good, TIMES["cpu"]),
               ratio=spread(pair_ratios(samples, baseline, time)),
               peak_ratio=peak_ratio and peak_ratio.middle,
               **{name: middle(good, lambda sample: sample.get(name, 0))
                  for name in ("peak_kib", "minor_faults", "major_faults", "user", "system")})


def add_extras(row, extras, baseline):
    """`extras` are those of the case, by kind and allocator."""
    for kind in ("memory", "syscalls", "instructions"):
        sample = extras.get((kind, row.allocator))
        if sample and sample["outcome"] != "ok":
            trouble = "%s: %s, %s" % (kind, sample["outcome"].upper(), sample["detail"])
            row.trouble = "%s; %s" % (row.trouble, trouble) if row.trouble else trouble
    row.live_kib = extras.get(("live", None), {}).get("live_bytes")
    row.live_kib = row.live_kib and row.live_kib / 1024
    memory = extras.get(("memory", row.allocator), {})
    row.sampled_peak_kib = memory.get("sampled_peak_kib")
    for name in ("drained_kib", "settled_kib"):
        setattr(row, name, memory.get("figures", {}).get(name))
    calls = extras.get(("syscalls", row.allocator), {}).get("syscalls")
    row.syscalls = sum(calls.values()) if calls else None
    row.instructions = extras.get(("instructions", row.allocator), {}).get("instructions")
    reference = extras.get(("instructions", baseline), {}).get("instructions")
    row.instructions_ratio = row.instructions / reference if row.instructions and reference else None


def rows(samples, cases, allocators, baseline, by="wall", extras=()):
    def select(case, allocator):
        return [sample for sample in samples if sample["case"] == case and sample["allocator"] == allocator]

    found = [row(case, allocator, select(case, allocator), select(case, baseline), TIMES[by])
             for case in cases for allocator in allocators if select(case, allocator)]
    for each in found:
        add_extras(each, {(extra["kind"], extra["allocator"]): extra for extra in extras
                          if extra["case"] == each.case}, baseline)
    return found
