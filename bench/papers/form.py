# SPDX-License-Identifier: MIT
"""The form of a table: the document's figures as data, beside them what is measured, and how."""
from __future__ import annotations

from dataclasses import dataclass, field
from statistics import mean
from typing import Callable

from lib.figures import Spread, spread
from lib.report import aligned


@dataclass(frozen=True)
class Column:
    """`how` is the recipe in words; what a document has no figure of stands without one."""
    key: str
    title: str
    how: str
    form: str = "%.2f"


@dataclass(frozen=True)
class Row:
    """`said`: the document's figures by column; `claim`: what it says in words, or shows in a graph only."""
    key: str
    title: str
    said: dict[str, float] = field(default_factory=dict)
    claim: str = ""
    today: str = ""


@dataclass(frozen=True)
class Table:
    """`measure` gives {row key: {column key: figure}}: a number, a Spread, a word about trouble, or None."""
    name: str
    document: str
    where: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    measure: Callable
    differs: tuple[str, ...] = ()


def problems(table):
    """What is wrong with a table as data; nothing, if all is well."""
    found, keys = [], {column.key for column in table.columns}
    if len(keys) != len(table.columns) or len({row.key for row in table.rows}) != len(table.rows):
        found.append("a key twice")
    found += ["column %s: no recipe" % column.key for column in table.columns if not column.how]
    for row in table.rows:
        if not row.said and not row.claim:
            found.append("row %s: the document says nothing" % row.key)
        found += ["row %s: no column %s" % (row.key, key) for key in row.said if key not in keys]
        found += ["row %s: no figure in %s" % (row.key, key) for key, value in row.said.items()
                  if not isinstance(value, (int, float))]
    if not callable(table.measure) or not table.title or not table.differs:
        found.append("no recipe, no title, or nothing that differs")
    return found


def text(value, form):
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, Spread):
        if value.low == value.high:
            return text(value.middle, form)
        return "%s (%s..%s)" % tuple(text(one, form) for one in (value.middle, value.low, value.high))
    if form == "%d":
        return "{:,}".format(round(value))
    return form % value


def cells(table, measured):
    """Lines of cells: for a column with figures of the document two, "said" and "today"."""
    twice = {column.key for column in table.columns if any(column.key in row.said for row in table.rows)}
    head, below = [""], [""]
    for column in table.columns:
        head += [column.title, ""] if column.key in twice else [column.title]
        below += ["said", "today"] if column.key in twice else ["today"]
    lines = [head, below]
    for row in table.rows:
        line = [row.title]
        for column in table.columns:
            if column.key in twice:
                line.append(text(row.said.get(column.key), column.form))
            line.append(text(measured.get(row.key, {}).get(column.key), column.form))
        lines.append(line)
    return lines


def page(table, measured, machine):
    """All of it for the terminal."""
    lines = ["%s, %s: %s" % (table.document, table.where, table.title), ""]
    lines += [line.rstrip() for line in aligned(cells(table, measured))]
    claims = [row for row in table.rows if row.claim]
    if claims:
        lines += ["", "the document:"]
        lines += ["  %s: %s" % (row.title.strip(), row.claim) for row in claims]
    substitutes = [row for row in table.rows if row.today]
    if substitutes:
        lines += ["", "today:"]
        lines += ["  %s: %s" % (row.title.strip(), row.today) for row in substitutes]
    lines += ["", "measured:"]
    lines += ["  %s: %s" % (column.title, column.how) for column in table.columns]
    lines += ["", "what differs:", *("  " + text for text in table.differs), "  here: " + machine]
    return "\n".join(lines)


def plain(value):
    """A figure for JSON."""
    if isinstance(value, Spread):
        return {"median": value.middle, "low": value.low, "high": value.high}
    return value


def record(table, measured):
    return {"table": table.name, "document": table.document, "where": table.where, "title": table.title,
            "differs": list(table.differs),
            "columns": [{"column": column.key, "title": column.title, "how": column.how} for column in table.columns],
            "rows": [{"row": row.key, "title": row.title, "claim": row.claim, "today": row.today,
                      "cells": {column.key: {"said": row.said.get(column.key),
                                             "today": plain(measured.get(row.key, {}).get(column.key))}
                                for column in table.columns}}
                     for row in table.rows]}


def spread_of(values):
    return spread([value for value in values if value is not None])


def means(rows, keys):
    """Of columns over the same rows, those with a figure in every column that has any; nothing where there is none."""
    figures = [{key: value.middle if isinstance(value := row.get(key), Spread) else value for key in keys} for row in rows]
    there = [key for key in keys if any(row[key] is not None for row in figures)]
    whole = [row for row in figures if all(row[key] is not None for key in there)]
    return {key: mean(row[key] for row in whole) for key in there} if whole else {}
