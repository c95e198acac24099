#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks house rules that no compiler knows: check_sources.py ROOT

 - the first line (the second after #!) of each source file names the licence;
 - conditionals on an operating system, a C library or a processor stand in include/cairn/platform/ only;
 - a header of the kit starts with a comment that says what it is, and is a page or two, not a book;
 - no line of C or C++ is wider than a reader's window (clang-format leaves comments as they are);
 - nothing is parked: no "to do" marks, no code under #if 0;
 - no paths of one machine;
 - what starts with #! can be started as it is, and nothing else can.
"""
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1]).resolve()
longest_header = 190
widest_line = 120
for_a_runner = re.compile(r"// *(expect|expect-death|env|link|library|ulimit-v): ")  # a line of a test that its runner reads
source_suffixes = {".hpp", ".h", ".cpp", ".py", ".sh", ".cmake"}
conditional = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b(.*)")
system = re.compile(r"\b(__linux__|__gnu_linux__|__unix__|_WIN32|_WIN64|__APPLE__|__FreeBSD__|__ANDROID__|__GLIBC__"
                    r"|__GLIBC_PREREQ|__MUSL__|__x86_64__|__i386__|__aarch64__|__arm__|__riscv|__SSE\w*|__AVX\w*"
                    r"|__ARM_\w+|__LP64__)\b")
parked = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|^\s*#\s*if\s+0\b")
machine_path = re.compile(r"(?<![\w./$}-])/(work|root|home)/\w")
failures = []

files = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
                       capture_output=True, text=True, check=False).stdout.splitlines()
if not files:  # an unpacked archive, no clone
    files = [str(path.relative_to(root)) for path in root.rglob("*") if "build" not in path.parts]

for name in sorted(files):
    path = root / name
    if path.is_file() and not path.is_symlink():
        starts = path.open("rb").read(2) == b"#!"
        if starts != os.access(path, os.X_OK):
            failures.append(f"{name}: {'starts with #! and is not executable' if starts else 'is executable without #!'}")
    if not path.is_file() or path.suffix not in source_suffixes:
        continue
    lines = path.read_text(encoding="utf-8").splitlines()
    if not any(re.search(r"SPDX-License-Identifier: MIT( \*/)?$", line) for line in lines[:2]):
        failures.append(f"{name}:1: does not name the licence")
    code = path.suffix in (".hpp", ".h", ".cpp")
    in_kit = name.startswith(("include/", "allocators/", "src/malloc/"))
    for number, line in enumerate(lines, 1):
        if code and len(line) > widest_line and not for_a_runner.match(line):
            failures.append(f"{name}:{number}: {len(line)} columns, more than {widest_line}")
        if parked.search(line):
            failures.append(f"{name}:{number}: parked work")
        if machine_path.search(line) and not line.startswith("#!"):
            failures.append(f"{name}:{number}: a path of one machine")
        if code and in_kit and not name.startswith("include/cairn/platform/"):
            if (found := conditional.match(line)) and (word := system.search(found[2])):
                failures.append(f"{name}:{number}: a conditional on {word[0]} outside of platform/")
    if name.startswith("include/"):
        if not any(re.match(r"^// \S", line) for line in lines[1:4]):
            failures.append(f"{name}:2: no comment at the top that says what it is")
        if len(lines) > longest_header:
            failures.append(f"{name}: {len(lines)} lines, more than {longest_header}: two ideas in one header?")

for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(bool(failures))
