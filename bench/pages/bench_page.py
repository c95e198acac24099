# SPDX-License-Identifier: MIT
"""The page of what `cairn bench` has written."""
from __future__ import annotations

import os
import time
from statistics import median

from lib.figures import TIMES, geometric_mean, spread

from . import charts, text
from .page import Chart, Page, Row, Section, Table, Tile
from .text import ABSENT, Cell, count, duration, number, size, words

# Their work grows with the number of threads; that of the others is the same for any number.
GROWING = {"larson", "larson-lkmalloc", "larson-nbmalloc", "random", "large", "round-robin", "serialized", "at-once"}
PAIRS = {"producer_consumer"}  # each two threads do so much


def work(workload, threads):
    if workload in PAIRS:
        return max(1, threads // 2)
    return threads if workload in GROWING else 1


class Results:
    def __init__(self, data):
        self.data = data
        self.allocators = [each["name"] for each in data["allocators"]]
        self.cases = data["cases"]
        self.baseline, self.by = data["baseline"], data["by"]
        self.rows = {(row["case"], row["allocator"]): row for row in data["summary"]}
        self.samples = {}
        for sample in data["samples"]:
            self.samples.setdefault((sample["case"], sample["allocator"]), []).append(sample)
        self.workloads = list(dict.fromkeys(case["workload"] for case in self.cases))
        self.processors = data["machine"].get("processors") or 0

    def cases_of(self, workload):
        return [case for case in self.cases if case["workload"] == workload and self.ran(case)]

    def ran(self, case):
        return any((case["case"], name) in self.rows for name in self.allocators)

    def good(self, case, allocator):
        return [sample for sample in self.samples.get((case, allocator), []) if sample["outcome"] == "ok"]

    def field(self, case, allocator, name):
        """The median of a figure that not every result has."""
        values = [sample[name] for sample in self.good(case, allocator) if isinstance(sample.get(name), (int, float))]
        return median(values) if values else None

    def has(self, name, cases=None):
        """Whether any good run has that figure, and it is not always 0."""
        names = {case["case"] for case in cases} if cases else None
        return any(sample.get(name) for sample in self.data["samples"] if names is None or sample["case"] in names)

    def speedup(self, workload, case, allocator):
        """Work done in a given time, by what the baseline does with the fewest threads: repetition by repetition."""
        first = self.cases_of(workload)[0]
        value = TIMES["wall"]
        reference = {sample["repetition"]: value(sample) for sample in self.good(first["case"], self.baseline)}
        factor = work(workload, case["threads"]) / work(workload, first["threads"])
        return spread([factor * reference[sample["repetition"]] / value(sample)
                       for sample in self.good(case["case"], allocator)
                       if reference.get(sample["repetition"]) and value(sample)])


def build(data, path):
    found = Results(data)
    if not found.rows:
        raise ValueError("has no runs")
    style = charts.Style(found.allocators)
    failed = [row for row in data["summary"] if row["trouble"]]
    sections = []
    if failed:
        sections.append(failures(failed))
    sections += overview(found, style)
    sections += [workload_section(found, style, workload) for workload in found.workloads if found.cases_of(workload)]
    sections.append(libraries(data))
    return Page("Allocators side by side", "cairn bench: %d allocators, %d workloads"
                % (len(found.allocators), len(found.workloads)), about(data, path), tiles(found, failed), sections,
                warnings(data))


def about(data, path):
    machine = data["machine"]
    known = [machine.get("processor"), "%s processors" % machine["processors"] if machine.get("processors") else None,
             text.bytes_text(machine["memory_kib"] * 1024) if machine.get("memory_kib") else None]
    system = [("Linux %s" % machine["kernel"]) if machine.get("kernel") else None, machine.get("libc"),
              machine.get("architecture"),
              "huge pages: %s" % machine["transparent_hugepage"] if machine.get("transparent_hugepage") else None,
              "load at the start %.1f" % machine["load"] if isinstance(machine.get("load"), (int, float)) else None]
    return [("Machine", ", ".join(filter(None, known))), ("System", ", ".join(filter(None, system))),
            ("Begun", "%s, it took %s" % (time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(data["started"])),
                                          text.seconds_text(data["seconds"]))),
            ("Runs", "%d repetitions, interleaved; %s time compared" % (data["repeat"], data["by"])),
            ("Results", os.path.basename(path))]


def warnings(data):
    lines = []
    if data["interrupted"]:
        lines.append("The series was interrupted: this is what was finished.")
    if data["quick"]:
        lines.append("Made with --quick, a tenth of the work: it shows that everything runs, not how fast.")
    if data["repeat"] < 3:
        lines.append("So few repetitions say nothing about the spread.")
    return lines


def tiles(found, failed):
    runs = len(found.data["samples"])
    bad = sum(sample["outcome"] != "ok" for sample in found.data["samples"])
    return [Tile("Runs", count(runs)),
            Tile("Runs that failed", Cell(f"{bad:,}", bad, bad=bad > 0), "in %d rows" % len(failed) if failed else ""),
            Tile("Baseline", words(found.baseline), "what ratios are taken to")]


def failures(failed):
    rows = [[Cell(row["case"]), words(row["allocator"]), Cell("%d of %d" % (row["runs"] - row["good"], row["runs"]),
                                                           row["runs"] - row["good"]),
             words(row["trouble"], bad=True)] for row in failed]
    return Section("Failures", "A crash, a hang or a wrong result of an allocator. Figures elsewhere are of its good runs, if "
                   "there were any.", [Table(["workload / threads", "allocator", "runs", "what happened"], rows,
                                            name="failures")])


def middle(values):
    return values and values["middle"]


def overview(found, style):
    names = found.allocators
    time_means, time_table = matrix(found, "time-matrix", lambda row: middle(row["ratio"]))
    peak_means, peak_table = matrix(found, "peak-matrix", lambda row: row["peak_ratio"])
    means = []
    for title, values in (("%s time, x %s" % (found.by, found.baseline), time_means),
                          ("peak resident memory, x %s" % found.baseline, peak_means)):
        if any(values.values()):
            chart = charts.bars([(name, values[name], None, None) for name in names],
                                "geometric mean of %s" % title, lambda value: "%.2f" % value, style,
                                label="Geometric means: " + title, line=1, width=charts.WIDTH / 2,
                                failed=[(name, "no row") for name in names])
            means.append(Chart(chart, title[0].upper() + title[1:]))
    return [Section("Time", "%s time of each run by that of %s in the same repetition, the median of these; below 1 is faster. "
                    "The geometric mean is over the rows in which every allocator has a figure."
                    % (found.by.capitalize(), found.baseline), [Row(means), time_table], name="time"),
            Section("Peak memory", "The most that was resident at once, by that under %s; the program's own code and tables, the "
                    "same for all, are in it." % found.baseline, [peak_table], name="peak")]


def matrix(found, name, value):
    """Cases down, allocators across; the means too."""
    cases = [case["case"] for case in found.cases if found.ran(case)]
    cells = {key: value(row) for key, row in found.rows.items()}
    rows = []
    for case in cases:
        row = [Cell(case)]
        for allocator in found.allocators:
            figure = cells.get((case, allocator))
            if figure is not None:
                row.append(number(figure, 2, tint=text.ratio_tint(figure)))
            else:
                known = found.rows.get((case, allocator))
                row.append(Cell(first_word(known["trouble"]), bad=True) if known and known["trouble"] else ABSENT)
        rows.append(row)
    common = [case for case in cases if all(cells.get((case, each)) for each in found.allocators)]
    means = {each: geometric_mean([cells[case, each] for case in common]) for each in found.allocators}
    label = "geometric mean" if len(common) == len(cases) else "geometric mean of %d complete rows" % len(common)
    return means, Table(["workload / threads", *found.allocators], rows, name=name,
                        total=[Cell(label), *(number(means[each], 3) for each in found.allocators)])


def first_word(trouble):
    return trouble.split(": ")[-1].split(",")[0] if " of " in trouble.split(":")[0] else trouble.split(",")[0]


def workload_section(found, style, workload):
    cases = found.cases_of(workload)
    threaded = len({case["threads"] for case in cases}) > 1 and all(case["threads"] for case in cases)
    parts = [Row([time_chart(found, style, workload, cases, threaded), peak_chart(found, style, cases, threaded)]),
             figures_table(found, workload, cases, threaded)]
    parts += own_figures(found, cases)
    return Section(workload, speedup_text(found, workload, cases) if threaded else "", parts, name="workload-" + workload)


def speedup_text(found, workload, cases):
    first = cases[0]["threads"]
    said = "Speedup: the work done in a given time, by what %s does with %d thread%s." % (
        found.baseline, first, "" if first == 1 else "s")
    if found.processors and found.processors < max(case["threads"] for case in cases):
        said += " Shaded: more threads than the %d processors, where no more speedup can come." % found.processors
    if workload in GROWING | PAIRS:
        said += " The work grows with the threads."
    return said


def time_chart(found, style, workload, cases, threaded):
    if threaded:
        curves = []
        for name in found.allocators:
            points = [(case["threads"], figure.middle, figure.low, figure.high) for case in cases
                      if (figure := found.speedup(workload, case, name))]
            if points:
                curves.append((name, points))
        if curves:
            return Chart(charts.speedups(curves, style, found.processors, "speedup"), "Speedup over threads")
    rows, failed = [], []
    for case in cases:
        for name in found.allocators:
            row = found.rows.get((case["case"], name))
            if row is None:
                continue
            ratio = row["ratio"] or {}
            rows.append((name, ratio.get("middle"), ratio.get("low"), ratio.get("high")))
            failed.append((name, first_word(row["trouble"]) if row["trouble"] else "no figure"))
    return Chart(charts.bars(rows, "%s time, x %s" % (found.by, found.baseline), lambda value: "%.2f" % value, style,
                             label="Time", failed=failed, line=1, width=charts.WIDTH / 2), "Time by %s" % found.baseline)


def kib(value):
    return None if value is None else value * 1024


def peak_chart(found, style, cases, threaded):
    names = [name for name in found.allocators if any((case["case"], name) in found.rows for case in cases)]

    def peak(case, name):
        return kib((found.rows.get((case["case"], name)) or {}).get("peak_kib"))

    if threaded:
        return Chart(charts.groups([str(case["threads"]) for case in cases],
                                   [(name, [peak(case, name) for case in cases]) for name in names], style,
                                   "peak resident (%s)", charts.bytes_axis, "threads"), "Peak resident memory")
    rows = [(name, peak(cases[0], name), None, None) for name in names]
    failed = [(name, first_word(found.rows[cases[0]["case"], name]["trouble"]) or "no figure") for name in names]
    return Chart(charts.bars(rows, lambda axis, most: "peak resident (%s)" % charts.bytes_axis(axis, most),
                             text.bytes_text, style, label="Peak resident memory", failed=failed,
                             width=charts.WIDTH / 2), "Peak resident memory")


# Figures that a run may have: name in the results, heading, form.
MORE = [("sampled_peak_kib", "peak without lazily freed", lambda value: size(kib(value))),
        ("instructions", "instructions", count),
        ("system_calls", "system calls", count)]


def figures_table(found, workload, cases, threaded):
    more = [each for each in MORE if found.has(each[0], cases)]
    columns = ["allocator", *(["threads"] if threaded else []), "runs", "%s time" % found.by, "least – most", "CPU time",
               "x %s" % found.baseline, "least – most", *(["speedup"] if threaded else []), "peak resident",
               "x %s" % found.baseline, "page faults", *(heading for _, heading, _ in more)]
    rows, breaks = [], set()
    for case in cases:
        breaks.add(len(rows))
        for name in found.allocators:
            row = found.rows.get((case["case"], name))
            if row is None:
                continue
            taken, ratio = row["time"] or {}, row["ratio"] or {}
            speedup = found.speedup(workload, case, name) if threaded else None
            rows.append([
                Cell(name), *([count(case["threads"])] if threaded else []),
                words(row["trouble"], bad=True) if row["trouble"] else Cell("%d ok" % row["good"], left=True),
                duration(taken.get("middle")), text.span(taken.get("low"), taken.get("high"), text.seconds_text),
                duration(row["cpu"]),
                number(ratio["middle"], 2, tint=text.ratio_tint(ratio["middle"])) if ratio else ABSENT,
                text.span(ratio.get("low"), ratio.get("high"), lambda value: "%.2f" % value),
                *([number(speedup and speedup.middle)] if threaded else []),
                size(kib(row["peak_kib"])), number(row["peak_ratio"]), count(row["minor_faults"]),
                *(form(found.field(case["case"], name, field)) for field, _, form in more)])
    return Table(columns, rows, name="figures-" + workload, dense=True, breaks=breaks - {0})


def own_figures(found, cases):
    """What a workload measured itself."""
    names, rows = [], []
    for case in cases:
        for allocator in found.allocators:
            figures = [sample["figures"] for sample in found.good(case["case"], allocator) if sample.get("figures")]
            if figures:
                names += [name for name in figures[0] if name not in names]
                rows.append((case["case"], allocator, figures))
    if not rows:
        return []
    headings = [name.removesuffix("_ns").replace("_", " ") + (" (ns)" if name.endswith("_ns") else "") for name in names]
    return [Table(["threads", "allocator", *headings],
                  [[Cell(case), words(allocator),
                    *(count(median(values)) if (values := [each[name] for each in figures if name in each]) else ABSENT
                      for name in names)] for case, allocator, figures in rows],
                  "What the workload measured itself: medians over the runs")]


def libraries(data):
    rows = []
    for each in data["allocators"]:
        settings = " ".join("%s=%s" % pair for pair in (each.get("environment") or {}).items())
        rows.append([Cell(each["name"]), words(each.get("library") or "–"), words(each.get("package") or "–"),
                     words(settings or "–"), words(each.get("sha256") or "–", code=True)])
    return Section("Libraries", "", [Table(["allocator", "file", "package", "settings", "SHA-256"], rows, name="libraries")])
