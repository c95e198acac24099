# SPDX-License-Identifier: MIT
"""A case: one workload with one number of threads, as a command to run. It is one row of every table."""
from __future__ import annotations

from dataclasses import dataclass, field

from . import places

HERE = places.LAB


class Missing(Exception):
    """Why a workload cannot run; the text is one line for the user."""


@dataclass
class Case:
    name: str
    threads: int | None
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    client: str | None = None  # the script that is a server's client
    part_of: str | None = None  # the workload of which it is one among several

    @property
    def label(self):
        return self.name if self.threads is None else "%s/%d" % (self.name, self.threads)
