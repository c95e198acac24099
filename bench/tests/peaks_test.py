# SPDX-License-Identifier: MIT
"""Peaks by live bytes: what is live and what is subtracted are right, a heap that keeps what is freed misses its limits, and
more of the same work makes Cairn no larger."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import peaks  # noqa: E402
from lib.peaks import MIB, Cell  # noqa: E402

BUILD = os.environ["BUILD_DIR"]
SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peaks.py")
BAD = "cairn=%s;BAD_MALLOC=" % os.path.join(BUILD, "bin", "bench", "libbad_malloc.so")
LIVE = 2 * peaks.LIVE // peaks.QUICK_PART  # of round-robin


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, "--build", BUILD, *arguments], capture_output=True, text=True)


def quick(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "peaks.json")
        ended = run("--quick", "-o", path, *arguments)
        assert os.listdir(folder) == ["peaks.json"], ended.stderr
        with open(path) as file:
            return ended, json.load(file)


def commands_of_children(parent):
    told = subprocess.run(["ps", "-o", "args=", "--ppid", str(parent)], capture_output=True, text=True)
    return told.stdout.splitlines()


def sample(**figures):
    return {"outcome": "ok", "peak_kib": 50 << 10, "figures": {"tables_bytes": 8 * MIB, **figures}}


class Arithmetic(unittest.TestCase):
    PEAK = next(peak for peak in peaks.PEAKS if peak.name == "round-robin")

    def test_what_is_the_programs_own_is_left_out(self):
        cell = peaks.cell(self.PEAK, 8, sample(settled_kib=45 << 10), 2 * MIB, 32 * MIB)
        self.assertEqual((cell.peak, cell.settled, cell.ratio), (40 * MIB, 35 * MIB, 1.25))
        self.assertTrue(cell.unsettled)
        self.assertFalse(cell.over)

    def test_a_program_that_counts_itself_is_believed(self):
        self.assertEqual(peaks.cell(self.PEAK, 8, sample(live_bytes=20 * MIB), 2 * MIB, 32 * MIB).ratio, 2)

    def test_each_sleeper_has_a_little(self):
        live = 10 * MIB
        self.assertEqual(self.PEAK.limit(64, live), 1.35 * live + 63 * (128 << 10))
        shift = next(peak for peak in peaks.PEAKS if peak.name == "class-shift")
        self.assertEqual(shift.limit(64, live), 1.35 * live)

    def test_a_run_that_went_wrong_has_no_figures(self):
        cell = peaks.cell(self.PEAK, 2, {"outcome": "crash"}, 0, MIB)
        self.assertEqual((cell.trouble, cell.ratio, bool(cell.over)), ("CRASH", None, False))

    def test_marks(self):
        cells = {("a/2", "cairn", 1): Cell("", 140 * MIB, 33 * MIB, 100 * MIB, 135 * MIB),
                 ("a/2", "cairn", 2): Cell("", 150 * MIB, None, 100 * MIB, 135 * MIB),
                 ("a/2", "glibc", 1): Cell("", 900 * MIB, 33 * MIB, 100 * MIB, 135 * MIB),
                 ("a/2", "hoard", 1): Cell("HANG")}
        (head, [peak]), (_, [settled]) = peaks.tables(cells, ["cairn", "glibc", "hoard"], "cairn")
        self.assertEqual(head[-1], "cairn, 2 times")
        self.assertEqual(peak, ["a/2", "100.0", "1.35", "1.40!", "9.00", "HANG", "1.50!"])
        self.assertEqual(settled, ["a/2", "33.0!", "33.0", "-"])
        self.assertEqual([peaks.bad(cells, key, "cairn") for key in cells], [True, True, False, True])


class Runs(unittest.TestCase):
    def test_a_heap_that_keeps_all_misses_the_limit_and_grows(self):
        ended, found = quick("--threads", "2", "--cases", "round-robin", "--allocators", BAD + "keep", "--longer", "4")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        first, later = sorted(found["cells"], key=lambda cell: cell["times"])
        self.assertAlmostEqual(first["live"] / LIVE, 1, delta=0.05)
        self.assertTrue(first["over"])
        self.assertGreater(first["ratio"], 2)
        self.assertGreater(later["ratio"], 1.5 * first["ratio"])
        self.assertRegex(ended.stdout, r"round-robin/2 .*!.*!")
        self.assertGreater(found["runs"][0]["figures"]["tables_bytes"], LIVE // 256 * 8)

    def test_cairn_keeps_its_limits_and_stays(self):
        cases = "idle-pool, in turn; round-robin; producer_consumer"
        ended, found = quick("--threads", "8", "--cases", cases, "--allocators", "cairn", "--longer", "10")
        self.assertEqual({cell["trouble"] for cell in found["cells"]}, {""}, ended.stdout)
        for cell in found["cells"]:
            self.assertGreater(cell["ratio"], 0.95, cell)
            if cell["case"] == "round-robin/8":
                self.assertLess(cell["peak"], 1.35 * cell["live"] + 7 * (128 << 10), cell)

    def test_earlier_results_go_on(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "earlier.json")
            one = ["--quick", "--threads", "2", "--cases", "round-robin", "--no-longer"]
            self.assertEqual(run(*one, "--allocators", "glibc", "-o", path).returncode, 0)
            both = run(*one, "--allocators", "other=glibc", "--with", path).stdout
            self.assertRegex(both.splitlines()[0], "other +glibc")
            self.assertIn("| round-robin/2 |", run("--show", path, "--markdown").stdout)
            whole = run("--threads", "2", "--cases", "round-robin", "--allocators", "other=glibc", "--with", path)
            self.assertEqual((whole.returncode, whole.stdout, whole.stderr.count("\n")), (1, "", 1), whole.stderr)
            self.assertIn("with --quick", whole.stderr)
            with open(path) as file:
                found = json.load(file)
            for damage in {"format": 2}, {"what": "cairn bench"}, {"cells": [1]}, {"empty_bytes": []}, {"cells": [{**found["cells"][0], "trouble": 1}]}:
                with open(path, "w") as file:
                    json.dump({**found, **damage}, file)
                broken = run("--show", path)
                self.assertEqual((broken.returncode, broken.stderr.count("\n")), (1, 1), broken.stderr)

    def test_what_is_broken_off_is_no_failure(self):
        for whole_group in False, True:  # kill, Ctrl-C
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "peaks.json")
                series = subprocess.Popen([sys.executable, SCRIPT, "--build", BUILD, "--quick", "--threads", "2", "--cases", "round-robin",
                                           "--allocators", "glibc", "--allocators", BAD + "hang", "--jobs", "1", "-o", path],
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
                self.addCleanup(series.kill)
                while not any("--preload" in words and "libbad_malloc.so" in words for words in commands_of_children(series.pid)):
                    self.assertIsNone(series.poll())
                    time.sleep(0.05)
                os.killpg(series.pid, signal.SIGINT) if whole_group else series.terminate()
                out, err = series.communicate(timeout=60)
                self.assertEqual((series.returncode, err), (130, ""), out)
                self.assertEqual(os.listdir(folder), ["peaks.json"])
                with open(path) as file:
                    found = json.load(file)
            self.assertTrue(found["interrupted"])
            self.assertEqual([(run["allocator"], run["outcome"]) for run in found["runs"]], [("glibc", "ok")])
            self.assertEqual([(cell["allocator"], cell["trouble"]) for cell in found["cells"]], [("glibc", "")])

    def test_a_full_disk_is_one_line_and_the_tables_are_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(["sh", "-c", 'ulimit -f 1 && exec "$@"', "sh", sys.executable, SCRIPT, "--build", BUILD, "--quick",
                                    "--threads", "2", "--cases", "round-robin", "--allocators", "glibc", "-o", "peaks.json"],
                                   cwd=folder, capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stderr), (1, "peaks: peaks.json: File too large\n"))
            self.assertRegex(ended.stdout, r"round-robin/2 +8\.\d")
            self.assertEqual(os.listdir(folder), [])

    def test_nothing_replaces_no_results(self):
        with tempfile.TemporaryDirectory() as folder:
            programs, path = os.path.join(folder, "bin", "bench"), os.path.join(folder, "peaks.json")
            os.makedirs(programs)
            for name in "launch", "probe", "round_robin", "libbench-live.so":
                os.symlink(os.path.join(BUILD, "bin", "bench", name), os.path.join(programs, name))
            os.symlink("/bin/false", os.path.join(programs, "empty"))
            with open(path, "w") as file:
                file.write("earlier")
            ended = run("--quick", "--threads", "2", "--cases", "round-robin", "--allocators", "glibc", "-o", path, "--build", folder)
            self.assertEqual((ended.returncode, ended.stderr.count("\n")), (1, 1), ended.stderr)
            with open(path) as file:
                self.assertEqual(file.read(), "earlier")

    def test_wrong_use(self):
        for words in (["--cases", "nonsense"], ["--threads", "0"], ["--show", ""], ["--build", "/nowhere"]):
            ended = run(*words)
            self.assertEqual((ended.returncode, ended.stderr.count("\n")), (2, 1), ended.stderr)
            self.assertTrue(ended.stderr.startswith("peaks: "), ended.stderr)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    unittest.main()
