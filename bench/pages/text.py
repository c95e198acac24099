# SPDX-License-Identifier: MIT
"""Figures in words: the text a reader sees, and the exact value beside it."""
from __future__ import annotations

import math
from dataclasses import dataclass

BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@dataclass
class Cell:
    """A cell of a table. `value` is the exact figure, `tint` -1 (good) to 1 (bad), `bad` a failure."""
    text: str
    value: float | int | None = None
    tint: float | None = None
    bad: bool = False
    code: bool = False
    left: bool = False
    columns: int = 1  # that it takes


ABSENT = Cell("–")


def significant(value, digits=3):
    """As many places behind the point as three digits need: 0.123, 1.23, 12.3, 123."""
    places = max(0, digits - 1 - max(0, len(str(int(abs(value)))) - 1)) if abs(value) >= 1 else digits
    return f"{value:,.{places}f}"


def bytes_text(value, digits=3):
    size, unit = float(value), 0
    while abs(size) >= 1023.5 and unit + 1 < len(BINARY):
        size, unit = size / 1024, unit + 1
    return f"{int(size):,} B" if unit == 0 else f"{significant(size, digits)} {BINARY[unit]}"


def seconds_text(value, digits=3):
    if value == 0:
        return "0 s"
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= scale * 0.9995:
            return f"{significant(value / scale, digits)} {unit}"
    return f"{value * 1e9:.0f} ns" if abs(value) >= 1e-8 else f"{significant(value * 1e9)} ns"


def limit_text(value, form=bytes_text):
    """Of a round figure: 1 KiB and 1.125 KiB rather than 1.00 KiB and 1.12 KiB."""
    figure, _, unit = form(value, 6).partition(" ")
    return "%s %s" % (figure.rstrip("0").rstrip(".") if "." in figure else figure, unit)


def share_text(part, whole):
    if not whole:
        return "–"
    percent = 100 * part / whole
    return "0 %" if part == 0 else f"{percent:.1f} %" if percent >= 0.05 else "< 0.1 %"


def absent(form):
    """The same for None: a dash."""
    return lambda value, *more, **named: ABSENT if value is None else form(value, *more, **named)


def words(text, **named):
    return Cell(str(text), left=True, **named)


@absent
def count(value):
    return Cell(f"{value:,.0f}", value)


@absent
def size(value):
    return Cell(bytes_text(value), value)


@absent
def duration(value):
    return Cell(seconds_text(value), value)


@absent
def number(value, digits=2, tint=None):
    return Cell(f"{value:.{digits}f}", value, tint)


def ratio_tint(value):
    """0 at 1, -1 at half of it, 1 at twice."""
    return max(-1.0, min(1.0, math.log2(value))) if value > 0 else None


def share(part, whole):
    return Cell(share_text(part, whole), part / whole if whole else None)


def span(low, high, form):
    return Cell(f"{form(low)} – {form(high)}") if low is not None else ABSENT
