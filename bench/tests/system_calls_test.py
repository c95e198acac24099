# SPDX-License-Identifier: MIT
"""With eight threads no workload makes many times the calls of madvise and membarrier that it made when the limits here
were set. A thread that gives back what is touched again at once, or visits heaps that have nothing to give, costs time
that no test may measure; its system calls show it on any machine."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import extras, measure, places, workloads  # noqa: E402

BUILD = os.environ["BUILD_DIR"]
CAIRN = os.path.join(BUILD, "lib", "libcairn.so")

# About four times what a machine of two processors has with a tenth of the work.
USUALLY = 400
LIMITS = {"random": 4500, "requests": 2500, "class_shift": 1700, "shared_slots": 1500, "round_robin": 1300,
          "heirs": 1200, "idle_pool": 1000, "larson": 600}
OTHERS = {"chance", "patterns", "obstack", "serialized", "xalloc"}


def can_trace():
    try:
        traced = subprocess.run(["strace", "-qq", "-c", "-o", os.devnull, "true"], stderr=subprocess.DEVNULL)
        return traced.returncode == 0
    except FileNotFoundError:
        return False


def programs():
    """Those whose threads use malloc and free at the same time, and do the same each time."""
    return sorted({workload.program for workload in workloads.WORKLOADS
                   if isinstance(workload, workloads.Workload)} - OTHERS)


@unittest.skipUnless(can_trace(), "strace can not trace here")
class SystemCalls(unittest.TestCase):
    def test_none_makes_many_times_as_many(self):
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "calls")
            for name in programs():
                command = ["strace", "-f", "-qq", "-c", "-U", "calls,name", "-o", table, "-E", "LD_PRELOAD=" + CAIRN,
                           places.program(BUILD, name), "--threads", "8", "--scale", "10"]
                subprocess.run(command, env=measure.clean_environment(), capture_output=True, check=True)
                calls = extras.read_syscalls(table)
                made = calls.get("madvise", 0) + calls.get("membarrier", 0)
                with self.subTest(name):
                    self.assertGreater(made, 0, "it did not run on Cairn")
                    self.assertLess(made, LIMITS.get(name, USUALLY))


if __name__ == "__main__":
    unittest.main()
