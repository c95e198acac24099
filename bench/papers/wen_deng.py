# SPDX-License-Identifier: MIT
"""Wen and Deng, "Implementing The Hoard Allocator" (2018), section 3.1: two ratios."""
from lib.figures import TIMES

from .form import Column, Row, Table, means

DOCUMENT = "Wen and Deng"
CPU = TIMES["cpu"]
NAMED = ("the report prints sums of terms and names threadtest and Larson; the third term of the runtimes is a rate, so "
         "Larson's; the others' places are taken by workloads of ours that one would expect there")


def cases(lab):
    few = lab.quick
    return {
        "first": lab.workload("passive-false", 1, "--scale", "2" if few else "100"),
        "second": lab.workload("active-false", 1, "--scale", "2" if few else "100"),
        "larson": lab.workload("larson", 1, "--blocks", "1000", "--rounds", "2" if few else "20", "--replacements", "50000"),
        "fourth": lab.workload("threadtest-large", 1, "--objects", "250000", "--size", "64", "--rounds", "1" if few else "8",
                               program="threadtest"),
        "fifth": lab.workload("shbench", 1, "--blocks", "10000", "--high", "500", "--scale", "1" if few else "8"),
        "threadtest": lab.workload("threadtest", 1, "--objects", "1000", "--rounds", "200" if few else "10000"),
    }


TODAY = {"first": "passive-false, one thread", "second": "active-false, one thread", "larson": "larson, 1,000 blocks",
         "fourth": "250,000 objects of 64 bytes, allocated, then freed", "fifth": "shbench, 10,000 blocks of 1 to 500 bytes",
         "threadtest": "threadtest, 1,000 objects"}


def runtime(lab):
    made = cases(lab)
    samples = lab.samples(list(made.values()), ["glibc", "wen-deng"])
    found = {}
    for key, case in made.items():
        libc, ours = (lab.of(samples, case, name) for name in ("glibc", "wen-deng"))
        found[key] = {"libc": lab.value(libc, CPU), "ours": lab.value(ours, CPU), "ratio": lab.ratio(libc, ours, CPU)}
    found["mean"] = means(found.values(), ["ratio"])
    return found


def memory(lab):
    """From traces, made again on both; resident memory is whole pages, which is what these heaps take."""
    few = {"first": ("--objects", "2000", "--writes", "1"), "second": ("--objects", "2000", "--writes", "1"),
           "fourth": ("--objects", "20000" if lab.quick else "250000", "--size", "64", "--rounds", "1"),
           "fifth": ("--blocks", "10000", "--high", "500", "--total", "20000" if lab.quick else "400000"),
           "threadtest": ("--objects", "1000", "--rounds", "20")}
    programs = {"first": "passive_false", "second": "active_false", "fourth": "threadtest", "fifth": "shbench",
                "threadtest": "threadtest"}
    found = {}
    for key, arguments in few.items():
        whole = lab.replay(lab.workload(key, 1, *arguments, program=programs[key]), ["kingsley", "wen-deng"])
        taken = {one["name"]: one["median"].get("A") for one in whole["allocators"]}
        found[key] = {"libc": taken.get("kingsley"), "ours": taken.get("wen-deng")}
        if taken.get("kingsley") and taken.get("wen-deng"):
            found[key]["ratio"] = taken["wen-deng"] / taken["kingsley"]
    found["mean"] = means(found.values(), ["ratio"])
    return found


def said(libc, ours, ratio):
    return {"libc": libc, "ours": ours, "ratio": ratio}


ORDER = (("first", "first term"), ("second", "second"), ("larson", "Larson"), ("fourth", "fourth"), ("fifth", "fifth"),
         ("threadtest", "threadtest"))
TIMES_SAID = {"first": (1.409460, 1.400995), "second": (1.649129, 1.612911), "larson": (1 / 6746321, 1 / 2156244),
              "fourth": (0.027469, 0.065815), "fifth": (2.135053, 2.177003), "threadtest": (0.839412, 2.151459)}
BYTES_SAID = {"first": (12287, 20479), "second": (12287, 16383), "fourth": (13709311, 27631615),
              "fifth": (1990655, 2023423), "threadtest": (12287, 24575)}
RUNTIME = Table(
    "wen-deng-runtime", DOCUMENT, "section 3.1.2", "libc's runtime over the allocator's, one thread",
    (Column("libc", "libc s", "processor time on glibc, median and range (Larson: the report has seconds an operation)",
            "%.4g"),
     Column("ours", "a2alloc s", "the same on `wen-deng`", "%.4g"),
     Column("ratio", "libc : a2alloc", "ratios within a repetition, median and range; above 1 the allocator is faster")),
    (*(Row(key, title, said(*TIMES_SAID[key], TIMES_SAID[key][0] / TIMES_SAID[key][1]), today=TODAY[key])
       for key, title in ORDER), Row("mean", "mean", {"ratio": 0.689})),
    runtime, (NAMED, "an AMD Opteron 6344 of 8 cores, its Linux and glibc of 2018"))
MEMORY = Table(
    "wen-deng-fragmentation", DOCUMENT, "section 3.1.1", "the allocator's memory over that of a sequential heap, one thread",
    (Column("libc", "kheap", "most resident memory of the heap on `kingsley`, in a replay of the program's trace", "%d"),
     Column("ours", "a2alloc", "the same on `wen-deng`", "%d"),
     Column("ratio", "a2alloc : kheap", "one over the other")),
    (*(Row(key, title, said(*BYTES_SAID[key], BYTES_SAID[key][1] / BYTES_SAID[key][0]), today=TODAY[key])
       for key, title in ORDER if key != "larson"), Row("mean", "mean", {"ratio": 1.61})),
    memory, (NAMED, "kheap is the course's sequential heap: one of powers of two, `kingsley`, is in its place",
             "an AMD Opteron 6344 of 8 cores, its Linux and glibc of 2018"))

# --- Section 3.2

THREADS = (1, 2, 4, 8)
PARALLEL = {
    "threadtest": ("threadtest", lambda few: ("--rounds", "20" if few else "400")),
    "larson": ("larson", lambda few: ("--blocks", "1000", "--rounds", "2" if few else "10", "--replacements", "20000")),
    "active": ("active-false", lambda few: ("--scale", "2" if few else "50")),
    "passive": ("passive-false", lambda few: ("--scale", "2" if few else "50")),
}
OURS = {"wen-deng": "a2alloc", "wen-deng-apart": "links apart"}


def parallel(lab):
    cases = {key: {p: lab.workload(name, p, *arguments(lab.quick)) for p in THREADS}
             for key, (name, arguments) in PARALLEL.items()}
    samples = lab.samples([case for by_threads in cases.values() for case in by_threads.values()], ["glibc", *OURS])
    found = {}
    for key, by_threads in cases.items():
        for name in OURS:
            row = found[key + name] = {}
            for p, case in by_threads.items():
                mine = lab.of(samples, case, name)
                row["t%d" % p] = lab.value(mine, TIMES["wall"])
                row["x%d" % p] = lab.ratio(lab.of(samples, case, "glibc"), mine, TIMES["wall"])
    return found


LIKE_LIBC = "matches libc's"
SHOWN = (("threadtest", "threadtest", "almost a multiple of libc's runtime: locks in free, they believe"),
         ("larson", "Larson", "weak against passive false sharing"), ("active", "active-false", LIKE_LIBC),
         ("passive", "passive-false", LIKE_LIBC))
PARALLEL_RUNS = Table(
    "wen-deng-parallel", DOCUMENT, "section 3.2", "runtimes with 1 to 8 threads",
    tuple(Column("t%d" % p, "%d, s" % p, "wall time with that many threads, median and range", "%.3g") for p in THREADS)
    + tuple(Column("x%d" % p, "libc : it, %d" % p, "libc's wall time over it, within a repetition; above 1 the allocator is faster")
            for p in THREADS),
    tuple(Row(key + name, "%s, %s" % (title, what), claim=claim if name == "wen-deng" else "the fix that was not built")
          for key, title, claim in SHOWN for name, what in OURS.items()),
    parallel, ("the report's graphs are not in its text: in words, what that says of them",
               "an AMD Opteron 6344 of 8 cores; here threads beyond the processors share them",
               "threadtest and the false sharing programs share out a fixed amount of work, Larson has as much a thread"))

TABLES = (MEMORY, RUNTIME, PARALLEL_RUNS)
