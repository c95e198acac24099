# SPDX-License-Identifier: MIT
"""The counts of coherence traffic: the same in every run, nothing where nothing is shared, and what a lock costs."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["BUILD_DIR"]
BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(BUILD, "bin", "bench")


def program(name):
    return os.path.join(FOLDER, "coherence-" + name)


def counts(name, *arguments):
    ended = subprocess.run([program(name), *arguments], capture_output=True, text=True, check=True, timeout=100)
    return json.loads(ended.stdout)


def table(*arguments):
    return subprocess.run([sys.executable, os.path.join(BENCH, "coherence.py"), "--build", BUILD, *arguments],
                          capture_output=True, text=True, timeout=200)


@unittest.skipUnless(os.path.exists(program("cairn")), "not built: no clang++-19")
class Counts(unittest.TestCase):
    def test_two_runs_are_the_same(self):
        for workload in ("mixed", "bleeding", "remote"):
            for seed in ("0", "7"):
                arguments = ["--workload", workload, "--threads", "6", "--batch", "8", "--seed", seed]
                self.assertEqual(counts("cairn", *arguments), counts("cairn", *arguments))

    def test_the_flagship_shares_nothing_when_the_program_does_not(self):
        for threads in ("1", "2", "40"):
            found = counts("cairn", "--threads", threads)
            self.assertEqual((found["transfers"], found["rmws"], found["falsely_shared"]), (0, 0, 0))
            self.assertEqual(found["pairs"], 200 * int(threads))

    def test_the_flagships_remote_free_does_not_depend_on_the_threads(self):
        few, many = (counts("cairn", "--workload", "remote", "--threads", p)["transfers"] for p in ("2", "64"))
        self.assertGreater(few, 0)
        self.assertAlmostEqual(few, many, delta=0.1)

    @unittest.skipUnless(os.path.exists(program("serial")), "serial is not built")
    def test_one_lock_moves_with_every_call(self):
        self.assertEqual(counts("serial", "--threads", "1")["transfers"], 0)
        self.assertGreater(counts("serial", "--threads", "8")["transfers"], 2)
        self.assertGreater(counts("serial", "--threads", "8", "--workload", "mixed", "--batch", "8")["falsely_shared"], 0)

    def test_bad_arguments_are_one_line(self):
        for arguments in (["--workload", "nothing"], ["--threads", "257"], ["--workload", "remote", "--threads", "1"],
                          ["--batch", "0"], ["--nonsense", "1"]):
            ended = subprocess.run([program("cairn"), *arguments], capture_output=True, text=True, timeout=10)
            self.assertEqual(ended.returncode, 2, arguments)
            self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)


@unittest.skipUnless(os.path.exists(program("cairn")), "not built: no clang++-19")
class Table(unittest.TestCase):
    def test_rows_and_results(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            ended = table("--allocators", "cairn", "--rows", "local;remote free", "--threads", "1,2", "--seeds", "1",
                          "--json", path)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            with open(path) as file:
                data = json.load(file)
        self.assertEqual([line.split()[-1] for line in ended.stdout.splitlines()[2:4]], ["0.00", "0.00"])
        self.assertEqual(len(data), 4)
        self.assertIsNone(data[2]["counts"], "nobody else to free for")

    def test_what_is_not_there(self):
        for arguments in (["--allocators", "nobody"], ["--rows", "nothing"], ["--threads", "0"]):
            ended = table(*arguments)
            self.assertEqual(ended.returncode, 2)
            self.assertEqual(ended.stdout, "")


if __name__ == "__main__":
    unittest.main()
