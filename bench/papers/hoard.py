# SPDX-License-Identifier: MIT
"""Hoard (ASPLOS 2000), sections 5 and 6."""
from lib.figures import TIMES, Spread

from . import programs, taxonomy
from .form import Column, Row, Table, means, spread_of
from .lab import Missing

DOCUMENT = "Hoard"
CPU = TIMES["cpu"]
FOURTEEN = 14  # processors of the paper's machine
HEAPS = "a variant for 14 processors: 28 heaps, 8 fullness groups"
MACHINE = "a Sun Enterprise 5000, 14 UltraSparcs of 400 MHz, Solaris 7; the documents' Hoard is version 2.0.2"
SOLARIS = "Solaris 7's malloc: the family's `serial`, Lea's allocator behind one lock, also a serial single heap"
NO_CURVES = "speedups are measured to the processors there are; beyond them stand counted cache lines, never times"


def percent(spread):
    return spread and Spread(*(100 * (value - 1) for value in (spread.middle, spread.low, spread.high)))


def runs(lab, rows, small):
    """{row key: case} of those that can run."""
    found = {}
    for key, (case, _) in rows.items():
        try:
            found[key] = case(lab, small)
        except Missing as why:
            lab.complain("skipped: %s" % why)
    return found


# --- Table 2

SINGLE = {"espresso": programs.ESPRESSO, "ghostscript": programs.GHOSTSCRIPT, "lrusim": programs.LRUSIM,
          "p2c": programs.P2C}
MULTI = {
    "threadtest": (programs.bench("threadtest", "--scale", "1"), ""),
    "shbench": (programs.bench("shbench", "--blocks", "4000", "--total", "200000", many=("--blocks", "4000", "--scale", "20")),
                "sizes 1 to 1,000, small ones more often; U as in Table 4"),
    "active-false": (programs.bench("active-false", "--scale", "1"), ""),
    "passive-false": (programs.bench("passive-false", "--scale", "1"), ""),
    "bem": (programs.bench("bem", "--panels", "1500", "--scale", "25"), "bench/bem: an object-oriented solver with the same "
            "phases; BEMengine was Coyote Systems'"),
    "barnes-hut": (programs.bench("barnes-hut", "--bodies", "4096", "--scale", "10"), "bench/barnes_hut"),
}


def uniprocessor(lab):
    rows = {**SINGLE, **MULTI}
    small, whole = runs(lab, rows, True), runs(lab, rows, lab.quick)
    counted = lab.all_instructions(list(small.values()), ["serial", "hoard"])
    samples = lab.samples(list(whole.values()), ["serial", "hoard"])
    found = {}
    for key, case in whole.items():
        serial, ours = lab.of(samples, case, "serial"), lab.of(samples, case, "hoard")
        one, other = (counted.get((small[key].label, name)) for name in ("serial", "hoard"))
        found[key] = {"solaris": lab.value(serial, CPU), "hoard": lab.value(ours, CPU),
                      "change": percent(lab.ratio(ours, serial, CPU)),
                      "instructions": 100 * (other / one - 1) if one and other else None}
    found["average"] = means(found.values(), ("change", "instructions"))
    return found


def said2(solaris, hoard, change):
    return {"solaris": solaris, "hoard": hoard, "change": change}


TABLE2 = Table(
    "hoard-2", DOCUMENT, "Table 2", "runtimes on one processor, Hoard against a serial allocator",
    (Column("solaris", "serial s", "processor time on `serial`, one thread, median", "%.3f"),
     Column("hoard", "hoard s", "the same on `hoard`", "%.3f"),
     Column("change", "change %", "median of the ratios of interleaved neighbours, with their range", "%+.1f"),
     Column("instructions", "instructions %", "change of all instructions under callgrind, a smaller amount of the same work",
            "%+.1f")),
    (Row("espresso", "espresso", said2(6.806, 7.887, 15.9), today=programs.ESPRESSO[1]),
     Row("ghostscript", "Ghostscript", said2(3.610, 3.993, 10.6), today=programs.GHOSTSCRIPT[1]),
     Row("lrusim", "LRUsim", said2(1615.413, 1570.488, -2.9), today=programs.LRUSIM[1]),
     Row("p2c", "p2c", said2(1.504, 1.586, 5.5), today=programs.P2C[1]),
     Row("threadtest", "threadtest", said2(16.549, 15.599, -6.1)),
     Row("shbench", "shbench", said2(12.730, 18.995, 49.2), today=MULTI["shbench"][1]),
     Row("active-false", "active-false", said2(18.844, 18.959, 0.6)),
     Row("passive-false", "passive-false", said2(18.898, 18.955, 0.3)),
     Row("bem", "BEMengine", said2(678.30, 614.94, -10.3), today=MULTI["bem"][1]),
     Row("barnes-hut", "Barnes-Hut", said2(192.51, 190.66, -1.0), today=MULTI["barnes-hut"][1]),
     Row("average", "average", {"change": 6.2})),
    uniprocessor, (MACHINE, SOLARIS, "other amounts of work, so seconds do not compare, changes do"))

# --- Tables 3 and 4: what runs with 14 threads


def fourteen(lab):
    """The paper's sizes; fewer rounds, since a trace has every call."""
    few = lab.quick
    case = lab.workload
    return {
        "threadtest": case("threadtest", FOURTEEN, "--rounds", "1" if few else "10"),
        "shbench": case("shbench", FOURTEEN, "--blocks", "4000", "--total", "40000" if few else "600000"),
        "larson": case("larson", FOURTEEN, "--rounds", "2", "--replacements", "2000" if few else "30000"),
        "bem": case("bem", FOURTEEN, "--panels", "800" if few else "3000", "--scale", "1"),
        "barnes-hut": case("barnes-hut", FOURTEEN, "--scale", "5" if few else "20"),
    }


def crossings(lab, case, name):
    """What went through heap 0 in real runs, as many as there are repetitions."""
    return [lab.statistics(case, name) for _ in range(lab.repeat)]


def sharing(lab):
    found = {}
    for key, case in fourteen(lab).items():
        found[key] = {"possible": spread_of([one["purged"] for one in crossings(lab, case, "hoard-apart")])}
        for column, name in (("hoard", "hoard-apart"), ("hashed", "hoard-f4"), ("serial", "serial")):
            told = []
            for _ in range(min(lab.repeat, 3)):
                told.append(lab.told(case, name))
                lab.forget()
            found[key].update({column: spread_of([one["falsely_shared"] for one in told]), "objects": told[0]["objects"]})
    return found


TABLE3 = Table(
    "hoard-3", DOCUMENT, "Table 3", "falsely-shared objects with 14 threads",
    (Column("hoard", "Hoard", "from a trace of the real run with 14 threads: blocks handed out in a line with another "
            "thread's live block, those that the program passes on left aside; so many heaps that no two threads have one, "
            "as on Solaris; median and range of three runs", "%d"),
     Column("possible", "possible", "the same heaps, five runs: blocks in use in superblocks when a heap took them from heap 0, "
            "which is what the document counts", "%d"),
     Column("hashed", "28 heaps", "the same, " + HEAPS + ", threads by a hash", "%d"),
     Column("serial", "serial", "the same on `serial`, to compare", "%d"),
     Column("objects", "objects", "blocks that were handed out", "%d")),
    tuple(Row(key, title, {"hoard": 0, "possible": 0}) for key, title in (("threadtest", "threadtest"), ("shbench", "shbench"),
                                                           ("larson", "Larson"), ("bem", "BEMengine"),
                                                           ("barnes-hut", "Barnes-Hut"))),
    sharing, (MACHINE, "the document counts objects that could be shared, those in a superblock that came from the global "
              "heap (\"possible\"); the others are those that were", "14 threads on fewer processors take turns: which ones meet is chance, and "
              "counts differ from run to run"))


# --- Section 4.2

LOCKED = ("fresh", "from_global", "to_global", "locked")


def synchronization(lab):
    found = {}
    for key, case in fourteen(lab).items():
        objects = lab.told(case)["objects"]
        lab.forget()
        told = crossings(lab, case, "hoard-apart")
        of = {"fresh": "superblocks_fresh", "from_global": "superblocks_from_global", "to_global": "superblocks_to_global",
              "locked": "purges"}
        found[key] = {column: spread_of([one[of[column]] for one in told]) for column in LOCKED}
        found[key]["share"] = spread_of([1000 * one["purges"] / (2 * objects) for one in told])
        found[key]["objects"] = objects
    return found


LOCKS = Table(
    "hoard-locks", DOCUMENT, "section 4.2", "how often the lock of the global heap is taken, 14 threads",
    (Column("objects", "objects", "blocks that were handed out, in a trace", "%d"),
     Column("fresh", "fresh", "superblocks that were made; so many heaps that no two threads have one, median and range", "%d"),
     Column("from_global", "from heap 0", "superblocks that a heap took from heap 0", "%d"),
     Column("to_global", "to heap 0", "superblocks that a heap that was too empty gave up", "%d"),
     Column("locked", "lock", "how often the lock of heap 0 was taken: for each of these, and to free a block of one of its "
            "superblocks", "%d"),
     Column("share", "in 1,000", "the lock, in 1,000 calls of malloc and free", "%.2f")),
    (Row("threadtest", "threadtest", claim="linear speedup"),
     Row("shbench", "shbench", claim="\"remains within the empty fraction during the entire run\""),
     Row("larson", "Larson", claim="after the start below the empty fraction \"only a few times over a 30-second run and over 27 "
         "million mallocs\""),
     Row("bem", "BEMengine", claim="below it \"only 25 times over 50 seconds\", but for the solver"),
     Row("barnes-hut", "Barnes-Hut", claim="\"never drops below its empty fraction\"")),
    synchronization, (MACHINE, "the start is counted here, where all blocks are the main thread's",
                      "14 threads on fewer processors take turns: counts differ from run to run"))


def fragmentation(lab, case, names):
    """{name: (A/U, blocks/U, A)}, and (U, requested, objects)."""
    process = lab.main_process(case)
    whole = lab.replay(case, names, process)
    told = lab.told(case, process=process)
    found = {}
    for one in whole["allocators"]:
        medians = one["median"]
        found[one["name"]] = medians.get("A/U"), medians.get("A_of_blocks/U"), medians.get("A")
    return found, (whole["U"], told["requested"], told["objects"])


def memory(lab):
    found = {}
    cases = {**runs(lab, SINGLE, lab.quick), **fourteen(lab)}
    if not lab.quick:
        cases["bem"] = lab.workload("bem", FOURTEEN, "--panels", "8000", "--scale", "1")
    for key, case in cases.items():
        frag, (used, total, objects) = fragmentation(lab, case, ["hoard-f4"])
        ratio, bare, taken = frag["hoard-f4"]
        found[key] = {"ratio": ratio, "bare": bare, "u": used, "a": taken, "total": total, "objects": objects,
                      "size": total / objects if objects else None}
        lab.forget()
    return found


def said4(ratio, used, taken, total, objects, size):
    return {"ratio": ratio, "u": used, "a": taken, "total": total, "objects": objects, "size": size}


TABLE4 = Table(
    "hoard-4", DOCUMENT, "Table 4", "fragmentation and what programs ask for",
    (Column("ratio", "A/U", "cairn replay of a trace on `hoard`, " + HEAPS + ": most resident memory of the heap over most "
            "bytes live, all overhead included"),
     Column("bare", "of blocks", "the same, only pages in which a block lies or lay"),
     Column("u", "U", "the most bytes live at once, as requested", "%d"),
     Column("a", "A", "the most resident memory of the heap", "%d"),
     Column("total", "requested", "bytes of all requests", "%d"),
     Column("objects", "objects", "requests", "%d"),
     Column("size", "size", "bytes of a request on average", "%.1f")),
    (Row("espresso", "espresso", said4(1.47, 284520, 417032, 110143200, 1675493, 65.7378), today=programs.ESPRESSO[1]),
     Row("ghostscript", "Ghostscript", said4(1.15, 1171408, 1342240, 52194664, 566542, 92.1285),
         today=programs.GHOSTSCRIPT[1]),
     Row("lrusim", "LRUsim", said4(1.05, 1571176, 1645856, 1588320, 39109, 40.6126), today=programs.LRUSIM[1]),
     Row("p2c", "p2c", said4(1.20, 441432, 531912, 5483168, 199361, 27.5037), today=programs.P2C[1]),
     Row("threadtest", "threadtest", said4(1.24, 1068864, 1324848, 80391016, 9998831, 8.04), today="14 threads, 10 rounds"),
     Row("shbench", "shbench", said4(3.17, 556112, 1761200, 1650564600, 12503613, 132.00),
         today="14 threads, 4,000 blocks in all, sizes 1 to 1,000"),
     Row("larson", "Larson", said4(1.22, 8162600, 9928760, 1618188592, 27881924, 58.04),
         today="14 chains of 10,000 blocks of 10 to 100 bytes"),
     Row("bem", "BEMengine", said4(1.02, 599145176, 613935296, 4146087144, 18366795, 225.74), today=MULTI["bem"][1]),
     Row("barnes-hut", "Barnes-Hut", said4(1.18, 11959960, 14114040, 46004408, 1172624, 39.23),
         today="bench/barnes_hut, 32,768 bodies, 14 threads, fewer rounds")),
    memory, (MACHINE, "programs of today need other memory than those of 1998: U and A do not compare, A/U does",
             "A is resident memory, of which pages that were never touched are no part; the document's is what was taken "
             "from the system", "the document leaves out headers of single objects for the single-threaded programs"))

# --- Tables 5 and 6

FRACTIONS = {"f8": "hoard-f8", "f4": "hoard-f4", "f2": "hoard-f2"}


def counted(lab):
    """What bench/coherence is told of each."""
    return {"threadtest": ("--workload", "local", "--size", 8, "--batch", 64, "--steps", 40, "--warmup", 40),
            "shbench": ("--workload", "mixed", "--batch", 8, "--warmup", 400),
            "larson": programs.served(lab, 10000, 10, 100)}


def operations(case, samples):
    """Replacements a second of each run of Larson: the work of bench/larson over its time."""
    words = case.command
    rounds, each = (int(words[words.index(option) + 1]) for option in ("--rounds", "--replacements"))
    return [case.threads * rounds * each / sample["wall"] for sample in samples]


def empty_fractions(lab):
    threads, few = lab.processors, ["--scale", "2"] if lab.quick else []
    cases = {
        "threadtest": lab.workload("threadtest", threads, *few),
        "shbench": lab.workload("shbench", threads, "--blocks", "4000", "--scale", "1" if lab.quick else "20"),
        "bem": lab.workload("bem", threads, "--panels", "1000" if lab.quick else "6000", "--scale", "25"),
        "barnes-hut": lab.workload("barnes-hut", threads, "--scale", "5" if lab.quick else "100"),
        "larson": lab.workload("larson", threads, "--rounds", "4" if lab.quick else "20", "--replacements", "100000"),
    }
    samples = lab.samples(list(cases.values()), list(FRACTIONS.values()))
    counts = lab.transfers({(key, f): (name, (*arguments, "--threads", FOURTEEN))
                            for key, arguments in counted(lab).items() for f, name in FRACTIONS.items()})
    found = {}
    for key, case in cases.items():
        base = lab.of(samples, case, "hoard-f4")
        found[key] = {}
        for f, name in FRACTIONS.items():
            mine = lab.of(samples, case, name)
            if key == "larson":
                work = operations(case, [{"wall": 1}])[0]
                found[key][f] = lab.value(mine, lambda sample: work / sample["wall"])
            else:
                found[key][f] = lab.value(mine, lambda sample: sample["wall"])
            if f != "f4":
                found[key]["x" + f] = lab.ratio(mine, base, CPU)
            found[key]["l" + f] = counts.get((key, f))
    return found


def said5(*figures):
    return dict(zip(("f8", "f4", "f2"), figures))


TABLE5 = Table(
    "hoard-5", DOCUMENT, "Table 5", "runtime with different empty fractions (Larson: operations a second)",
    (Column("f8", "f = 1/8", "wall time with as many threads as there are processors, median; Larson: operations a second",
            "%.4g"),
     Column("f4", "f = 1/4", "the same", "%.4g"),
     Column("f2", "f = 1/2", "the same", "%.4g"),
     Column("xf8", "1/8 : 1/4", "ratio of processor times of interleaved neighbours, with its range"),
     Column("xf2", "1/2 : 1/4", "the same"),
     Column("lf8", "lines 1/8", "cache lines moved a pair, 14 threads, counted by bench/coherence"),
     Column("lf4", "1/4", "the same"), Column("lf2", "1/2", "the same")),
    (Row("threadtest", "threadtest", said5(1.27, 1.28, 1.19)), Row("shbench", "shbench", said5(1.45, 1.50, 1.44)),
     Row("bem", "BEMengine", said5(86.85, 87.49, 88.03)), Row("barnes-hut", "Barnes-Hut", said5(16.52, 16.13, 16.41)),
     Row("larson", "Larson, ops/s", said5(4407654, 4416303, 4352163))),
    empty_fractions, (MACHINE, "the document's are of 14 processors, the times here of those there are; " + HEAPS,
                      "bench/coherence has no Barnes-Hut and no BEMengine"))


def fragmentation_by_fraction(lab):
    found = {}
    for key, case in fourteen(lab).items():
        frag, _ = fragmentation(lab, case, list(FRACTIONS.values()))
        found[key] = {f: frag[name][0] for f, name in FRACTIONS.items()}
        found[key].update({"b" + f: frag[name][1] for f, name in FRACTIONS.items()})
        lab.forget()
    return found


TABLE6 = Table(
    "hoard-6", DOCUMENT, "Table 6", "fragmentation with different empty fractions, 14 threads",
    (Column("f8", "f = 1/8", "A/U of one trace of 14 threads, replayed on each: " + HEAPS),
     Column("f4", "f = 1/4", "the same"), Column("f2", "f = 1/2", "the same"),
     Column("bf8", "of blocks 1/8", "only pages in which a block lies or lay"),
     Column("bf4", "1/4", "the same"), Column("bf2", "1/2", "the same")),
    (Row("threadtest", "threadtest", said5(1.22, 1.24, 1.22)), Row("shbench", "shbench", said5(3.17, 3.17, 3.16)),
     Row("larson", "Larson", said5(1.22, 1.22, 1.61)), Row("bem", "BEMengine", said5(1.02, 1.02, 1.02)),
     Row("barnes-hut", "Barnes-Hut", said5(1.18, 1.18, 1.18))),
    fragmentation_by_fraction, (MACHINE, "one trace for all three, so that they get the same calls; in the document each "
                                "fraction had a run of its own"))

# --- Figures 3 and 4

LIST = (("serial", "Solaris: serial"), ("mtmalloc-like", "MTmalloc: mtmalloc-like"),
        ("ptmalloc-like", "Ptmalloc: ptmalloc-like"), ("hoard", "Hoard"), ("cairn", "(Cairn)"))
PROCESSORS = (2, 4, 8, 14)


def curve(lab, samples, cases, base, name, work=lambda threads: 1, wall=lambda sample: sample["wall"]):
    """Speedups to `serial` on one thread, by number of threads."""
    first = lab.of(samples, base, "serial")
    found = {}
    for threads, case in cases.items():
        ratio = lab.ratio(lab.of(samples, case, name), first, lambda sample: 1 / wall(sample))
        factor = work(threads)
        found["t%d" % threads] = ratio and Spread(*(factor * value for value in (ratio.middle, ratio.low, ratio.high)))
    return found


def speedups(lab):
    several = [1, 2] if lab.processors >= 2 else [1]
    few = lab.quick
    make = {
        "a": lambda p: lab.workload("threadtest", p, "--scale", "2" if few else "50"),
        "b": lambda p: lab.workload("shbench", p, "--blocks", "4000", "--scale", "1" if few else "10"),
        "c": lambda p: lab.workload("larson", p, "--rounds", "2" if few else "10", "--replacements",
                                    "20000" if few else "200000"),
        "d": lambda p: lab.workload("barnes-hut", p, "--scale", "5" if few else "50"),
        "e": lambda p: lab.workload("bem", p, "--panels", "800" if few else "4000", "--scale", "25"),
    }
    cases = {panel: {p: of(p) for p in several} for panel, of in make.items()}
    names = [name for name, _ in LIST]
    samples = lab.samples([case for panel in cases.values() for case in panel.values()], names)
    panels = zip("abc", counted(lab).values())
    counts = lab.transfers({(panel, name, p): (name, (*arguments, "--threads", p)) for panel, arguments in panels
                            for name in names for p in PROCESSORS})
    found = {}
    for panel, by_threads in cases.items():
        for name in names:
            found[panel + name] = curve(lab, samples, by_threads, by_threads[1], name,
                                        (lambda p: p) if panel == "c" else (lambda p: 1))
            found[panel + name].update({"l%d" % p: counts.get((panel, name, p)) for p in PROCESSORS})
    solver = [sample for sample in samples if sample["case"].startswith("bem/") and "solver" in sample.get("figures", {})]
    for name in names:
        found["f" + name] = curve(lab, solver, cases["e"], cases["e"][1], name, wall=lambda s: s["figures"]["solver"])
    return found


SHOWN = {
    "a": ("threadtest", ("severe slowdown", "severe slowdown", "scaling peaks at about 6; Hoard is 278 % faster at 14",
                         "linear")),
    "b": ("shbench", ("does not scale", "often suffers from a centralised bottleneck", "peaks at about 6; Hoard is 85 % "
                      "faster at 14", "nearly linear, the slope below ideal: many size classes")),
    "c": ("Larson", ("slower on 14 than on 1", "slower on 14 than on 1", "slower on 14 than on 1; Hoard is 18 times as "
                     "fast", "linear, nearly ideal")),
    "d": ("Barnes-Hut", ("below 10 on 14", "just above 12 on 14", "just above 12 on 14", "just above 12 on 14, slightly "
                         "better than Ptmalloc")),
    "e": ("BEMengine", ("well below Hoard", "raised an exception", "pathological, probably false sharing", "the best")),
    "f": ("BEMengine's solver", ("as Hoard", "raised an exception", "below", "as Solaris: the allocator is no issue")),
}
SPEEDUP = (Column("t1", "P = 1", "speedup to `serial` on one thread: ratios of wall times within a repetition, median and "
                  "range"),
           Column("t2", "2", "the same, two threads"))
FIGURE3 = Table(
    "hoard-fig3", DOCUMENT, "Figure 3", "speedup on up to 14 processors",
    SPEEDUP + tuple(Column("l%d" % p, "lines P = %d" % p, "cache lines moved a pair of malloc and free with %d processors, "
                           "counted by bench/coherence" % p) for p in PROCESSORS),
    tuple(Row(panel + name, "(%s) %s, %s" % (panel, program, title.split(": ")[-1]),
              claim=dict(zip(("serial", "mtmalloc-like", "ptmalloc-like", "hoard"), words)).get(name, "not in it"))
          for panel, (program, words) in SHOWN.items() for name, title in LIST),
    speedups, (MACHINE, SOLARIS, NO_CURVES, "the figures are graphs: in words, what the text says of them",
               "bench/coherence has threadtest (8 bytes, 64 at a time), a mix of sizes and Larson, and no Barnes-Hut or BEM",
               "MTmalloc and Ptmalloc of the time: reconstructed from the documents (docs/family.md)"))


def false_sharing(lab):
    several = [1, 2] if lab.processors >= 2 else [1]
    names = [name for name, _ in LIST]
    cases = {kind: {p: lab.workload(kind, p, "--scale", "2" if lab.quick else "100") for p in several}
             for kind in ("active-false", "passive-false")}
    samples = lab.samples([case for kind in cases.values() for case in kind.values()], names)
    found = {}
    for kind, by_threads in cases.items():
        counted = lab.workload(kind, FOURTEEN, "--objects", "2000" if lab.quick else "20000")
        for name in names:
            told = lab.told(counted, "hoard-apart" if name == "hoard" else name)
            found[kind + name] = {**curve(lab, samples, by_threads, by_threads[1], name),
                                  "shared": 100 * told["falsely_shared"] / told["objects"]}
    return found


SHOWN4 = {"active-false": ("does not scale: nearly every line is shared", "scales to about 4 processors",
                           "scales to about 4 processors", "linear"),
          "passive-false": ("does not scale", "does not avoid it, actively or passively",
                            "does not avoid it, actively or passively", "nearly linear to 12, then the program's bus traffic")}
FIGURE4 = Table(
    "hoard-fig4", DOCUMENT, "Figure 4", "speedup where allocators share cache lines falsely",
    SPEEDUP + (Column("shared", "shared %", "of the blocks of a traced run with 14 threads, those handed out in a line with "
                      "another thread's live block; `hoard` with heaps so many that no two threads have one", "%.1f"),),
    tuple(Row(kind + name, "%s, %s" % (kind, title.split(": ")[-1]),
              claim=dict(zip(("serial", "mtmalloc-like", "ptmalloc-like", "hoard"), words)).get(name, "not in it"))
          for kind, words in SHOWN4.items() for name, title in LIST),
    false_sharing, (MACHINE, SOLARIS, NO_CURVES, "14 threads on fewer processors: which ones meet is chance"))

TABLES = (TABLE2, TABLE3, LOCKS, TABLE4, TABLE5, TABLE6, taxonomy.TABLE, FIGURE3, FIGURE4)
