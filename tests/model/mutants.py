#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutants of the memory orders: mutants.py BUILD [--only TEXT] [--jobs N] [--list]

Each atomic operation of the headers below is made one step weaker, alone, in a copy of its header; the kernels of the
model checker that use the header are compiled against the copy, and one of them has to fail. BUILD is a build folder
with the model checker in it. Mutants that survive are in survivors.txt with a reason each; any other one is an error.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent

# Which programs of kernels look at a header.
headers = {
    "sync/presence.hpp": ["presence"],
    "sync/lock.hpp": ["presence"],
    "platform/fence.hpp": ["presence"],
    "sync/bounded_spin_lock.hpp": ["lists"],
    "sync/tagged_stack.hpp": ["lists"],
    "sync/ibm_freelist.hpp": ["lists", "family"],
    "superblock/remote_free.hpp": ["flagship"],
    "superblock/superblock.hpp": ["flagship"],
    "superblock/pending.hpp": ["flagship"],
    "superblock/notices.hpp": ["flagship"],
    "superblock/global_heap.hpp": ["flagship"],
    "thread/bins.hpp": ["flagship"],
    "thread/holdings.hpp": ["flagship"],
    "thread/taking.hpp": ["flagship"],
    "thread/thread_heap.hpp": ["flagship"],
    "thread/owner_routed.hpp": ["flagship"],
    "thread/next_superblock.hpp": ["flagship"],
    "family/nbmalloc_flat_set.hpp": ["family"],
    "family/nbmalloc_move.hpp": ["family"],
    "family/nbmalloc_keeper.hpp": ["family"],
    "family/nbmalloc_places.hpp": ["family"],
    "family/nbmalloc_small.hpp": ["family"],
    "family/lkmalloc_free_lists.hpp": ["family"],
}
# What no weaker order says: the text, what takes its place, and what it is.
broken = [
    ("sync/tagged_pointer.hpp", "return {pointer, tag() + 1};", "return {pointer, tag()};", "the version stays", ["lists"]),
    ("sync/ibm_freelist.hpp", "old.count - 1u, old.version + 1u", "old.count - 1u, old.version", "a pop keeps the version", ["lists"]),
    ("sync/ibm_freelist.hpp", "old.count + 1u, old.version + 1u", "old.count + 1u, old.version", "a push keeps the version", ["lists"]),
    ("sync/presence.hpp", "if (platform::heavy_fence() && mark_", "if (mark_", "no first heavy fence", ["presence"]),
    ("sync/presence.hpp", "const bool known = platform::heavy_fence();", "const bool known = true;", "no second heavy fence", ["presence"]),
    ("sync/presence.hpp", "while (CAIRN_UNLIKELY(lock_.held()))", "while (false)", "the owner does not look at the lock", ["presence"]),
    ("sync/presence.hpp", "mark_.load(std::memory_order_acquire) != this", "true", "the visitor does not look at the mark", ["presence"]),
    ("sync/lock.hpp", "platform::futex_wake(word_);", "", "nobody is woken", ["presence"]),
    ("thread/taking.hpp", "return !known_ || owner_at_ == s ||", "return !known_ ||", "a superblock in use is taken by free's mark", ["flagship"]),
    ("thread/taking.hpp", "(owner_at_ == &heap_ && s->place == Place::current)", "false", "a superblock in use is taken by malloc's mark", ["flagship"]),
    ("thread/taking.hpp", "known_ = heap_.presence().owner_uses(owner_at_);", "known_ = true;", "nobody asks what the owner uses", ["flagship"]),
    ("family/hoard_heaps.hpp", "if (s->owner.load(std::memory_order_relaxed) == owner)", "if (true)", "no second look at the owner", ["family"]),
    ("family/lkmalloc_free_lists.hpp", "|| !stays_busy(block.end())", "", "no look at the neighbour on the right", ["family"]),
    ("family/lkmalloc_free_lists.hpp", "footer_before(block.start).state() != State::busy ||", "", "no look at the neighbour on the left", ["family"]),
    ("family/nbmalloc_move.hpp", "if (from == to)", "if (false)", "a move to where it is", ["family"]),
]

order = re.compile(r"std::memory_order_(seq_cst|acq_rel|acquire|release)\b")
implied = re.compile(r"\.(load\(\)|store\((?:true|false)\)|exchange\((?:true|false)\)|compare_exchange_(?:strong|weak)\("
                     r"(?:[^(),]|\([^()]*\))+, (?:[^(),]|\([^()]*\))+\))")


def weaker(kind, text, start):
    """The orders one step below `kind`, by the operation whose call the order stands in."""
    before = text[max(0, start - 400):start]
    call = list(re.finditer(r"\b(atomic_signal_fence|atomic_thread_fence|load|store|exchange|compare_exchange_\w+|fetch_\w+)\(",
                            before))
    name = call[-1][1] if call else ""
    if name == "atomic_signal_fence":
        return []
    if name == "load":
        return {"seq_cst": ["acquire"], "acquire": ["relaxed"]}.get(kind, [])
    if name == "store":
        return {"seq_cst": ["release"], "release": ["relaxed"]}.get(kind, [])
    return {"seq_cst": ["acq_rel"], "acq_rel": ["acquire", "release"]}.get(kind, ["relaxed"])


def strip(text):
    """Comments do not have operations."""
    return re.sub(r"//[^\n]*", lambda m: " " * len(m[0]), text)


def mutants():
    for name, programs in headers.items():
        path = root / "include" / "cairn" / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        code = strip(text)
        seen = {}

        def made(start, end, new, what, text=text, name=name, programs=programs, seen=seen):
            line = text[text.rfind("\n", 0, start) + 1:text.find("\n", start)].strip()
            key = f"{name}: {line}: {what}"
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > 1:
                key += f" ({seen[key]})"
            return key, name, text[:start] + new + text[end:], programs

        for found in order.finditer(code):
            for lower in weaker(found[1], code, found.start()):
                yield made(found.start(), found.end(), f"std::memory_order_{lower}", f"{found[1]} to {lower}")
        for found in implied.finditer(code):
            if "moves.load()" in code[found.start() - 5:found.end()]:  # a double word: it has one order only
                continue
            lower = "acquire" if found[1].startswith("load") else "release" if found[1].startswith("store") else "acq_rel"
            new = found[0][:-1] + ("" if found[1].startswith("load") else ", ") + f"std::memory_order_{lower})"
            yield made(found.start(), found.end(), new, f"seq_cst to {lower}")
    for name, old, new, what, programs in broken:
        text = (root / "include" / "cairn" / name).read_text(encoding="utf-8")
        if old not in text:
            sys.exit(f"mutants.py: {name} has no `{old}` any more")
        yield f"{name}: {what}", name, text.replace(old, new), programs


def try_one(build, mutant):
    key, name, text, programs = mutant
    with tempfile.TemporaryDirectory(prefix="mutant") as folder:
        copy = pathlib.Path(folder) / "cairn" / name
        copy.parent.mkdir(parents=True)
        copy.write_text(text, encoding="utf-8")
        for program in programs:
            made = pathlib.Path(folder) / program
            compiled = subprocess.run(
                ["nice", "-n", "19", "clang++-19", "-std=c++20", "-O1", "-w", "-fsanitize=thread", "-mllvm",
                 "-tsan-instrument-func-entry-exit=0", "-fno-exceptions", "-fno-rtti", "-fPIE",
                 f"-I{here / 'simulated'}", f"-I{folder}", f"-I{root / 'include'}", f"-I{root}", "-c",
                 str(here / f"{program}.cpp"), "-o", f"{made}.o"], capture_output=True, text=True, check=False)
            if compiled.returncode != 0:
                return key, "does not compile", compiled.stderr[:300]
            linked = subprocess.run(["clang++-19", "-fno-sanitize=all", f"{made}.o",
                                     str(build / "tests/model/CMakeFiles/model_runtime.dir/runtime.cpp.o"), "-ldl", "-o",
                                     str(made)], capture_output=True, text=True, check=False)
            if linked.returncode != 0:
                sys.exit(f"mutants.py: {linked.stderr}")
            try:
                ran = subprocess.run(["nice", "-n", "19", str(made), "--quiet"], capture_output=True, text=True,
                                     timeout=300, check=False)
            except subprocess.TimeoutExpired:
                return key, "killed", "does not end"
            if ran.returncode != 0:
                return key, "killed", ran.stdout.split("\n")[0]
        return key, "survived", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    wanted = parser.parse_args()
    reasons = {}
    for line in (here / "survivors.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            key, _, reason = line.partition(" | ")
            reasons[key] = reason
    all_of_them = [m for m in mutants() if wanted.only in m[0]]
    if wanted.list:
        print("\n".join(m[0] for m in all_of_them))
        return 0
    count = {"killed": 0, "survived": 0, "does not compile": 0}
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        for key, result, why in pool.map(lambda m: try_one(wanted.build.resolve(), m), all_of_them):
            count[result] += 1
            explained = result == "survived" and key in reasons
            wrong += result != "killed" and not explained
            print(f"{result:9} {key}" + (f" | {reasons[key]}" if explained else f" | {why}" if why else ""), flush=True)
    text = f"{count['killed']} of {len(all_of_them)} mutants killed, {count['survived']} survive, {wrong} without a reason"
    print(f"RESULT model_mutants: {text}")
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
