# SPDX-License-Identifier: MIT
"""LKmalloc, "Memory Allocation for Long-Running Server Applications" (ISMM 1998), section 7."""
from dataclasses import replace

from lib.figures import TIMES, Spread

from .form import Column, Row, Table
from .programs import installed, served

DOCUMENT = "LKmalloc"
CPU = TIMES["cpu"]
THREADS = (1, 2, 5, 10)
COUNTED = (2, 4, 8)
BLOCKS, LOW, HIGH, EACH = 1000, 10, 1000, 50000  # section 7: the workload
LIST = (("lkmalloc", "LKmalloc 10"), ("lkmalloc-1", "LKmalloc 1"), ("serial", "dlm, global: serial"),
        ("dl-locallocks", "dlm, local: dl-locallocks"), ("ptmalloc-like", "Ptmalloc: ptmalloc-like"),
        ("glibc", "libc: glibc"))
MACHINES = "one Pentium II of 300 MHz, four and eight Pentium Pro of 200 MHz, Windows NT 4.0"
LIBC = "libc: that of Visual C++ 5.0, one critical section; glibc of today has nothing in common with it"
WORK = "for 30 seconds there; here fixed work, 50,000 replacements a thread, 1,000 blocks of 10 to 1,000 bytes"


def servers(lab, total):
    """{(processors, threads): case} of so many threads' work in all, and the rounds of each."""
    rounds = {threads: max(1, total // threads) for threads in THREADS}
    one = [installed("taskset"), "--cpu-list", "0"]
    found = {}
    for processors in (1, 2)[:lab.processors]:
        for threads in THREADS:
            case = lab.workload("larson-%dp" % processors, threads, "--setting", "lkmalloc", "--rounds",
                                str(rounds[threads]), program="larson")
            found[processors, threads] = replace(case, command=one + case.command) if processors == 1 else case
    return found, rounds


def rate(processors, threads, rounds):
    """Pairs a second. On one processor of a shared machine processor time is what an idle one would have taken."""
    pairs = threads * rounds[threads] * EACH
    return lambda sample: pairs / (CPU(sample) if processors == 1 else sample["wall"])


def measured(lab):
    cases, rounds = servers(lab, 10 if lab.quick else 60)
    return cases, rounds, lab.samples(list(cases.values()), [name for name, _ in LIST])


def throughput(lab):
    cases, rounds, samples = measured(lab)
    return {name: {"%dp%d" % key: lab.value(lab.of(samples, case, name), lambda s, key=key: rate(*key, rounds)(s) / 1e6)
                   for key, case in cases.items()} for name, _ in LIST}


def speedup(lab):
    cases, rounds, samples = measured(lab)
    counts = lab.transfers({(name, p): (name, (*served(lab, BLOCKS, LOW, HIGH), "--threads", p)) for name, _ in LIST if name != "glibc" for p in COUNTED})
    found = {}
    for name, _ in LIST:
        found[name] = {"l%d" % p: counts.get((name, p)) for p in COUNTED}
        for (processors, threads), case in cases.items():
            if threads == 1:
                continue
            alone = lab.of(samples, cases[processors, 1], name)
            here = lab.of(samples, case, name)
            ratio = lab.ratio(here, alone, lambda s, p=processors: 1 / (CPU(s) if p == 1 else s["wall"]))
            factor = threads * rounds[threads] / rounds[1]
            found[name]["%dp%d" % (processors, threads)] = ratio and Spread(
                *(factor * value for value in (ratio.middle, ratio.low, ratio.high)))
    return found


def resident(sample):
    """Of smaps_rollup, which is exact; the kernel's own peak may be off by as much as one thread's blocks. A run that
    nobody looked at in time has none."""
    return sample.get("sampled_peak_kib") or None


def utilization(lab):
    """Live bytes over the resident memory that the heap adds: the peak, less that of the same threads with a block each."""
    cases, _ = servers(lab, 40)
    names = [name for name, _ in LIST]
    empty = {key: replace(case, name="larson-%dp-empty" % key[0], command=[*case.command, "--blocks", "1"])
             for key, case in cases.items()}
    samples = lab.samples([*cases.values(), *empty.values()], names, min(lab.repeat, 3), sample_ms=5)
    found = {}
    for name in names:
        found[name] = {}
        for (processors, threads), case in cases.items():
            base = lab.value(lab.of(samples, empty[processors, threads], name), resident)
            live = threads * BLOCKS * (LOW + HIGH) / 2 / 1024
            if isinstance(base, Spread):
                found[name]["%dp%d" % (processors, threads)] = lab.value(
                    lab.of(samples, case, name), lambda s: resident(s) and live / max(1, resident(s) - base.middle))
    return found


def columns(how, form="%.2f", threads=THREADS):
    return tuple(Column("%dp%d" % (processors, n), "%dP, %d" % (processors, n), how + (
        "; all threads on one processor (taskset), of processor time" if processors == 1 else "; on all, of wall time"), form)
        for processors in (1, 2) for n in threads)


def rows(*claims):
    return tuple(Row(name, title, claim=claim) for (name, title), claim in zip(LIST, claims))


THROUGHPUT = Table(
    "lkmalloc-throughput", DOCUMENT, "Figures 1, 4 and 7", "pairs of malloc and free a second, a server",
    columns("million pairs a second, median and range"),
    rows("1P: some 25 % below the fastest, by the hash and the look-up; 8P: 1.1 million, far above all",
         "1P: as LKmalloc 10; 4P and 8P: gains nothing", "1P: the highest, with Ptmalloc; falls with threads on 4P and 8P",
         "1P: slower, since an optimisation had to go", "1P: the highest, with dlm global; gains nothing on 4P and 8P",
         "1P: the slowest, above all with many threads"),
    throughput, (MACHINES, LIBC, WORK, "the figures are graphs: in words, what the text says of them"))
SPEEDUP = Table(
    "lkmalloc-speedup", DOCUMENT, "Figures 2, 5 and 8", "throughput of n threads to that of one, same allocator",
    columns("ratio within a repetition, median and range", threads=THREADS[1:])
    + tuple(Column("l%d" % p, "lines P = %d" % p, "cache lines moved a pair, counted by bench/coherence") for p in COUNTED),
    rows("3.5 on 4 processors, 5.3 on 8", "nothing from more processors: below 1.5 on 8", "falls below 1 on 4 and 8",
         "nothing from more processors: below 1.5 on 8", "nothing from more processors: below 1.5 on 8",
         "falls below 1, on one processor too"),
    speedup, (MACHINES, LIBC, WORK, "beyond the processors there are: counted cache lines, never times"))
UTILIZATION = Table(
    "lkmalloc-utilization", DOCUMENT, "Figures 3, 6 and 9", "the fraction of the heap's memory that is the program's",
    columns("live bytes (505 a block on average) over resident memory (smaps_rollup, every 5 ms), less that of the same threads with "
            "a block each"),
    rows("0.6 at the most, much less with few threads; the best need almost half of its memory", "high and stable",
         "high and stable", "high and stable", "below the others on 1P, lower on 4P and 8P: new subheaps, never removed",
         "not measured in the document"),
    utilization, (MACHINES, LIBC, WORK, "the document has the arena's length, here is what of it is resident",
                  "the figures are graphs: in words, what the text says of them"))

TABLES = (THROUGHPUT, SPEEDUP, UTILIZATION)
