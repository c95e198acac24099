#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes compositions by chance of the kit's layers, as rows for compose_test.cpp: generate.py SEED COUNT

A new layer is a new line of `layers`: how it is written, and what it makes of the facts that no concept knows. What it needs below
is for the concepts to say: a row that they refuse is left out of the test.
"""
import random
import sys
from types import SimpleNamespace

chance = random.Random(int(sys.argv[1]))
count = int(sys.argv[2])
pick = chance.choice
huge = 1 << 30
tags = iter(range(huge))

# What a layer forgets, unless its line says `keep`:
facts = dict(exact=None,      # the block tells the size that was asked for, or (False) a rounded one; None: it tells none by itself
             threads=False,   # several may call
             forks=False,     # its locks can be held across a fork
             c_semantics=False)
# What it leaves as it is:
facts |= dict(fixed=False,    # all requests must be of one size
              most=huge,      # requests up to here succeed, while there is memory
              bounded=False,  # none above may be made: what is below would be asked for another size than before
              little=False,   # memory ends soon
              align=16,       # of every block, at least
              shared=False,   # other heaps have the same memory
              pages=False,    # some system calls a block
              clears=True,    # clear, where it is there, reaches every source
              watched=True)   # may stand on any source


class No(Exception):
    """What nobody may compose; the headers say so, but no concept can."""


def power(low, high):
    return 1 << chance.randint(low, high)


def classes(largest):
    return pick([f"PowersOfTwo<{pick([8, 16])}, {(largest // 16).bit_length()}>", f"MultipleClasses<24, 16, {min(largest, 2000)}>",
                 f"GeometricSizeClasses<{max(largest, 256)}, 256>", f"PowerSizeClasses<{largest}, {pick(['6, 5', '2, 1'])}>"])


def chunk(s, low, high, step):
    """The size of a chunk; what is larger than one is asked for below as it is."""
    s.chunk = min(pick([power(low, high), step * chance.randint((1 << low) // step, (1 << high) // step)]), s.most)
    s.chunk -= s.chunk % step
    s.bounded |= s.fixed
    s.most = s.chunk - 64 if s.fixed or s.most < huge else huge
    s.fixed = False
    if s.chunk < 1 << low:
        raise No
    return s.chunk


def other(s, **wanted):
    """A composition beside the one below, of which both are a part now."""
    text, s.other = compose(chance.randint(0, 2))
    if s.other.shared or s.other.pages or any(getattr(s.other, name) not in values for name, values in wanted.items()):
        raise No
    for name in "fixed", "bounded", "little":
        setattr(s, name, getattr(s, name) or getattr(s.other, name))
    s.align = min(s.align, s.other.align)
    s.clears, s.watched = s.clears and s.other.clears, s.watched and s.other.watched
    return text


def hybrid(s):
    text = other(s, exact=(True, None))
    return f"Hybrid<{chance.randint(16, min(s.other.most, 4000))}, {text}>"


def segregated(s):
    fixed = s.fixed
    text = other(s, exact=(True,), little=(False,))
    s.fixed = fixed
    return f"Segregated<{classes(min(power(8, 15), 1 << s.other.most.bit_length() - 1))}, {text}>"


def fallback(s):
    most, little = s.most, s.little
    text = other(s)
    s.most, s.little = most, little
    if s.other.bounded:
        raise No
    return f"Fallback<{text}>"


def joined():
    fine = pick(["GeometricSizeClasses<131072, 1024, 16>", "PowersOfTwo<8, 29>", "MultipleClasses<24, 16, 2000>"])
    return f"Coalesceable<{power(4, 17)}>, Seg<{fine}>, Coalesce"


def large(s):
    return not s.fixed and not s.little and s.most >= 1 << 20 and s.align >= 16


def lock(s):
    text = pick(["", "Spin", "std::mutex"])
    s.forks = text != "std::mutex"
    return f"Locked<{text}>"


def above16(s):
    return s.align >= 16


def unshared(s):
    return not s.shared


def line(text, need=lambda s: True, keep="", adds=0, weight=1, **makes):
    """`need` of the facts of what is below; `adds` bytes to a request; `makes` these facts."""
    def on(s):
        if not need(s):
            raise No
        before = SimpleNamespace(**vars(s))
        for name in set(list(facts)[:4]) - set(keep.split()):
            setattr(s, name, facts[name])
        s.most -= adds if s.most < huge else 0
        written = text(s) if callable(text) else text
        for name, value in makes.items():
            setattr(s, name, value(s, before) if callable(value) else value)
        if s.most < 64:
            raise No
        return written
    return [on] * weight


through = "threads forks"
watching = "exact threads forks c_semantics"
sources = sum([
    line("Source", align=4096, weight=6),
    line("MallocHeap", most=16 << 20, exact=False, threads=True, clears=False, watched=False, weight=2),
    line(lambda s: f"StaticBufferHeap<{16 * chance.randint(1000, 20000)}>", most=16000, little=True, watched=False, weight=2),
    line("SbrkHeap", watched=False),
    line(lambda s: f"GuardedPagesHeap<StopAtFault, {pick([1, 64])}>", most=16 << 20, clears=False, watched=False, pages=True),
], [])
layers = sum([
    line("Freelist", fixed=True),
    line(lambda s: f"BoundedFreelist<{pick([1, 3, 20])}>", fixed=True),
    line("Adapt<>", fixed=True),
    line(lambda s: f"Bump<{chunk(s, 10, 17, 16)}>", align=lambda s, _: min(s.align, 16), weight=3),
    line(lambda s: f"ChunkPool<{chunk(s, 3, 12, 8)}, 32768>", need=lambda s: s.most >= 1 << 18, most=lambda s, _: s.chunk, bounded=False,
         watched=False, align=lambda s, _: min(s.chunk & -s.chunk, 64)),
    line("SizeHeader", above16, keep=through, adds=16, align=16, exact=True, weight=3),
    line("AlignedHeader", lambda s: s.exact and not s.fixed, keep=through, adds=1),
    line(lambda s: f"Unique<Tag<{next(tags)}>>", keep="exact threads", shared=True, clears=False, watched=False),
    line(lambda s: f"Coalesceable<{power(4, 17)}{pick(['', ', true'])}>", large, exact=False, align=16),
    line(lambda s: joined(), large, exact=False, align=16, weight=2),
    line(lambda s: f"{joined()}, SelectMapped<{power(10, 17)}, Try<Source, Coalesceable<4096, true>>>", large, exact=False, align=16),
    line(lambda s: f"Rounded<{classes(power(8, 10))}>", lambda s: s.most > 2048, keep=through),
    line(lambda s: f"FixedStack<{min(power(15, 19), s.most)}>, Xalloc", above16, most=lambda s, _: min(s.most, 1 << 14) - 64, exact=True,
         fixed=False, bounded=False, little=True, align=16),
    line(lambda s: f"Obstack<{chunk(s, 8, 17, 1)}>, Xalloc", exact=True, align=16),
    line(hybrid, weight=2),
    line(segregated, lambda s: s.exact, exact=False, weight=2),
    line(lambda s: f"Seg<{classes(power(8, 17))}>", lambda s: s.exact is not None, exact=False),
    line(lambda s: f"Threshold<{classes(power(6, 10))}, {chance.randint(2000, 9000)}>", lambda s: s.exact is not None and s.most > 4096,
         exact=False),
    line(fallback, weight=2),
    line(lock, threads=True, weight=2),
    line(lambda s: f"ThreadPrivate<{chance.randint(1, 9)}>", unshared, threads=True, forks=True),
    line(lambda s: f"ThreadOwned<{chance.randint(1, 9)}>", lambda s: above16(s) and unshared(s), adds=16, threads=True, forks=True, align=16),
    line(lambda s: f"Check<StopAtFault, {pick([0, 1, 64])}>", keep=watching, adds=16),
    line("Profile<usage>", keep=watching),
    line("SizeTable<>", keep="threads forks c_semantics"),
    line("Trace<operations>", keep=watching),
    line(lambda s: f"RandomPlaces<GeometricSizeClasses<{power(11, 14)}, 512>, StopAtFault, {pick([1, 99])}>", large, align=16, clears=False),
    line("Ansi", keep=through, c_semantics=lambda s, _: not s.fixed),
    line("ThrowException, Catch", keep=through, clears=False),
], [])


def compose(stages):
    s = SimpleNamespace(**facts)
    texts = [pick(sources)(s)]
    for _ in range(50):
        if len(texts) > stages:
            break
        before = SimpleNamespace(**vars(s))
        try:
            texts.append(pick(layers)(s))
        except No:
            s = before
    return f"Try<{', '.join(texts)}>", s


rows = {}
while len(rows) < count:
    try:
        text, s = compose(chance.randint(1, 6))
    except No:
        continue
    if text in rows:
        continue
    n = len(rows)
    size = chance.randint(1, min(s.most, 400)) if s.fixed else 0
    yes = {name: str(bool(value)).lower() for name, value in vars(s).items()}
    rows[text] = f"""template <class Source> using Composed{n} = {text};
struct Row{n} : Row<Composed{n}<MmapHeap>> {{
    {f"template <class S> using Over = Composed{n}<S>;" if s.watched else ""}
    static constexpr const char *text = "{text.replace("Try<Source", "Compose<MmapHeap").replace("Try<", "Compose<")}";
    static constexpr bool has_many = {str(not s.shared).lower()}, reuses = false, c_semantics = {yes["c_semantics"]};
    static constexpr bool thread_safe = {yes["threads"]}, forks = {yes["forks"]};
    static constexpr bool little = {yes["little"]}, bounded = {yes["bounded"]}, clears = {yes["clears"]};
    static constexpr std::size_t fixed_size = {size}, max_size = {s.most}, least_alignment = {s.align};
}};"""
print("\n".join(rows.values()))
print(f"template <template <class...> class F> using AllRows = F<{', '.join(f'Row{n}' for n in range(count))}>;")
