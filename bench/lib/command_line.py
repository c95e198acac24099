# SPDX-License-Identifier: MIT
"""The options of `cairn bench`."""
import argparse
import os

from . import allocators, extras, figures, places, series, workloads
from .choice import BASELINE, BY, comma_list, positive, positives
from .entry import Parser, named


def seconds(text):
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be more than 0, and a number")
    return value


def read(arguments, description):
    known = ", ".join(allocators.KNOWN)
    parser = Parser(prog="cairn bench", description=description)
    add = parser.add_argument
    add("--allocators", action="append", metavar="LIST",
        help="names (%s, those of the family, those that bench/peers.py has built), groups (debian, newest, family, "
             "all), paths or NAME=PATH.so, separated by commas; repeat the option for one with settings: "
             "NAME=PATH.so;VARIABLE=VALUE (%s)" % (known, known))
    add("--workloads", type=comma_list, default=workloads.DEFAULT, metavar="LIST",
        help=("all, or of: %s (%s)" % (", ".join(workload.name for workload in workloads.WORKLOADS),
                                       ", ".join(workloads.DEFAULT))).replace("%", "%%"))
    add("--threads", type=positives, default=[len(os.sched_getaffinity(0))], metavar="LIST",
        help="numbers of threads, such as 1,2,4,8,32 (the number of processors)")
    add("--repeat", type=positive, metavar="N", help="repetitions (5; with --quick 1)")
    add("--quick", action="store_true", help="a tenth of the work, once: does everything run?")
    add("--scale", type=positive, metavar="PERCENT", help="of the work (100; with --quick %d)" % workloads.QUICK_SCALE)
    add("--memory", action="store_true",
        help="one more run of each, untimed: resident memory over time, and 1 s after everything was freed")
    add("--syscalls", action="store_true", help="one more run of each, untimed: system calls, by strace")
    add("--instructions", action="store_true",
        help="one more run of each, untimed, with a small part of the work: instructions, by callgrind")
    add("--baseline", metavar="NAME", help="what ratios are taken to (%s; with --show that of the file)" % BASELINE)
    add("--by", choices=sorted(figures.TIMES), help="the time to compare (%s; with --show that of the file)" % BY)
    add("--sample", type=positive, default=extras.SAMPLE_MS, metavar="MS",
        help="with --memory: look every MS milliseconds at most (%d)" % extras.SAMPLE_MS)
    add("--timeout", type=seconds, metavar="SECONDS",
        help="when a run counts as hung (10 times its reference run, at least %d s)" % series.LEAST_TIMEOUT)
    add("-o", "--output", "--json", dest="output", type=named, metavar="FILE",
        help="where all results go, as JSON (%s/DATE-TIME-PROCESS.json)" % os.path.relpath(places.results_folder()))
    add("--compare", type=named, metavar="OLD.json", help="besides, what has changed since those results")
    add("--show", type=named, metavar="FILE.json", help="run nothing: the tables of earlier results")
    add("--markdown", action="store_true", help="the tables as Markdown, for a page")
    add("--list", action="store_true", help="run nothing: which allocators and workloads are there")
    add("--build", default=places.default_build(), metavar="DIR",
        help="the build, or the prefix of an installed Cairn, to take programs and libraries from")
    options = parser.parse_args(arguments)
    options.repeat = options.repeat or (1 if options.quick else 5)
    options.scale = options.scale or (workloads.QUICK_SCALE if options.quick else 100)
    options.extras = [name for name in extras.KINDS if getattr(options, name)]
    return options
