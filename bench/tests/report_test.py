# SPDX-License-Identifier: MIT
"""Pages of reports: their figures are those of what they were made of, as a browser shows them; they ask for nothing
else; letters do not lie on each other; what can not be made into a page is one line."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from dataclasses import asdict
from html.parser import HTMLParser

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import figures, results  # noqa: E402

BUILD = os.environ["BUILD_DIR"]
CAIRN = os.path.join(BUILD, "bin", "cairn")
LARSON = os.path.join(BUILD, "bin", "bench", "larson")
BAD = os.path.join(BUILD, "bin", "bench", "libbad_malloc.so")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
THREAD, PROCESS, TIME, MALLOC, CALLOC, FREE, FROM, TO, ALIGNED = range(1, 10)
CHUNK = 64 * 1024

# Put at the end of a copy of a page: which letters of a chart lie on others or outside of it, and how wide the page is.
PROBE = """<script>
const trouble = [];
window.onerror = message => trouble.push(String(message));
for (const [number, chart] of document.querySelectorAll("svg").entries()) {
  const frame = chart.getBoundingClientRect();
  if (frame.width < 300 || frame.height < 40) trouble.push(`chart ${number} is small`);
  const boxes = [...chart.querySelectorAll("text")].map(text => [text.textContent, text]);
  for (const [label, text] of boxes) {
    const box = text.getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
      trouble.push(`chart ${number}: "${label}" is cut`);
  }
  const straight = boxes.filter(([, text]) => !/rotate\\(-?[1-9]/.test(text.getAttribute("transform") || ""));
  for (let i = 0; i < straight.length; ++i)
    for (let j = i + 1; j < straight.length; ++j) {
      const a = straight[i][1].getBoundingClientRect(), b = straight[j][1].getBoundingClientRect();
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
        trouble.push(`chart ${number}: "${straight[i][0]}" lies on "${straight[j][0]}"`);
    }
}
if (document.documentElement.scrollWidth > innerWidth) trouble.push("the page is wider than the window");
const said = document.createElement("pre");
said.id = "probe";
said.textContent = JSON.stringify({trouble, charts: document.querySelectorAll("svg").length});
document.body.append(said);
</script>"""


def record(op, ticks, address, size, alignment=0):
    """In 16 bytes, as src/trace/format.hpp has it."""
    return struct.pack("<QQ", address << 16 | alignment << 7 | op << 3, ticks << 36 | size)


def chunk(image, thread, start, *calls):
    """A thread's calls, each (op, ticks since the one before, address, size)."""
    records = [record(THREAD, 0, image, thread), record(PROCESS, 0, image, 77), struct.pack("<QQ", TIME << 3, start)]
    return b"".join(records + [record(*call) for call in calls]).ljust(CHUNK, b"\0")


def write_trace(path, *chunks):
    header = struct.pack("<QIIQQQQQ", 0x314543415254434E, 3, CHUNK, 1000, 1000, 1000 + 10**6, 1000 + 10**6, 0)
    with open(path, "wb") as file:
        file.write(header.ljust(4096, b"\0") + b"".join(chunks))


def report(*arguments, **more):
    return subprocess.run([CAIRN, "report", *arguments], capture_output=True, text=True, **more)


def trace_info(path, *arguments):
    return subprocess.run([CAIRN, "trace-info", path, *arguments], capture_output=True, text=True, check=True).stdout


class Reader(HTMLParser):
    """The tables of a page by id, as lists of rows of cells: the text, and the exact value if there is one."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.stack, self.texts, self.tags = {}, [], [], []
        self.table = self.cell = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "table":
            self.table = self.tables.setdefault(attributes.get("id", len(self.tables)), [])
        elif tag == "tr" and self.table is not None:
            self.table.append([])
        elif tag in ("td", "th"):
            self.cell = ["", None]
            self.table[-1].append(self.cell)
        elif tag == "data" and self.cell is not None:
            self.cell[1] = float(attributes["value"])
        elif tag == "pre":
            self.cell = ["", None]
            self.tables["pre"] = [[self.cell]]

    def handle_endtag(self, tag):
        if tag in ("td", "th", "pre"):
            self.cell = None

    def handle_data(self, data):
        self.texts.append(data)
        if self.cell is not None:
            self.cell[0] += data

    def row(self, table, first):
        """The exact values of the row that begins with that text."""
        for row in self.tables[table]:
            if row[0][0] == first:
                return [value if value is not None else text for text, value in row[1:]]
        raise AssertionError("no row '%s' in %s" % (first, self.tables.get(table)))

    def column(self, table, place):
        return [row[place][1] for row in self.tables[table] if row[place][1] is not None]


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_few(self, path):
        """Two threads and every kind of call, with figures that can be worked out by hand; another process with one."""
        write_trace(
            path,
            chunk(1, 101, 1000, (MALLOC, 0, 0x10000, 100), (MALLOC, 1000, 0x20000, 1000), (CALLOC, 1000, 0x40000, 24),
                  (ALIGNED, 1000, 0x50000, 64, 6), (FREE, 7000, 0x40000, 0), (FREE, 0, 0x99990, 0)),
            chunk(1, 102, 6000, (FREE, 0, 0x10000, 0), (FROM, 1000, 0x20000, 0), (TO, 500, 0x30000, 3000),
                  (FREE, 500, 0x30000, 0)),
            chunk(2, 103, 500000, (MALLOC, 0, 0x10000, 5)))

    def write_bench(self, path):
        """Two workloads as the runner's own functions write them: one with threads, in which an allocator crashes."""
        samples, extras = [], []
        times = {"w/1": {"glibc": 1, "cairn": 0.5, "bad": None}, "w/4": {"glibc": 0.5, "cairn": 0.125, "bad": 1},
                 "real": {"glibc": 3, "cairn": 6, "bad": 3}}
        for repetition in range(2):
            for case, row in times.items():
                for allocator, wall in row.items():
                    sample = {"case": case, "allocator": allocator, "repetition": repetition, "position": 0,
                              "outcome": "ok" if wall else "crash", "detail": "" if wall else "SIGSEGV", "wall": wall or 0,
                              "user": wall or 0, "system": 0, "peak_kib": 2048 if allocator == "cairn" else 1024,
                              "minor_faults": 7, "major_faults": 0}
                    samples.append(sample)
        for case, row in times.items():
            extras.append({"kind": "live", "case": case, "allocator": None, "outcome": "ok", "live_bytes": 1000000})
            for allocator, wall in row.items():
                curve = [[0.0, 100, 0, 0], [0.1, 1024, 0, 0], [0.2, 2048, 4, 0], [0.3, 512, 0, 0]]
                extras.append({"kind": "memory", "case": case, "allocator": allocator, "outcome": "ok", "curve": curve})
                if allocator == "cairn":
                    extras.append({"kind": "syscalls", "case": case, "allocator": allocator, "outcome": "ok",
                                   "syscalls": {"madvise": 12, "mmap": 30}})
        names = ["glibc", "cairn", "bad"]
        summary = [asdict(row) for row in figures.rows(samples, list(times), names, "glibc")]
        for row in summary:
            row.update(drained_kib=512, syscalls=42)
        results.write(path, {
            "format": 1, "what": "cairn bench", "started": 0, "seconds": 60, "interrupted": False, "repeat": 2, "quick": False,
            "machine": {"processor": "A <processor>", "processors": 2, "kernel": "6"}, "baseline": "glibc", "by": "wall",
            "allocators": [{"name": name, "library": "lib.so", "sha256": "f" * 64, "package": None, "environment": {}}
                           for name in names],
            "cases": [{"case": "w/1", "workload": "w", "threads": 1}, {"case": "w/4", "workload": "w", "threads": 4},
                      {"case": "real", "workload": "real", "threads": None}],
            "summary": summary, "samples": samples, "extras": extras})

class Pages(Case):
    def make(self, path, *arguments):
        page = self.path("page.html")
        run = report(path, "-o", page, *arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".report")], [])
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for word in ("http", "<script", "<link", "src=", "@import", "url(f", "url(\"", "url('"):
            self.assertNotIn(word, text)
        return text

    def browse(self, text):
        """What a browser has made of a page; without one, what stands in it."""
        if not BROWSER:
            return Reader(text), text.count("<svg")
        page = self.path("probed.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(text.replace("</body>", PROBE + "</body>"))
        run = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,2000",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir=" + self.path("profile"), "--dump-dom",
             "file://" + page], capture_output=True, text=True, timeout=300)
        reader = Reader(run.stdout)
        self.assertIn("pre", reader.tables, run.stderr[-2000:])
        probe = json.loads(reader.tables["pre"][0][0][0])
        self.assertEqual(probe["trouble"], [])
        self.assertEqual(probe["charts"], text.count("<svg"))
        return reader, probe["charts"]

    def test_trace(self):
        trace = self.path("larson.trace")
        subprocess.run([CAIRN, "trace", "-o", trace, "--", LARSON, "--threads", "2", "--rounds", "3", "--blocks", "1000",
                        "--replacements", "5000"], check=True, stdout=subprocess.DEVNULL)
        info = {name: int(value) for name, value in (line.split() for line in trace_info(trace).splitlines())}
        reader, charts = self.browse(self.make(trace))
        self.assertGreaterEqual(charts, 8)
        self.assertIn("malloc %s, calloc %s, aligned %s, realloc %s, free %s" % tuple(
            f"{info[name]:,}" for name in ("malloc", "calloc", "aligned", "realloc", "free")), reader.texts)
        tiles = [float(attributes["value"]) for tag, attributes in reader.tags if tag == "data"][:6]
        self.assertEqual((tiles[0], tiles[2], tiles[5]), (info["peak"], info["live"], info["threads"]))
        allocations = info["malloc"] + info["calloc"] + info["aligned"]
        for table, place in (("sizes", 1), ("classes", 2), ("over-time", 5), ("threads-table", 5)):
            self.assertEqual(sum(reader.column(table, place)), allocations, table)
        for table in ("lifetimes-time", "lifetimes-bytes"):
            self.assertEqual(sum(reader.column(table, 1)), allocations, table)
        self.assertEqual(max(reader.column("over-time", 1)), info["peak"])
        self.assertEqual(reader.column("over-time", 4)[-1], sum(reader.column("sizes", 3)))
        # Each thread hands its blocks to the next one of its chain.
        remote = reader.row("bleeding-table", "freed by another thread")[0]
        self.assertGreater(remote, 2 * 3 * 500)
        self.assertEqual(remote, sum(value for i, row in enumerate(reader.tables["who-frees-whose"][1:])
                                     for j, (_, value) in enumerate(row[1:]) if i != j and value))
        self.assertEqual(sum(reader.column("threads-table", 8)), remote)
        self.assertEqual(reader.row("fragmentation-table", "blocks that were live at the peak")[0], info["peak"])

    def test_replay(self):
        trace, result = self.path("many.trace"), self.path("replay.json")
        # More calls than libbad_malloc.so does well.
        write_trace(trace, *[chunk(1, 1, 1000 + 10**5 * i, *[
            (MALLOC, 10, 0x100000 + 4096 * (4000 * i + j), 200 + j % 50) for j in range(4000)]) for i in range(3)])
        run = subprocess.run([CAIRN, "replay", trace, "--allocators", "glibc,cairn,bad=" + BAD, "--repeat", "1", "--json",
                              result], capture_output=True, text=True, env={**os.environ, "BAD_MALLOC": "null"})
        self.assertEqual(run.returncode, 1, run.stderr)
        with open(result) as file:
            data = json.load(file)
        reader, charts = self.browse(self.make(result))
        self.assertEqual(charts, 3)
        for allocator in data["allocators"]:
            self.assertIn(allocator["sha256"], [row[2][0] for row in reader.tables["libraries"]])
            row = reader.row("replay", allocator["name"])
            if allocator["name"] == "bad":
                self.assertIn("WRONG: there is no memory", row[0])
                continue
            middle = allocator["median"]
            self.assertEqual(row[0], "ok")
            for place, name in ((1, "seconds"), (5, "A"), (6, "A/U"), (8, "faults"), (9, "settled")):
                self.assertEqual(row[place], middle[name], name)
            shown = [row[2 + ["glibc", "cairn"].index(allocator["name"])][1] for row in reader.tables["over-calls"][1:]]
            self.assertEqual([value for value in shown if value is not None],
                             [sample["resident"] for sample in allocator["runs"][0]["samples"]])

    def test_bench(self):
        path = self.path("bench.json")
        self.write_bench(path)
        reader, charts = self.browse(self.make(path))
        self.assertEqual(charts, 2 + (2 + 2) + (2 + 1))  # overview, a workload with two rows, one with one
        self.assertIn("of two workloads, with a crash", "".join(reader.texts).replace(
            "3 allocators, 2 workloads", "of two workloads, with a crash"))
        self.assertEqual(reader.row("time-matrix", "w/1"), [1, 0.5, "CRASH"])
        self.assertEqual(reader.row("time-matrix", "w/4"), [1, 0.25, 2])
        self.assertEqual(reader.row("failures", "w/1")[:2], ["bad", 2])
        self.assertIn("CRASH, SIGSEGV", reader.row("failures", "w/1")[2])
        means = reader.row("time-matrix", "geometric mean of 2 complete rows")
        self.assertEqual([round(mean, 9) for mean in means], [1, round(0.5**0.5, 9), round(2**0.5, 9)])
        # glibc took 1 s with one thread; with four, cairn takes an eighth of a second.
        speedups = {(row[0][0], row[1][1]): row[-1][1] for row in reader.tables["time-w"][1:] if len(row) > 4}
        self.assertEqual(speedups, {("glibc", 1): 1, ("cairn", 1): 2, ("glibc", 4): 2, ("cairn", 4): 8, ("bad", 4): 1})
        with open(path) as file:  # --threads 4,1
            turned = json.load(file)
        turned["cases"].reverse()
        results.write(path, turned)
        other = Reader(self.make(path))
        self.assertEqual({(row[0][0], row[1][1]): row[-1][1] for row in other.tables["time-w"][1:] if len(row) > 4}, speedups)
        self.assertEqual(reader.row("curve-w-4", "cairn")[:2], [2048 * 1024, 0.2])
        self.assertEqual(reader.row("curve-w-4", "cairn")[2], 2048 * 1024 / 1000000)
        memory = {(row[0][0], row[1][1]): [value for _, value in row[2:]] for row in reader.tables["memory-w"][1:]}
        self.assertEqual(memory["cairn", 4], [2048 * 1024, 2, 7, 512 * 1024, 42])
        self.assertEqual(reader.row("syscalls-w", "w/4")[1:], [30, 12, 42])
        self.assertIn("f" * 64, "".join(reader.texts))

    def test_the_first_allocator_fails(self):
        """Its row has one cell for all that it has no figures of."""
        path = self.path("bench.json")
        self.write_bench(path)
        with open(path) as file:
            data = json.load(file)
        data["allocators"].reverse()
        results.write(path, data)
        reader = Reader(self.make(path))
        self.assertEqual([cell[0] for cell in reader.tables["time-w"][1]], ["bad", "1", "CRASH, SIGSEGV"])
        self.assertEqual(reader.row("time-matrix", "w/1"), ["CRASH", 0.5, 1])

    def test_names_are_no_markup(self):
        """Neither of a page's nor of the charts'; letters that no font here has are not complained about."""
        path, names = self.path("bench.json"), ["<i>a&lt;\"b\\1", "_cairn", "$\\frac{\u4e2d$"]
        self.write_bench(path)
        with open(path) as file:
            text = file.read()
        for old, new in zip(("glibc", "cairn", "bad"), names):
            text = text.replace(json.dumps(old), json.dumps(new))
        with open(path, "w") as file:
            file.write(text)
        reader = Reader(self.make(path))
        self.assertEqual([row[0][0] for row in reader.tables["libraries"][1:]], names)
        speedups = reader.texts[reader.texts.index("Speedup over threads"):]
        speedups = [text.strip("\u200b\n") for text in speedups[:speedups.index("Peak resident memory")]]
        self.assertEqual([text for text in speedups if text in names], names)
        labels = [attributes["aria-label"] for tag, attributes in reader.tags if tag == "svg"]
        self.assertIn("Geometric means: wall time, x " + names[0], labels)

    def test_figures_of_a_trace(self):
        path = self.path("few.trace")
        self.write_few(path)
        data = json.loads(trace_info(path, "--json"))
        self.assertEqual((data["processes"], data["process"], data["pid"]), (2, 1, 77))
        self.assertEqual(data["calls"], {"malloc": 2, "calloc": 1, "aligned": 1, "realloc": 1, "free": 4})
        self.assertEqual((data["allocations"], data["allocated"], data["nanoseconds"]), (5, 4188, 10000))
        self.assertEqual((data["free_unknown"], data["overlapping"]), (1, 0))
        self.assertEqual(data["peak"], {"live": 3088, "at_ns": 6500, "rounded": 3072 + 32 + 64})
        self.assertEqual(data["freed"], {"blocks": 3, "bytes": 3124})
        self.assertEqual(data["freed_by_another_thread"], {"blocks": 1, "bytes": 100})
        self.assertEqual(data["live_at_end"], {"blocks": 1, "bytes": 64})
        ages = data["lifetimes"]
        self.assertEqual([(row["to"], row["blocks"]) for row in ages["by_ns"]], [(5000, 1), (10000, 2)])
        self.assertEqual([(row["to"], row["bytes"]) for row in ages["by_allocated_bytes"]], [(2048, 100), (4096, 3024)])
        self.assertEqual({row["to"]: row["at_peak"]["bytes"] for row in data["classes"]},
                         {32: 24, 64: 64, 112: 0, 1024: 0, 3072: 3000})
        self.assertEqual({row["to"]: row["most_rounded"] for row in data["classes"]},
                         {32: 32, 64: 64, 112: 112, 1024: 1024, 3072: 3072})
        bins = data["over_time"]
        self.assertEqual((bins["interval_ns"], bins["live"]),
                         (1000, [100, 1100, 1124, 1188, 1188, 1188, 3088, 3088, 88, 88, 88]))
        self.assertEqual((sum(bins["frees"]), sum(bins["frees_remote"])), (3, 1))
        threads = {row["id"]: row for row in data["threads"]["busiest"]}
        self.assertEqual((threads[101]["freed_by_others"], threads[102]["frees_of_others"]), (1, 1))
        self.assertEqual((threads[101]["calls"], threads[102]["calls"], threads[102]["most_live"]), (6, 3, 3000))
        moved = data["reallocs"]
        self.assertEqual([moved[name] for name in ("count", "grown", "moved", "moved_bytes", "of_others", "in_place")],
                         [1, 1, 1, 1000, 1, 0])
        self.assertEqual(moved["by_factor"]["to 4 times"], 1)
        # Cut in the middle it is what is left; time in more than 512 intervals is folded.
        other = json.loads(trace_info(path, "--json", "--process", "2"))
        self.assertEqual((other["allocations"], other["allocated"]), (1, 5))
        write_trace(path, chunk(1, 1, 1000, (MALLOC, 0, 16, 1), *[(MALLOC, 7000, 32 + 16 * i, 1) for i in range(2000)]))
        data = json.loads(trace_info(path, "--json"))
        self.assertEqual(data["over_time"]["interval_ns"], 32000)
        self.assertEqual(sum(data["over_time"]["allocations"]), 2001)
        self.assertEqual(data["over_time"]["live"][-1], 2001)


class Refusals(Case):
    def one_line(self, wanted, *arguments):
        before = sorted(os.listdir(self.folder))
        run = report(*arguments)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual((run.stderr.count("\n"), run.stdout), (1, ""), run.stderr)
        self.assertIn(wanted, run.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def file(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def test_variables_of_python(self):
        self.write_bench(self.path("bench.json"))
        run = report(self.path("bench.json"), "-o", self.path("page.html"), env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONHOME": "/nowhere"})
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_a_pipe(self):
        os.mkfifo(self.path("pipe"))
        self.one_line("is empty", self.path("pipe"), "-o", self.path("page.html"))  # nobody is waited for
        self.write_bench(self.path("bench.json"))
        with open(self.path("bench.json")) as file:
            run = report("/dev/stdin", "-o", self.path("page.html"), input=file.read())
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_what_is_no_result(self):
        page, trace, bench = self.path("page.html"), self.path("few.trace"), self.path("bench.json")
        self.write_few(trace)
        self.write_bench(bench)
        with open(trace, "rb") as file:
            content = file.read()
        with open(bench, "rb") as file:
            written = file.read()
        damaged = content[:4096] + b"\xff" * 64 + content[4160:]
        for wanted, path in (
                ("No such file", self.path("nothing")), ("is empty", self.file("a", b"")),
                ("is neither a trace nor", self.file("b", b"\x7fELF")), ("is neither a trace nor", self.file("c", b"{}")),
                ("is damaged", self.file("d", damaged)), ("is no trace", self.file("e", content[:100])),
                ("allocated nothing", self.file("f", content[:4096])), ("is damaged or cut", self.file("g", written[:900])),
                ("of another version", self.file("v", written.replace(b'"format": 1', b'"format": 2'))),
                ("'summary' is missing", self.file("h", written.replace(b'"summary"', b'"gone"'))),
                ("'allocators' is missing", self.file("i", b'{"what": "cairn replay"}'))):
            self.one_line(wanted, path, "-o", page)
        self.one_line("there is no process 3", trace, "--process", "3", "-o", page)
        self.one_line("No such file", trace, "-o", self.path("no/page.html"))
        os.mkfifo(self.path("pipe"))  # as for a device: it is not replaced
        self.one_line("no regular file", trace, "-o", self.path("pipe"))
        self.one_line("is a folder", trace, "-o", self.folder)
        self.assertEqual(report(trace).returncode, 2)


if __name__ == "__main__":
    passed = unittest.main(exit=False).result.wasSuccessful()
    if passed and not BROWSER:
        print("there is no Chromium: nobody has looked at the pages", file=sys.stderr)
    sys.exit(1 if not passed else 0 if BROWSER else 77)
