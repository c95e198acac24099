# SPDX-License-Identifier: MIT
"""The page of a trace, from what `cairn trace-info --json` says."""
from __future__ import annotations

import math
import os

from . import charts, text
from .page import Chart, Page, Section, Table, Tile
from .text import Cell, count, duration, number, share, size, words

NOT_FREED = "not freed"


def build(data, path):
    sections = [over_time(data), sizes(data), lifetimes(data), bleeding(data), fragmentation(data), threads(data),
                reallocs(data)]
    if data["processes"] > 1:
        sections.append(processes(data))
    return Page(os.path.basename(path), "cairn trace: one process's calls of malloc", about(data), tiles(data),
                sections, warnings(data))


def about(data):
    process = "number %d of %d" % (data["process"], data["processes"])
    process += ", pid %d" % data["pid"] if data["pid"] else ""
    if data["processes"] > 1:
        process += "; --process N makes a page of another one"
    return [("Process", process),
            ("Calls", "malloc %s, calloc %s, aligned %s, realloc %s, free %s" % tuple(
                f"{data['calls'][name]:,}" for name in ("malloc", "calloc", "aligned", "realloc", "free"))),
            ("Time", "%s from its first call to its last, recording included"
             % text.seconds_text(data["nanoseconds"] / 1e9)),
            ("Made by", "cairn %s" % data["version"])]


def warnings(data):
    lines = []
    if data["stopped_early"]:
        lines.append("The trace ends before the program did: there was no room for more, or the file was cut off.")
    if data["free_unknown"]:
        lines.append("%s frees are of blocks from before the trace (or of the process that this one was forked from); "
                     "they are in no figure but the number of calls." % f"{data['free_unknown']:,}")
    if data["overlapping"]:
        lines.append("%s blocks were handed out where one was still live: frees are missing in the trace, and were "
                     "taken for granted." % f"{data['overlapping']:,}")
    return lines


def tiles(data):
    freed = data["freed"]["blocks"]
    peak = data["peak"]
    return [
        Tile("Most live bytes (U)", size(peak["live"]), "at %s" % text.seconds_text(peak["at_ns"] / 1e9)),
        Tile("Allocated in all", size(data["allocated"]), "%s times, %s on average"
             % (f"{data['allocations']:,}", text.bytes_text(data["allocated"] / data["allocations"]))),
        Tile("Live at the end", size(data["live_at_end"]["bytes"]), "%s blocks" % f"{data['live_at_end']['blocks']:,}"),
        Tile("Freed by another thread", share(data["freed_by_another_thread"]["blocks"], freed),
             "of %s freed blocks" % f"{freed:,}"),
        Tile("Lost to rounding at the peak", share(peak["rounded"] - peak["live"], peak["rounded"]),
             "to Cairn's size classes"),
        Tile("Threads", count(data["threads"]["count"])),
    ]


def over_time(data):
    bins = data["over_time"]
    width = bins["interval_ns"] / 1e9
    times = [(i + 1) * width for i in range(len(bins["live"]))]
    sums, total = [], 0
    for allocated in bins["allocated"]:
        total += allocated
        sums.append(total)
    style = charts.Style(["asked for", "rounded to size classes", "allocations", "frees", "frees by another thread"])
    memory = charts.lines([("rounded to size classes", times, bins["rounded"]), ("asked for", times, bins["live"])],
                          style, "time since the first call (%s)", "live (%s)", charts.seconds_axis,
                          charts.bytes_axis, label="Live bytes over time")
    allocated = charts.lines([("asked for", times, sums)], style, "time since the first call (%s)",
                             "allocated so far (%s)", charts.seconds_axis, charts.bytes_axis, height=2.4,
                             label="Bytes allocated so far over time")
    # Fewer points: counts of calls are noise where the intervals are short.
    step = math.ceil(len(times) / 128)
    rate = {name: [sum(bins[name][i:i + step]) / width / len(bins[name][i:i + step])
                   for i in range(0, len(times), step)] for name in ("allocations", "frees", "frees_remote")}
    middles = [min((i + step / 2) * width, times[-1]) for i in range(0, len(times), step)]
    curves = [("allocations", middles, rate["allocations"]), ("frees", middles, rate["frees"])]
    if any(rate["frees_remote"]):
        curves.append(("frees by another thread", middles, rate["frees_remote"]))
    calls = charts.lines(curves, style, "time since the first call (%s)", "calls a second%s", charts.seconds_axis,
                         charts.count_axis, height=2.4, label="Calls a second over time")
    rows = [[duration(times[i]), size(bins["live"][i]), size(bins["rounded"][i]), size(bins["allocated"][i]),
             size(sums[i]), count(bins["allocations"][i]), count(bins["frees"][i]), count(bins["frees_remote"][i])]
            for i in range(len(times))]
    table = Table(["until", "most live, asked for", "most live, rounded", "allocated in it", "allocated so far",
                   "allocations", "frees", "by another thread"], rows, name="over-time",
                  folded="The figures, by intervals of %s" % text.seconds_text(width))
    return Section("Memory over time", "Live is what the program has and has not freed, the most in each interval of "
                   "%s: as it asked for it, and rounded to the size classes of Cairn." % text.seconds_text(width),
                   [Chart(memory, "Live bytes"), Chart(allocated, "Bytes allocated so far"),
                    Chart(calls, "Calls"), table])


def sizes(data):
    merged = {}
    for row in data["sizes"]:
        limit = max(row["to"], 8)
        entry = merged.setdefault(limit, [0, 0])
        entry[0] += row["allocations"]
        entry[1] += row["bytes"]
    limits = doublings(min(merged), max(merged), 2)
    found = [merged.get(limit, [0, 0]) for limit in limits]
    labels = [text.limit_text(limit) for limit in limits]
    chart = charts.histogram(labels, [("allocations", [100 * n / data["allocations"] for n, _ in found]),
                                      ("bytes", [100 * b / max(data["allocated"], 1) for _, b in found])],
                             "share (%)", x_label="size asked for, up to", label="Sizes")
    table = Table(["size up to", "allocations", "share", "bytes", "share"],
                  [[Cell(label, limit), count(n), share(n, data["allocations"]), size(b), share(b, data["allocated"])]
                   for label, limit, (n, b) in zip(labels, limits, found)], name="sizes", folded="The figures")
    common = Table(["size in bytes", "allocations", "share"],
                   [[count(row["size"]), count(row["allocations"]), share(row["allocations"], data["allocations"])]
                    for row in data["common_sizes"]], name="common-sizes",
                   folded="The %d most frequent of %s sizes up to 64 KiB"
                          % (len(data["common_sizes"]), f"{data['different_sizes']:,}"))
    return Section("Sizes", "Of malloc, calloc, aligned calls, and of each realloc the new size.%s" %
                   (" %s were of 0 bytes." % f"{data['of_0_bytes']:,}" if data["of_0_bytes"] else ""),
                   [Chart(chart), table, common])


def doublings(low, high, factor):
    """low, low * factor and so on, until high is among them."""
    limits = [low]
    while limits[-1] < high:
        limits.append(limits[-1] * factor)
    return limits


def decades(low, high):
    """1, 2, 5 times powers of ten of nanoseconds, from low to high."""
    limits = []
    for power in range(2, 14):
        limits += [factor * 10 ** power for factor in (1, 2, 5)]
    return [limit for limit in limits if low <= limit <= high]


def age_rows(rows, kept, limits, place_of):
    """Blocks and bytes for each limit, for what is older than the last, and for what was not freed."""
    found = {limit: [0, 0] for limit in limits}
    for row in rows:
        entry = found[place_of(row["to"])]
        entry[0] += row["blocks"]
        entry[1] += row["bytes"]
    return [*found.values(), [kept["blocks"], kept["bytes"]]]


def age_parts(rows, labels, heading, name, caption):
    blocks = sum(row[0] for row in rows)
    bytes_ = sum(row[1] for row in rows)
    chart = charts.histogram(labels, [("blocks", [100 * row[0] / max(blocks, 1) for row in rows]),
                                      ("bytes", [100 * row[1] / max(bytes_, 1) for row in rows])],
                             "share (%)", x_label=heading, label=caption)
    table = Table([heading, "blocks", "share", "bytes", "share"],
                  [[Cell(label), count(row[0]), share(row[0], blocks), size(row[1]), share(row[1], bytes_)]
                   for label, row in zip(labels, rows)], name=name, folded="The figures")
    return [Chart(chart, caption), table]


def lifetimes(data):
    ages = data["lifetimes"]
    tops = [row["to"] for row in ages["by_ns"] if row["to"] is not None]
    limits = decades(min(tops, default=100), max(tops, default=100))
    if any(row["to"] is None for row in ages["by_ns"]):
        limits.append(None)
    parts = age_parts(age_rows(ages["by_ns"], ages["not_freed"], limits, lambda to: to),
                      ["longer" if limit is None else text.limit_text(limit / 1e9, text.seconds_text) for limit in limits] + [NOT_FREED],
                      "lived up to", "lifetimes-time", "By time")

    def steps(to):
        """0, 64 bytes and then factors of four."""
        return None if to is None else 0 if to == 0 else 64 * 4 ** math.ceil(math.log2(to / 64) / 2)

    tops = [steps(row["to"]) for row in ages["by_allocated_bytes"] if row["to"] is not None]
    limits = [0] * (0 in tops)
    if any(tops):
        limits += doublings(min(top for top in tops if top), max(tops), 4)
    if any(row["to"] is None for row in ages["by_allocated_bytes"]):
        limits.append(None)
    parts += age_parts(age_rows(ages["by_allocated_bytes"], ages["not_freed"], limits, steps),
                       ["more" if limit is None else text.limit_text(limit) for limit in limits] + [NOT_FREED],
                       "bytes allocated meanwhile, up to", "lifetimes-bytes", "By what the process allocated meanwhile")
    return Section("Lifetimes", "From the malloc of a block to its free; a realloc does not end it. The second measure "
                   "does not depend on how fast the machine was.", parts)


def bleeding(data):
    blocks, remote = data["freed"], data["freed_by_another_thread"]
    if not remote["blocks"]:
        return Section("Blocks freed by another thread", "None: each of the %s freed blocks was freed by the thread that "
                       "allocated it." % f"{blocks['blocks']:,}", name="bleeding")
    table = Table(["", "blocks", "share", "bytes", "share"], [
        [words("freed by the thread that allocated it"), count(blocks["blocks"] - remote["blocks"]),
         share(blocks["blocks"] - remote["blocks"], blocks["blocks"]), size(blocks["bytes"] - remote["bytes"]),
         share(blocks["bytes"] - remote["bytes"], blocks["bytes"])],
        [words("freed by another thread"), count(remote["blocks"]), share(remote["blocks"], blocks["blocks"]),
         size(remote["bytes"]), share(remote["bytes"], blocks["bytes"])]], name="bleeding-table")
    return Section("Blocks freed by another thread",
                   "Larson and Krishnan call it bleeding. Allocators that keep freed blocks with the thread that freed "
                   "them, or that never look at an owner which sleeps, lose memory by it; the others pay for it with "
                   "traffic between processors. A block that was moved by realloc is of the thread that moved it.",
                   [table, *who_frees_whose(data)], name="bleeding")


def who_frees_whose(data):
    matrix = data["threads"]["who_frees_whose"]
    names = [str(row["id"]) for row in data["threads"]["busiest"][:len(matrix)]]
    if len(matrix) < 2:
        return []
    if data["threads"]["count"] >= len(matrix) and len(matrix) == 13:
        names[-1] = "all others"
    most = max(value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j) or 1
    rows = [[Cell(name), *(Cell(f"{value:,}" if value else "·", value,
                                value / most if value and i != j else None) for j, value in enumerate(row))]
            for i, (name, row) in enumerate(zip(names, matrix))]
    return [Table(["allocated by, freed by", *names], rows, "Who frees whose blocks", name="who-frees-whose", dense=True)]


def fragmentation(data):
    peak, classes = data["peak"], data["classes"]
    asked, rounded = sum(row["bytes"] for row in classes), sum(row["rounded"] for row in classes)
    most = sum(row["most_rounded"] for row in classes)
    key = Table(["", "asked for", "rounded", "rounded / asked for"], [
        [words("blocks that were live at the peak"), size(peak["live"]), size(peak["rounded"]),
         number(peak["rounded"] / max(peak["live"], 1), 3)],
        [words("all allocations"), size(asked), size(rounded), number(rounded / max(asked, 1), 3)]],
        name="fragmentation-table")
    labels = [text.limit_text(row["to"]) for row in classes]
    chart = charts.histogram(labels, [("live at the peak of the process", [row["at_peak"]["rounded"] for row in classes]),
                                      ("most of this class at any time", [row["most_rounded"] for row in classes])],
                             "rounded (%s)", charts.bytes_axis, x_label="size class, up to",
                             label="Memory by size class")

    def figures(row):
        at = row["at_peak"]
        return [Cell(text.limit_text(row["to"]), row["to"]), words("class" if row["class"] else "pages"),
                count(row["allocations"]), size(row["bytes"]), size(row["rounded"]),
                share(row["rounded"] - row["bytes"], row["rounded"]), count(at["blocks"]), size(at["bytes"]),
                size(at["rounded"]), size(row["most_rounded"])]

    table = Table(["block size up to", "rounded to", "allocations", "asked for", "rounded", "lost", "blocks at the peak",
                   "asked for at the peak", "rounded at the peak", "most at any time"],
                  [figures(row) for row in classes], name="classes", folded="The figures, by size class")
    return Section(
        "Fragmentation by size class",
        "Internal: sizes rounded to Cairn's classes, over 64 KiB to pages of 4 KiB. Where the most of a class is far above "
        "what it had at the peak, the program shifts between sizes: an allocator in which no class ever gives memory to "
        "another needs the sum of these, %s, which is %.2f times what was live (rounded) at the peak."
        % (text.bytes_text(most), most / max(peak["rounded"], 1)), [key, Chart(chart, "Memory by size class"), table],
        name="fragmentation")


def threads(data):
    end = data["nanoseconds"]
    rows = [[Cell(str(row["id"])), count(row["calls"]), share(row["calls"], total_calls(data)),
             duration(row["first_ns"] / 1e9), duration(row["last_ns"] / 1e9), count(row["allocations"]),
             size(row["bytes"]), count(row["frees"]), count(row["frees_of_others"]), count(row["freed_by_others"]),
             size(row["most_live"])] for row in data["threads"]["busiest"]]
    others = data["threads"]["others"]
    if others["threads"]:
        rows.append([Cell("%s others" % f"{others['threads']:,}"), count(others["calls"]),
                     share(others["calls"], total_calls(data)), text.ABSENT, text.ABSENT, count(others["allocations"]),
                     size(others["bytes"]), count(others["frees"]), count(others["frees_of_others"]),
                     count(others["freed_by_others"]), text.ABSENT])
    table = Table(["thread", "calls", "share", "first call", "last call", "allocations", "bytes", "frees",
                   "of these, blocks of others", "its blocks freed by others", "most live of its blocks"], rows,
                  name="threads-table")
    parts = [table]
    shown = data["threads"]["busiest"][:24]
    if len(shown) > 1 and end:
        parts.insert(0, Chart(charts.spans([(str(row["id"]), row["first_ns"] / 1e9, row["last_ns"] / 1e9,
                                             row["calls"]) for row in shown], end / 1e9),
                              "From first to last call" + (" of the %d busiest" % len(shown)
                                                           if len(shown) < data["threads"]["count"] else "")))
    return Section("Threads", "Named by the kernel's number; a later thread of the same number is in the same row.", parts,
                   name="threads")


def total_calls(data):
    return sum(data["calls"].values())


def reallocs(data):
    found = data["reallocs"]
    if not found["count"]:
        return Section("Realloc", "No block was resized.", name="realloc")
    total = found["count"]
    key = Table(["", "calls", "share"], [
        [words(name), count(value), share(value, total)] for name, value in (
            ("resized", total), ("stayed at their address", found["in_place"]), ("moved", found["moved"]),
            ("grown", found["grown"]), ("shrunk", found["shrunk"]), ("to the same size", found["same"]),
            ("by another thread than had it", found["of_others"]), ("failed", found["failed"]),
            ("of blocks from before the trace", found["of_unknown"])) if value or name == "resized"],
        name="realloc-table")
    factors = list(found["by_factor"].items())
    chart = charts.histogram([name for name, _ in factors], [("calls", [100 * value / total for _, value in factors])],
                             "share (%)", x_label="new size by old", label="Resizes", height=2.5)
    chains = found["freed_blocks_by_resizes"]
    blocks = sum(chains.values())
    return Section(
        "Realloc", "%s were copied by moves under the allocator that was traced. The most often resized block was resized "
        "%s times." % (text.bytes_text(found["moved_bytes"]), f"{found['most_resizes']:,}"),
        [key, Chart(chart, "By how much"),
         Table(["new size by old", "calls", "share"], [[words(name), count(value), share(value, total)]
                                                       for name, value in factors], name="realloc-factors",
               folded="The figures"),
         Table(["resized how often", "freed blocks", "share"],
               [[Cell(name), count(value), share(value, blocks)] for name, value in chains.items()],
               name="realloc-chains", folded="Freed blocks by how often they were resized")], name="realloc")


def processes(data):
    rows = [[count(row["process"]), Cell(str(row["pid"]) if row["pid"] else "–"), count(row["threads"]),
             count(row["records"])] for row in data["busiest_processes"]]
    return Section("Processes", "The trace has %s processes, this page is of number %d. A fork or an exec makes a new one."
                   % (f"{data['processes']:,}", data["process"]),
                   [Table(["process", "pid", "threads", "records (a realloc has two)"], rows, name="processes")])
