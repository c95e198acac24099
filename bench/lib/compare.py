# SPDX-License-Identifier: MIT
"""Two results of `cairn bench`, new over old. What was measured at another time is compared with care: a figure has moved
only if no run of the one is within the runs of the other."""
from __future__ import annotations

from dataclasses import dataclass

from .figures import TIMES, Spread, median, pair_ratios

VALUES = {"wall": TIMES["wall"], "cpu": TIMES["cpu"], "peak": lambda sample: sample["peak_kib"],
          "faults": lambda sample: sample["minor_faults"]}
WORDS = {"peak": ("more memory", "less memory"), "faults": ("more faults", "fewer faults"),
         "instructions": ("more instructions", "fewer instructions"), "syscalls": ("more system calls", "fewer system calls")}
# What lies no further beyond the spread is not worth a word: a page more, or counts that have one run and no spread.
SLACK = 0.01


@dataclass
class Change:
    """One allocator in one case: ratios of new to old, and words for what has moved."""
    case: str
    allocator: str
    same_library: bool
    ratios: dict[str, Spread]
    moved: list[str]


def quotient(new, old):
    if not new or not old or not median(old) or not min(old):
        return None
    return Spread(median(new) / median(old), min(new) / max(old), max(new) / min(old))


def samples_of(results, case, allocator):
    return [sample for sample in results["samples"] if sample["case"] == case and sample["allocator"] == allocator]


def figures_of(results, case, allocator):
    """Every figure's values, of the good runs."""
    samples = samples_of(results, case, allocator)
    good = [sample for sample in samples if sample["outcome"] == "ok"]
    found = {name: [value(sample) for sample in good] for name, value in VALUES.items()}
    baseline = samples_of(results, case, results["baseline"])
    found["ratio"] = pair_ratios(samples, baseline, TIMES[results["by"]])
    for extra in results.get("extras", []):
        if (extra["case"], extra["allocator"]) == (case, allocator) and extra["outcome"] == "ok":
            if extra["kind"] == "instructions":
                found["instructions"] = [extra["instructions"]]
            elif extra["kind"] == "syscalls":
                found["syscalls"] = [sum(extra["syscalls"].values())]
    return found


def word(name, ratio, runs):
    """What has moved, or nothing. Times with a single run have no spread to move beyond."""
    if name not in ("instructions", "syscalls") and runs < 2:
        return None
    if ratio.low <= 1 + SLACK and ratio.high >= 1 - SLACK:
        return None
    worse, better = WORDS.get(name, ("slower", "faster"))
    said = worse if ratio.low > 1 else better
    return said if name in WORDS else "%s %s" % (name, said)


def outcome(results, case, allocator):
    bad = [sample["outcome"] for sample in samples_of(results, case, allocator) if sample["outcome"] != "ok"]
    return bad[0].upper() if bad else "ok"


def change(old, new, case, allocator, same_library, same_baseline):
    before, after = figures_of(old, case, allocator), figures_of(new, case, allocator)
    ratios, moved = {}, []
    was, now = outcome(old, case, allocator), outcome(new, case, allocator)
    if was != now:
        moved.append("%s, was %s" % (now, was))
    for name in after:
        if name == "ratio" and (not same_baseline or allocator == new["baseline"]):
            continue
        ratio = quotient(after[name], before.get(name))
        if ratio:
            ratios[name] = ratio
            said = word(name, ratio, min(len(after[name]), len(before[name])))
            moved += [said] if said else []
    return Change(case, allocator, same_library, ratios, moved)


def hashes(case):
    """Of its program, and of what else it reads; nothing in results of long ago."""
    return {file["sha256"] for file in case.get("files", [])}


def changes(old, new):
    """And what there is to be said about the comparison itself."""
    notes = ["the machine's %s was %s and is %s" % (name, old["machine"].get(name), value)
             for name, value in new["machine"].items() if name not in ("load", "memory_kib")
             and name in old["machine"] and old["machine"][name] != value]
    cases = {case["case"]: case for case in old["cases"]}
    parameters = lambda case: (case["command"][1:], case.get("environment") or {})  # noqa: E731
    identity = lambda allocator: (allocator["sha256"], allocator.get("environment") or {})  # noqa: E731
    before = {allocator["name"]: identity(allocator) for allocator in old["allocators"]}
    same_baseline = old["baseline"] == new["baseline"] and old["by"] == new["by"]
    found, changed = [], []
    for case in new["cases"]:
        label = case["case"]
        if label not in cases:
            notes.append("%s is new" % label)
        elif parameters(cases[label]) != parameters(case):
            notes.append("%s had other parameters and is not compared" % label)
        else:
            if hashes(cases[label]) and hashes(cases[label]) != hashes(case):
                changed.append(label)
            found += [change(old, new, label, allocator["name"], before[allocator["name"]] == identity(allocator),
                             same_baseline)
                      for allocator in new["allocators"] if allocator["name"] in before
                      and samples_of(old, label, allocator["name"]) and samples_of(new, label, allocator["name"])]
    if changed:
        notes.append("the program, or a script of it, has changed since: " + ", ".join(changed))
    return found, notes
