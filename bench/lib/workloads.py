# SPDX-License-Identifier: MIT
"""Workloads: what is run. Programs of bench/ first, then real programs on real work."""
from __future__ import annotations

import os
from dataclasses import dataclass, field

from . import places, real_programs
from .case import HERE, Case, Missing  # noqa: F401 (HERE is what others ask for)

QUICK_SCALE = 10


@dataclass
class Workload:
    name: str
    program: str
    arguments: list[str] = field(default_factory=list)
    threaded: bool = True

    def cases(self, build, threads, scale):
        path = places.program(build, self.program)
        if not os.path.exists(path):
            raise Missing("%s: %s is not built" % (self.name, path))
        command = [path, "--scale", str(scale), *self.arguments]
        if not self.threaded:
            return [Case(self.name, None, command)]
        return [Case(self.name, count, [*command, "--threads", str(count)]) for count in threads]


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
    Workload("xalloc", "xalloc", threaded=False),
    Workload("obstack", "obstack", threaded=False),
    *real_programs.WORKLOADS,
]
# What runs unless asked otherwise, for a first look.
DEFAULT = ["threadtest", "larson", "random", "producer_consumer", "churn", "large", "python", "g++", "perl", "sqlite"]
