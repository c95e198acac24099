# SPDX-License-Identifier: MIT
"""Results of `cairn bench` as Markdown, for a page of docs/."""
import time

from .figures import geometric_mean
from .real_programs import has_client


def table(head, lines):
    """The first column to the left, figures to the right."""
    cells = [head, *lines]
    ruler = "|---" + "|---:" * (len(head) - 1) + "|"
    rows = ["| %s |" % " | ".join(cell.replace("|", "\\|") for cell in line) for line in cells]
    return "\n".join([rows[0], ruler, *rows[1:]])


def number(value, form="%.2f"):
    return "-" if value is None else form % value


def mebibytes(kib):
    return number(kib and kib / 1024, "%.1f")


class Sheet:
    """Rows of figures as one table for each figure: cases down, allocators across."""

    def __init__(self, rows, allocators):
        self.rows, self.allocators = {(row.case, row.allocator): row for row in rows}, allocators
        self.cases = list(dict.fromkeys(row.case for row in rows))

    def values(self, value):
        return {key: value(row) for key, row in self.rows.items()}

    def mean(self, label, values):
        """Over the cases that every allocator has."""
        common = [case for case in self.cases if all(values.get((case, name)) for name in self.allocators)]
        if not common:
            return []
        label += "" if len(common) == len(self.cases) else ", %d of %d rows" % (len(common), len(self.cases))
        return [[label, *(number(geometric_mean([values[case, name] for case in common])) for name in self.allocators)]]

    def lines(self, text, beside=None):
        """`text` of a row; where an allocator has no figure because something went wrong, that."""
        for case in self.cases:
            first = next(row for row in self.rows.values() if row.case == case)
            yield [case, *([beside(first)] if beside else []), *(self.cell(case, name, text) for name in self.allocators)]

    def cell(self, case, name, text):
        row = self.rows.get((case, name))
        if row is None:
            return "-"
        said = text(row)
        return row.trouble.split(",")[0] if said == "-" and row.trouble else said


def times(sheet, baseline, by):
    def ratio(row):
        if row.ratio is None or row.allocator == baseline:
            return "-" if row.ratio is None else "1"
        return "%.2f (%.2f..%.2f)" % (row.ratio.middle, row.ratio.low, row.ratio.high)
    values = sheet.values(lambda row: row.ratio and row.ratio.middle)
    return "%s time, x %s: median and range of the ratios within a repetition\n\n" % (by.capitalize(), baseline) + \
        table(["", *sheet.allocators], [*sheet.lines(ratio), *sheet.mean("geometric mean", values)])


def memory(sheet, baseline):
    live = lambda row: mebibytes(row.live_kib)  # noqa: E731
    lines = list(sheet.lines(lambda row: mebibytes(row.peak_kib), beside=live))
    means = sheet.mean("geometric mean, x %s" % baseline, sheet.values(lambda row: row.peak_ratio))
    return "Peak resident memory, MiB; `live`: the most bytes that the program held at once\n\n" + \
        table(["", "live", *sheet.allocators], lines + [[line[0], "", *line[1:]] for line in means])


def faults(sheet, baseline):
    def ratio(row):
        base = sheet.rows.get((row.case, baseline))
        return row.minor_faults / base.minor_faults if row.minor_faults and base and base.minor_faults else None
    lines = sheet.lines(lambda row: number(row.minor_faults, "%d"))
    return "Page faults\n\n" + \
        table(["", *sheet.allocators], [*lines, *sheet.mean("geometric mean, x %s" % baseline, sheet.values(ratio))])


def extra(sheet, title, value, form=number, baseline=None):
    """Nothing if nobody asked for it."""
    values = sheet.values(value)
    if not any(each is not None for each in values.values()):
        return []
    means = sheet.mean("geometric mean", values) if baseline else []
    return [title + "\n\n" + table(["", *sheet.allocators], [*sheet.lines(lambda row: form(value(row))), *means])]


def circumstances(found):
    machine, cairn = found["machine"], found.get("cairn", {})
    words = ["%s processors (%s)" % (machine.get("processors"), machine.get("processor")),
             "Linux " + ".".join(str(machine.get("kernel")).split(".")[:2]),
             machine.get("libc"), "huge pages: %s" % machine.get("transparent_hugepage"),
             "load %.1f at the start" % machine["load"] if machine.get("load") is not None else None,
             time.strftime("%Y-%m-%d", time.gmtime(found["started"])) if found.get("started") else None]
    runs = "%d timed runs" % len(found["samples"])
    if found.get("repeat"):
        runs += ", %d of each" % found["repeat"]
    lines = ["; ".join(word for word in words if word) + ".", runs + (", interrupted." if found.get("interrupted") else ".")]
    if found.get("parameters", {}).get("scale", 100) != 100:
        lines.append("%d %% of the work." % found["parameters"]["scale"])
    commit = cairn.get("commit")
    said = ["%s: %s" % (each["name"], each["package"]) for each in found["allocators"] if each.get("package")]
    if commit:
        said.append("Cairn: commit %s%s" % (commit[:12], ", changed" if cairn.get("changed") else ""))
    return " ".join(lines) + ("\n" + "; ".join(said) + "." if said else "")


def troubles(rows):
    bad = ["- %s, %s: %s" % (row.case, row.allocator, row.trouble) for row in rows if row.trouble]
    return ["What went wrong:\n\n" + "\n".join(bad)] if bad else []


def whole(found, rows, allocators, baseline, by):
    sheet = Sheet(rows, allocators)
    clients = any(has_client(case) for case in sheet.cases)
    return "\n\n".join([
        circumstances(found), times(sheet, baseline, by), memory(sheet, baseline), faults(sheet, baseline),
        *extra(sheet, "Resident memory when all is freed, MiB", lambda row: row.drained_kib, mebibytes),
        *extra(sheet, "Resident memory a second later, MiB", lambda row: row.settled_kib, mebibytes),
        *extra(sheet, "Instructions at 1 % of the work, x " + baseline, lambda row: row.instructions_ratio, baseline=baseline),
        *extra(sheet, "System calls" + (" (servers: with their client's)" if clients else ""), lambda row: row.syscalls,
               lambda count: number(count, "%d")),
        *troubles(rows)])
