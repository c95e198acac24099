# SPDX-License-Identifier: MIT
"""`cairn bench` as its user meets it: threads, complete results, extra runs, comparison, interruption, terminals."""
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.environ["BUILD_DIR"]
LAB = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, LAB)

from lib import compare, extras, figures, places, report, results  # noqa: E402

PROGRAMS = os.path.join(BUILD, "bin", "bench")
CAIRN = os.path.join(BUILD, "bin", "cairn")
BAD = "bad=%s;BAD_MALLOC=" % os.path.join(PROGRAMS, "libbad_malloc.so")
COMMAND = [sys.executable, "-B", os.path.join(LAB, "run.py"), "--build", BUILD]
SMALL = ["--scale", "1", "--repeat", "2", "--workloads", "threadtest", "--allocators", "glibc"]


class Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def bench(self, *arguments, status=0, command=COMMAND, out="r.json"):
        run = subprocess.run([*command, "-o", self.path(out), *arguments], capture_output=True, text=True)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run

    def results(self, name="r.json"):
        return results.read(self.path(name))


class Series(Test):
    def test_threads_and_complete_results(self):
        run = self.bench(*SMALL, "--threads", "1,2,4", "--allocators", "again=glibc;SETTING=1")
        self.assertEqual(run.stderr, "")
        found = self.results()
        self.assertFalse(found["interrupted"])
        self.assertEqual([case["case"] for case in found["cases"]], ["threadtest/1", "threadtest/2", "threadtest/4"])
        self.assertEqual(len(found["samples"]), 2 * 3 * 2)
        for name in ("wall", "user", "system", "peak_kib", "minor_faults", "major_faults", "outcome"):
            self.assertTrue(all(name in sample for sample in found["samples"]), name)
        order = [(sample["repetition"], sample["allocator"]) for sample in found["samples"]]
        self.assertEqual(order, [(0, "glibc"), (0, "again")] * 3 + [(1, "again"), (1, "glibc")] * 3)
        for name in ("processor", "kernel", "transparent_hugepage", "processors"):
            self.assertTrue(found["machine"][name], name)
        self.assertTrue({"version", "commit"} <= found["cairn"].keys())
        self.assertEqual(found["parameters"]["threads"], [1, 2, 4])
        for each in [*found["allocators"], *(file for case in found["cases"] for file in case["files"])]:
            self.assertRegex(each["sha256"], "^[0-9a-f]{64}$")
        live = [extra["live_bytes"] for extra in found["extras"] if extra["kind"] == "live"]
        self.assertEqual(len(live), 3)
        # 100,000 objects of 8 bytes, and what the program itself needs; several threads need not all be at their peak.
        self.assertTrue(790_000 <= live[0] <= 1_000_000 and max(live) <= 1_000_000, live)

    def test_extra_runs(self):
        lacking = [tool for tool in ("strace", "valgrind")
                   if not any(os.access(os.path.join(each, tool), os.X_OK) for each in os.environ["PATH"].split(":"))]
        if lacking:
            self.skipTest("not installed: " + ", ".join(lacking))
        run = self.bench(*SMALL, "--threads", "2", "--memory", "--syscalls", "--instructions")
        extras = {extra["kind"]: extra for extra in self.results()["extras"]}
        self.assertEqual({extra["outcome"] for extra in extras.values()}, {"ok"}, extras)
        self.assertGreater(extras["syscalls"]["syscalls"]["mmap"], 1)
        self.assertGreater(extras["instructions"]["instructions"], 1_000_000)
        memory = extras["memory"]
        self.assertTrue(memory["curve"] and all(len(point) == 4 for point in memory["curve"]))
        self.assertTrue(0 < memory["figures"]["drained_at"] < memory["wall"] - 0.9)
        self.assertGreater(memory["figures"]["settled_kib"], 0)
        for title in ("syscalls", "Minstr at 1%", "+1 s", "drained", "x live"):
            self.assertIn(title, run.stdout)

    def test_trouble_in_an_extra_run_is_a_row(self):
        run = self.bench(*SMALL, "--threads", "1", "--repeat", "1", "--allocators", BAD + "crash", "--memory", status=1)
        self.assertEqual({extra["outcome"] for extra in self.results()["extras"] if extra["allocator"] == "bad"}, {"crash"})
        self.assertRegex(run.stdout, "CRASH.*memory: CRASH")

    def test_bad_words_are_one_line(self):
        for arguments in (["--threads", "0"], ["--threads", "x"], ["--repeat", "0"], ["--nonsense"], ["--scale", "0"],
                          ["--threads", ""], ["--timeout", "nan"], ["--timeout", "inf"]):
            run = self.bench(*SMALL, *arguments, status=2)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        for arguments in (["--compare", "/nowhere/old.json"], ["--show", CAIRN], ["-o", "/proc/r.json", *SMALL],
                          ["--compare", os.path.join(LAB, "run.py")]):
            run = self.bench(*arguments, status=1)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)


class Unheard(Test):
    def test_a_reader_that_goes_is_no_trouble(self):
        # Not even one line is read: what is printed first comes later than that.
        data = Comparison().made_up([1.0])
        with open(self.path("r.json"), "w") as file:
            json.dump(data, file)
        for arguments in (["--list"], ["--show", self.path("r.json")]):
            there, here = os.pipe()
            os.close(there)
            run = subprocess.run([*COMMAND, *arguments], stdout=here, stderr=subprocess.PIPE, text=True)
            os.close(here)
            self.assertEqual((run.returncode, run.stderr), (141, ""))


class Interrupted(Test):
    def test_what_there_is_is_written(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            started = subprocess.Popen([*COMMAND, *SMALL, "--threads", "1", "--allocators", BAD + "hang", "--timeout", "300",
                                        "-o", self.path("r.json")],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            hanging = self.wait_for_the_bad_one(started)
            started.send_signal(number)
            said, _ = started.communicate()
            self.assertEqual(started.returncode, 130)
            self.assertIn("interrupted", said)
            found = self.results()
            self.assertTrue(found["interrupted"])
            self.assertEqual([sample["allocator"] for sample in found["samples"]], ["glibc"])
            for _ in range(500):  # it was killed, and nobody waited for it: that may take the kernel a moment
                if b"BAD" not in environment(hanging):
                    break
                time.sleep(0.01)
            self.assertNotIn(b"BAD", environment(hanging))
            self.assertEqual(os.listdir(self.folder), ["r.json"])
            os.unlink(self.path("r.json"))

    def wait_for_the_bad_one(self, started):
        """The process of the run that will hang: a grandchild, by the variable that it has."""
        while started.poll() is None:
            for launcher in children(started.pid):
                for pid in children(launcher):
                    if b"BAD_MALLOC=hang" in environment(pid) and b"LD_PRELOAD" in environment(pid) \
                            and b"probe" not in command(pid):
                        return pid
            time.sleep(0.01)
        self.fail("ended too early: " + started.communicate()[1])


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def children(pid):
    return [int(child) for child in read("/proc/%d/task/%d/children" % (pid, pid)).split()]


def environment(pid):
    return read("/proc/%d/environ" % pid)


def command(pid):
    return read("/proc/%d/cmdline" % pid)


class Comparison(Test):
    MACHINE = {"kernel": "1", "load": 1}

    def made_up(self, times, peak=1000, outcome="ok", sha="a"):
        """Two allocators, of which one never changes."""
        samples = [{"case": "c", "allocator": name, "repetition": i, "outcome": outcome if name == "new" else "ok", "detail": "",
                    "wall": wall, "user": wall, "system": 0, "peak_kib": peak, "minor_faults": 10}
                   for name, walls in (("glibc", [1.0] * len(times)), ("new", times)) for i, wall in enumerate(walls)]
        return {"format": 1, "baseline": "glibc", "by": "wall", "machine": self.MACHINE, "samples": samples,
                "cases": [{"case": "c", "command": ["p", "1"]}],
                "allocators": [{"name": "glibc", "sha256": "g"}, {"name": "new", "sha256": sha}]}

    def moved(self, old, new):
        changes, notes = compare.changes(old, new)
        return [change.moved for change in changes if change.allocator == "new"][0], notes

    def test_beyond_the_spread(self):
        old = self.made_up([1.0, 1.1, 1.2])
        self.assertEqual(self.moved(old, self.made_up([1.19, 1.3, 1.4])), ([], []))
        self.assertEqual(self.moved(old, self.made_up([1.22, 1.3, 1.4]))[0], ["wall slower", "cpu slower", "ratio slower"])
        self.assertEqual(self.moved(old, self.made_up([1.205, 1.3, 1.4]))[0], [])  # by less than a percent
        self.assertEqual(self.moved(old, self.made_up([0.7, 0.8, 0.9]))[0], ["wall faster", "cpu faster", "ratio faster"])
        self.assertEqual(self.moved(old, self.made_up([1.0, 1.1, 1.2], peak=1100))[0], ["more memory"])
        change = compare.changes(old, self.made_up([2.0, 2.2, 2.4]))[0][1]
        self.assertEqual(change.ratios["wall"], figures.Spread(2.0, 2.0 / 1.2, 2.4))

    def test_damaged_results_are_one_line(self):
        for spoil in (lambda data: data["samples"][0].pop("wall"), lambda data: data.pop("machine"),
                      lambda data: data.update(samples=7), lambda data: data.update(format=99)):
            data = self.made_up([1.0, 1.1])
            spoil(data)
            with open(self.path("old.json"), "w") as file:
                json.dump(data, file)
            run = self.bench(*SMALL, "--compare", self.path("old.json"), status=1)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)

    def test_other_settings_are_another_allocator(self):
        old, new = self.made_up([1.0, 1.1]), self.made_up([2.0, 2.1])
        old["allocators"][1]["environment"] = {"MALLOC_CONF": "narenas:1"}
        same = {change.allocator: change.same_library for change in compare.changes(old, new)[0]}
        self.assertEqual(same, {"glibc": True, "new": False})

    def test_one_run_has_no_spread(self):
        self.assertEqual(self.moved(self.made_up([1.0]), self.made_up([9.0]))[0], [])

    def test_outcomes_and_circumstances(self):
        moved, _ = self.moved(self.made_up([1.0, 1.0]), self.made_up([1.0, 1.0], outcome="crash"))
        self.assertEqual(moved, ["CRASH, was ok"])
        other = self.made_up([1.0, 1.0])
        other["machine"] = {"kernel": "2", "load": 7}
        self.assertEqual(self.moved(self.made_up([1.0, 1.0]), other)[1], ["the machine's kernel was 1 and is 2"])
        other["cases"][0]["command"] = ["p", "2"]
        self.assertEqual(compare.changes(self.made_up([1.0]), other)[0], [])
        other = self.made_up([1.0])
        other["cases"][0]["environment"] = {"LINGER": "1"}
        self.assertEqual(compare.changes(self.made_up([1.0]), other), ([], ["c had other parameters and is not compared"]))

    def test_another_program_of_the_same_name(self):
        old, new = self.made_up([1.0]), self.made_up([1.0])
        for results, sha in (old, "1"), (new, "2"):
            results["cases"] = [{**results["cases"][0], "files": [{"path": "p", "sha256": sha}]},
                                {"case": "d", "command": ["p"], "files": [{"path": "p", "sha256": "0"}]}]
        self.assertEqual(compare.changes(old, old)[1], [])
        changed, notes = compare.changes(old, new)
        self.assertEqual((len(changed), notes), (2, ["the program, or a script of it, has changed since: c"]))
        self.assertEqual(compare.changes(self.made_up([1.0]), new)[1], ["d is new"], "results of long ago have no hashes")

    def test_printed(self):
        self.bench(*SMALL, "--threads", "1", out="old.json")
        run = self.bench(*SMALL, "--threads", "1", "--compare", self.path("old.json"))
        self.assertIn("new / old.json", run.stdout)
        self.assertRegex(run.stdout, r"\d of 1 rows moved")
        data = self.results()
        for sample in data["samples"]:
            sample["wall"] *= 100
        with open(self.path("slow.json"), "w") as file:
            json.dump(data, file)
        run = subprocess.run([*COMMAND, "--show", self.path("slow.json"), "--compare", self.path("old.json")],
                             capture_output=True, text=True)
        self.assertIn("1 of 1 rows moved", run.stdout)
        self.assertIn("wall slower", run.stdout)
        self.assertIn("the same library", run.stdout)


class Markdown(Test):
    """A table of a page is made by a command, from results alone."""

    def shown(self, data, *arguments, status=0):
        with open(self.path("r.json"), "w") as file:
            json.dump(data, file)
        run = subprocess.run([*COMMAND, "--show", self.path("r.json"), "--markdown", *arguments], capture_output=True, text=True)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run

    def test_tables(self):
        data = Comparison().made_up([1.0, 1.5, 2.0], peak=2048)
        data["extras"] = [{"kind": "live", "case": "c", "allocator": None, "outcome": "ok", "live_bytes": 1 << 20},
                          {"kind": "syscalls", "case": "c", "allocator": "glibc", "outcome": "ok", "syscalls": {"mmap": 3, "brk": 2}},
                          {"kind": "syscalls", "case": "c", "allocator": "new", "outcome": "crash", "detail": "SIGSEGV"}]
        said = self.shown(data).stdout
        self.assertIn("|  | glibc | new |\n|---|---:|---:|\n| c | 1 | 1.50 (1.00..2.00) |\n| geometric mean | 1.00 | 1.50 |\n", said)
        self.assertIn("| c | 1.0 | 2.0 | 2.0 |\n", said)
        self.assertIn("Page faults\n\n|  | glibc | new |\n|---|---:|---:|\n| c | 10 | 10 |\n"
                      "| geometric mean, x glibc | 1.00 | 1.00 |\n", said)
        self.assertIn("| c | 5 | syscalls: CRASH |\n", said)
        self.assertIn("- c, new: syscalls: CRASH, SIGSEGV\n", said)
        said = self.shown(data, "--baseline", "new").stdout
        self.assertIn("| c | 0.67 (0.50..1.00) | 1 |\n", said)
        self.assertEqual(self.shown(data, "--baseline", "other", status=1).stderr.count("\n"), 1)

    def test_no_mean_over_rows_that_are_not_there(self):
        data = Comparison().made_up([1.0], outcome="crash")
        said = self.shown(data).stdout
        self.assertIn("| c | 1 | CRASH |\n", said)
        self.assertNotIn("geometric mean", said)

    def test_of_a_run(self):
        run = self.bench(*SMALL, "--threads", "1", "--markdown")
        self.assertRegex(run.stdout, r"^\d+ processors [^\n]*\n[^\n]*\n\nWall time")
        self.assertIn("all samples are in", run.stderr)


class Terminal(Test):
    def on_a_terminal(self, *command):
        master, slave = pty.openpty()
        started = subprocess.Popen(command, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
        os.close(slave)
        said = b""
        while select.select([master], [], [], 60)[0]:
            try:
                said += os.read(master, 65536)
            except OSError:  # the other end is closed
                break
        os.close(master)
        return started.wait(), said.decode()

    def test_a_bar_on_a_terminal_only(self):
        python = next((each for each in (sys.executable, "/usr/bin/python3")
                       if subprocess.run([each, "-c", "import rich"], capture_output=True).returncode == 0), None)
        if python is None:
            self.skipTest("python3-rich is not installed")
        command = [python, *COMMAND[1:], *SMALL, "--threads", "1", "-o", self.path("r.json")]
        status, said = self.on_a_terminal(*command)
        self.assertEqual(status, 0, said)
        self.assertIn("━", said)
        self.assertIn("\x1b[", said)
        run = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        self.assertNotIn("\x1b", run.stdout)
        self.assertNotIn("━", run.stdout)


class Program(Test):
    def test_help(self):
        run = subprocess.run([CAIRN, "bench", "--help"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(run.stdout.startswith("usage: cairn bench"), run.stdout)
        for option in ("--compare", "--threads", "--syscalls"):
            self.assertIn(option, run.stdout)
        run = subprocess.run([CAIRN, "--help"], capture_output=True, text=True)
        self.assertRegex(run.stdout, r"(?m)^  bench +")

    def test_installed(self):
        prefix = self.path("prefix")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
        moved = self.path("moved")
        os.rename(prefix, moved)
        cairn = os.path.join(moved, "bin", "cairn")
        command = [cairn, "bench"]
        self.bench(*SMALL, "--threads", "1", "--allocators", "glibc,cairn", command=command)
        found = self.results()
        self.assertEqual({sample["outcome"] for sample in found["samples"]}, {"ok"})
        self.assertEqual(len(found["allocators"]), 2)
        self.assertNotIn(self.folder, json.dumps(found))
        run = subprocess.run([cairn, "bench", "--list"], capture_output=True, text=True)
        self.assertNotRegex(run.stdout, "is not built")
        os.unlink(os.path.join(moved, "share", "cairn", "lab", "run.py"))
        run = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr.count("\n")), (126, 1), run.stderr)


class Servers(unittest.TestCase):
    def test_a_clients_instructions_are_not_the_servers(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("version: 1\ncmd: /usr/bin/python3 -B /lab/redis.py 100\n\nsummary: 77\n")
            file.flush()
            self.assertEqual(extras.read_instructions(file.name, None), 77)
            self.assertEqual(extras.read_instructions(file.name, "/lab/mariadb.py"), 77)
            self.assertEqual(extras.read_instructions(file.name, "/lab/redis.py"), 0)

    def test_headings_say_whose_the_figures_are(self):
        self.assertEqual(report.heading("syscalls", "redis"), "syscalls, with client")
        self.assertEqual(report.heading("syscalls", "larson/2"), "syscalls")


class Places(unittest.TestCase):
    def test_build_tree(self):
        self.assertFalse(places.INSTALLED)
        self.assertEqual(places.program(BUILD, "launch"), os.path.join(PROGRAMS, "launch"))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    unittest.main()
