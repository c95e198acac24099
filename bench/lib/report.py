# SPDX-License-Identifier: MIT
"""The tables in the terminal."""
from .figures import geometric_mean


def aligned(lines):
    """Columns of equal width, the first to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
            for line in lines]


def number(value, form="%.3f"):
    return "-" if value is None else form % value


def span(values, form="%.3f"):
    return "-" if values is None else (form + ".." + form) % (values.low, values.high)


def case_table(rows, baseline, by):
    lines = [[rows[0].case, "%s s" % by, "min..max", "cpu s", "x %s" % baseline, "min..max", "peak MiB", "faults"]]
    for row in rows:
        lines.append([
            "  " + row.allocator, number(row.time and row.time.middle), span(row.time), number(row.cpu),
            number(row.ratio and row.ratio.middle), span(row.ratio, "%.2f"),
            number(row.peak_kib and row.peak_kib / 1024, "%.1f"), number(row.minor_faults, "%d")])
    text = aligned(lines)
    for i, row in enumerate(rows):
        if row.trouble:
            text[i + 1] += "  " + row.trouble
    return "\n".join(text)


def matrix(title, rows, allocators, value):
    """Cases down, allocators across, and geometric means over the cases that every allocator has."""
    cases = list(dict.fromkeys(row.case for row in rows))
    cell = {(row.case, row.allocator): value(row) for row in rows}
    lines = [[title, *allocators]]
    for case in cases:
        lines.append(["  " + case, *(number(cell.get((case, allocator)), "%.2f") for allocator in allocators)])
    common = [case for case in cases if all(cell.get((case, allocator)) for allocator in allocators)]
    label = "  geometric mean" if len(common) == len(cases) else \
        "  geometric mean of the %d complete rows" % len(common)
    lines.append([label, *(number(geometric_mean([cell[case, allocator] for case in common]), "%.3f")
                           for allocator in allocators)])
    return "\n".join(aligned(lines))


def whole(rows, allocators, baseline, by):
    cases = list(dict.fromkeys(row.case for row in rows))
    parts = [case_table([row for row in rows if row.case == case], baseline, by) for case in cases]
    parts.append(matrix("%s time, x %s" % (by, baseline), rows, allocators,
                        lambda row: row.ratio and row.ratio.middle))
    parts.append(matrix("peak resident, x %s" % baseline, rows, allocators, lambda row: row.peak_ratio))
    return "\n\n".join(parts)
