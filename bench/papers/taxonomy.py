# SPDX-License-Identifier: MIT
"""Hoard's Table 7: is an allocator fast, does it scale, does it avoid false sharing, does memory blow up? The document
answers by argument, here each answer is a count. See docs/taxonomy.md."""
import json

import instructions
from lib import measure

from .form import Column, Row, Table
from .lab import Missing

# What Table 7 has of each (section 6 of the paper), and LKmalloc's section 7 for those that it adds: fast, scalable,
# avoids false sharing, blowup.
DOCUMENTS = {
    "serial": ("serial single heap", "yes", "no", "no", "O(1)"),
    "dl-locallocks": ("concurrent single heap", "no", "maybe", "no", "O(1)"),
    "private": ("pure private heaps", "yes", "yes", "no", "unbounded"),
    "owned": ("private heaps with ownership", "", "", "", ""),
    "ptmalloc-like": ("Ptmalloc", "yes", "yes", "no", "O(P)"),
    "mtmalloc-like": ("MTmalloc", "yes", "no", "no", "O(P)"),
    "lkmalloc": ("LKmalloc", "yes", "yes", "yes", "O(P)"),
    "thresholds": ("private heaps with thresholds: Vee and Hsu, DYNIX", "yes", "yes", "no", "O(1)"),
    "hoard": ("Hoard", "yes", "yes", "yes", "O(1)"),
}
OTHERS = {
    "nbmalloc": "NBmalloc",
    "michael": "Michael's lock-free allocator",
    "wen-deng": "Wen and Deng's Hoard",
    "wen-deng-apart": "the same, links apart",
    "kingsley": "Kingsley, one lock",
    "kingsley-coalescing": "the same with coalescing",
    "lea": "Lea, one lock",
    "cairn": "Cairn",
}
SHARED = {"active": ["--workload", "mixed", "--batch", "8"], "passive": ["--workload", "bleeding", "--batch", "8"]}


def peak_mib(lab, name, program, *arguments):
    command = [lab.program("launch"), "--timeout", "300", "--preload", lab.allocator(name).library, "--stdout",
               "/dev/null", "--", lab.program(program), *arguments]
    run = measure.call(command, env=measure.clean_environment(), text=True)
    figures = json.loads(run.stdout) if run.returncode == 0 else {"status": 1}
    return figures["peak_kib"] / 1024 if figures["status"] == 0 and not figures["signal"] else None


def row(lab, name):
    found = {"instructions": instructions.a_pair([lab.program("pair")], lab.allocator(name), 64, 1,
                                                 800 if lab.quick else 8000)}
    for threads in (2, 16) if lab.quick else (2, 16, 64):
        counts = lab.coherence(name, "--threads", threads, "--workload", "mixed", "--batch", "8", "--warmup",
                               "400", "--steps", "50")
        found["p%d" % threads] = counts and counts["transfers"]
    for kind, arguments in SHARED.items():
        counts = lab.coherence(name, "--threads", "8", *arguments)
        found[kind] = counts and 100 * counts["falsely_shared"] / counts["blocks"]
    for threads in (2, 8):
        peak = peak_mib(lab, name, "round_robin", "--threads", str(threads), "--megabytes", "16", "--rounds", "3")
        found["round%d" % threads] = peak and peak / 16
    short = peak_mib(lab, name, "producer_consumer", "--threads", "2", "--batches", "4000")
    long = peak_mib(lab, name, "producer_consumer", "--threads", "2", "--batches", "32000")
    found["growth"] = long / short if short and long else None
    return found


def taxonomy(lab):
    def row_if_there(name):
        try:
            return row(lab, name)
        except Missing as why:
            lab.complain("skipped: %s" % why)
            return None

    names = ["private", "owned", "hoard", "cairn"] if lab.quick else [*DOCUMENTS, *OTHERS]
    return {name: found for name, found in measure.at_once(row_if_there, names) if found}


def said(kind, *claims):
    if not any(claims):
        return kind + "; Table 7 has no row of its own for it"
    return "%s; fast: %s, scalable: %s, avoids false sharing: %s, blowup: %s" % (kind, *claims)


TABLE = Table(
    "hoard-7", "Hoard", "Table 7", "a taxonomy: fast, scalable, without false sharing, without blowup",
    (Column("instructions", "instr.", "fast? instructions of a malloc and its free of 64 bytes, callgrind", "%.0f"),
     Column("p2", "lines P = 2", "scalable? cache lines moved a pair, bench/coherence `mixed`, 256 blocks a thread; nothing "
            "passes between threads, so 0 is possible"),
     Column("p16", "16", "the same"), Column("p64", "64", "the same"),
     Column("active", "active %", "false sharing? percent of blocks handed out in a line with another thread's, 8 threads, "
            "`mixed`", "%.1f"),
     Column("passive", "passive %", "the same, `bleeding`: one block in fifty is passed on", "%.1f"),
     Column("round2", "round P = 2", "blowup with P? peak memory over what the program needs, round robin, 16 MiB", "%.1f"),
     Column("round8", "8", "the same", "%.1f"),
     Column("growth", "in time", "blowup in time? peak after 32,000 batches of a producer and a consumer, over that after "
            "4,000", "%.1f")),
    (*(Row(name, name, claim=said(*words)) for name, words in DOCUMENTS.items()),
     *(Row(name, name, claim=title + "; not in the document's table") for name, title in OTHERS.items())),
    taxonomy, ("the document argues, here it is counted", "allocators: the family's, rebuilt from what the documents tell "
               "(docs/family.md)"))
