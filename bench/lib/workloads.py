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
    share: int = 0  # how many threads do the work once; 0: any number, they share it out

    def work(self, threads):
        """How much is done, by what one thread does."""
        return max(1, threads // self.share) if self.share else 1

    def cases(self, build, threads, scale):
        path = places.program(build, self.program)
        if not os.path.exists(path):
            raise Missing("%s: %s is not built" % (self.name, path))
        command = [path, "--scale", str(scale), *self.arguments]
        if not self.threaded:
            return [Case(self.name, None, command)]
        return [Case(self.name, count, [*command, "--threads", str(count)]) for count in threads]


class Several(Workload):
    """A program that has several workloads in it. Not among all: so many would outweigh the others."""


class ByChance(Several):
    """Each seed is another workload."""
    SEEDS = range(1, 41)

    def cases(self, build, threads, scale):
        [any_of_them] = super().cases(build, threads, scale)
        return [Case("%s-%d" % (self.name, seed), None, [*any_of_them.command, "--seed", str(seed)], part_of=self.name)
                for seed in self.SEEDS]


class Patterns(Several):
    """Each pattern is another workload."""
    NAMES = ["stack", "queue", "scatter", "frame", "one-size", "mixed", "buffers", "pages", "pictures", "aligned", "map",
             "hash", "cache", "texts", "words", "log", "documents", "graph", "objects", "growing", "matrices", "tasks",
             "pipeline", "shared-table", "messages", "short-threads", "futures"]

    def cases(self, build, threads, scale):
        any_of_them = super().cases(build, threads, scale)
        return [Case("%s-%s" % (self.name, name), case.threads, [*case.command, "--pattern", name], part_of=self.name)
                for name in self.NAMES for case in any_of_them]


WORKLOADS = [
    Workload("threadtest", "threadtest"),
    Workload("larson", "larson", share=1),
    Workload("larson-lkmalloc", "larson", ["--setting", "lkmalloc"], share=1),
    Workload("larson-nbmalloc", "larson", ["--setting", "nbmalloc"], share=1),
    Workload("random", "random", share=1),
    Workload("replace", "replace", share=1),
    Workload("replace-even", "replace", ["--spread", "even", "--low", "1", "--high", "65536"], share=1),
    Workload("producer_consumer", "producer_consumer", share=2),
    Workload("churn", "churn"),
    Workload("large", "large", share=1),
    Workload("realloc-steps", "realloc_steps"),
    Workload("shbench", "shbench"),
    Workload("active-false", "active_false"),
    Workload("passive-false", "passive_false"),
    Workload("round-robin", "round_robin", share=1),
    Workload("serialized", "serialized", share=1),
    Workload("at-once", "serialized", ["--at-once", "1"], share=1),
    Workload("idle-pool", "idle_pool"),
    Workload("class-shift", "class_shift"),
    Workload("shift-stay", "class_shift", ["--megabytes", "16", "--stay", "16"]),
    Workload("far-free", "far_free"),
    Workload("shared-slots", "shared_slots"),
    Workload("heirs", "heirs", share=1),
    Workload("trees", "trees", share=1),
    Workload("barnes-hut", "barnes_hut"),
    Workload("bem", "bem"),
    Workload("requests", "requests"),
    Workload("workers", "workers"),
    Workload("xalloc", "xalloc", threaded=False),
    Workload("obstack", "obstack", threaded=False),
    ByChance("chance", "chance", threaded=False),
    Patterns("patterns", "patterns"),
    *real_programs.WORKLOADS,
]
# What runs unless asked otherwise, for a first look.
DEFAULT = ["threadtest", "larson", "random", "producer_consumer", "churn", "large", "python", "g++", "perl", "sqlite"]


def work(name, threads):
    """How much a workload does with so many threads, by what it does with one."""
    return next((w.work(threads) for w in WORKLOADS if isinstance(w, Workload) and w.name == name), 1)
