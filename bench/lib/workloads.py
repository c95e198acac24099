# SPDX-License-Identifier: MIT
"""Workloads: what is run. Programs of bench/ first, then real programs on real work."""
from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field

from . import places

HERE = places.LAB
SQLITE_ROWS = 200000
QUICK_SCALE = 10


class Missing(Exception):
    """Why a workload cannot run; the text is one line for the user."""


@dataclass
class Case:
    """One workload with one number of threads: one row of every table."""
    name: str
    threads: int | None
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def label(self):
        return self.name if self.threads is None else "%s/%d" % (self.name, self.threads)


@dataclass
class Workload:
    name: str
    program: str
    arguments: list[str] = field(default_factory=list)

    def cases(self, build, threads, scale):
        path = places.program(build, self.program)
        if not os.path.exists(path):
            raise Missing("%s: %s is not built" % (self.name, path))
        return [Case(self.name, count, [path, "--threads", str(count), "--scale", str(scale), *self.arguments])
                for count in threads]


@dataclass
class RealProgram:
    """`command` gets the scale in percent; the program is found on the PATH."""
    name: str
    program: str
    command: callable
    environment: dict[str, str] = field(default_factory=dict)

    def cases(self, _build, _threads, scale):
        # The interpreter that runs this: what the PATH calls python3 may be a wrapper script.
        path = os.path.realpath(sys.executable) if self.program == "python3" else shutil.which(self.program)
        if path is None:
            raise Missing("%s: %s is not installed" % (self.name, self.program))
        return [Case(self.name, None, [path, *self.command(scale)], self.environment)]


def source(name):
    return os.path.join(HERE, "programs", name)


def compile_command(scale):
    return ["-std=c++20", "-O1", "-S", "-o", "-", *(["-DQUICK"] if scale < 100 else []), source("compile.cpp")]


def sqlite_command(scale):
    rows = max(1, SQLITE_ROWS * scale // 100)
    return ["-batch", "-cmd", "CREATE TABLE work(rows); INSERT INTO work VALUES(%d);" % rows, ":memory:",
            ".read '%s'" % source("sqlite.sql")]


WORKLOADS = [
    Workload("threadtest", "threadtest"),
    Workload("larson", "larson"),
    Workload("larson-lkmalloc", "larson", ["--setting", "lkmalloc"]),
    Workload("larson-nbmalloc", "larson", ["--setting", "nbmalloc"]),
    Workload("random", "random"),
    Workload("producer_consumer", "producer_consumer"),
    Workload("churn", "churn"),
    Workload("large", "large"),
    Workload("shbench", "shbench"),
    Workload("active-false", "active_false"),
    Workload("passive-false", "passive_false"),
    Workload("round-robin", "round_robin"),
    Workload("serialized", "serialized"),
    Workload("at-once", "serialized", ["--at-once", "1"]),
    Workload("idle-pool", "idle_pool"),
    Workload("class-shift", "class_shift"),
    Workload("far-free", "far_free"),
    Workload("barnes-hut", "barnes_hut"),
    Workload("bem", "bem"),
    Workload("requests", "requests"),
    RealProgram("python", "python3", lambda scale: ["-s", source("python.py"), str(scale)],
                {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    RealProgram("g++", "g++", compile_command),
    RealProgram("perl", "perl", lambda scale: [source("perl.pl"), str(scale)], {"PERL_HASH_SEED": "0"}),
    RealProgram("sqlite", "sqlite3", sqlite_command),
]
# What runs unless asked otherwise, for a first look.
DEFAULT = ["threadtest", "larson", "random", "producer_consumer", "churn", "large", "python", "g++", "perl", "sqlite"]
