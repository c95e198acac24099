# SPDX-License-Identifier: MIT
"""The instruction counts: plausible, and without a share of the program's start."""
import os
import shutil
import subprocess
import sys
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "instructions.py")


def count(pairs, call="malloc"):
    run = subprocess.run([sys.executable, PROGRAM, "--build", os.environ["BUILD_DIR"], "--allocators", "glibc",
                          "--sizes", "64", "--batches", "1", "--pairs", str(pairs),
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


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        sys.exit(77)
    unittest.main()
