#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over the kit and the drop-in: check_tidy.py ROOT BUILD

The headers of the kit are read once, from one file that includes all of them; the sources of src/ follow. The
settings are in .clang-tidy. BUILD holds compile_commands.json; a source that is compiled for many libraries is read
as the first of them has it.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])

everything = build / "all_headers.cpp"
names = [str(path.relative_to(root / "include")) for path in sorted((root / "include").rglob("*.hpp"))]
names += [str(path.relative_to(root)) for path in sorted((root / "allocators").rglob("*.hpp"))]
everything.write_text("".join(f"#include <{name}>\n" for name in names), encoding="utf-8")

commands = {}
for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
    commands.setdefault(command["file"], command)
database = build / "tidy"
database.mkdir(exist_ok=True)
(database / "compile_commands.json").write_text(json.dumps(list(commands.values())), encoding="utf-8")

common = ["clang-tidy-19", "--quiet", f"--config-file={root}/.clang-tidy",
          f"--header-filter=^{root}/(include|allocators|src)/"]
jobs = [[*common, str(everything), "--", "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Wconversion",
         "-Wno-sign-conversion", "-Wundef", f"-I{root}/include", f"-I{root}"]]
jobs += [[*common, "--extra-arg=-Wno-sign-conversion", "-p", str(database), str(path)]
         for path in sorted((root / "src").rglob("*.cpp")) if str(path) in commands]


def tidy(command):
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        return []
    return [line for line in ended.stdout.splitlines() if ": error: " in line] or [ended.stdout + ended.stderr]


# A header's complaint comes once for each source that includes it: say it once.
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    complaints = sorted({line for lines in pool.map(tidy, jobs) for line in lines})
print("\n".join(complaints), file=sys.stderr)
sys.exit(bool(complaints))
