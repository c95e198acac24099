# SPDX-License-Identifier: MIT
"""The instruction counts: plausible, and without a share of the program's start."""
import os
import shutil
import subprocess
import sys
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "instructions.py")


def count(pairs, call="malloc", batch=1):
    run = subprocess.run([sys.executable, PROGRAM, "--build", os.environ["BUILD_DIR"], "--allocators", "glibc",
                          "--sizes", "64", "--batches", str(batch), "--pairs", str(pairs),
                          "--call", call],
                         capture_output=True, text=True, check=True)
    name, figure = run.stdout.splitlines()[1].split()
    assert name == "glibc"
    return float(figure)


class Instructions(unittest.TestCase):
    def test_counts(self):
        figure = count(2000)
        self.assertGreater(figure, 20)
        self.assertLess(figure, 400)
        self.assertAlmostEqual(count(4000), figure, delta=1)
        self.assertGreater(count(2000, "calloc"), figure) # it clears the block


    def test_batches_are_whole(self):
        self.assertAlmostEqual(count(96, batch=64), count(128, batch=64), delta=0.1)


class Trouble(unittest.TestCase):
    def run_with(self, *arguments, **variables):
        return subprocess.run([sys.executable, PROGRAM, "--build", os.environ["BUILD_DIR"], "--pairs", "100", *arguments],
                              capture_output=True, text=True, env={**os.environ, **variables})

    def test_nothing_to_run(self):
        run = self.run_with("--allocators", "x=/nowhere/x.so")
        self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (2, "", 2), run.stderr)
        run = self.run_with("--allocators", "glibc", "--sizes", ",")
        self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (2, "", 1), run.stderr)

    def test_without_valgrind(self):
        run = self.run_with("--allocators", "glibc", PATH="/nowhere")
        self.assertEqual((run.returncode, run.stderr), (2, "instructions: valgrind is not installed\n"))

    def test_an_allocator_that_fails(self):
        bad = os.path.join(os.environ["BUILD_DIR"], "bin", "bench", "libbad_malloc.so")
        run = self.run_with("--allocators", "glibc,bad=%s;BAD_MALLOC=crash" % bad, "--sizes", "64", "--batches", "1", "--pairs", "6000")
        self.assertEqual([line.split()[0] for line in run.stdout.splitlines()[1:]], ["glibc", "bad"])
        self.assertEqual((run.returncode, run.stdout.split()[-1]), (1, "-"), run.stderr)
        self.assertRegex(run.stderr, r"^instructions: bad, 64 B x 1: SIGSEGV\n$")
        run = self.run_with("--allocators", "glibc", "--sizes", "99999999999999999999", "--batches", "1")
        self.assertEqual((run.returncode, run.stdout.split()[-1]), (1, "-"), run.stderr)
        self.assertRegex(run.stderr, r"^instructions: glibc, 9+ B x 1: status 2: .*--size: bad value '9+'\n$")


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        sys.exit(77)
    unittest.main()
