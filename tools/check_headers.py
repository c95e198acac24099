#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles each header on its own: check_headers.py ROOT COMPILER...

A header that needs another one to be included before it, or that warns, fails. Those of include/cairn/ itself must also be C.
Whether a header needs another one is asked of the first compiler, alone: the library below is the same. The others read
all headers together, for their warnings, and without exceptions and RTTI, which a program may go without. A header that another one includes before anything else is compiled on its own with
that one.
"""
import concurrent.futures
import os
import pathlib
import re
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


def included_first(path):
    """The header that is read before anything else of `path`, whatever is defined; "" if there is none."""
    directive = re.search(r"^# *(?:if|include <(.*)>)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return (directive and directive[1]) or ""


cxx = ["-x", "c++", "-std=c++20"]
headers = {str(path.relative_to(root / start)): path
           for start, folder in (("include", "include/cairn"), (".", "allocators"))
           for path in sorted((root / folder).rglob("*.h*"))}
alone = headers.keys() - {included_first(path) for path in headers.values()}
jobs = [(compiler, [*cxx, "-fno-exceptions", "-fno-rtti"], list(headers)) for compiler in compilers[1:]]
jobs += [(compilers[0], cxx, [name]) for name in sorted(alone)]
jobs += [(compiler, ["-x", "c", "-std=c99"], [f"cairn/{path.name}"])
         for compiler in compilers for path in sorted((root / "include/cairn").glob("*.h"))]

with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    failures = [message for message in pool.map(compile_these, jobs) if message]
print("\n".join(failures), file=sys.stderr)
sys.exit(bool(failures))
