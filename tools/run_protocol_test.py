#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a protocol model exhaustively with Spin: run_protocol_test.py MODEL.pml [CC]

The model's top comment has a line for each run, with the definitions that it is made with:

    // holds: -DROOM=2      nothing fails, and no process is stuck, in any execution
    // ends: -DMOVERS=2     and no execution goes on for ever
    // fails: -DNO_FENCE    a mutant: something fails; else the model would not be worth much
    // endless: -DWAITS     a mutant: an execution goes on for ever

Ends with 77 (skipped) where Spin is not installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

STATES_AT_MOST = 10_000_000  # a model that has grown beyond this is no test any more
RUN = re.compile(r"// (holds|ends|fails|endless):(.*)")


def search(model, definitions, compiler, cycles):
    """Whether anything was found, how many states there were, and what Spin said."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["spin", "-a", *definitions, model], cwd=folder, check=True, stdout=subprocess.PIPE)
        # Models are small: an optimised search takes longer to compile than it saves.
        subprocess.run([compiler, "-O0", "-w", "-DNP" if cycles else "-DSAFETY", "-DNOFAIR", "-o", "pan", "pan.c"], cwd=folder, check=True)
        said = subprocess.run(["./pan", "-m1000000", "-w22"] + ["-l"] * cycles, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    errors = re.search(r"errors: (\d+)", said)
    states = re.search(r"(\d+) states, stored", said)
    # A search that ran out of something has shown nothing.
    if not errors or not states or "max search depth too small" in said or "out of memory" in said:
        raise SystemExit("%s %s: no complete search\n%s" % (os.path.basename(model), " ".join(definitions), said))
    return int(errors.group(1)) > 0, int(states.group(1)), said


def main(model, compiler="cc"):
    if shutil.which("spin") is None:
        print("skipped: spin is not installed")
        return 77
    with open(model) as file:
        runs = RUN.findall(file.read())
    if not any(kind in ("holds", "ends") for kind, _ in runs) or not any(kind in ("fails", "endless") for kind, _ in runs):
        print("%s: no run that must hold, or no mutant that must fail" % model)
        return 1
    wrong = 0
    for kind, words in runs:
        expected = kind in ("fails", "endless")
        found, states, said = search(os.path.abspath(model), words.split(), compiler, kind in ("ends", "endless"))
        print("%-8s %-64s %9d states, %s" % (kind, words.strip(), states, "a failure" if found else "no failure"))
        if found != expected or states > STATES_AT_MOST:
            wrong += 1
            print("    not as expected" + (":\n" + said if found else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip().split("\n")[0])
    sys.exit(main(*sys.argv[1:]))
