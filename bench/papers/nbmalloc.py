# SPDX-License-Identifier: MIT
"""NBmalloc, "Allocating Memory in a Lock-Free Manner" (ESA 2005), section 6."""

from .form import Column, Row, Table
from .programs import served

DOCUMENT = "NBmalloc"
THREADS = (1, 2, 4, 8)
COUNTED = (2, 8, 32)
LIST = (("serial", "libc: serial"), ("glibc", "libc: glibc of today"), ("hoard", "Hoard"), ("nbmalloc", "NBmalloc"),
        ("michael", "Michael"))
BLOCKS, LOW, HIGH = 1000, 5, 500  # the sizes are section 6's, the number that of Larson and Krishnan


def figure4(lab):
    few = lab.quick
    names = [name for name, _ in LIST]
    each = 20000
    rounds = {p: max(1, (8 if few else 64) // p) for p in THREADS}
    cases = {
        "active": {p: lab.workload("active-false", p, "--size", "1", "--objects", "5000" if few else "200000")
                   for p in THREADS},
        "passive": {p: lab.workload("passive-false", p, "--size", "1", "--objects", "5000" if few else "200000")
                    for p in THREADS},
        "larson": {p: lab.workload("larson-nbmalloc", p, "--setting", "nbmalloc", "--rounds", str(rounds[p]),
                                   "--replacements", str(each), program="larson") for p in THREADS},
    }
    samples = lab.samples([case for panel in cases.values() for case in panel.values()], names)
    counts = lab.transfers({(name, p): (name, (*served(lab, BLOCKS, LOW, HIGH), "--threads", p)) for name in names if name != "glibc"
                            for p in (COUNTED[:2] if few else COUNTED)})
    found = {}
    for name in names:
        def of(panel, p, value, name=name):
            return lab.value(lab.of(samples, cases[panel][p], name), value)
        for panel in ("active", "passive"):
            found[panel + name] = {"t%d" % p: of(panel, p, lambda sample: sample["wall"]) for p in THREADS}
        found["throughput" + name] = {"t%d" % p: of("larson", p, lambda s, p=p: p * rounds[p] * each / s["wall"] / 1e6)
                                      for p in THREADS}
        found["throughput" + name].update({"l%d" % p: counts.get((name, p)) for p in COUNTED})
        found["memory" + name] = {"t%d" % p: of("larson", p, lambda sample: sample["peak_kib"] / 1024) for p in THREADS}
    return found


FUTURE = "section 7, not measured there: %s"
PANELS = (
    ("active", "active-false s", {"hoard": "induces very little", "nbmalloc": "induces very little, on both machines",
                                  "serial": "suffers: longer and irregular", "glibc": "suffers: longer and irregular",
                                  "michael": FUTURE % "may induce more: partly filled superblocks are not a heap's own"}),
    ("passive", "passive-false s", {"hoard": "induces very little", "nbmalloc": "induces very little, on both machines",
                                    "serial": "suffers: longer and irregular", "glibc": "suffers: longer and irregular",
                                    "michael": FUTURE % "may induce more: partly filled superblocks are not a heap's own"}),
    ("throughput", "Larson Mops/s", {"hoard": "the most on the Sun, and drops quickly beyond its 4 processors",
                                     "nbmalloc": "less than Hoard's, and stays high beyond the processors; on the SGI it "
                                     "rises in a line", "serial": "far below", "glibc": "far below",
                                     "michael": FUTURE % "performs excellently in its own document"}),
    ("memory", "Larson MiB", {"hoard": "larger overhead than libc, grows as well with threads", "nbmalloc": "similar to "
                              "Hoard", "serial": "the least", "glibc": "the least",
                              "michael": FUTURE % "may be more fragmented: not in order of fullness"}),
)
FIGURE4 = Table(
    "nbmalloc-fig4", DOCUMENT, "Figure 4", "false sharing, throughput and memory against threads",
    tuple(Column("t%d" % p, "%d thread%s" % (p, "" if p == 1 else "s"), "active- and passive-false: wall time of 200,000 "
                 "cycles of 1,000 writes on 1 byte; Larson (5 to 500 bytes): million replacements a second of wall time, "
                 "peak resident memory; median and range", "%.3g") for p in THREADS)
    + tuple(Column("l%d" % p, "lines P = %d" % p, "Larson (1,000 blocks of 5 to 500 bytes a thread): cache lines "
            "moved a pair, counted by bench/coherence")
            for p in COUNTED),
    tuple(Row(panel + name, "%s, %s" % (title, label), claim=words[name])
          for panel, title, words in PANELS for name, label in LIST),
    figure4, ("a Sun Enterprise 450 (4 UltraSPARC II of 400 MHz) and an SGI Origin 3800 (32 processors); Hoard 3.0.2",
              "10^6 cycles, Larson for 60 (30) seconds; here fixed, smaller amounts of work",
              "libc: Solaris 9's and IRIX's; `serial` is Lea's allocator behind one lock, glibc that of today",
              "the figures are graphs: in words, what the text says of them",
              "threads beyond the processors share them here as there; processors beyond those there are, are counted"))

TABLES = (FIGURE4,)
