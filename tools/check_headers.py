#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles each header on its own: check_headers.py ROOT COMPILER...

A header that needs another one to be included before it, or that warns, fails. Those of include/cairn/ itself must also be C.
Whether a header needs another one is asked of the first compiler, alone: the library below is the same. The others read
all headers together, for their warnings.
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


def compile_these(job):
    compiler, language, names = job
    source = "".join(f"#include <{name}>\n" for name in names)
    ended = subprocess.run([compiler, *flags, *language, "-"], input=source, capture_output=True, text=True, check=False)
    what = f"<{names[0]}> does not compile on its own" if len(names) == 1 else "the headers do not compile"
    return f"{compiler}: {what}\n{ended.stderr}" if ended.returncode else ""


cxx = ["-x", "c++", "-std=c++20"]
alone = [str(path.relative_to(root / start)) for start, folder in (("include", "include/cairn"), (".", "allocators"))
         for path in sorted((root / folder).rglob("*.h*"))]
jobs = [(compiler, cxx, alone) for compiler in compilers[1:]] + [(compilers[0], cxx, [name]) for name in alone]
jobs += [(compiler, ["-x", "c", "-std=c99"], [f"cairn/{path.name}"])
         for compiler in compilers for path in sorted((root / "include/cairn").glob("*.h"))]

with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    failures = [message for message in pool.map(compile_these, jobs) if message]
print("\n".join(failures), file=sys.stderr)
sys.exit(bool(failures))
