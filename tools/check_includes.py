#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the direction of includes: check_includes.py ROOT

 - a header in a folder of include/cairn/ includes from its own folder and from folders above it in `order`;
 - a header of the kit includes nothing from allocators/, src/, tests/ or bench/;
 - a composition in allocators/ includes headers of the kit and other compositions;
 - src/malloc/ and src/family/ know an allocator, never its layers: only what `drop_in` names;
 - project headers are included with <>, by their path from the root of the include folder, and exist.
"""
import pathlib
import re
import sys

order = ["core", "platform", "sync", "sizeclass", "source", "layer", "combine", "run", "superblock", "thread",
         "debug", "adapt", "family"]
drop_in = ["core", "platform", "adapt", "sync/across_fork.hpp"]
include = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
own = re.compile(r"^(cairn|allocators|src|tests|bench|examples)/")

root = pathlib.Path(sys.argv[1]).resolve()
failures = []


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if found := include.match(line):
            yield f"{path.relative_to(root)}:{number}", found[1], found[2]


def headers(folder):
    return sorted(path for path in (root / folder).rglob("*") if path.suffix in (".hpp", ".h", ".cpp"))


def check(path, allowed, allowed_roots):
    for place, mark, name in includes(path):
        if mark == '"':
            if path.suffix != ".cpp" and path.is_relative_to(root / "include"):
                failures.append(f'{place}: write <{name}> with its full path, not "{name}"')
            continue
        if not (found := own.match(name)):
            continue
        if found[1] not in allowed_roots:
            failures.append(f"{place}: must not know {name}")
            continue
        if not any((root / start / name).is_file() for start in ("include", ".")):
            failures.append(f"{place}: there is no {name}")
        parts = name.split("/")
        if found[1] == "cairn" and len(parts) > 2 and not {parts[1], "/".join(parts[1:])} & set(allowed):
            failures.append(f"{place}: includes {name} against the direction of includes")


for path in headers("include/cairn"):
    folder = path.relative_to(root / "include/cairn").parts[0]
    if folder in order:
        check(path, order[:order.index(folder) + 1], ["cairn"])
    elif path.parent != root / "include/cairn":
        failures.append(f"{path.relative_to(root)}: the folder {folder}/ has no place in the order of includes")
for path in headers("allocators"):
    check(path, order, ["cairn", "allocators"])
for path in headers("src/malloc") + headers("src/family"):
    check(path, drop_in, ["cairn", "allocators", "src"])

for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(bool(failures))
