# SPDX-License-Identifier: MIT
"""Heap Layers (PLDI 2001), sections 5 and 6."""
import subprocess
from dataclasses import replace
from statistics import mean

from lib import measure, workloads
from lib.figures import TIMES, Spread

from . import programs
from .form import Column, Row, Table, means
from .hoard import percent, runs
from .lab import Missing

DOCUMENT = "Heap Layers"
CPU = TIMES["cpu"]
MACHINE = "a Pentium II of 366 MHz, Visual C++ 6.0, Windows 2000"


# --- Figures 1, 3 and 4: custom allocators


def variants(lab, name, keys, *arguments):
    """Instructions of a workload's variants, and each to the first two."""
    cases = [workloads.Case(key, None, [lab.program(name), "--variant", key, *arguments]) for key in keys]
    outputs = {case.name: measure.call(case.command).stdout for case in cases}
    counted = lab.all_instructions(cases, ["glibc"])
    found = {}
    for key in keys:
        found[key] = {"instructions": counted[key, "glibc"], "same": "yes" if outputs[key] == outputs[keys[0]] else "NO"}
        for column, first in (("change", keys[0]), ("second", keys[1])):
            if counted[key, "glibc"] and counted[first, "glibc"]:
                found[key][column] = 100 * (counted[key, "glibc"] / counted[first, "glibc"] - 1)
    return found


def parsers(lab):
    return variants(lab, "xalloc", ("inlined", "original", "layered", "malloc"), "--sentences", "2" if lab.quick else "30")


def obstacks(lab):
    return variants(lab, "obstack", ("original", "functions", "layered", "freelist", "malloc"), "--rounds",
                    "1" if lab.quick else "8")


def sizes(lab):
    """Of programs with one variant each."""
    found = {}
    for key in ("original", "inlined", "layered", "malloc"):
        try:
            told = subprocess.run(["size", lab.target("xalloc-" + key)], capture_output=True, text=True, check=True).stdout
        except FileNotFoundError:
            raise Missing("needs `size`, of binutils")
        found[key] = {"bytes": int(told.splitlines()[1].split()[0])}
        found[key]["change"] = 100 * (found[key]["bytes"] / found["original"]["bytes"] - 1)
    return found


def custom(*others):
    return (Column("instructions", "instructions", "of the whole program on glibc, under callgrind", "%d"),
            *(Column(key, "to %s %%" % other, "difference to that row", "%+.2f")
              for key, other in zip(("change", "second"), others)),
            Column("same", "same output", "the program prints the same"))


def to_original(key, variants):
    return 100 * (variants[key] / variants["original"] - 1)


EXECUTABLES = {"original": 211286, "inlined": 266342, "layered": 249958}
TABLE2 = Table(
    "heap-layers-2", DOCUMENT, "Table 2", "executable sizes of 197.parser on its own xalloc and on xallocHeap",
    (Column("bytes", "bytes", "code and constants of a program that has this variant only, by `size`", "%d"),
     Column("change", "to original %", "difference to the first row", "%+.1f")),
    (*(Row(key, title, {"bytes": EXECUTABLES[key], "change": to_original(key, EXECUTABLES)}, claim=claim)
       for key, title, claim in (("original", "original", "the smallest"), ("inlined", "original (inlined)", "the largest"),
                                 ("layered", "xallocHeap", "between; the same whether or not inlining is asked for"))),
     Row("malloc", "system's malloc", claim="not in the document")),
    sizes, (MACHINE, "today: bench/xalloc, a smaller program, so bytes do not compare",
            "the document has the length of the file, which is whole pages today"))
FIGURE3 = Table(
    "heap-layers-fig3", DOCUMENT, "Figures 1 and 3", "197.parser on its own xalloc, on xallocHeap and on malloc",
    custom("inlined", "original"),
    (Row("inlined", "original (inlined)", claim="the reference"),
     Row("original", "original", claim="longer than inlined, a bar of the graph"),
     Row("layered", "xallocHeap", {"change": -1, "second": -1}, claim="just over 1 % less than \"the original\"; the text does "
         "not say of which of the two"),
     Row("malloc", "system's malloc", {"change": 60}, claim="Figure 1: estimated, over 60 % more")),
    parsers, (MACHINE, "today: bench/xalloc, a parser for link grammars with the same stack discipline; link-parser of today "
              "has other allocators", "runtime there, instructions here"))
FIGURE4 = Table(
    "heap-layers-fig4", DOCUMENT, "Figure 4", "gcc, its obstacks and ObstackHeap", custom("macros"),
    (Row("original", "macros (original)", claim="the reference"),
     Row("functions", "functions", claim="a bar of the graph, a little longer than macros"),
     Row("layered", "ObstackHeap, malloc", claim="(a) and (b) nearly as the original"),
     Row("freelist", "ObstackHeap, freelist", {"change": -8}, claim="(b) parse phase: 8 % less; (a) all of gcc: just over 1 %"),
     Row("malloc", "malloc", claim="not in the document")),
    obstacks, (MACHINE, "today: bench/obstack, a front end with scopes, which is the parse phase of (b); gcc of today uses "
               "obstacks little", "runtime there, instructions here"))

# --- Tables 4 to 6 and Figure 6: programs that allocate much

BENCHMARKS = {"cfrac": programs.CFRAC, "espresso": programs.ESPRESSO, "lindsay": programs.LINDSAY,
              "lrusim": programs.LRUSIM, "perl": programs.PERL, "roboop": programs.ROBOOP}
TITLES = {"cfrac": "cfrac", "espresso": "espresso", "lindsay": "lindsay", "lrusim": "LRUsim", "perl": "perl",
          "roboop": "roboop"}
LEA = "lea-original=glibc;GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"
ALLOCATORS = {"kingsley": "kingsley-by-hand", "kingsleyheap": "kingsley", "coalescing": "kingsley-coalescing",
              "rounded": "kingsley-coalescing-rounded", "lea": LEA, "leaheap": "lea", "unlocked": "lea-without-lock"}
COLUMNS = tuple(ALLOCATORS)
HEADS = {"kingsley": "Kingsley", "kingsleyheap": "KingsleyHeap", "coalescing": "+ coalescing", "rounded": "+ coal., rounded",
         "lea": "Lea", "leaheap": "LeaHeap", "unlocked": "LeaHeap, no lock"}
# The document's columns; its figures are in this order.
SAID = ("kingsley", "kingsleyheap", "coalescing", "lea", "leaheap")
SECONDS = {"cfrac": (19.02, 19.75, 25.94, 19.09, 20.14), "espresso": (40.66, 40.91, 44.56, 41.12, 46.33),
           "lindsay": (3.05, 3.04, 3.16, 3.01, 3.08), "lrusim": (836.67, 827.10, 826.44, 831.98, 828.36),
           "perl": (66.94, 70.01, 73.61, 66.32, 68.60), "roboop": (10.81, 11.19, 17.89, 10.89, 13.08)}
BYTES = {"cfrac": (270336, 280640, 271944, 208896, 241272), "espresso": (974848, 992032, 541696, 462848, 448808),
         "lindsay": (2158592, 2120752, 1510688, 1515520, 1506720),
         "lrusim": (2555904, 2832272, 1887512, 1585152, 1887440), "perl": (425984, 454024, 342344, 331776, 337408),
         "roboop": (45056, 20760, 11440, 20480, 11616)}
DEMAND = {"cfrac": (10890166, 222745704, 176960, 20.45, 21780289, 1207862),
          "espresso": (4477737, 1130107232, 389152, 252.38, 8955367, 218276),
          "lindsay": (108862, 7418120, 1510840, 68.14, 217678, 72300),
          "lrusim": (39139, 1592992, 1581552, 40.70, 78181, 94),
          "perl": (8548435, 162451960, 293928, 19.00, 17091308, 257809),
          "roboop": (9268221, 332058248, 16376, 35.83, 18536397, 1701786)}
ORIGINALS = ("Kingsley: bench/papers/kingsley_by_hand.hpp, without layers, below the same lock as the layered one; Lea: "
             "glibc's malloc, which grew out of it, with one arena and without its thread caches; it takes no lock in a "
             "process of one thread")
LOCKED = ("the document's heaps take no lock, the family's one in each malloc and free: LeaHeap stands here with it and "
          "without")
ROUNDED = ("coalescing: blocks are as long as was asked for; `rounded` has Kingsley's powers of two (docs/family.md says why "
           "we read the document as the first)")
OTHER = "programs of today: other amounts of work and of memory; what compares is one allocator with another"


def name_of(column):
    return ALLOCATORS[column].split("=")[0]


def statistics(lab):
    found = {}
    cases = runs(lab, BENCHMARKS, lab.quick)
    samples = lab.samples(list(cases.values()), [LEA])
    for key, case in cases.items():
        process = lab.main_process(case)
        told = lab.told(case, process=process)
        objects, total = told["objects"], told["requested"]
        whole = lab.replay(case, [LEA], process, touch=False)
        calls = sum(count for kind, count in whole["calls"].items())
        seconds = lab.value(lab.of(samples, case, "lea-original"), CPU)
        found[key] = {"objects": objects, "total": total, "live": whole["U"], "size": total / objects, "ops": calls,
                      "rate": calls / seconds.middle if isinstance(seconds, Spread) and seconds.middle else None}
        lab.forget()
    return found


TABLE4 = Table(
    "heap-layers-4", DOCUMENT, "Table 4", "what the programs ask for",
    (Column("objects", "objects", "requests in a trace", "%d"), Column("total", "total", "bytes requested", "%d"),
     Column("live", "in use", "the most bytes live at once", "%d"), Column("size", "size", "bytes of a request", "%.1f"),
     Column("ops", "ops", "calls of malloc's family", "%d"),
     Column("rate", "ops/s", "calls over the processor time on the original Lea", "%d")),
    tuple(Row(key, TITLES[key], dict(zip(("objects", "total", "live", "size", "ops", "rate"), DEMAND[key])),
              today=BENCHMARKS[key][1]) for key in BENCHMARKS),
    statistics, (MACHINE, OTHER, "Table 3's inputs of the programs are not in the document's text"))


def runtimes(lab):
    cases = runs(lab, BENCHMARKS, lab.quick)
    samples = lab.samples(list(cases.values()), list(ALLOCATORS.values()))
    found = {}
    for key, case in cases.items():
        of = {column: lab.of(samples, case, name_of(column)) for column in COLUMNS}
        found[key] = {column: lab.value(of[column], CPU) for column in COLUMNS}
        found[key]["layers"] = percent(lab.ratio(of["kingsleyheap"], of["kingsley"], CPU))
        found[key]["leas"] = percent(lab.ratio(of["leaheap"], of["lea"], CPU))
        found[key]["bare"] = percent(lab.ratio(of["unlocked"], of["lea"], CPU))
    found["mean"] = means(found.values(), ("layers", "leas", "bare"))
    return found


def said5(key):
    values = dict(zip(SAID, SECONDS[key]))
    return {**values, "layers": 100 * (values["kingsleyheap"] / values["kingsley"] - 1),
            "leas": 100 * (values["leaheap"] / values["lea"] - 1)}


TABLE5 = Table(
    "heap-layers-5", DOCUMENT, "Table 5", "runtimes on general-purpose allocators",
    (*(Column(column, HEADS[column], "processor seconds, median and range", "%.3g") for column in COLUMNS),
     Column("layers", "layers %", "KingsleyHeap to Kingsley, ratios within a repetition", "%+.1f"),
     Column("leas", "LeaHeap %", "LeaHeap to Lea, the same", "%+.1f"),
     Column("bare", "no lock %", "LeaHeap without its lock to Lea, the same", "%+.1f")),
    (*(Row(key, TITLES[key], said5(key), today=BENCHMARKS[key][1]) for key in BENCHMARKS),
     Row("mean", "mean", {"layers": 2, "leas": 7}, claim="\"just below 2 %\" and \"an average of 7 %\"")),
    runtimes, (MACHINE, ORIGINALS, LOCKED, ROUNDED, OTHER))


def footprints(lab):
    """Resident memory of a replayed trace, by allocator."""
    found = {}
    for key, case in runs(lab, BENCHMARKS, lab.quick).items():
        whole = lab.replay(case, list(ALLOCATORS.values()), lab.main_process(case))
        taken = {one["name"]: one["median"].get("A") for one in whole["allocators"]}
        found[key] = {column: taken.get("glibc" if column == "lea" else name_of(column)) for column in COLUMNS}
        found[key]["live"] = whole["U"]
        lab.forget()
    return found


TABLE6 = Table(
    "heap-layers-6", DOCUMENT, "Table 6", "memory consumption of general-purpose allocators, bytes",
    (*(Column(column, HEADS[column], "most resident memory of the heap in a replay of the program's trace", "%d")
       for column in COLUMNS), Column("live", "in use", "the most bytes live at once", "%d")),
    tuple(Row(key, TITLES[key], {**dict(zip(SAID, BYTES[key])), "live": DEMAND[key][2]}, today=BENCHMARKS[key][1])
          for key in BENCHMARKS),
    footprints, (MACHINE, ORIGINALS, LOCKED, ROUNDED, OTHER, "the document has what was requested from the system, here is what of it was "
                 "touched"))


def normalised(lab):
    """Both halves of Figure 6: instructions and memory, to Lea's."""
    small = runs(lab, BENCHMARKS, True)
    counted = lab.all_instructions([replace(case, name=key) for key, case in small.items()], list(ALLOCATORS.values()))
    found = {}
    for key in small:
        of = {column: counted.get((key, name_of(column))) for column in COLUMNS}
        found["a" + key] = {column: of[column] / of["lea"] if of[column] and of["lea"] else None for column in COLUMNS}
    for key, row in footprints(lab).items():
        found["b" + key] = {column: row[column] / row["lea"] if row[column] and row["lea"] else None for column in COLUMNS}
    for half in "ab":
        found[half + "mean"] = means([row for key, row in found.items() if key[0] == half], COLUMNS)
    return found


def to_lea(figures):
    return {column: value / figures[3] for column, value in zip(SAID, figures)}


def means_said(table):
    rows = [to_lea(figures) for figures in table.values()]
    return {column: mean(row[column] for row in rows) for column in SAID}


FIGURE6 = Table(
    "heap-layers-fig6", DOCUMENT, "Figure 6", "runtime and memory, normalised to the original Lea",
    tuple(Column(column, HEADS[column], "(a) instructions of a small run under callgrind, (b) resident memory of a replay, "
                 "both over Lea's") for column in COLUMNS),
    (*(Row("a" + key, "(a) " + TITLES[key], to_lea(SECONDS[key]), today=BENCHMARKS[key][1]) for key in BENCHMARKS),
     Row("amean", "(a) mean", means_said(SECONDS), claim="layers cost Kingsley just below 2 %; LeaHeap is 1/2 % faster to 20 % "
         "slower, 7 % on average"),
     *(Row("b" + key, "(b) " + TITLES[key], to_lea(BYTES[key])) for key in BENCHMARKS),
     Row("bmean", "(b) mean", means_said(BYTES), claim="Kingsley takes 50 % more memory than with coalescing, "
         "3 % to 80 %: by Table 6 48 %, 3 % to 83 %, or 30 % less with it")),
    normalised, (MACHINE, ORIGINALS, LOCKED, ROUNDED, OTHER, "the document's figures are those of its Tables 5 and 6, normalised",
                 "for (a) a mapping is the break: valgrind's ends after 8 MiB"))

TABLES = (TABLE2, FIGURE3, FIGURE4, TABLE4, TABLE5, TABLE6, FIGURE6)
