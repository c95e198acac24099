#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py ROOT LCOV JSON UNCOVERED: a table of line and branch coverage, a row a folder, from what `llvm-cov export` says in
both of its formats: lines are summed up in one only, branches have columns in the other. A line or branch counts as run if it
is in any instantiation. UNCOVERED gets the lines that are not, as PATH:LINE: TEXT. The last row is all of it."""
import collections
import json
import pathlib
import sys

folders = ["core", "platform", "sync", "sizeclass", "source", "layer", "combine", "run", "superblock", "thread", "debug", "adapt", "family"]
rows = [f"include/cairn/{name}/" for name in folders] + ["allocators/", "src/malloc/"]


def main():
    root, uncovered = pathlib.Path(sys.argv[1]), sys.argv[4]
    lines, branches = collections.defaultdict(int), collections.defaultdict(int)
    path = None
    with open(sys.argv[2], encoding="utf-8") as records:
        for record in records:
            kind, _, rest = record.strip().partition(":")
            if kind == "SF":
                path = rest.removeprefix(f"{root}/")
            elif kind == "DA":
                line, count = rest.split(",")[:2]
                lines[path, int(line)] += int(count)
    with open(sys.argv[3], encoding="utf-8") as export:
        for file in json.load(export)["data"][0]["files"]:
            path = file["filename"].removeprefix(f"{root}/")
            for line, column, _, _, when_true, when_false, *_ in file["branches"]:
                branches[path, line, column, True] += when_true
                branches[path, line, column, False] += when_false

    def part(counts, row):
        found = [count > 0 for key, count in counts.items() if key[0].startswith(row)]
        return f"{sum(found):5} of {len(found):5} {100 * sum(found) / len(found):6.1f} %" if found else f"{'-':>23}"

    print(f"{'folder':27} {'lines run':>23}   {'branches taken':>23}")
    for row in rows + [""]:
        if any(key[0].startswith(row) for key in lines):
            print(f"{row or 'all':27} {part(lines, row)}   {part(branches, row)}")
    with open(uncovered, "w", encoding="utf-8") as out:
        for name in sorted({key[0] for key in lines}):
            text = (root / name).read_text(encoding="utf-8").splitlines()
            for (where, line), count in sorted(item for item in lines.items() if item[0][0] == name):
                if count == 0:
                    print(f"{where}:{line}: {text[min(line, len(text)) - 1].strip()}", file=out)


main()
