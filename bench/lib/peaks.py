# SPDX-License-Identifier: MIT
"""Peak resident memory by live bytes: the cases, what is subtracted, the limits, and the table."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Callable

from . import places
from .case import Case, Missing
from .workloads import QUICK_SCALE

MIB = 1 << 20
LIVE = 32 * MIB  # where a program lets one choose
RATIO, IDLE_HEAP = 1.35, 128 << 10  # of live bytes; for each heap whose owner sleeps at the peak
SETTLED = 32 * MIB  # a second after the drain; nothing is live then
GROWTH, NOISE = 1.05, MIB  # more than this with more rounds is growth in time
QUICK_PART = 8  # --quick: so much less is live


@dataclass
class Peak:
    """One case of the lab. `arguments` are of (threads, part): 1 / part of the memory."""
    name: str
    program: str
    arguments: Callable[[int, int], list[object]]
    sleepers: Callable[[int], int] = lambda threads: 0  # at the peak
    note: str = ""

    def case(self, build, threads, part, scale):
        path = places.program(build, self.program)
        if not os.path.exists(path):
            raise Missing("%s: %s is not built" % (self.name, path))
        words = ["--scale", scale, "--threads", threads, *self.arguments(threads, part)]
        return Case(self.name, threads, [path, *map(str, words)])

    def limit(self, threads, live):
        return RATIO * live + IDLE_HEAP * self.sleepers(threads)


def all_but_one(threads):
    return threads - 1


def mib(bytes_live, part):
    return max(1, bytes_live // part // MIB)


def larson(setting, average, rounds):
    def arguments(threads, part):
        blocks = LIVE // part // average // threads
        return ["--setting", setting, "--blocks", blocks, "--replacements", blocks, "--rounds", rounds]
    return arguments


PEAKS = [
    Peak("idle-pool", "idle_pool", lambda threads, part: ["--megabytes", mib(LIVE, part), "--rounds", max(16, threads)],
         all_but_one, "all burst together, then one at a time works"),
    Peak("idle-pool, in turn", "idle_pool",
         lambda threads, part: ["--together", 0, "--megabytes", mib(LIVE, part), "--rounds", max(16, threads)],
         all_but_one, "one burst at a time"),
    Peak("round-robin", "round_robin",
         lambda threads, part: ["--megabytes", mib(2 * LIVE, part), "--rounds", max(1, 16 // threads)],
         all_but_one, "one allocates, the next frees"),
    Peak("class-shift", "class_shift", lambda threads, part: ["--megabytes", mib(3 * LIVE, part), "--rounds", 1],
         note="one size after another"),
    Peak("far-free", "far_free", lambda threads, part: ["--megabytes", mib(4 * LIVE, part), "--batches", 20000 // part],
         note="the freer never allocates"),
    Peak("producer_consumer", "producer_consumer",
         lambda threads, part: ["--depth", max(1, LIVE // part // 13600 // max(1, threads // 2)),
                                "--batches", 40000 // part // max(1, threads // 2)],
         note="one allocates, another frees"),
    Peak("requests", "requests", lambda threads, part: ["--cache", 60000 // part, "--requests", 30000 // part],
         note="bursts, of which a little stays"),
    Peak("larson", "larson", larson("hoard", 55, 10), note="blocks of 10 to 100 bytes pass from thread to thread"),
    Peak("larson-lkmalloc", "larson", larson("lkmalloc", 505, 20), note="10 to 1,000 bytes"),
    Peak("shbench", "shbench", lambda threads, part: ["--blocks", 250000 // part, "--total", 4000000 // part],
         note="1 to 1,000 bytes, most of them long-lived"),
    Peak("random", "random", lambda threads, part: ["--slots", 64000 // part // threads,
                                                   "--steps", 2000000 // part // threads],
         note="8 bytes to 512 KiB"),
]


@dataclass
class Cell:
    """What one allocator needs in one case; bytes, without the program's own. None where a run went wrong."""
    trouble: str = ""
    peak: int | None = None
    settled: int | None = None
    live: int | None = None
    limit: float | None = None

    @property
    def ratio(self):
        return self.peak / self.live if self.peak is not None and self.live else None

    @property
    def over(self):
        return self.peak is not None and self.peak > self.limit

    @property
    def unsettled(self):
        return self.settled is not None and self.settled > SETTLED


def cell(peak, threads, sample, empty, live):
    """`empty`: bytes of the program without a heap. `live`: by the counter; a program's own figure goes before it."""
    own = sample.get("figures", {})
    if sample["outcome"] != "ok" or "tables_bytes" not in own:
        return Cell(trouble=sample["outcome"].upper() if sample["outcome"] != "ok" else "FAILED")
    live = own.get("live_bytes") or live
    if not live:
        return Cell(trouble="FAILED")
    besides = empty + own["tables_bytes"]
    settled = own.get("settled_kib")
    return Cell("", max(0, sample["peak_kib"] * 1024 - besides),
                None if settled is None else max(0, settled * 1024 - besides), live, peak.limit(threads, live))


def grows(first, later):
    return first.peak is not None and later.peak is not None and later.peak > GROWTH * first.peak + NOISE


def bad(cells, key, judged):
    """Whether a run went wrong, or a limit is missed."""
    (label, name, times), cell = key, cells[key]
    if cell.trouble or name != judged:
        return bool(cell.trouble)
    first = cells.get((label, name, 1))
    return cell.over or cell.unsettled if times == 1 else first is not None and grows(first, cell)


def marked(text, wrong):
    return text + ("!" if wrong else "")


def ratio_text(each, wrong):
    if each is None or each.trouble:
        return "-" if each is None else each.trouble
    return marked("%.2f" % each.ratio, wrong)


def settled_text(each, wrong):
    return "-" if each is None or each.settled is None else marked("%.1f" % (each.settled / MIB), wrong)


def labels_of(cells):
    """In the order of the cases above; those with few threads first."""
    order = {peak.name: place for place, peak in enumerate(PEAKS)}

    def key(label):
        name, threads = label.rsplit("/", 1)
        return int(threads), order.get(name, len(order))
    return sorted({label for label, _, _ in cells}, key=key)


def tables(cells, names, judged):
    """Heads and lines, from cells by (label, allocator, times the work). `judged`: the one whose limits are looked at."""
    longer = sorted({times for _, _, times in cells if times > 1})
    peak_lines, settled_lines = [], []
    for label in labels_of(cells):
        row = {name: cells.get((label, name, 1)) for name in names}
        one = next((each for each in row.values() if each and each.live), None)
        head = ["-", "-"] if one is None else ["%.1f" % (one.live / MIB), "%.2f" % (one.limit / one.live)]
        wrong = {times: (label, judged, times) in cells and bad(cells, (label, judged, times), judged) for times in longer}
        peak_lines.append([label, *head, *(ratio_text(each, name == judged and each and each.over) for name, each in row.items()),
                           *(ratio_text(cells.get((label, judged, times)), wrong[times]) for times in longer)])
        settled_lines.append([label, *(settled_text(each, name == judged and each and each.unsettled)
                                       for name, each in row.items())])
    return [(["peak / live", "live MiB", "limit", *names, *("%s, %d times" % (judged, times) for times in longer)], peak_lines),
            (["MiB after 1 s", *names], settled_lines)]


def share_of_work(quick):
    """Part of the memory, and percent of the work."""
    return (QUICK_PART, QUICK_SCALE) if quick else (1, 100)
