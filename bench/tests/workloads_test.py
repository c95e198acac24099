# SPDX-License-Identifier: MIT
"""Each workload with little work: it runs, does the same whenever it runs, and says where it is from; the disciplines of
xalloc and obstack do the same over every allocator; real programs and servers run on the malloc that they are given, and
a server's client leaves nothing behind, however the server ends."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import allocators, measure, places, real_programs, workloads  # noqa: E402

BUILD = os.environ["BUILD_DIR"]
CAIRN = os.path.join(BUILD, "lib", "libcairn.so")
LITTLE = {
    "threadtest": ["--objects", "300"],
    "active_false": ["--writes", "10"],
    "passive_false": ["--writes", "10"],
    "random": ["--slots", "500"],
    "replace": ["--live", "100"],
    "churn": ["--megabytes", "1"],
    "large": ["--high", "200000"],
    "realloc_steps": ["--most", "2000"],
    "shbench": ["--total", "1000000"],
    "larson": ["--blocks", "100", "--replacements", "2000"],
    "producer_consumer": ["--depth", "4"],
    "round_robin": ["--megabytes", "1"],
    "serialized": ["--size", "10000"],
    "idle_pool": ["--megabytes", "1"],
    "class_shift": ["--megabytes", "1"],
    "far_free": ["--megabytes", "1", "--batches", "10000"],
    "shared_slots": ["--slots", "500"],
    "heirs": ["--blocks", "500"],
    "trees": ["--depth", "6"],
    "barnes_hut": ["--bodies", "300"],
    "bem": ["--panels", "200"],
    "requests": ["--cache", "500"],
    "workers": ["--places", "64"],
    "xalloc": ["--high", "16"],
    "obstack": ["--functions", "2"],
    "chance": ["--cost", "1"],
    "patterns": [],
}
# The others share the work out, and what is left over is not done.
SAME_FOR_ANY_THREADS = {"barnes_hut", "bem", "requests"}


def output(command, library=None, **variables):
    environment = {**measure.clean_environment(), **variables}
    if library is not None:
        environment["LD_PRELOAD"] = library
    run = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         errors="replace")
    return run.returncode, run.stdout, run.stderr


def programs():
    return sorted({workload.program for workload in workloads.WORKLOADS if isinstance(workload, workloads.Workload)})


def cases():
    """Of the real programs that are here, with as little work as there is."""
    for workload in real_programs.WORKLOADS:
        try:
            yield from workload.cases(BUILD, [1], 1)
        except workloads.Missing:
            pass


class Programs(unittest.TestCase):
    def run_one(self, name, *arguments):
        status, printed, complaint = output([places.program(BUILD, name), "--scale", "1", *LITTLE[name], *arguments], CAIRN)
        self.assertEqual(status, 0, "%s %s: %s" % (name, arguments, complaint))
        self.assertTrue(printed.startswith(name), printed)
        return printed

    def test_each_does_the_same_again(self):
        self.assertEqual(programs(), sorted(LITTLE), "one that this test does not know")
        for workload in workloads.WORKLOADS:
            if isinstance(workload, workloads.Workload):
                threads = [["--threads", "1"], ["--threads", "3"], ["--threads", "3"]] if workload.threaded else [[], []]
                one, *others = [self.run_one(workload.program, *workload.arguments, *each) for each in threads]
                self.assertEqual(len(set(others)), 1, others)
                if workload.program in SAME_FOR_ANY_THREADS:
                    self.assertEqual({one}, set(others))

    def test_chance_is_another_workload_with_each_seed(self):
        [chance] = [each for each in workloads.WORKLOADS if each.name == "chance"]
        cases = chance.cases(BUILD, [2], 1)
        self.assertEqual([case.label for case in cases[:2]], ["chance-1", "chance-2"])
        self.assertNotEqual(*(output([*case.command, "--cost", "1"])[1] for case in cases[4:6]))

    def test_each_pattern_is_a_workload(self):
        [patterns] = [each for each in workloads.WORKLOADS if each.name == "patterns"]
        _, listed, _ = output([places.program(BUILD, "patterns"), "--pattern", "list"])
        self.assertEqual([line.split()[0] for line in listed.splitlines()], patterns.NAMES)
        cases = patterns.cases(BUILD, [1, 3], 1)
        self.assertEqual([case.label for case in cases[:3]], ["patterns-stack/1", "patterns-stack/3", "patterns-queue/1"])
        for case in cases:
            with self.subTest(case.label):
                sums = {output(case.command, CAIRN), output(case.command)}
                self.assertEqual(len(sums), 1, sums)
                self.assertEqual(sums.pop()[0], 0)

    def test_each_says_where_it_is_from(self):
        for name in programs():
            _, printed, _ = output([places.program(BUILD, name), "--help"])
            self.assertRegex(printed.splitlines()[0], r"\(.*(Hoard|LKmalloc|NBmalloc|Heap Layers|this lab's own).*\)$")
            self.assertIn("--scale", printed)

    def test_no_threads_are_refused(self):
        self.assertEqual(output([places.program(BUILD, "threadtest"), "--threads", "0"])[0], 2)

    def test_threads_that_the_system_refuses_are_one_line(self):
        for threads in "10000", str(2 ** 62):
            run = subprocess.run(["sh", "-c", 'ulimit -v 1000000 && exec "$@"', "sh", places.program(BUILD, "threadtest"),
                                  "--threads", threads], capture_output=True, text=True, timeout=60)
            self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1), run.stderr[-300:])
            self.assertIn("%s threads: " % threads, run.stderr)

    def test_figures_that_can_not_be_are_refused(self):
        for name, *arguments in (("shared_slots", "--slots", "0"), ("shared_slots", "--slots", "4294967296"),
                                 ("shared_slots", "--low", "7"), ("shared_slots", "--low", "2000"),
                                 ("shared_slots", "--high", "4294967296"), ("class_shift", "--low", "0"),
                                 ("class_shift", "--low", "70000"), ("class_shift", "--growth", "0"),
                                 ("realloc_steps", "--buffers", "0"), ("realloc_steps", "--step", "0"),
                                 ("realloc_steps", "--most", "15"), ("realloc_steps", "--rounds", "many"),
                                 ("churn", "--low", "0"), ("churn", "--high", "15"), ("churn", "--megabytes", "0"),
                                 ("far_free", "--low", "0"), ("far_free", "--low", "2000"), ("idle_pool", "--low", "0"),
                                 ("idle_pool", "--low", "2000"), ("idle_pool", "--high", "4294967311"),
                                 ("larson", "--high", "9"), ("larson", "--blocks", "0"), ("shbench", "--low", "0"),
                                 ("shbench", "--low", "2000"), ("producer_consumer", "--high", "0"),
                                 ("producer_consumer", "--depth", "0"), ("round_robin", "--size", "0"),
                                 ("large", "--high", "65535"), ("large", "--between", "0"), ("hypercube", "--dimensions", "2"),
                                 ("xalloc", "--high", "7"), ("patterns", "--pattern", "no such"),
                                 ("threadtest", "--threads", "99999999999999999999"),
                                 ("threadtest", "--scale", "99999999999999999999"),
                                 ("threadtest", "--scale", "9999999999999999999")):
            with self.subTest(name, arguments=arguments):
                status, printed, complaint = output([places.program(BUILD, name), *arguments])
                self.assertEqual((status, printed, complaint.count("\n")), (2, "", 1), complaint)

    def test_disciplines(self):
        for name, variants in (("xalloc", ["original", "inlined", "layered", "malloc"]),
                               ("obstack", ["original", "functions", "layered", "freelist", "malloc"])):
            self.assertEqual(len({self.run_one(name, "--variant", variant) for variant in variants}), 1)
            self.assertNotEqual(output([places.program(BUILD, name), "--variant", "nonsense"])[0], 0)


    @unittest.skipUnless(shutil.which("valgrind"), "needs valgrind")
    def test_disciplines_are_measured_on_what_was_asked_for(self):
        run = subprocess.run([sys.executable, "-B", os.path.join(places.LAB, "disciplines.py"), "--build", BUILD, "--workloads", "xalloc",
                              "--scale", "1", "--allocators", "m=%s" % allocators.installed_library("libm.so")],
                             capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1), run.stderr)
        self.assertIn("has no effect", run.stderr)


class RealPrograms(unittest.TestCase):
    def test_each_prints_the_same_on_another_malloc(self):
        for case in cases():
            with self.subTest(case.label):
                expected = output(case.command, **case.environment)
                self.assertEqual(expected[0], 0, expected[2])
                self.assertTrue(expected[1])
                self.assertEqual(output(case.command, CAIRN, **case.environment)[:2], expected[:2])

    def test_a_server_uses_the_malloc_that_is_meant(self):
        # Debian's redis has a malloc of its own choice.
        for case in cases():
            if case.name == "redis":
                for library, provider in ((CAIRN, CAIRN), (None, "libc.so.6")):
                    with tempfile.TemporaryDirectory() as folder:
                        output(case.command, library, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=os.path.join(folder, "bound"))
                        bound = ""
                        for name in os.listdir(folder):
                            with open(os.path.join(folder, name), errors="replace") as file:
                                bound += file.read()
                    found = re.findall(r"file \S*redis-server \[0\] to (\S+) \[0\]: normal symbol `malloc'", bound)
                    self.assertTrue(found)
                    self.assertTrue(all(name.endswith(provider or "libc.so.6") for name in found), found)

    def test_a_missing_program_is_one_line_with_its_package(self):
        with mock.patch.dict(os.environ, PATH="/nowhere"), mock.patch.object(real_programs, "SYSTEM_FOLDERS", ""):
            for name, package in (("ghostscript", "ghostscript"), ("link-parser", "link-grammar"),
                                  ("mariadb", "mariadb-server-core"), ("redis", "redis-server")):
                [workload] = [each for each in real_programs.WORKLOADS if each.name == name]
                with self.assertRaisesRegex(workloads.Missing, "^%s: .*%s[^\n]*$" % (name, package)):
                    workload.cases(BUILD, [1], 1)


class Serve(unittest.TestCase):
    """bench/serve with clients and servers that go wrong."""

    CLIENT = "import sys; sys.path.insert(0, %r); import server; sys.exit(server.work(lambda: %%s))" % \
             real_programs.source("")

    def serve(self, load, *server):
        with tempfile.TemporaryDirectory() as folder:
            out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
            place = os.path.join(folder, "place")
            os.mkdir(place)
            run = subprocess.run([places.program(BUILD, "launch"), "--stdout", out, "--stderr", err, "--timeout", "100", "--",
                                  places.program(BUILD, "serve"), sys.executable, "-B", "-c", self.CLIENT % load, "--", *server],
                                 env={**measure.clean_environment(), "TMPDIR": place}, capture_output=True, text=True)
            for _ in range(500):  # the client outlives the server by a moment
                if not os.listdir(place):
                    break
                time.sleep(0.02)
            self.assertEqual(os.listdir(place), [])
            with open(out) as said, open(err) as complained:
                return json.loads(run.stdout), said.read(), complained.read()

    def test_both_are_in_a_folder_that_goes_away(self):
        figures, said, complained = self.serve("(server.wait_for('socket'), print(open('socket').read()))",
                                               "/bin/sh", "-c", "echo here; echo there >socket")
        self.assertEqual((figures["status"], said.strip(), complained), (0, "there", "here\n"))

    def test_a_client_that_fails_ends_the_server(self):
        figures, _, complained = self.serve("(_ for _ in ()).throw(server.Failed('no such table'))", "/bin/sleep", "90")
        self.assertEqual((figures["signal"], complained), (9, "client: no such table\n"))

    def test_a_client_with_a_mistake_ends_the_server_too(self):
        figures, _, complained = self.serve("{}['nothing']", "/bin/sleep", "90")
        self.assertEqual((figures["signal"], complained), (9, "client: KeyError('nothing')\n"))

    def test_a_server_that_crashes(self):
        figures, _, complained = self.serve("server.wait_for('socket')", "/bin/sh", "-c", "echo broken >&2; kill -SEGV $$")
        self.assertEqual((figures["signal"], complained), (11, "broken\n"))


if __name__ == "__main__":
    unittest.main()
