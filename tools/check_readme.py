#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks README.md and docs/ against the tree: check_readme.py ROOT

 - a fenced block of C or C++ that follows a mention of `examples/NAME.cpp` (the nearest before it) is part of that
   file, word for word, so what a reader copies was compiled and run;
 - a path of the tree that is named in backquotes, or that a link goes to, is there, and in it the heading;
 - a `Class::member` that is named in backquotes is a word of a file that defines the class.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
top = ("include", "allocators", "src", "bench", "tests", "examples", "docs", "tools", "cmake", "man")
path_name = re.compile(r"`((?:" + "|".join(top) + r")/[\w./+-]*)`")
link = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
member_name = re.compile(r"`(?:\w+::)*(\w+)::(\w+)(?:\(\))?`")
words_beside = {}  # a class or namespace, and the words of the files that define it
failures = []

for folder in ("include", "allocators", "src"):
    for path in (root / folder).rglob("*.[ch]pp"):
        text = path.read_text(encoding="utf-8")
        words = set(re.findall(r"\w+", text))
        for head in re.findall(r"\b(?:class|struct|union|namespace)\b([^;{()]*(?:\([^)]*\)[^;{()]*)?)\{", text):
            for defined in re.findall(r"\w+", head.split(" : ")[0]):
                words_beside.setdefault(defined, set()).update(words)


def has_heading(page, anchor):
    """As GitHub makes anchors of headings."""
    for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        if re.sub(r"[^\w -]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).replace(" ", "-") == anchor:
            return True
    return False


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
        for found, anchor in link.findall(line):
            target = page.parent / found if found else page
            if not target.exists():
                failures.append(f"{name}:{number}: a link to {found}, which is not there")
            elif anchor and not has_heading(target, anchor):
                failures.append(f"{name}:{number}: a link to {found}#{anchor}: there is no such heading")
        for outer, inner in member_name.findall(line):
            if outer not in ("std", "cairn") and inner not in words_beside.get(outer, ()):
                failures.append(f"{name}:{number}: {outer}::{inner} is not in the code")

for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(bool(failures))
