#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over the kit and the drop-in: check_tidy.py ROOT BUILD

The headers of the kit are read once, from one file that includes all of them, and so are the sources of each folder of
src/: most of the time goes into what they include. So no two sources of a folder may have a name in common, which would be
two meanings of one word. The settings are in .clang-tidy. BUILD holds compile_commands.json; a source that is compiled for
many libraries is read as the first of them has it.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])

database = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
own = {}
for command in database:
    unit = pathlib.Path(command["file"])
    together = re.findall('#include "(.*)"', unit.read_text(encoding="utf-8")) if unit.parent.name == "Unity" else []
    for source in together or [command["file"]]:
        own.setdefault(source, shlex.split(command["command"]))
scratch = build / "tidy"
scratch.mkdir(exist_ok=True)


def read_together(name, included, flags):
    """The job of one run over a file that includes all of these."""
    source = scratch / f"{name}.cpp"
    source.write_text("".join(f"#include {what}\n" for what in included), encoding="utf-8")
    return ["clang-tidy-19", "--quiet", f"--config-file={root}/.clang-tidy",
            "--checks=-bugprone-suspicious-include",  # of a .cpp
            f"--header-filter=^{root}/(include|allocators|src)/", str(source), "--", *flags, "-Wno-sign-conversion"]


def meaning(command):
    """The options that say what the source means, and which warnings it is to have."""
    for option, value in zip(command, [*command[1:], ""]):
        if option == "-isystem":
            yield option + value
        elif option.startswith(("-D", "-I", "-W", "-std=")):
            yield option


warnings = ["-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wundef", f"-I{root}/include", f"-I{root}"]
names = [str(path.relative_to(root / "include")) for path in sorted((root / "include").rglob("*.hpp"))]
names += [str(path.relative_to(root)) for path in sorted((root / "allocators").rglob("*.hpp"))]
jobs = [read_together("all_headers", [f"<{name}>" for name in names], warnings)]
for folder in sorted(path for path in (root / "src").rglob("*") if path.is_dir()):
    sources = [str(path) for path in sorted(folder.glob("*.cpp")) if str(path) in own]
    flags = dict.fromkeys(flag for source in sources for flag in meaning(own[source]))
    if sources:
        jobs.append(read_together(folder.name, [f'"{source}"' for source in sources], flags))


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
