#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the built malloc's fast paths with the listings in tests/golden/.

check_golden.py [--library PATH] [--accept] [LISTING...]

A listing is called after its function and starts with two lines that --accept keeps: the compiler and processor
that it is for, and the most instructions that a call may take that needs no slow path. Two kinds of things are
checked:
 - facts, whatever the compiler: no locked instruction, no exchange with memory, no call (slow paths are tail
   jumps), no loop, and that number on each way from the entry to a return;
 - the instructions themselves, with another compiler skipped (77). Addresses, displacements that the linker
   chooses, and padding are left out; jumps go to labels or names.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
machines = {"Advanced Micro Devices X86-64": "x86-64"}
padding = re.compile(r"((data16|cs) )*nop[wl]?\b|xchg +%ax,%ax|endbr64|int3")
forbidden = {
    "a locked instruction": re.compile(r"^lock\b"),
    "an exchange with memory": re.compile(r"^xchg\b.*[(\[]"),
    "a call": re.compile(r"^(notrack )?call"),
    "a system call": re.compile(r"^syscall"),
}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def built_by(library):
    """What made the library: compiler, its major version, processor."""
    notes = output("readelf", "--string-dump=.comment", library)
    found = re.search(r"(clang) version (\d+)", notes) or re.search(r"(GCC): .*? (\d+)\.\d+\.\d+", notes)
    compiler = f"{found[1].replace('GCC', 'g++')} {found[2]}" if found else "unknown compiler"
    machine = re.search(r"Machine:\s*(.*\S)", output("readelf", "--file-header", library))[1]
    return compiler, machines.get(machine, machine)


def short(name):
    """A demangled name without template arguments, parameters and offsets."""
    name = re.sub(r"\(anonymous namespace\)::", "", name)
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return re.sub(r"\(.*?\)|\+0x[0-9a-f]+", "", name)


def instructions(library, function):
    """[(address, text)] of a function, jumps to addresses still."""
    symbols = output("readelf", "--wide", "--symbols", library)
    found = re.search(rf"^ *\d+: ([0-9a-f]+) +(\d+) FUNC .* {function}(@@\S*)?$", symbols, re.MULTILINE)
    if not found:
        sys.exit(f"{library}: no function {function}")
    start = int(found[1], 16)
    listing = output("objdump", "--disassemble", "--demangle", "--no-show-raw-insn", f"--start-address={start}",
                     f"--stop-address={start + int(found[2])}", library)
    lines = re.findall(r"^ *([0-9a-f]+):\t(.*\S)", listing, re.MULTILINE)
    return [(int(address, 16), text) for address, text in lines if not padding.match(text)]


def normalise(code):
    """[(label or "", text, own label jumped to or None)]."""
    own = {address for address, _ in code}
    jump = re.compile(r"^((?:notrack |bnd )?j\w+ +)([0-9a-f]+) <(.*)>$")
    targets = sorted({int(m[2], 16) for _, text in code if (m := jump.match(text)) and int(m[2], 16) in own})
    labels = {address: f"L{i}" for i, address in enumerate(targets, 1)}
    lines = []
    for address, text in code:
        target = None
        if m := jump.match(text):
            target = labels.get(int(m[2], 16))
            text = m[1] + (target or short(m[3]))
        elif m := re.match(r"(.*?)-?0x[0-9a-f]+\(%rip\)(.*?) +# [0-9a-f]+ <(.*)>$", text):
            in_table = re.match("_GLOBAL_OFFSET_TABLE_|_DYNAMIC", m[3])
            text = f"{m[1]}[{'GOT' if in_table else short(m[3])}]{m[2]}"
        lines.append((labels.get(address, ""), text, target))
    return lines


def longest_way(lines, at=0, on_the_way=frozenset()):
    """The most instructions from line `at` to a return; None if no way there stays in the function. One that jumps back comes from
    a detour that the compiler has laid out of the line, as it is hardly ever taken, and does not count."""
    if at >= len(lines):
        return None
    if at in on_the_way:
        sys.exit("a loop before the return")
    _, text, target = lines[at]
    on_the_way |= {at}
    if re.match(r"(rep[z]? )?ret", text):
        return 1
    ways = []
    if target:
        to = next(i for i, line in enumerate(lines) if line[0] == target)
        if to > at or to in on_the_way:
            ways.append(longest_way(lines, to, on_the_way))
    if not text.startswith("jmp"):
        ways.append(longest_way(lines, at + 1, on_the_way))
    ways = [way for way in ways if way is not None]
    return 1 + max(ways) if ways else None


def check(golden, library, accept):
    """0, 1 or 77."""
    function = golden.stem
    old = golden.read_text(encoding="utf-8").splitlines()
    wanted = re.fullmatch(r"# \w+: (.*), (.*)", old[0])
    limit = int(re.fullmatch(r"# at most (\d+) instructions to the return", old[1])[1])
    compiler, machine = built_by(library)
    if machine != wanted[2]:
        print(f"{golden.name}: is for {wanted[2]}, {library} for {machine}")
        return 77
    lines = normalise(instructions(library, function))
    new = old[:2]
    for label, text, _ in lines:
        new += [f"{label}:"] if label else []
        new.append("    " + re.sub(r"^(\S+) +", r"\1 ", text))
    listing = "\n".join(new) + "\n"

    status = 0
    for what, pattern in forbidden.items():
        for _, text, _ in lines:
            if pattern.search(text):
                print(f"{function}: {what}: {text}")
                status = 1
    longest = longest_way(lines)
    if longest is None or longest > limit:
        print(f"{function}: {longest or 'no way of any'} instructions to the return, {limit} are allowed")
        status = 1
    if status:
        print(listing)
        return status
    if accept:
        golden.write_text(listing.replace(f"{wanted[1]}, ", f"{compiler}, ", 1), encoding="utf-8")
        return 0
    if compiler != wanted[1]:
        print(f"{golden.name}: is for {wanted[1]}, {library} is made by {compiler}")
        return 77
    if new != old:
        print("\n".join(difflib.unified_diff(old, new, f"tests/golden/{golden.name}", function, lineterm="")))
        print(f"\nThe fast path of {function} has changed ({longest} instructions to the return, {limit} allowed).\n"
              f"If it should: tools/check_golden.py --library {library} --accept")
        return 1
    return 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--library", default=os.environ.get("CAIRN_LIB", root / "build/release/lib/libcairn.so"))
parser.add_argument("--accept", action="store_true", help="take over what was built as the new listings")
parser.add_argument("listings", nargs="*", type=pathlib.Path)
arguments = parser.parse_args()
if not os.path.exists(arguments.library):
    sys.exit(f"{arguments.library} is not built")
listings = arguments.listings or sorted((root / "tests/golden").glob("*.txt"))
sys.exit(max([check(path, arguments.library, arguments.accept) for path in listings],
             key=lambda status: (status == 1, status)))
