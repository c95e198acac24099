#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles each header on its own: check_headers.py ROOT COMPILER...

A header that needs another one to be included before it, or that warns, fails. Those of include/cairn/ itself must also be C.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

root, *compilers = sys.argv[1:]
root = pathlib.Path(root).resolve()
flags = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Wundef",
         "-Werror", "-fsyntax-only",
         f"-I{root}/include", f"-I{root}"]


def compile_alone(job):
    compiler, language, name = job
    ended = subprocess.run([compiler, *flags, *language, "-"], input=f"#include <{name}>\n", capture_output=True,
                           text=True, check=False)
    return f"{compiler}: <{name}> does not compile on its own\n{ended.stderr}" if ended.returncode else ""


cxx = ["-x", "c++", "-std=c++20"]
jobs = []
for compiler in compilers:
    for start, folder in (("include", "include/cairn"), (".", "allocators")):
        for path in sorted((root / folder).rglob("*.h*")):
            jobs.append((compiler, cxx, str(path.relative_to(root / start))))
    for path in sorted((root / "include/cairn").glob("*.h")):
        jobs.append((compiler, ["-x", "c", "-std=c99"], f"cairn/{path.name}"))

with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    failures = [message for message in pool.map(compile_alone, jobs) if message]
print("\n".join(failures), file=sys.stderr)
sys.exit(bool(failures))
