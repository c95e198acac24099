# SPDX-License-Identifier: MIT
"""The documents' tables: well-formed as data, listed, and one of them measured from end to end."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from statistics import mean
from unittest import mock

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ["BUILD_DIR"]
sys.path.insert(0, BENCH)

import paper  # noqa: E402
from lib.case import Case  # noqa: E402
from lib.figures import Spread  # noqa: E402
from papers import form, taxonomy  # noqa: E402
from papers.lab import Lab  # noqa: E402


def run(*arguments):
    return subprocess.run([sys.executable, "-B", os.path.join(BENCH, "paper.py"), "--build", BUILD, *arguments],
                          capture_output=True, text=True, timeout=300)


class Data(unittest.TestCase):
    def test_every_table_is_well_formed(self):
        for table in paper.TABLES.values():
            self.assertEqual(form.problems(table), [], table.name)

    def test_a_bad_table_is_found(self):
        bad = form.Table("t", "d", "w", "t", (form.Column("a", "a", ""),),
                         (form.Row("r", "r"), form.Row("s", "s", {"b": 1}), form.Row("q", "q", {"a": "1"})), print)
        self.assertEqual(len(form.problems(bad)), 5)

    def test_what_the_documents_say_adds_up(self):
        """Figures that follow from others of the same table: a slip of the pen would show."""
        tables = paper.TABLES
        for row in tables["hoard-2"].rows:
            if "solaris" in row.said:
                self.assertAlmostEqual(100 * (row.said["hoard"] / row.said["solaris"] - 1), row.said["change"], delta=1.1)
        for row in tables["hoard-4"].rows:
            self.assertAlmostEqual(row.said["a"] / row.said["u"], row.said["ratio"], delta=0.011)
            self.assertAlmostEqual(row.said["total"] / row.said["objects"], row.said["size"], delta=0.01)
        for row in tables["heap-layers-4"].rows:
            self.assertAlmostEqual(row.said["total"] / row.said["objects"], row.said["size"], delta=0.02)
        rows = {row.key: row.said for row in tables["heap-layers-5"].rows if row.key != "mean"}
        self.assertAlmostEqual(mean([said["layers"] for said in rows.values()]), 2, delta=0.3)
        self.assertAlmostEqual(mean([said["leas"] for said in rows.values()]), 7, delta=0.5)
        rows = {row.key: row.said for row in tables["heap-layers-6"].rows}
        for one, other, least, most, all_six in (("kingsleyheap", "kingsley", -54, 11, -5.5), ("leaheap", "lea", -44, 19, -2),
                                                 ("kingsleyheap", "coalescing", 3, 83, 48),
                                                 ("coalescing", "kingsleyheap", -45, -3, -30)):
            changes = [100 * (said[one] / said[other] - 1) for said in rows.values()]
            self.assertAlmostEqual(min(changes), least, delta=0.8)
            self.assertAlmostEqual(max(changes), most, delta=0.6)
            self.assertAlmostEqual(mean(changes), all_six, delta=0.6)
        for name, middle in (("wen-deng-runtime", 0.689), ("wen-deng-fragmentation", 1.61)):
            ratios = [row.said["ratio"] for row in tables[name].rows if row.key != "mean"]
            self.assertAlmostEqual(mean(ratios), middle, delta=0.005)

    def test_a_page_has_both_figures_and_how(self):
        table = paper.TABLES["hoard-2"]
        text = form.page(table, {"espresso": {"solaris": 1.5, "change": Spread(3, 2, 4)}, "p2c": {"hoard": "CRASH"}}, "a machine")
        line = next(line for line in text.splitlines() if line.startswith("espresso"))
        self.assertEqual(line.split()[:3], ["espresso", "6.806", "1.500"])
        self.assertIn("+15.9", line)
        self.assertIn("+3.0 (+2.0..+4.0)", line)
        self.assertIn("CRASH", text)
        for column in table.columns:
            self.assertIn(column.how, text)
        self.assertIn("z3", text)


    def test_means_are_over_the_same_rows(self):
        rows = [{"a": Spread(1, 1, 2), "b": 10, "c": None}, {"a": 5, "b": None}, {"a": 3, "b": 20, "c": None}, {}]
        self.assertEqual(form.means(rows, ["a", "b", "c"]), {"a": 2, "b": 15})
        self.assertEqual(form.means([{"a": None}, {}], ["a"]), {})

    def test_where_nothing_could_be_measured_there_is_no_mean(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(Lab, "allocators", lambda *_: []):
            lab = Lab(BUILD, folder, True, 1, print)
            with mock.patch.object(Lab, "replay", lambda *_, **__: {"allocators": [], "U": 1, "calls": {}}), \
                    mock.patch.object(Lab, "main_process", lambda *_: 1):
                for name in "wen-deng-runtime", "wen-deng-fragmentation", "heap-layers-5", "heap-layers-fig6", "hoard-2":
                    measured = paper.TABLES[name].measure(lab)
                    self.assertIn("today", form.page(paper.TABLES[name], measured, "a machine"), name)


class Counts(unittest.TestCase):
    def test_what_a_count_that_timed_out_left_is_in_no_other(self):
        with tempfile.TemporaryDirectory() as folder:
            valgrind = os.path.join(folder, "valgrind")
            with open(valgrind, "w") as file:
                file.write("#!/bin/sh\nfor word; do case $word in --callgrind-out-file=*) file=${word#*=};; esac; done\n"
                           "echo 'summary: 5' >\"${file%.%p}.$$\"; [ -z \"$SLOW\" ] || exec sleep 60\n")
            os.chmod(valgrind, 0o755)
            one = Lab(BUILD, folder, True, 1, print)
            case, slow = Case("w", 1, ["w"]), Case("w", 1, ["w"], {"SLOW": "1"})
            with mock.patch.dict(os.environ, PATH=folder + ":" + os.environ["PATH"]), mock.patch("papers.lab.LIMIT", 1):
                self.assertEqual([one.instructions(each, "glibc") for each in (slow, case, slow, case)], [None, 5, None, 5])
            self.assertEqual(os.listdir(folder), ["valgrind"])


class Words(unittest.TestCase):
    def test_list(self):
        listed = run("--list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual([line.split()[0] for line in listed.stdout.splitlines()], list(paper.TABLES))
        self.assertEqual(listed.stderr, "")

    def test_a_bad_name_is_one_line(self):
        for arguments in (["hoard-1"], [], ["hoard-2", "nothing"]):
            refused = run(*arguments)
            self.assertEqual(refused.returncode, 2)
            self.assertEqual(refused.stdout, "")
            self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "lib", "libcairn-wen-deng.so")), "the family is not built")
    def test_one_from_end_to_end(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = run("wen-deng-fragmentation", "--quick", "-o", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path) as file:
                [table] = json.load(file)["tables"]
        self.assertIn("what differs:", done.stdout)
        self.assertEqual(len(table["rows"]), 6)
        for row in table["rows"]:
            for cell in row["cells"].values():
                self.assertEqual(cell["said"] is None, cell["today"] is None, row)
        self.assertEqual(table["rows"][-1]["cells"]["ratio"]["said"], 1.61)

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "lib", "libcairn-private.so")), "the family is not built")
    def test_what_is_ended_ends_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            valgrind, begun, temporary = (os.path.join(folder, name) for name in ("valgrind", "begun", "tmp"))
            os.mkdir(temporary)
            with open(valgrind, "w") as file:  # with a child, as for a compiler
                file.write("#!/bin/sh\nsleep 60 &\necho $! >$0.$$\nmv $0.$$ '%s'\nwait\n" % begun)
            os.chmod(valgrind, 0o755)
            with mock.patch.dict(os.environ, PATH=folder + ":" + os.environ["PATH"], TMPDIR=temporary):
                paper_of_it = subprocess.Popen([sys.executable, "-B", os.path.join(BENCH, "paper.py"), "--build", BUILD, "hoard-7",
                                                "--quick"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(paper_of_it.kill)
            while not os.path.exists(begun):
                self.assertIsNone(paper_of_it.poll())
                time.sleep(0.05)
            paper_of_it.terminate()
            out, err = paper_of_it.communicate(timeout=20)
            self.assertEqual((paper_of_it.returncode, out, err), (130, "", ""))
            self.assertEqual(os.listdir(temporary), [])
            with open(begun) as file:
                child = "/proc/%s/status" % file.read().strip()
            with contextlib.suppress(FileNotFoundError), open(child) as file:  # a zombie, perhaps
                self.assertRegex(file.read(), r"State:\s+[ZX]")

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind")
    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "bin", "bench", "coherence-private")), "no clang++-19")
    def test_a_row_of_the_taxonomy_has_all_its_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            row = taxonomy.row(Lab(BUILD, folder, True, 1, print), "private")
        self.assertEqual([count for count, value in row.items() if value is None], [])


if __name__ == "__main__":
    unittest.main()
