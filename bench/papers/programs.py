# SPDX-License-Identifier: MIT
"""What runs in the place of the documents' programs. Each is a case: a command, the same for every allocator."""
import os
import shutil
import sys

from lib import real_programs, workloads

from .lab import Missing

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")

# Of two primes each: 21 and 27 digits.
NUMBERS = {"small": ("142910053048135802491", "80"), "large": ("142857195768022381257495607", "150")}


def installed(name):
    path = shutil.which(name)
    if path is None:
        raise Missing("%s is not installed" % name)
    return path


def ghostscript(lab, small):
    return workloads.Case("ghostscript", None, [installed("gs"), "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE=ppmraw",
                                                "-r72", "-dPages=%d" % (1 if small else 10), "-o", "/dev/null",
                                                real_programs.source("ghostscript.ps")])


def translator(lab, small):
    """A small one is C, since what C++'s headers take is too long to count."""
    if not small:
        return workload("g++")(lab, small)
    path = os.path.join(lab.folder, "small.c")
    with open(path, "w") as file:
        file.write("\n".join("struct s%d { int a[%d]; long b; };\n"
                             "long f%d(struct s%d *p, int n) { long t = 0; for (int i = 0; i < n; ++i) "
                             "t += p->a[i %% %d] * (t ^ %d); return t + p->b; }" % (i, i + 3, i, i, i + 3, i)
                             for i in range(8)))
    return workloads.Case("g++", None, [installed("gcc"), "-O1", "-S", "-o", "-", path])


def cfrac(lab, small):
    return workloads.Case("cfrac", None, [os.path.realpath(sys.executable), "-s", os.path.join(HERE, "cfrac.py"),
                                          *NUMBERS["small" if small else "large"]],
                          {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})


def small_program(name):
    def case(lab, small):
        return workloads.Case(name, None, [lab.program(name), "--scale", "2" if small else "100"])
    return case


def workload(name, few=5):
    """A real program of cairn bench."""
    def case(lab, small):
        known = {one.name: one for one in workloads.WORKLOADS}
        try:
            return known[name].cases(lab.build, [1], few if small else 100)[0]
        except (KeyError, workloads.Missing) as why:
            raise Missing(str(why))
    return case


def bench(name, *few, **several):
    """A workload of bench/ on one thread; `few` for the small one."""
    def case(lab, small):
        return lab.workload(name, 1, *(few if small else several.get("many", ())))
    return case


def served(lab, blocks, low, high):
    """What bench/coherence is told for Larson: so many blocks a thread, of so many bytes. Each is replaced 50 times, then all
    pass on, once before what is counted and once in it."""
    blocks = 256 if lab.quick else blocks
    steps = 50 * blocks // 64 + 1
    return ("--workload", "larson", "--held", blocks, "--low", low, "--high", high, "--batch", 64, "--steps", steps,
            "--warmup", steps)


# By what it stands for: (case, what it is and why).
ESPRESSO = workload("z3"), "z3, a theorem prover, on puzzles: logic, as espresso's is, in small objects of many sizes"
GHOSTSCRIPT = ghostscript, "Ghostscript itself, that of Debian, on pages of text, curves and clipping"
LRUSIM = workload("sqlite"), "sqlite on a database in memory: an analysis whose data stay, so that U is near to all it asks for"
P2C = translator, "g++, also a translator (p2c: Pascal to C; this: C++ to assembler; where it is counted, a small C file)"
CFRAC = cfrac, "the same method of factoring with Python's integers, one block a number (PYTHONMALLOC=malloc)"
LINDSAY = small_program("hypercube"), "bench/hypercube, a simulator of the same kind: lindsay itself is not to be had"
PERL = workload("perl", 1), "perl itself, that of Debian, on hashes, strings and patterns"
ROBOOP = small_program("robot"), "bench/robot, an arm's dynamics in small matrices: the same kind of program, in C++ too"
