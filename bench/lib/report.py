# SPDX-License-Identifier: MIT
"""The tables in the terminal."""
from .figures import geometric_mean
from .real_programs import has_client


def aligned(lines):
    """Columns of equal width, the first to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
            for line in lines]


def number(value, form="%.3f"):
    return "-" if value is None else form % value


def span(values, form="%.3f"):
    return "-" if values is None else (form + ".." + form) % (values.low, values.high)


def mebibytes(kib):
    return number(kib and kib / 1024, "%.1f")


class Column:
    """`optional` ones are there only if a row has the figure."""

    def __init__(self, title, value, text, optional=False):
        self.title, self.value, self.text, self.optional = title, value, text, optional

    def shown(self, rows):
        return not self.optional or any(self.value(row) for row in rows)


def columns(baseline, by):
    middle = lambda spread: number(spread and spread.middle)  # noqa: E731
    return [
        Column("%s s" % by, lambda row: row.time, middle),
        Column("min..max", lambda row: row.time, span),
        Column("user s", lambda row: row.user, number),
        Column("sys s", lambda row: row.system, number),
        Column("x %s" % baseline, lambda row: row.ratio, middle),
        Column("min..max", lambda row: row.ratio, lambda spread: span(spread, "%.2f")),
        Column("peak MiB", lambda row: row.peak_kib, mebibytes),
        Column("x live", lambda row: row.peak_kib and row.live_kib and row.peak_kib / row.live_kib,
               lambda ratio: number(ratio, "%.2f"), optional=True),
        Column("not lazy", lambda row: row.sampled_peak_kib, mebibytes, optional=True),
        Column("drained", lambda row: row.drained_kib, mebibytes, optional=True),
        Column("+1 s", lambda row: row.settled_kib, mebibytes, optional=True),
        Column("faults", lambda row: row.minor_faults, lambda count: number(count, "%d")),
        Column("major", lambda row: row.major_faults, lambda count: number(count, "%g"), optional=True),
        Column("syscalls", lambda row: row.syscalls, lambda count: number(count, "%d"), optional=True),
        Column("Minstr at 1%", lambda row: row.instructions, lambda count: number(count and count / 1e6, "%.1f"), optional=True),
        Column("x %s" % baseline, lambda row: row.instructions_ratio, lambda ratio: number(ratio, "%.2f"), optional=True),
    ]


def heading(title, case):
    """strace counts all processes together."""
    return "syscalls, with client" if title == "syscalls" and has_client(case) else title


def case_table(rows, baseline, by):
    shown = [column for column in columns(baseline, by) if column.shown(rows)]
    lines = [[rows[0].case, *(heading(column.title, rows[0].case) for column in shown)]]
    for row in rows:
        lines.append(["  " + row.allocator, *(column.text(column.value(row)) for column in shown)])
    text = aligned(lines)
    if rows[0].live_kib:
        text[0] += "  (%s MiB live)" % mebibytes(rows[0].live_kib)
    for i, row in enumerate(rows):
        if row.trouble:
            text[i + 1] += "  " + row.trouble
    return "\n".join(text)


MANY = 8


def matrix(title, rows, allocators, value):
    """Cases down, allocators across, and geometric means over the cases that every allocator has. Many allocators go
    down instead."""
    cases = list(dict.fromkeys(row.case for row in rows))
    cell = {(row.case, row.allocator): value(row) for row in rows}
    lines = [[title, *allocators]]
    for case in cases:
        lines.append(["  " + case, *(number(cell.get((case, allocator)), "%.2f") for allocator in allocators)])
    common = [case for case in cases if all(cell.get((case, allocator)) for allocator in allocators)]
    label = "  geometric mean" if len(common) == len(cases) else "  geometric mean (%d complete)" % len(common)
    lines.append([label, *(number(geometric_mean([cell[case, allocator] for case in common]), "%.3f")
                           for allocator in allocators)])
    if len(allocators) > MANY:
        lines = [[text.strip() if i == 0 else text for i, text in enumerate(line)] for line in lines]
        lines = [["  " + line[0] if i else line[0], *line[1:]] for i, line in enumerate(zip(*lines))]
    return "\n".join(aligned(lines))


def whole(rows, allocators, baseline, by):
    cases = list(dict.fromkeys(row.case for row in rows))
    parts = [case_table([row for row in rows if row.case == case], baseline, by) for case in cases]
    parts.append(matrix("%s time, x %s" % (by, baseline), rows, allocators,
                        lambda row: row.ratio and row.ratio.middle))
    parts.append(matrix("peak resident, x %s" % baseline, rows, allocators, lambda row: row.peak_ratio))
    return "\n\n".join(parts)


COMPARED = {"wall": "wall", "cpu": "cpu", "ratio": "x base", "peak": "peak", "faults": "faults",
            "instructions": "instr.", "syscalls": "syscalls"}


def comparison(changes, notes, old_name):
    """New over old; at the end of a line what has moved."""
    shown = [name for name in COMPARED if any(name in change.ratios for change in changes)]
    blocks = []
    for case in dict.fromkeys(change.case for change in changes):
        lines, words = [[case]], [""]
        for name in shown:
            lines[0] += [COMPARED[name], "min..max"] if name in ("wall", "cpu", "ratio") else [COMPARED[name]]
        for change in changes:
            if change.case != case:
                continue
            line = ["  " + change.allocator]
            for name in shown:
                ratio = change.ratios.get(name)
                line.append(number(ratio and ratio.middle, "%.3f"))
                if name in ("wall", "cpu", "ratio"):
                    line.append(span(ratio, "%.2f"))
            lines.append(line)
            words.append("; ".join([*change.moved, *(["the same library"] if change.moved and change.same_library else [])]))
        blocks.append("\n".join(("%s  %s" % pair).rstrip() for pair in zip(aligned(lines), words)))
    count = sum(bool(change.moved) for change in changes)
    blocks.append("%d of %d rows moved beyond the spread of their runs" % (count, len(changes)))
    return "\n\n".join(["new / %s" % old_name + "".join("\n  " + note for note in notes), *blocks])
