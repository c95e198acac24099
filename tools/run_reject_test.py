#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles one file of tests/reject/, which must fail, with the text of its directive in the messages:

    // expect: TEXT            within the first ten lines; several lines must all be found
    // expect: TEXT || TEXT    one of them: compilers say things differently
    // options: -std=c++17     for the compiler
"""
import re
import subprocess
import sys

source, *compiler = sys.argv[1:]
with open(source, encoding="utf-8") as lines:
    directives = [found.groups() for _, line in zip(range(10), lines)
                  if (found := re.match(r"^//\s*(expect|options):\s*(.*?)\s*$", line))]
expected = [text for name, text in directives if name == "expect"]
options = [word for name, words in directives if name == "options" for word in words.split()]
if not expected:
    sys.exit(f"{source}: no `// expect: TEXT` within the first ten lines")

ended = subprocess.run([*compiler, *options, "-fsyntax-only", source], capture_output=True, text=True, check=False)
if ended.returncode == 0:
    sys.exit(f"{source}: compiles, but must be refused")
for text in expected:
    if not any(choice.strip() in ended.stderr for choice in text.split("||")):
        sys.exit(f"{ended.stderr}\n{source}: refused, but without the expected text: {text}")
