# SPDX-License-Identifier: MIT
"""A page: a heading, key figures, and sections of charts and tables. One file that needs nothing else."""
from __future__ import annotations

import os
from dataclasses import dataclass, field

import jinja2

from .text import Cell


@dataclass
class Table:
    """`columns` are names with their units; the first cell of a row is its heading."""
    columns: list[str]
    rows: list[list[Cell]]
    caption: str = ""
    name: str = ""  # an id, for those who read the page by program
    folded: str = ""  # the line that unfolds it
    total: list[Cell] | None = None
    dense: bool = False
    breaks: set[int] = field(default_factory=set)  # rows that begin a group

    def is_left(self, column):
        """As the cells below it are, in a row of which none takes several columns."""
        whole = next((row for row in self.rows if len(row) == len(self.columns)), [])
        return 0 < column < len(whole) and whole[column].left


@dataclass
class Chart:
    svg: str
    caption: str = ""


@dataclass
class Section:
    title: str
    text: str = ""
    parts: list[Table | Chart | Row] = field(default_factory=list)
    name: str = ""


@dataclass
class Row:
    """Charts beside each other where there is room."""
    charts: list[Chart]


@dataclass
class Tile:
    label: str
    cell: Cell
    note: str = ""


@dataclass
class Page:
    title: str
    kind: str
    about: list[tuple[str, str]]
    tiles: list[Tile]
    sections: list[Section]
    warnings: list[str] = field(default_factory=list)


def render(page):
    folder = os.path.dirname(os.path.abspath(__file__))
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.tests["table"] = lambda part: isinstance(part, Table)
    environment.tests["row"] = lambda part: isinstance(part, Row)
    for number, section in enumerate(page.sections):
        section.name = section.name or "section-%d" % number
    return environment.get_template("page.html").render(page=page)
