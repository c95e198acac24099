# SPDX-License-Identifier: MIT
"""Charts as SVG that stands in a page: text stays text, colours are variables of the page, so they follow its theme.

matplotlib draws with placeholder colours; what it has written is then cut down to what an HTML page needs.
"""
from __future__ import annotations

import html
import io
import math
import re
import warnings

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from . import text

INK, FAINT, GRID, GROUND, SHADE = "#010a01", "#010a02", "#010a03", "#010a04", "#010a05"
SERIES = ["#010b%02x" % i for i in range(12)]
VARIABLES = {INK: "ink", FAINT: "faint", GRID: "grid", GROUND: "ground", SHADE: "shade",
             **{colour: "c%d" % i for i, colour in enumerate(SERIES)}}
DASHES = ["-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2))]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*"]

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "cairn", "font.family": "DejaVu Sans", "font.size": 9,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
    "text.color": INK, "axes.edgecolor": FAINT, "axes.labelcolor": INK, "axes.linewidth": 0.8,
    "xtick.color": FAINT, "ytick.color": FAINT, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.7, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "lines.linewidth": 1.6,
    "path.simplify": True, "path.simplify_threshold": 0.3,
})
if "text.parse_math" in matplotlib.rcParams:  # since 3.6
    matplotlib.rcParams["text.parse_math"] = False
warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has letters of its own
WIDTH = 12.1  # inches, of 96 pixels
_number = 0


class Style:
    """One colour, dash and mark for each name, the same in all charts of a page."""

    def __init__(self, names):
        self.names = list(names)

    def index(self, name):
        return self.names.index(name)

    def colour(self, name):
        return SERIES[self.index(name) % len(SERIES)]

    def dash(self, name):
        return DASHES[self.index(name) // 3 % len(DASHES)]

    def mark(self, name):
        return MARKS[self.index(name) % len(MARKS)]


def new(height, width=WIDTH, left=0.75, bottom=0.5, legend_rows=0):
    """Margins are in inches, and the same in charts that stand below each other."""
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    top = 0.12 + 0.2 * legend_rows
    figure.subplots_adjust(left / width, bottom / height, 1 - 0.2 / width, 1 - top / height)
    return figure, figure.subplots()


def legend_rows(names):
    """As many names stand in a row as have room."""
    return 0 if len(names) < 2 else math.ceil(len(names) / legend_columns(names))


def legend_columns(names, width=WIDTH):
    return max(1, min(len(names), int((width - 1) / (0.55 + 0.078 * max(len(name) for name in names)))))


def svg(figure, label):
    """The markup: no size of its own, no name that another chart has, nothing that points elsewhere."""
    global _number
    _number += 1
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    markup = file.getvalue()
    markup = markup[markup.index("<svg"):]
    markup = re.sub(r"<metadata>.*?</metadata>", "", markup, flags=re.S)
    markup = re.sub(r"<!--.*?-->", "", markup, flags=re.S)
    view = re.search(r'viewBox="([^"]*)"', markup).group(1)
    width = float(view.split()[2])
    head = '<svg viewBox="%s" style="max-width: %.0fpx" role="img" aria-label="%s">' % (view, width * 4 / 3, html.escape(label))
    markup = head + markup[markup.index(">") + 1:]
    markup = markup.replace("xlink:href", "href")
    prefix = "g%d-" % _number
    markup = re.sub(r'\bid="', 'id="' + prefix, markup)
    markup = re.sub(r'url\(#', "url(#" + prefix, markup)
    markup = re.sub(r'href="#', 'href="#' + prefix, markup)
    markup = re.sub(r"#010[ab][0-9a-f]{2}", lambda found: "var(--%s)" % VARIABLES[found.group()], markup)
    # The page's own letters; sizes and places stay.
    markup = re.sub(r"font: (\d+(?:\.\d+)?)px [^;\"]*", r"font-size: \1px", markup)
    return re.sub(r"\n\s*", "\n", markup)


def bytes_axis(axis, largest):
    """Whole steps in one unit for the whole axis."""
    unit = min(int(math.log(max(largest, 1), 1024)), len(text.BINARY) - 1) if largest >= 1 else 0
    scale = 1024 ** unit
    axis.set_major_locator(ScaledLocator(scale))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:,.6g}"))
    return text.BINARY[unit]


class ScaledLocator(MaxNLocator):
    """Round numbers of a unit."""

    def __init__(self, scale, bins=6):
        super().__init__(nbins=bins, steps=[1, 2, 2.5, 5, 10])
        self.scale = scale

    def tick_values(self, low, high):
        return [tick * self.scale for tick in super().tick_values(low / self.scale, high / self.scale)]


def seconds_axis(axis, largest):
    """The unit's name and length; the axis' values are in seconds."""
    name, scale = next(((name, scale) for name, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)) if largest >= scale),
                       ("ns", 1e-9))
    axis.set_major_locator(ScaledLocator(scale, 8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:,.6g}"))
    return name


def count_axis(axis, largest):
    name, scale = next(((name, scale) for name, scale in ((" (10⁹)", 1e9), (" (10⁶)", 1e6), (" (10³)", 1e3))
                        if largest >= 5 * scale), ("", 1))
    axis.set_major_locator(ScaledLocator(scale))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:,.6g}"))
    return name


def entry(name):
    """What begins with _ matplotlib leaves out of legends: a letter of no width goes before it."""
    return "\u200b" + name if name.startswith("_") else name


def legend(axes, names, width=WIDTH):
    """Above the chart, never over the curves, and charts below each other keep their width."""
    if len(names) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.1, handlelength=2.2, columnspacing=1.6,
                    labelspacing=0.3, ncols=legend_columns(names, width))


def lines(series, style, x_label, y_label, x_axis, y_axis, area=None, height=3.2, level=None, label=""):
    """`series` is [(name, xs, ys)]; `area` one more of these, filled, behind them; `level` a (name, y) for all xs."""
    names = [name for name, *_ in [*([area] if area else []), *series]]
    rows = legend_rows(names)
    figure, axes = new(height + 0.2 * rows, legend_rows=rows)
    largest_x = max((max(xs) for _, xs, _ in series if xs), default=1)
    largest_y = max((max(ys) for _, _, ys in series if ys), default=1)
    if area is not None:
        name, xs, ys = area
        axes.fill_between(xs, ys, color=SHADE, linewidth=0, label=name)
        largest_y = max(largest_y, max(ys, default=0))
    for name, xs, ys in series:
        axes.plot(xs, ys, color=style.colour(name), linestyle=style.dash(name), label=entry(name))
    if level:
        names.append(level[0])
        axes.axhline(level[1], color=INK, linewidth=1, linestyle=(0, (3, 2)), label=level[0])
        largest_y = max(largest_y, level[1])
    axes.set_xlim(0, largest_x or 1)
    axes.set_ylim(0, (largest_y or 1) * 1.06)
    axes.set_xlabel(x_label % x_axis(axes.xaxis, largest_x))
    axes.set_ylabel(y_label % y_axis(axes.yaxis, largest_y))
    legend(axes, names)
    return svg(figure, label or y_label)


def histogram(labels, parts, y_label, y_axis=None, height=2.8, label="", x_label=None):
    """Bars beside each other for each label; `parts` is [(name, values)]."""
    every = math.ceil(len(labels) / 36)
    names = [name for name, _ in parts]
    rows = legend_rows(names)
    slanted = max((len(each) for each in labels), default=0) * len(labels) / every > 130
    figure, axes = new(height + 0.2 * rows + 0.3 * slanted, bottom=0.95 if slanted else 0.5, legend_rows=rows)
    width = 0.84 / len(parts)
    for i, (name, values) in enumerate(parts):
        places = [j + (i - (len(parts) - 1) / 2) * width for j in range(len(labels))]
        axes.bar(places, values, width * 0.94, color=SERIES[i], label=name)
    axes.set_xticks(range(0, len(labels), every))
    axes.set_xticklabels(labels[::every])
    if slanted:
        axes.tick_params(axis="x", rotation=40)
        for tick in axes.get_xticklabels():
            tick.set_horizontalalignment("right")
            tick.set_rotation_mode("anchor")
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.grid(axis="x", visible=False)
    largest = max((max(values, default=0) for _, values in parts), default=0)
    axes.set_ylabel(y_label % y_axis(axes.yaxis, largest) if y_axis else y_label)
    axes.set_ylim(0, (largest or 1) * 1.05)
    if x_label:
        axes.set_xlabel(x_label)
    legend(axes, names)
    return svg(figure, label or y_label)


def name_room(rows):
    return max(0.75, 0.2 + 0.078 * max((len(row[0]) for row in rows), default=0))


def bars(rows, x_label, form, style=None, label="", failed=(), line=None, width=WIDTH):
    """Horizontal bars with their figures; `rows` is [(name, value or None, low, high)], `failed` gets a word."""
    figure, axes = new(0.65 + 0.27 * len(rows), width, left=name_room(rows))
    largest = max((row[3] if row[3] is not None else row[1] for row in rows if row[1] is not None), default=1) or 1
    for i, (name, value, low, high) in enumerate(rows):
        if value is None:
            axes.text(largest * 0.01, i, dict(failed).get(name, "no figure"), va="center", color=INK, style="italic")
            continue
        axes.barh(i, value, 0.66, color=style.colour(name) if style else SERIES[0])
        if low is not None and high is not None and high > low:
            axes.errorbar(value, i, xerr=[[value - low], [high - value]], color=INK, linewidth=1, capsize=2.5)
        axes.text((high if high is not None else value) + largest * 0.012, i, form(value), va="center",
                  bbox={"facecolor": GROUND, "edgecolor": "none", "pad": 0.6})
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([row[0] for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, largest * 1.16)
    axes.grid(axis="y", visible=False)
    if line is not None:
        axes.axvline(line, color=INK, linewidth=0.9, linestyle=(0, (3, 2)), zorder=2.5)
    axes.set_xlabel(x_label(axes.xaxis, largest) if callable(x_label) else x_label)
    return svg(figure, label)


def spans(rows, end):
    """A line from first to last for each row of (name, first, last, weight)."""
    figure, axes = new(0.65 + 0.2 * len(rows), left=name_room(rows))
    most = max(row[3] for row in rows) or 1
    for i, (_, first, last, weight) in enumerate(rows):
        axes.barh(i, max(last - first, end / 600), 0.25 + 0.55 * weight / most, left=first, color=SERIES[0])
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([row[0] for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, end)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("time since the first call (%s); thicker: more calls" % seconds_axis(axes.xaxis, end))
    return svg(figure, "Threads over time")


def speedups(curves, style, processors, y_label, width=WIDTH / 2):
    """`curves` is [(name, [(threads, middle, low, high)])]; where there are no processors for more threads is shaded."""
    names = [name for name, _ in curves]
    rows = math.ceil(len(names) / legend_columns(names, width))
    figure, axes = new(3.0 + 0.2 * rows, width, legend_rows=rows)
    counts = sorted({threads for _, points in curves for threads, *_ in points})
    places = {threads: place for place, threads in enumerate(counts)}
    spread = 0.3 / max(len(curves), 1)
    top = 1.0
    if processors and processors < counts[-1]:
        edge = next(place for place, threads in enumerate(counts) if threads > processors) - 0.5
        axes.axvspan(edge, len(counts) - 0.5, color=SHADE, alpha=0.55, linewidth=0)
    for i, (name, points) in enumerate(curves):
        xs = [places[threads] + (i - (len(curves) - 1) / 2) * spread for threads, *_ in points]
        middles = [point[1] for point in points]
        axes.errorbar(xs, middles, yerr=[[p[1] - p[2] for p in points], [p[3] - p[1] for p in points]],
                      color=style.colour(name), linestyle=style.dash(name), marker=style.mark(name), markersize=4,
                      elinewidth=0.8, capsize=0, label=entry(name))
        top = max([top, *(point[3] for point in points)])
    axes.axhline(1, color=FAINT, linewidth=0.8)
    axes.set_xticks(range(len(counts)))
    axes.set_xticklabels([str(threads) for threads in counts])
    axes.set_xlim(-0.5, len(counts) - 0.5)
    axes.set_ylim(0, top * 1.06)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("threads")
    axes.set_ylabel(y_label)
    legend(axes, names, width)
    return svg(figure, y_label)


def groups(labels, parts, style, y_label, y_axis, x_label, width=WIDTH / 2):
    """Bars of each part beside each other for each label; what is None is left out."""
    names = [name for name, _ in parts]
    rows = math.ceil(len(names) / legend_columns(names, width))
    figure, axes = new(3.0 + 0.2 * rows, width, legend_rows=rows)
    bar = 0.84 / len(parts)
    largest = max((value for _, values in parts for value in values if value is not None), default=1)
    for i, (name, values) in enumerate(parts):
        found = [(j, value) for j, value in enumerate(values) if value is not None]
        axes.bar([j + (i - (len(parts) - 1) / 2) * bar for j, _ in found], [value for _, value in found], bar * 0.92,
                 color=style.colour(name), label=entry(name))
    axes.set_xticks(range(len(labels)))
    axes.set_xticklabels(labels)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(x_label)
    axes.set_ylim(0, largest * 1.06 or 1)
    axes.set_ylabel(y_label % y_axis(axes.yaxis, largest))
    legend(axes, names, width)
    return svg(figure, y_label)
