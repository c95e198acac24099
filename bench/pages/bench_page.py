# SPDX-License-Identifier: MIT
"""The page of what `cairn bench` has written."""
from __future__ import annotations

import os
import time
from statistics import median

from lib.figures import TIMES, geometric_mean, spread
from lib.real_programs import has_client
from lib.workloads import work

from . import charts, text
from .page import Chart, Page, Row, Section, Table, Tile
from .text import ABSENT, Cell, count, duration, number, size, words

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
        self.extras = {}
        for extra in data.get("extras", []):
            self.extras[extra["kind"], extra["case"], extra["allocator"]] = extra
        self.workloads = list(dict.fromkeys(case["workload"] for case in self.cases))
        self.processors = data["machine"].get("processors") or 0

    def cases_of(self, workload):
        """Those with few threads first, in whatever order they ran."""
        return sorted((case for case in self.cases if case["workload"] == workload and self.ran(case)),
                      key=lambda case: case["threads"] or 0)

    def ran(self, case):
        return any((case["case"], name) in self.rows for name in self.allocators)

    def good(self, case, allocator):
        return [sample for sample in self.samples.get((case, allocator), []) if sample["outcome"] == "ok"]

    def figure(self, case, allocator, name):
        """Of the summary, or if that has none of the runs: a figure that not every result has."""
        found = (self.rows.get((case, allocator)) or {}).get(name)
        if found is None:
            values = [sample[name] for sample in self.good(case, allocator) if isinstance(sample.get(name), (int, float))]
            found = median(values) if values else None
        return found

    def curve(self, case, allocator):
        """Resident memory over time, [[seconds, KiB, ...]], of the run that looked at it."""
        runs = [self.extras.get(("memory", case, allocator)), *self.good(case, allocator)]
        return next((run["curve"] for run in runs if run and run["outcome"] == "ok" and run.get("curve")), None)

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
    lines = [("Machine", ", ".join(filter(None, known))), ("System", ", ".join(filter(None, system)))]
    own = data.get("cairn") or {}
    if own.get("version"):
        lines.append(("Cairn", own["version"] + (", commit %s%s" % (
            own["commit"][:12], " and changes" if own.get("changed") else "") if own.get("commit") else "")))
    return [*lines,
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
    if data.get("left_out"):
        lines.append("%d rows were left out: their reference runs failed." % data["left_out"])
    if data["repeat"] < 3:
        lines.append("So few repetitions say nothing about the spread.")
    return lines


def scale_of_instructions(found):
    scale = (found.data.get("parameters") or {}).get("instructions_scale")
    counted = any(row.get("instructions") for row in found.rows.values())
    return " Instructions are of %d %% of the work." % scale if counted and scale else ""


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
                    "The geometric mean is over the rows in which every allocator that ever ran well has a figure."
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
    # One that failed everywhere must not take the mean away from the others.
    ran = [each for each in found.allocators if any(cells.get((case, each)) for case in cases)]
    common = [case for case in cases if all(cells.get((case, each)) for each in ran)]
    means = {each: geometric_mean([cells[case, each] for case in common]) if each in ran else None
             for each in found.allocators}
    label = "geometric mean" if len(common) == len(cases) else "geometric mean of %d complete rows" % len(common)
    return means, Table(["workload / threads", *found.allocators], rows, name=name,
                        total=[Cell(label), *(number(means[each], 3) for each in found.allocators)])


def first_word(trouble):
    return trouble.split(": ")[-1].split(",")[0] if " of " in trouble.split(":")[0] else trouble.split(",")[0]


def workload_section(found, style, workload):
    cases = found.cases_of(workload)
    threaded = len({case["threads"] for case in cases}) > 1 and all(case["threads"] for case in cases)
    parts = [Row([time_chart(found, style, workload, cases, threaded), peak_chart(found, style, cases, threaded)]),
             *figures_tables(found, workload, cases, threaded)]
    parts += [part for case in cases for part in memory_curves(found, style, case)]
    parts += system_calls(found, cases) + own_figures(found, cases)
    said = speedup_text(found, workload, cases) if threaded else "With %s." % threads_text(cases[0]["threads"]) \
        if cases[0]["threads"] else ""
    return Section(workload, said + scale_of_instructions(found), parts, name="workload-" + workload)


def threads_text(threads):
    return "1 thread" if threads == 1 else "%d threads" % threads


def speedup_text(found, workload, cases):
    first = cases[0]["threads"]
    said = "Speedup: the work done in a given time, by what %s does with %s." % (found.baseline, threads_text(first))
    if found.processors and found.processors < max(case["threads"] for case in cases):
        said += " Shaded: more threads than the %d processors." % found.processors
    if work(workload, 4 * first) > work(workload, first):
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


# Figures that a row may have: name in the results, heading, form.
MORE = [("sampled_peak_kib", "peak without lazily freed", lambda value: size(kib(value))),
        ("drained_kib", "after the drain", lambda value: size(kib(value))),
        ("settled_kib", "a second later", lambda value: size(kib(value))),
        ("syscalls", "system calls", count),
        ("instructions", "instructions", count), ("instructions_ratio", "x {baseline}", number)]


def with_client(figure, workload):
    """strace counts all processes together."""
    return ", with the client's" if figure == "syscalls" and has_client(workload) else ""


def figures_tables(found, workload, cases, threaded):
    """Time, and then memory and counts."""
    more = [each for each in MORE if any(found.figure(case["case"], name, each[0]) is not None for case in cases
                                         for name in found.allocators)]
    heads = ["allocator", *(["threads"] if threaded else [])]
    columns = [*heads, "runs", "%s time" % found.by, "least – most", "CPU time", "x %s" % found.baseline,
               "least – most", *(["speedup"] if threaded else [])]
    columns_more = [*heads, "peak resident", "x %s" % found.baseline, "page faults",
                    *(heading.format(baseline=found.baseline) + with_client(name, workload) for name, heading, _ in more)]
    rows, rows_more, breaks = [], [], set()
    for case in cases:
        breaks.add(len(rows))
        for name in found.allocators:
            row = found.rows.get((case["case"], name))
            if row is None:
                continue
            head = [Cell(name), *([count(case["threads"])] if threaded else [])]
            rows.append([*head, *time_cells(found, workload, case, name, row, threaded, len(columns) - len(head))])
            rows_more.append([*head, *memory_cells(found, case, name, row, more, len(columns_more) - len(head))])
    breaks -= {0}
    return [Table(columns, rows, name="time-" + workload, dense=True, breaks=breaks),
            Table(columns_more, rows_more, name="memory-" + workload, dense=True, breaks=breaks)]


def time_cells(found, workload, case, name, row, threaded, columns):
    if not row["good"]:
        return [words(row["trouble"], bad=True, columns=columns)]
    taken, ratio = row["time"], row["ratio"] or {}
    speedup = found.speedup(workload, case, name) if threaded else None
    return [words(row["trouble"], bad=True) if row["trouble"] else Cell("%d ok" % row["good"], left=True),
            duration(taken["middle"]), text.span(taken["low"], taken["high"], text.seconds_text), duration(row["cpu"]),
            number(ratio["middle"], 2, tint=text.ratio_tint(ratio["middle"])) if ratio else ABSENT,
            text.span(ratio.get("low"), ratio.get("high"), lambda value: "%.2f" % value),
            *([number(speedup and speedup.middle)] if threaded else [])]


def memory_cells(found, case, name, row, more, columns):
    if not row["good"]:
        return [words(first_word(row["trouble"]), bad=True, columns=columns)]
    ratio = row["peak_ratio"]
    return [size(kib(row["peak_kib"])), number(ratio, 2, tint=text.ratio_tint(ratio)) if ratio else ABSENT,
            count(row["minor_faults"]), *(form(found.figure(case["case"], name, field)) for field, _, form in more)]


def memory_curves(found, style, case):
    curves = [(name, [point[0] for point in points], [kib(point[1]) for point in points])
              for name in found.allocators if (points := found.curve(case["case"], name)) and len(points) > 1]
    if not curves:
        return []
    live = (found.extras.get(("live", case["case"], None)) or {}).get("live_bytes")
    chart = charts.lines(curves, style, "time since the start (%s)", "resident (%s)", charts.seconds_axis,
                         charts.bytes_axis, height=2.6, level=("most live bytes", live) if live else None,
                         label="Resident memory over time")
    rows = []
    for name, xs, ys in curves:
        points = found.curve(case["case"], name)
        most = max(range(len(ys)), key=ys.__getitem__)
        own = (found.extras.get(("memory", case["case"], name)) or {}).get("figures") or {}
        rows.append([Cell(name), size(ys[most]), duration(xs[most]), number(ys[most] / live, 2) if live else ABSENT,
                     size(kib(points[most][2])), size(kib(points[most][3])), size(kib(own.get("drained_kib"))),
                     size(kib(own.get("settled_kib"))), count(len(points))])
    title = "Resident memory over time%s" % (", " + threads_text(case["threads"]) if case["threads"] else "")
    table = Table(["allocator", "most", "at", "by live bytes", "of it given back lazily", "of it in huge pages",
                   "after the drain", "a second later", "points"], rows, name="curve-" + case["case"].replace("/", "-"),
                  folded="The figures")
    points = [[Cell(name), duration(x), size(y)] for name, xs, ys in curves for x, y in zip(xs, ys)]
    return [Chart(chart, title), table,
            Table(["allocator", "at", "resident"], points, folded="All points")]


def system_calls(found, cases):
    rows, totals = [], {}
    for case in cases:
        for name in found.allocators:
            calls = (found.extras.get(("syscalls", case["case"], name)) or {}).get("syscalls")
            if calls:
                rows.append((case["case"], name, calls))
                for call, times in calls.items():
                    totals[call] = totals.get(call, 0) + times
    if not rows:
        return []
    shown = sorted(totals, key=lambda call: (-totals[call], call))[:10]
    return [Table(["workload / threads", "allocator", *shown, "all"],
                  [[Cell(case), words(name), *(count(calls.get(call, 0)) for call in shown), count(sum(calls.values()))]
                   for case, name, calls in rows], name="syscalls-" + cases[0]["workload"], folded="System calls")]


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
