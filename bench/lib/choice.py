# SPDX-License-Identifier: MIT
"""From the words of a command line to allocators and cases. What can not take part is one line on stderr."""
import argparse
import glob
import os

from . import allocators, measure, places, workloads
from .entry import complain

# What is compared, and with what, where nobody says.
BASELINE, BY = "glibc", "wall"


def comma_list(text):
    return [part for part in text.split(",") if part]


def positive(text):
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return value


def positives(text):
    """Each once: a case that ran twice would not be compared with its neighbours."""
    values = list(dict.fromkeys(positive(part) for part in comma_list(text)))
    if not values:
        raise argparse.ArgumentTypeError("must have at least one number")
    return values


def names_of(pattern, prefix):
    return sorted(os.path.basename(path)[len(prefix):-len(".so")] for path in glob.glob(pattern))


def groups(build):
    """Names that stand for several allocators: those of them that are there."""
    flagship = places.library(build, "libcairn.so")
    folder = glob.escape(os.path.dirname(flagship or build))
    family = names_of(os.path.join(folder, "libcairn-*.so"), "libcairn-")
    debian = [name for name, soname in allocators.PEERS.items() if allocators.installed_library(soname)]
    newest = names_of(os.path.join(glob.escape(allocators.peers_folder()), "lib*.so"), "lib")
    return {"debian": debian, "newest": newest, "family": family,
            "all": ["glibc", *debian, *newest, *(["cairn"] if flagship else []), *family]}


def allocator_words(given, build):
    """Every LIST of --allocators in single words, groups replaced; a word with settings stays whole."""
    words = []
    for text in given:
        for word in [text] if ";" in text else comma_list(text):
            words += [word] if ";" in word else groups(build).get(word, [word])
    return list(dict.fromkeys(words))


def choose_allocators(given, build):
    """Those that can take part; for every other one a line that says why not."""
    chosen, probe = [], places.program(build, "probe")
    for specification in given:
        try:
            allocator = allocators.parse(specification, build)
            provider = allocators.confirm(allocator, probe, measure.clean_environment())
        except allocators.Unavailable as why:
            complain("skipped: %s" % why)
            continue
        if any(other.name == allocator.name for other in chosen):
            complain("skipped: %s: a second allocator of that name" % allocator.name)
            continue
        chosen.append(allocator)
        allocator.provider = provider
    return chosen


def choose_cases(names, build, threads, scale):
    known = {workload.name: workload for workload in workloads.WORKLOADS}
    cases = []
    every = [name for name, workload in known.items() if not isinstance(workload, workloads.Several)]
    for name in every if names == ["all"] else dict.fromkeys(names):
        if name not in known:
            complain("no workload is called '%s'; there are %s" % (name, ", ".join(known)))
            raise SystemExit(2)
        try:
            cases += known[name].cases(build, threads, scale)
        except workloads.Missing as why:
            complain("skipped: %s" % why)
    return cases
