#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks README.md and docs/ against the tree: check_readme.py ROOT

 - a fenced block of C or C++ that follows a mention of `examples/NAME.cpp` (the nearest before it) is part of that
   file, word for word, so what a reader copies was compiled and run;
 - a path of the tree that is named in backquotes, or that a link goes to, is there.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
top = ("include", "allocators", "src", "bench", "tests", "examples", "docs", "tools", "cmake", "man")
path_name = re.compile(r"`((?:" + "|".join(top) + r")/[\w./+-]*)`")
link = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
failures = []

for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    name = page.relative_to(root)
    example = block = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if block is not None:
            if line.startswith("```"):
                text = "\n".join(block)
                if example and (root / example).is_file():
                    if text not in (root / example).read_text(encoding="utf-8"):
                        failures.append(f"{name}:{start}: is not what {example} says")
                example = block = None
            else:
                block.append(line)
            continue
        if re.match(r"```(cpp|c\+\+|c)$", line):
            block, start = [], number
            continue
        for found in path_name.findall(line):
            if re.search(r"[A-Z]{4}", found):  # a placeholder
                continue
            if not (root / found).exists():
                failures.append(f"{name}:{number}: there is no {found}")
            elif re.match(r"examples/\w+\.cpp$", found):
                example = found
        for found in link.findall(line):
            if not (page.parent / found).exists():
                failures.append(f"{name}:{number}: a link to {found}, which is not there")

for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(bool(failures))
