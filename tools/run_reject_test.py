#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles one file of tests/reject/, which must fail, with the text of its directive in the messages:

    // expect: TEXT            within the first ten lines; several lines must all be found
    // expect: TEXT || TEXT    one of them: compilers say things differently
"""
import re
import subprocess
import sys

source, *compiler = sys.argv[1:]
with open(source, encoding="utf-8") as lines:
    expected = [found[1] for _, line in zip(range(10), lines)
                if (found := re.match(r"^//\s*expect:\s*(.*?)\s*$", line))]
if not expected:
    sys.exit(f"{source}: no `// expect: TEXT` within the first ten lines")

ended = subprocess.run([*compiler, "-fsyntax-only", source], capture_output=True, text=True, check=False)
if ended.returncode == 0:
    sys.exit(f"{source}: compiles, but must be refused")
for text in expected:
    if not any(choice.strip() in ended.stderr for choice in text.split("||")):
        sys.exit(f"{ended.stderr}\n{source}: refused, but without the expected text: {text}")
