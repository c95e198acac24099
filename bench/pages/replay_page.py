# SPDX-License-Identifier: MIT
"""The page of what `cairn replay --json` has written."""
from __future__ import annotations

import os
from statistics import median

from . import charts, text
from .page import Chart, Page, Section, Table, Tile
from .text import ABSENT, Cell, count, duration, number, share, size, words


class Allocator:
    """One allocator's runs; `run` is the one with the median of A, for curves."""

    def __init__(self, data):
        self.name, self.library, self.sha256 = data["name"], data["library"], data.get("sha256") or ""
        self.runs = data["runs"]
        self.median = data["median"]
        self.good = [run for run in self.runs if run["state"] == "ok"]
        self.bad = [run for run in self.runs if run["state"] != "ok"]
        self.run = sorted(self.good, key=lambda run: run["A"])[(len(self.good) - 1) // 2] if self.good else None

    def trouble(self):
        return "%s: %s" % (self.bad[0]["state"], self.bad[0]["message"])

    def spread(self, name):
        values = [run[name] for run in self.good if name in run]
        return (median(values), min(values), max(values)) if values else (None, None, None)


def build(data, path):
    allocators = [Allocator(each) for each in data["allocators"]]
    if not allocators:
        raise ValueError("has no allocators")
    style = charts.Style([each.name for each in allocators])
    sections = [figures(allocators)]
    if any(each.good for each in allocators):
        sections += [fragmentation(allocators, style), over_time(data, allocators, style),
                     by_call(data, allocators), at_end(allocators)]
    sections.append(libraries(allocators))
    bad = [each for each in allocators if each.bad]
    return Page(os.path.basename(data["trace"]), "cairn replay: the calls of a trace under %d allocators"
                % len(allocators), about(data, path), tiles(data), sections,
                ["%s: %s%s" % (each.name, each.trouble(), " (in %d of %d runs)" % (len(each.bad), len(each.runs))
                               if each.good else "") for each in bad])


def about(data, path):
    machine = data["machine"]
    lines = [("Trace", "%s, process %d of %d" % (data["trace"], data["process"], data["processes"])),
             ("Machine", "%d processors, %s, Linux %s, huge pages %s" % (
                 machine["processors"], machine["architecture"], machine["kernel"], machine["huge_pages"])),
             ("Runs", "%d of each allocator, one allocator after the other, then all again; every page of a block %s"
              % (data["repeat"], "written to" if data["touch"] else "left alone but at both ends")),
             ("Results", "%s, of cairn %s" % (os.path.basename(path), data["version"]))]
    left, changed = data["left_out"], data["changed"]
    notes = [(left["free_unknown"], "frees of blocks from before the trace left out"),
             (left["realloc_failed"], "reallocs that failed left out"),
             (changed["realloc_unknown_as_malloc"], "reallocs of blocks from before as malloc"),
             (changed["free_added"], "frees added")]
    if any(value for value, _ in notes):
        lines.append(("Not as recorded", ", ".join("%s %s" % (f"{value:,}", what) for value, what in notes if value)))
    return lines


def tiles(data):
    live = data["live_at_end"]
    return [Tile("Most live bytes (U)", size(data["U"]), "as the program asked for them"),
            Tile("Calls", count(sum(data["calls"].values()))),
            Tile("Threads", count(data["threads"]), "%s at one time" % f"{data['threads_at_once']:,}"),
            Tile("Never freed", size(live["bytes"]), "%s blocks" % f"{live['blocks']:,}")]


def figures(allocators):
    base = next((each.median["seconds"] for each in allocators if each.good), None)
    rows = []
    for each in allocators:
        if not each.good:
            rows.append([Cell(each.name), words(each.trouble(), bad=True, columns=10)])
            continue
        middle, low, high = each.spread("seconds")
        m = each.median
        rows.append([Cell(each.name), Cell("ok", left=True) if not each.bad else words(each.trouble(), bad=True),
                     duration(m["seconds"]), text.span(low, high, text.seconds_text), duration(m["seconds_with_use"]),
                     ratio(m["seconds"], base), size(m["A"]), tinted(m["A/U"]), tinted(m["A_of_blocks/U"]),
                     count(m["faults"]), size(m["settled"])])
    table = Table(["allocator", "runs", "in the calls", "least – most", "with use of the blocks",
                   "calls, x %s" % next((each.name for each in allocators if each.good), "first"), "A", "A/U",
                   "blocks/U", "page faults", "1 s after the last free"], rows, name="replay")
    return Section("Figures", "Medians over the runs. A is the most that was resident, U the most that was live; "
                   "blocks/U counts only pages in which a block lies or lay.", [table], name="figures")


def ratio(value, base):
    return number(value / base, 2, tint=text.ratio_tint(value / base)) if base else ABSENT


def tinted(value):
    return ABSENT if value is None else number(value, 2)


def fragmentation(allocators, style):
    failed = [(each.name, each.bad[0]["state"]) for each in allocators if not each.good]
    rows = [(each.name, *each.spread("A/U")) for each in allocators]
    chart = charts.bars(rows, "A/U: most resident by most live", lambda value: "%.2f" % value, style,
                        label="A/U by allocator", failed=failed, line=1)

    def at_peak(each):
        at = each.run["at_peak"]
        usable = at.get("usable")
        return [Cell(each.name), size(each.median["A"]), tinted(each.median["A/U"]),
                tinted(each.median["A_of_blocks/U"]), size(at["live"]), size(usable),
                number(usable / at["live"], 3) if usable and at["live"] else ABSENT, size(at["resident"]),
                number(at["resident"] / at["live"], 2) if at["live"] else ABSENT]

    table = Table(["allocator", "A", "A/U", "blocks/U", "live at the peak of live", "usable then", "usable / live",
                   "resident then", "resident / live"], [at_peak(each) for each in allocators if each.good],
                  name="fragmentation")
    return Section("Fragmentation", "As the Hoard paper defines it, the allocator's own tables and headers included; the line "
                   "is 1, nothing lost. Usable is what malloc_usable_size says of all live blocks: usable / live is the "
                   "rounding to size classes, the rest up to A/U is free memory that is kept, and tables.",
                   [Chart(chart, "A/U by allocator"), table], name="fragmentation-section")


def over_time(data, allocators, style):
    good = [each for each in allocators if each.good]
    calls = sum(data["calls"].values())
    longest = max((each.run["samples"] for each in good), key=len)
    live = ("live", [s["call"] for s in longest], [s["live"] for s in longest])
    chart = charts.lines([(each.name, [s["call"] for s in each.run["samples"]],
                           [s["resident"] for s in each.run["samples"]]) for each in good], style,
                         "calls made%s", "resident (%s)", charts.count_axis, charts.bytes_axis, area=live, height=3.8,
                         label="Resident memory over the calls")
    by_call = {}
    for each in good:
        for sample in each.run["samples"]:
            by_call.setdefault(sample["call"], {})[each.name] = sample
    rows = []
    for call in sorted(by_call):
        found = by_call[call]
        rows.append([count(call), size(next(iter(found.values()))["live"]),
                     *(size(found[each.name]["resident"]) if each.name in found else ABSENT for each in good)])
    table = Table(["calls made", "live", *(each.name for each in good)], rows, name="over-calls",
                  folded="The figures: resident memory at %d points" % len(rows))
    return Section("Memory over the calls", "Resident beyond what was there before the first call, in each allocator's run "
                   "with the median A; the grey area is what was live. %s calls in all." % f"{calls:,}",
                   [Chart(chart, "Resident memory"), table])


def by_call(data, allocators):
    kinds = [kind for kind, calls in data["calls"].items() if calls]
    good = [each for each in allocators if each.good]

    def nanoseconds(each, kind):
        values = [run["by_call"][kind]["seconds"] * 1e9 / run["by_call"][kind]["calls"] for run in each.good
                  if run["by_call"][kind]["calls"]]
        return median(values) if values else None

    rows = [[Cell(each.name), *(number(nanoseconds(each, kind), 1) for kind in kinds),
             duration(median(run["of_a_millisecond"]["seconds"] for run in each.good)),
             count(median(run["of_a_millisecond"]["calls"] for run in each.good))] for each in good]
    chart = charts.histogram([each.name for each in good],
                             [(kind, [nanoseconds(each, kind) or 0 for each in good]) for kind in kinds],
                             "ns a call", label="Time of a call by kind")
    table = Table(["allocator", *("%s (ns)" % kind for kind in kinds), "in calls of 1 ms and more", "these calls"], rows,
                  name="by-call")
    made = ", ".join("%s %s" % (f"{data['calls'][kind]:,}", kind) for kind in kinds)
    return Section("Time of a call", "Means over all calls of a kind (%s), median over the runs. One thread runs at a time: no "
                   "contention is in this." % made, [Chart(chart), table])


def at_end(allocators):
    rows = []
    for each in allocators:
        if each.good:
            m, settled = each.median, each.run["settled"]
            rows.append([Cell(each.name), size(m["A"]), size(m["drained"]), share(m["drained"], m["A"]),
                         size(m["settled"]), share(m["settled"], m["A"]), size(settled["lazy_free"]),
                         size(settled["huge_pages"])])
    return Section("After the last free", "Everything that the trace leaves is freed at the end. What is given back lazily "
                   "counts as resident until the kernel takes it.",
                   [Table(["allocator", "A", "resident after the last free", "of A", "a second later", "of A",
                           "of it given back lazily", "of it in huge pages"], rows, name="at-end")])


def libraries(allocators):
    rows = [[Cell(each.name), words(each.library or "the C library"), words(each.sha256 or "not recorded", code=True)]
            for each in allocators]
    return Section("Libraries", "", [Table(["allocator", "file", "SHA-256"], rows, name="libraries")])
