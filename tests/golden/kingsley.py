#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The composed Kingsley heap must cost what the one written by hand does (kingsley.cpp).

Both are compiled as a release is, with $CXX or c++, and run under valgrind's callgrind, once and with twice as many
operations: the difference is what the operations cost, to the instruction. Prints a table; ends with 1 if a layered
operation costs more, with 77 if there is no valgrind.

Allowed is what compilers do to like source without a reason in it, as seen in the listings: g++ 12 copies a register
where it chose another one for the size, and clang 19 compares before it subtracts, where the written heap has one
instruction for both. g++ 14 makes a way of its own for a size of 0, and all others jump back from it. Anything that a
layer computes is more than that.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
count = 500
allowed = {"reuse": 1, "carve": 2}
allowed_later = {"reuse": 5, "carve": 6}  # by g++ after 12


def instructions(program, folder, *arguments):
    counts = os.path.join(folder, "counts")
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", program, *arguments],
                   check=True, capture_output=True)
    with open(counts, encoding="utf-8") as file:
        return int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.MULTILINE)[1])


def per_operation(program, folder, who, what, size):
    """Starting up is in both runs, and cancels out."""
    once = instructions(program, folder, who, what, str(size), str(count))
    twice = instructions(program, folder, who, what, str(size), str(2 * count))
    return (twice - once) / count


def is_later(compiler):
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout
    number = subprocess.run([compiler, "-dumpversion"], check=True, capture_output=True, text=True).stdout
    return "clang" not in version and int(number.split(".")[0]) > 12


def main():
    if shutil.which("valgrind") is None:
        print("no valgrind")
        return 77
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "kingsley")
        compiler = os.environ.get("CXX", "c++")
        most = allowed_later if is_later(compiler) else allowed
        subprocess.run([compiler, "-std=c++20", "-O2", "-DNDEBUG", f"-I{root}/include", f"-I{root}",
                        str(root / "tests/golden/kingsley.cpp"), "-o", program], check=True)
        print("instructions, with those of the loop around them: by hand, layered")
        for what in ("reuse", "carve"):
            for size in (8, 100, 4000):
                written, layered = (per_operation(program, folder, who, what, size) for who in ("written", "layered"))
                print(f"  {what} {size:5} bytes: {written:6.2f} {layered:6.2f}")
                if layered > written + most[what]:
                    status = 1
    if status:
        print("the layers cost something: compare the listings of written_malloc and layered_malloc")
    return status


sys.exit(main())
