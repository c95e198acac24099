#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutants of the memory orders: mutants.py BUILD [--only TEXT] [--jobs N]

Each atomic operation of the headers that the kernels of the model checker run through is made one step weaker, alone:
the runtime takes the weaker order for it wherever the compiler has put it. A kernel has to fail. Then some other
mistakes, each in a copy of its header, which the kernels are compiled against. BUILD is a build folder with the model
checker in it. Mutants that survive are in survivors.txt with a reason each; any other one is an error.
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

programs = ["presence", "lists", "flagship", "family"]
orders = ["relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"]
kinds = ["load", "store", "update", "failure", "fence"]
weaker = {
    "load": {"seq_cst": ["acquire"], "acquire": ["relaxed"]},
    "failure": {"seq_cst": ["acquire"], "acquire": ["relaxed"]},
    "store": {"seq_cst": ["release"], "release": ["relaxed"]},
    "update": {"seq_cst": ["acq_rel"], "acq_rel": ["acquire", "release"], "acquire": ["relaxed"], "release": ["relaxed"]},
    "fence": {"seq_cst": ["acq_rel"], "acq_rel": ["acquire", "release"], "acquire": ["relaxed"], "release": ["relaxed"]},
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



def sites(build, program):
    """{(file:line, kind, order): places} of the operations that the program's kernels do."""
    path = build / "bin/model" / program
    out = subprocess.run([str(path), "--quiet", "--sites"], capture_output=True, text=True, check=True).stdout
    found = [line.split()[1:] for line in out.splitlines() if line.startswith("site ")]
    asked = "".join(f"0x{int(place, 16) - 1:x}\n" for place, _, _ in found)
    text = subprocess.run(["addr2line", "-a", "-i", "-e", str(path)], input=asked, capture_output=True, text=True,
                          check=True).stdout
    lines = {}
    for block in re.split(r"^0x", text, flags=re.M)[1:]:
        address, *frames = block.split("\n")
        for frame in frames:  # the innermost of ours
            if "/include/cairn/" in frame and "/simulated/" not in frame:
                lines[int(address, 16)] = frame.split("/include/cairn/")[-1].split(" ")[0]
                break
    result = {}
    for place, kind, order in found:
        line = lines.get(int(place, 16) - 1)
        if line is not None:
            result.setdefault((line, kinds[int(kind)], orders[int(order)]), []).append(f"{place}:{kind}")
    return result


def weaken(build, wanted):
    """(key, [(program, places)], order) of each mutant."""
    of_all = {}
    for program in programs:
        for site, places in sites(build, program).items():
            of_all.setdefault(site, []).append((program, ",".join(places)))
    for (line, kind, order), where in sorted(of_all.items()):
        name, number = line.rsplit(":", 1)
        code = (root / "include/cairn" / name).read_text(encoding="utf-8").splitlines()[int(number) - 1].strip()
        for lower in weaker[kind].get(order, []):
            key = f"{name}: {code}: {kind}, {order} to {lower}"
            if wanted in key:
                yield key, where, orders.index(lower)


def try_weaker(build, mutant):
    key, where, order = mutant
    for program, places in where:
        try:
            ran = subprocess.run(["nice", "-n", "19", str(build / "bin/model" / program), "--quiet", "--weaken", places,
                                  str(order)], capture_output=True, text=True, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            return key, "killed", "does not end"
        if ran.returncode != 0:
            return key, "killed", ran.stdout.split("\n")[0]
    return key, "survived", ""


def try_copy(build, mutant):
    key, name, text, users = mutant
    with tempfile.TemporaryDirectory(prefix="mutant") as folder:
        copy = pathlib.Path(folder) / "cairn" / name
        copy.parent.mkdir(parents=True)
        copy.write_text(text, encoding="utf-8")
        for program in users:
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
    parser.add_argument("--no-copies", action="store_true", help="weaker orders only")
    wanted = parser.parse_args()
    build = wanted.build.resolve()
    reasons = {}
    for line in (here / "survivors.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            key, _, reason = line.partition(" | ")
            reasons[key] = reason
    jobs = [(try_weaker, mutant) for mutant in weaken(build, wanted.only)]
    for name, old, new, what, users in [] if wanted.no_copies else broken:
        text = (root / "include" / "cairn" / name).read_text(encoding="utf-8")
        if old not in text:
            sys.exit(f"mutants.py: {name} has no `{old}` any more")
        if wanted.only in f"{name}: {what}":
            jobs.append((try_copy, (f"{name}: {what}", name, text.replace(old, new), users)))
    count = {"killed": 0, "survived": 0, "does not compile": 0}
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        for key, result, why in pool.map(lambda job: job[0](build, job[1]), jobs):
            count[result] += 1
            explained = result == "survived" and key in reasons
            wrong += result != "killed" and not explained
            print(f"{result:9} {key}" + (f" | {reasons[key]}" if explained else f" | {why}" if why else ""), flush=True)
    text = f"{count['killed']} of {len(jobs)} mutants killed, {count['survived']} survive, {wrong} without a reason"
    print(f"RESULT model_mutants: {text}")
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
