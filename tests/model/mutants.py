#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutants of the memory orders: mutants.py BUILD [--only TEXT] [--jobs N] [--chance N]

Each atomic operation of the kit and the family is made one step weaker, alone: the runtime takes the weaker order for it
wherever the compiler has put it. The kernels that come through it run, the short run first, then so many executions by
chance of those that are not explored to their end; one of them has to fail. Then some other mistakes, each in a copy of
its header, which the kernels are compiled against. BUILD is a build folder with the model checker in it.

Mutants that survive, and operations that no kernel comes through, are in survivors.txt with a reason each; any other one
is an error.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent

programs = ["presence", "lists", "flagship", "runs", "heaps", "family", "nbmalloc", "michael", "process"]
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
    ("sync/ibm_freelist.hpp", "old.version + 1u", "old.version", "the version stays", ["lists"]),
    ("sync/tagged_queue.hpp", "((word >> bits_) + 1)", "(word >> bits_)", "the version stays", ["lists"]),
    ("sync/tagged_queue.hpp", "if (tail != tail_.load(std::memory_order_relaxed))", "if (false)", "no second look at the tail", ["lists"]),
    ("sync/tagged_queue.hpp", "if (head != head_.load(std::memory_order_relaxed))", "if (false)", "no second look at the head", ["lists"]),
    ("sync/tagged_queue.hpp", "if (number(head) == number(tail))", "if (false)", "the head passes the tail", ["lists"]),
    ("sync/presence.hpp", "if (owner_passes_fence() && hazard_", "if (hazard_", "no first heavy fence", ["presence"]),
    ("sync/presence.hpp", "std::atomic_thread_fence(std::memory_order_seq_cst); // Dekker pair with owner_passes_fence()", "",
     "no fence of the owner where there is no heavy one", ["presence"]),
    ("sync/presence.hpp", "std::atomic_thread_fence(std::memory_order_seq_cst);\n            return true;", "return true;",
     "no fence of the visitor where there is no heavy one", ["presence"]),
    ("thread/freeing.hpp", "!heap->presence().fenced()", "true", "a short section where there are none", ["flagship"]),
    ("thread/freeing.hpp", "presence().begin(s);", "presence().begin(owner_line_of(shared));", "the mark is another slot's", ["flagship"]),
    ("run/segment.hpp", "i < line->slots; ++i", "i < 1; ++i", "only the first slot has another owner", ["flagship"]),
    ("sync/presence.hpp", "const bool known = platform::heavy_fence();", "const bool known = true;", "no second heavy fence", ["presence"]),
    ("sync/presence.hpp", "if (CAIRN_UNLIKELY(lock_.held()))", "if (false)", "the owner does not look at the lock", ["presence"]),
    ("sync/presence.hpp", "hazard_.load(std::memory_order_acquire) != inside()", "true", "the visitor does not look at the mark", ["presence"]),
    ("sync/lock.hpp", "platform::futex_wake(word_);", "", "nobody is woken", ["presence"]),
    ("sync/lock.hpp", "platform::futex_wait(word_, held_with_sleepers_);",
     "platform::futex_wait(word_, held_with_sleepers_);\n            if (take()) {\n                return;\n            }",
     "who was asleep forgets the others that are", ["presence"]),
    ("thread/taking.hpp", "owner_at_ == address_of(s) ||", "", "a superblock in use is taken by free's mark", ["flagship"]),
    ("thread/taking.hpp", "s->place == Place::current || ", "", "a superblock in use is taken by malloc's mark", ["flagship"]),
    ("thread/taking.hpp", " || recent().is_hidden(s)", "", "the recent superblock is taken by malloc's mark", ["flagship"]),
    ("thread/taking.hpp", " || recent().is_shown(s) ||", " ||", "a superblock that a free has shown again is taken", ["flagship"]),
    ("thread/recent_superblocks.hpp", "compare_exchange_strong(from, to, std::memory_order_relaxed)", "store(to, std::memory_order_relaxed)", "a visitor's store takes the place of what the owner has noted", ["flagship"]),
    ("thread/taking.hpp", "recent().hide(s);", "recent().forget(s);", "it is not known which superblock was the recent one", ["flagship"]),
    ("thread/taking.hpp", "known_ = heap_.presence().owner_uses(owner_at_);", "known_ = true;", "nobody asks what the owner uses", ["flagship"]),
    ("thread/free_remote.hpp", "const bool alone = presence.unvisited();", "const bool alone = true;",
     "who adds to a chain does not ask for visitors", ["flagship"]),
    ("thread/heap_visits.hpp", "!heap_of_another.presence().owner_is_at(&chains)", "true", "a visitor takes chains that are added to", ["flagship"]),
    ("thread/balanced_contents.hpp", "hidden_ = true;", "", "the fast path of malloc finds what visitors take", ["flagship"]),
    ("thread/balanced_contents.hpp", "holdings_.hide();", "", "the fast path of free finds what visitors take", ["flagship"]),
    ("superblock/notices.hpp", "            if (word.queued() && !own_notice) {\n                return false;\n            }\n", "",
     "a superblock goes while a notice about it is on its way", ["flagship"]),
    ("thread/visit.hpp", "if (!taken.has(s)) {", "if (true) {", "a superblock is taken twice in one visit", ["flagship"]),
    ("thread/heap_visits.hpp", "tell_all(registry, heap_of_another.holdings().global(), all);", "",
     "nobody is told of a chain that a visitor gives back", ["flagship"]),
    ("thread/unowned_heaps.hpp", "heap->inbox().set_unowned(false);", "", "a heap that a thread has again is tended", ["flagship"]),
    ("thread/unowned_heaps.hpp", "wanted != nullptr && wanted->inbox().is_unowned()", "wanted != nullptr", "two threads have a heap",
     ["flagship"]),
    ("thread/leaving.hpp", "            holdings.take_notice(s);\n", "", "a superblock goes as it was before the frees of which it was told",
     ["flagship"]),
    ("thread/heap_registry.hpp", "sync::Guard hold(lock_);\n        if (inbox.is_unowned())", "if (inbox.is_unowned())",
     "a heap is tended while a thread gets it", ["flagship"]),
    ("thread/free_remote.hpp", "if (CAIRN_UNLIKELY(presence.fenced()))", "if (false)", "a chain is added to where there are no short sections",
     ["flagship"]),
    ("src/malloc/thread_ties.cpp", "pthread_mutex_trylock(&t->life) != EOWNERDEAD", "false", "nobody asks whether the thread has ended",
     ["process"]),
    ("src/malloc/thread_ties.cpp", "const sync::Guard hold(lock);\n    // What", "// What", "two cut one tie", ["process"]),
    ("src/malloc/thread_ties.cpp", "heap.levels().close(left);", "", "the heap of a thread that has ended is not handed over", ["process"]),
    ("src/malloc/purger.cpp", "if (!platform::heavy_fence())", "platform::light_fence();\n    if (false)",
     "a purger falls asleep without a heavy fence", ["process"]),
    ("src/malloc/purger.cpp", "expected = asleep; // fails", "expected = state.load(std::memory_order_relaxed); // fails",
     "a purger leaves that has been woken", ["process"]),
    ("src/malloc/purger.cpp", "to_leave ? has_much_surplus() : has_work()", "!to_leave && has_work()",
     "a purger leaves that has much to do", ["process"]),
    ("src/malloc/thread_ties.cpp", "pthread_mutex_unlock(&t->life);\n    Heap", "Heap", "a tie that was cut stays locked", ["process"]),
    ("thread/heap_visits.hpp", "        global.notices().wanted_visits().add(*inbox);\n", "", "a heap that could not be visited is forgotten",
     ["flagship"]),
    ("thread/heap_registry.hpp", "const sync::Guard hold(lock_);\n        return made_ > 1 ? global.notices()", "return made_ > 1 ? global.notices()",
     "two take heaps to visit at one time", ["flagship"]),
    ("superblock/wanted_visits.hpp", "if (inbox.wanted.exchange(", "if (inbox.wanted.load(std::memory_order_relaxed) || inbox.wanted.exchange(",
     "a look before a heap is added to those to visit", ["flagship"]),
    ("superblock/wanted_visits.hpp",
     "left_.store(inbox->next_wanted, std::memory_order_relaxed);\n        inbox->wanted.exchange(false, std::memory_order_acq_rel);",
     "inbox->wanted.exchange(false, std::memory_order_acq_rel);\n        left_.store(inbox->next_wanted, std::memory_order_relaxed);",
     "a heap may be added again before its link is read", ["flagship", "lists"]),
    ("run/large_heap.hpp", "block.exchange(Segment::dead, std::memory_order_relaxed) == Segment::dead",
     "block.load(std::memory_order_relaxed) == Segment::dead ||\n            "
     "(block.store(Segment::dead, std::memory_order_relaxed), false)", "two frees of one long block both count", ["runs"]),
    ("run/large_heap.hpp", "spare != nullptr && spare->slots == slots", "spare != nullptr", "a spare of another length is handed out", ["runs"]),
    ("run/large_heap.hpp", "        retire(spare);\n        return nullptr;", "        return nullptr;", "a spare of another length is lost", ["runs"]),
    ("run/spare_runs.hpp", "run_of(places_[heap_number % places].word.exchange(0, std::memory_order_acquire))",
     "run_of(places_[heap_number % places].word.load(std::memory_order_acquire))", "a spare that is taken stays in its place", ["runs"]),
    ("run/spare_runs.hpp", "long_slots_.fetch_add(slots, std::memory_order_relaxed) + slots <= long_slots",
     "long_slots_.load(std::memory_order_relaxed) + slots <= long_slots && (long_slots_.fetch_add(slots), true)",
     "two long spares are let in where there is room for one", ["lists"]),
    ("run/spare_runs.hpp", "std::memory_order_relaxed) : slots;", "std::memory_order_relaxed) : 0;",
     "a long spare that is not let in is counted", ["lists"]),
    ("run/spare_runs.hpp", "leave_room(places_[heap_number % places]);", "", "a place that is emptied keeps its room", ["lists"]),
    ("run/spare_runs.hpp", "slots(heap_number) > std::max(room, short_slots)", "false", "a long spare stays where it has no room any more", ["lists"]),
    ("run/run_heap.hpp", "        sync::Guard hold(stripe.lock());\n        stripe.runs().shorten(", "        stripe.runs().shorten(",
     "a run is shortened without the lock", ["runs"]),
    ("run/run_heap.hpp", "        sync::Guard hold(stripe.lock());\n        return stripe.runs().extend(", "        return stripe.runs().extend(",
     "a run is lengthened without the lock", ["runs"]),
    ("run/purging_runs.hpp", "        lock_.unlock(); // the call may take long; the run is in no list meanwhile\n"
     "        const std::size_t bytes = span_of(run);\n",
     "        const std::size_t bytes = span_of(run);\n        free_.put(run, true);\n        lock_.unlock();\n",
     "a run is free while it is purged", ["runs"]),
    ("run/huge_heap.hpp", "        sync::Guard hold(lock_);\n        const HugeBlock *const block = table_.find(p);",
     "        const HugeBlock *const block = table_.find(p);", "the table of huge blocks is read without the lock", ["runs"]),
    ("run/huge_heap.hpp", "bytes != 0 ? table_.remove(p) : nullptr", "bytes != 0 ? const_cast<HugeBlock *>(table_.find(p)) : nullptr",
     "a huge block stays in the table while it moves", ["runs"]),
    ("run/huge_store.hpp", "            sync::Guard hold(lock_);\n            old = choice(cache_);", "            old = choice(cache_);",
     "the cache is emptied without the lock", ["runs"]),
    ("run/huge_mappings.hpp", "            sync::Guard hold(runs_.lock());\n            runs_.space().shrank(bytes);",
     "            runs_.space().shrank(bytes);", "what is mapped is counted without the lock", ["runs"]),
    ("run/huge_table.hpp", "            WindowMap::set(p, WindowKind::foreign);\n", "", "a window stays a block's that is gone", ["runs"]),
    ("run/huge_cache.hpp", "            shorten(*piece, part);\n", "", "what is taken from the cache stays there", ["runs"]),
    ("src/malloc/first_class.cpp", "        sync::Guard hold(h.lock);\n        h.deallocate(p);", "        h.deallocate(p);",
     "a block of a first-class heap is freed without the lock", ["heaps"]),
    ("src/malloc/first_class.cpp", "        sync::Guard hold(h.lock); // nobody else", "        // nobody else", "a heap is destroyed without its lock",
     ["heaps"]),
    ("src/malloc/first_class_heap.cpp", "        count = 0;\n", "", "figures count what is destroyed", ["heaps"]),
    ("src/malloc/first_class.cpp", "    sync::Guard hold(list_lock);\n    h->next = all_heaps;", "    h->next = all_heaps;",
     "a heap comes into the list without its lock", ["heaps"]),
    ("superblock/recount.hpp", "word.exchange(0, std::memory_order_acquire)", "word.exchange(0, std::memory_order_relaxed)",
     "who adopts a superblock does not see the links", ["flagship"]),
    ("superblock/recount.hpp", "    const RemoteWord remote{remote_of(s)->word.exchange(0, std::memory_order_acquire)};\n",
     "    const RemoteWord remote{remote_of(s)->word.load(std::memory_order_acquire)};\n    remote_of(s)->word.store(0, std::memory_order_relaxed);\n",
     "what is freed while a superblock is adopted is lost", ["flagship"]),
    ("superblock/orphans.hpp", "        Notices<Discipline>::let_go(s, /*own_notice=*/false);\n", "",
     "nobody tells of an adopted superblock", ["flagship"]),
    ("superblock/orphans.hpp", "let_go(s, /*own_notice=*/false)", "let_go(s, /*own_notice=*/true)",
     "an adopted superblock is taken from who tells of it", ["flagship"]),
    ("superblock/orphans.hpp", "if (Notices<Discipline>::claim(s))", "if (true)", "an orphan is taken from who tells of it", ["flagship"]),
    ("src/malloc/first_class.cpp", "        h->lock.hold_across_fork();\n", "        static_cast<void>(h->lock.try_lock());\n",
     "who forks does not wait for the heaps", ["heaps"]),
    ("thread/hashed_heaps.hpp", "            sync::hold_across_fork(entry.lock);\n", "            static_cast<void>(entry.lock.try_lock());\n",
     "who forks does not wait for a row of heaps", ["heaps"]),
    ("thread/thread_owned.hpp", "        const sync::Guard hold(owner.lock);\n        owner.heap.free(", "        owner.heap.free(",
     "a block goes back to its heap without the lock", ["heaps"]),
    ("thread/thread_private.hpp", "        const sync::Guard hold(mine.lock);\n", "", "a heap of a row is used without its lock", ["heaps"]),
    ("family/hoard_heaps.hpp", "if (s->owner.load(std::memory_order_relaxed) == owner)", "if (true)", "no second look at the owner", ["family"]),
    ("family/lkmalloc_free_lists.hpp", "|| !stays_busy(block.end())", "", "no look at the neighbour on the right", ["family"]),
    ("family/lkmalloc_free_lists.hpp", "footer_before(block.start).state() != State::busy ||", "", "no look at the neighbour on the left", ["family"]),
    ("family/nbmalloc_move.hpp", "if (from == to)", "if (false)", "a move to where it is", ["nbmalloc"]),
    ("family/michael_credits.hpp", "now.tag += 1;", "", "the tag stays", ["michael"]),
    ("family/michael_credits.hpp", "before != 0 && i < capacity", "false", "another class has the links of the one before", ["michael"]),
    ("family/michael_credits.hpp", "            superblock.anchor.store(all.bits(), std::memory_order_relaxed);\n", "",
     "a new superblock that is not needed is retired as active", ["michael"]),
    ("family/michael_credits.hpp", "then.count += credits;", "", "credits do not come back", ["michael"]),
    ("family/michael_places.hpp", "} else if (superblock.is_empty()) {", "} else if (true) {", "no second look at what became empty", ["michael"]),
    ("family/michael_queues.hpp", "superblock.node.store(popped.node, std::memory_order_relaxed);", "", "a superblock keeps its node", ["michael"]),
]

Operation = collections.namedtuple("Operation", "file first last code orders")  # orders: kind to order
Mutant = collections.namedtuple("Mutant", "key where order")  # where: (program, places, kernels, those not explored to the end)

operation = re.compile(r"(?:(?:\.|->)(load|store|exchange|compare_exchange_weak|compare_exchange_strong|fetch_\w+)"
                       r"|(atomic_thread_fence)|platform::(is_now|load_address))\s*\(")
if_it_fails = {"seq_cst": "seq_cst", "acq_rel": "acquire", "acquire": "acquire", "release": "relaxed", "relaxed": "relaxed"}


def operations():
    """All atomic operations of the kit, the family and the malloc, but for those whose orders are relaxed."""
    for folder in ["include/cairn", "allocators", "src/malloc"]:
        for path in sorted((root / folder).rglob("*.[hc]pp")):
            text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
            lines = text.splitlines()
            times = collections.Counter()
            for found in operation.finditer(text):
                end, depth = found.end(), 1
                while depth != 0:
                    depth += {"(": 1, ")": -1}.get(text[end], 0)
                    end += 1
                asked = re.findall(r"memory_order_(\w+)", text[found.end():end]) or ["seq_cst"]
                if text[found.end():end] == "order)":  # its caller's
                    continue
                name = found[1] or found[2] or found[3]
                kind = {"load": "load", "is_now": "load", "load_address": "load", "store": "store", "atomic_thread_fence": "fence"}.get(name, "update")
                has = {kind: asked[0]}
                if name.startswith("compare"):
                    has["failure"] = asked[1] if len(asked) > 1 else if_it_fails[asked[0]]
                first = text.count("\n", 0, found.start()) + 1
                code = lines[first - 1].strip()
                times[code] += 1
                yield Operation(str(path.relative_to(root)).removeprefix("include/cairn/"), first,
                                text.count("\n", 0, end) + 1, code + (f" ({times[code]})" if times[code] > 1 else ""), has)


def chain_of(frame):
    """(file, line) of one of addr2line's; a line in simulated/ is the one that reads the same in what it stands for."""
    name = re.search(r"/(?:include/cairn|simulated/cairn|(?=allocators|src/malloc))/?([^ :]+):(\d+)", frame)
    if name is None:
        return None
    line = int(name[2])
    if "/simulated/" in frame:
        text = (here / "simulated/cairn" / name[1]).read_text(encoding="utf-8").splitlines()[line - 1]
        real = (root / "include/cairn" / name[1]).read_text(encoding="utf-8").splitlines()
        if real.count(text) != 1:
            return None
        line = real.index(text) + 1
    return name[1], line


def places(build, program):
    """What the program's kernels come through: {(file, line, kind): {place}}, {place: {kernel}}, {kernel: explored to its end}."""
    path = build / "bin/model" / program
    out = subprocess.run(["nice", "-n", "19", str(path), "--quiet", "--sites"], capture_output=True, text=True,
                         check=True).stdout
    words = [line.split() for line in out.splitlines()]
    complete = {w[1]: w[2] == "all" for w in words if w[0] == "kernel"}
    kernels = collections.defaultdict(set)
    for _, kernel, place, kind, _ in (w for w in words if w[0] == "site"):
        kernels[place, int(kind)].add(kernel)
    addresses = sorted({int(place, 16) - 1 for place, _ in kernels})
    text = subprocess.run(["addr2line", "-a", "-i", "-e", str(path)], input="".join(f"0x{a:x}\n" for a in addresses),
                          capture_output=True, text=True, check=True).stdout
    line_at = {}
    for block in re.split(r"^0x", text, flags=re.M)[1:]:
        address, *frames = block.split("\n")
        for frame in frames:  # the innermost of ours
            if (where := chain_of(frame)) is not None and where[0] != "platform/cpu.hpp":  # what it is used for
                line_at[int(address, 16)] = where
                break
    at = collections.defaultdict(set)
    for place, kind in kernels:
        if (where := line_at.get(int(place, 16) - 1)) is not None:
            at[*where, kinds[kind]].add(f"{place}:{kind}")
    return at, {f"{place}:{kind}": names for (place, kind), names in kernels.items()}, complete


def mutants(build, wanted):
    of_program = {program: places(build, program) for program in programs}
    for o in operations():
        for kind, order in o.orders.items():
            where = []
            for program, (at, kernels, complete) in of_program.items():
                those = sorted({p for line in range(o.first, o.last + 1) for p in at.get((o.file, line, kind), ())})
                names = sorted({name for p in those for name in kernels[p]})
                if names:
                    where.append((program, ",".join(those), names, [name for name in names if not complete[name]]))
            for lower in weaker[kind].get(order, []):
                key = f"{o.file}: {o.code}: {kind}, {order} to {lower}"
                if wanted in key:
                    yield Mutant(key, where, orders.index(lower))


def run(command):
    """(killed, why)"""
    try:
        ran = subprocess.run(["nice", "-n", "19", *command], capture_output=True, text=True, timeout=1800, check=False)
    except subprocess.TimeoutExpired:
        return True, "does not end"
    return ran.returncode != 0, ran.stdout.split("\n")[0]


def try_weaker(build, mutant, chance):
    if not mutant.where:
        return mutant.key, "unreached", ""
    for executions in [0, chance]:
        for program, those, names, incomplete in mutant.where:
            chosen = incomplete if executions else names
            if chosen:
                killed, why = run([str(build / "bin/model" / program), "--quiet", "--weaken", those, str(mutant.order),
                                   *(["--chance", str(executions)] if executions else []), *chosen])
                if killed:
                    return mutant.key, "killed", why
    return mutant.key, "survived", ", ".join(name for where in mutant.where for name in where[2])


def path_of(name):
    """As it is included."""
    return pathlib.Path(name if name.startswith("src/") else f"cairn/{name}")


def text_of(name):
    return (root / ("" if name.startswith("src/") else "include") / path_of(name)).read_text(encoding="utf-8")


def try_copy(build, mutant, chance):
    key, name, text, users = mutant
    with tempfile.TemporaryDirectory(prefix="mutant") as folder:
        copy = pathlib.Path(folder) / path_of(name)
        copy.parent.mkdir(parents=True)
        copy.write_text(text, encoding="utf-8")
        for program in users:
            made = pathlib.Path(folder) / program
            compiled = subprocess.run(
                ["nice", "-n", "19", "clang++-19", "-std=c++20", "-O1", "-w", "-fsanitize=thread", "-mllvm",
                 "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-distinguish-volatile=1",
                 "-Dno_sanitize(what)=annotate(what)", "-fno-exceptions", "-fno-rtti", "-fPIE",
                 f"-I{here / 'simulated'}", f"-I{folder}", f"-I{root / 'include'}", f"-I{root}", f"-I{root / 'src/malloc'}", "-c",
                 str(here / f"{program}.cpp"), "-o", f"{made}.o"], capture_output=True, text=True, check=False)
            if compiled.returncode != 0:
                return key, "does not compile", compiled.stderr[:300]
            runtime = [str(build / f"tests/model/CMakeFiles/model_runtime.dir/{source}.cpp.o")
                       for source in ["access", "engine", "main", "model", "system"]]
            linked = subprocess.run(["clang++-19", "-fno-sanitize=all", f"{made}.o", *runtime, "-ldl", "-o", str(made)],
                                    capture_output=True, text=True, check=False)
            if linked.returncode != 0:
                sys.exit(f"mutants.py: {linked.stderr}")
            for more in [[], ["--chance", str(chance)]]:
                killed, why = run([str(made), "--quiet", *more])
                if killed:
                    return key, "killed", why
        return key, "survived", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="mutants with this in their name")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--chance", type=int, default=20000, help="executions by chance of each kernel that is not explored to its end")
    parser.add_argument("--no-copies", action="store_true", help="weaker orders only")
    parser.add_argument("--texts", action="store_true", help="run nothing: do the sources have what the copies change?")
    wanted = parser.parse_args()
    gone = [f"mutants.py: {name} has no `{old}` any more" for name, old, *_ in broken if old not in text_of(name)]
    if gone or wanted.texts:
        sys.exit("\n".join(gone) or 0)
    build = wanted.build.resolve()
    reasons = {}
    for line in (here / "survivors.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            key, _, reason = line.rpartition(" | ")
            reasons[key] = reason
    jobs = [(try_weaker, mutant) for mutant in mutants(build, wanted.only)]
    places_there = len({m.key.rsplit(":", 1)[0] for _, m in jobs})
    for name, old, new, what, users in [] if wanted.no_copies else broken:
        if wanted.only in f"{name}: {what}":
            jobs.append((try_copy, (f"{name}: {what}", name, text_of(name).replace(old, new), users)))
    count = collections.Counter()
    wrong = 0
    unused = {key for key in reasons if wanted.only in key}
    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        for key, result, why in pool.map(lambda job: job[0](build, job[1], wanted.chance), jobs):
            count[result] += 1
            explained = result in ("survived", "unreached") and key in reasons
            wrong += result != "killed" and not explained
            if explained:
                unused.discard(key)
            print(f"{result:9} {key} | {reasons[key] if explained else why}", flush=True)
    for key in sorted(unused):
        print(f"{'no need':9} {key} | has a reason in survivors.txt, but is killed or not there")
    print(f"RESULT model_mutants: {places_there} operations, {len(jobs)} mutants: {count['killed']} killed, "
          f"{count['survived']} survive, {count['unreached']} in no kernel; {wrong} of these without a reason")
    return int(wrong != 0 or bool(unused))


if __name__ == "__main__":
    sys.exit(main())
