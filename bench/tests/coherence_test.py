# SPDX-License-Identifier: MIT
"""The counts of coherence traffic: the same in every run, nothing where nothing is shared, and what a lock costs."""
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import allocators, instrumented  # noqa: E402

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

    def test_false_sharing_is_the_allocators(self):
        for workload, shares in (("active", "serial"), ("passive", "private")):
            arguments = ["--workload", workload, "--size", "8", "--threads", "8"]
            self.assertEqual(counts("cairn", *arguments)["falsely_shared"], 0)
            if os.path.exists(program(shares)):
                self.assertGreater(counts(shares, *arguments)["falsely_shared"], 100, workload)

    def test_bad_arguments_are_one_line(self):
        for arguments in (["--workload", "nothing"], ["--threads", "257"], ["--workload", "remote", "--threads", "1"],
                          ["--batch", "0"], ["--low", "0"], ["--low", "200"], ["--nonsense", "1"]):
            ended = subprocess.run([program("cairn"), *arguments], capture_output=True, text=True, timeout=10)
            self.assertEqual(ended.returncode, 2, arguments)
            self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)


@unittest.skipUnless(os.path.exists(program("cairn")), "not built: no clang++-19")
def children(pid):
    """Of all its threads."""
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(path) as file:
            found += file.read().split()
    return found


class Table(unittest.TestCase):
    def test_rows_and_results(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            ended = table("--allocators", "cairn", "--rows", "local;remote free;local", "--threads", "1,2,1", "--seeds", "1",
                          "--json", path)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            with open(path) as file:
                data = json.load(file)
        self.assertEqual([line.split()[-1] for line in ended.stdout.splitlines()[2:4]], ["0.00", "0.00"])
        self.assertEqual(len(ended.stdout.splitlines()), 6, "what is named twice is counted once")
        self.assertEqual(len(data), 4)
        self.assertIsNone(data[2]["counts"], "nobody else to free for")

    def test_a_full_disk_is_one_line_and_the_table_is_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", sys.executable, os.path.join(BENCH, "coherence.py"),
                                    "--build", BUILD, "--allocators", "cairn", "--rows", "local", "--threads", "1", "--json", "r.json"],
                                   cwd=folder, capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stderr), (1, "coherence: r.json: File too large\n"))
            self.assertEqual(ended.stdout.splitlines()[-1].split(), ["local", "1", "0.00"])
            self.assertEqual(os.listdir(folder), [])

    def test_what_there_is_is_written(self):
        for whole_group in False, True:  # kill, Ctrl-C
            with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, CAIRN_PEERS=folder):
                os.mkdir(os.path.join(folder, "coherence"))
                source, path, begun = (os.path.join(folder, name) for name in ("slow.c", "r.json", "begun"))
                with open(source, "w") as file:  # a library whose count takes a minute
                    file.write('#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) static void wait(void)\n'
                               '{ open("%s", O_CREAT, 0600); sleep(60); }\n' % begun)
                subprocess.run(["cc", "-shared", "-fPIC", source, "-o", os.path.join(folder, "coherence", "slow.so")], check=True)
                counting = subprocess.Popen([sys.executable, os.path.join(BENCH, "coherence.py"), "--build", BUILD, "--allocators",
                                             "cairn,slow", "--rows", "local", "--threads", "1", "--json", path],
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
                self.addCleanup(counting.kill)
                while not os.path.exists(begun) or len(children(counting.pid)) > 1:
                    self.assertIsNone(counting.poll())
                    time.sleep(0.05)
                time.sleep(1)  # the other count has ended: it is taken
                os.killpg(counting.pid, signal.SIGINT) if whole_group else counting.terminate()
                out, err = counting.communicate(timeout=20)
                self.assertEqual((counting.returncode, err), (130, "coherence: interrupted after 1 of 2 counts\n"), out)
                self.assertEqual(out.splitlines()[-1].split(), ["local", "1", "0.00", "-"])
                with open(path) as file:
                    self.assertEqual([row["allocator"] for row in json.load(file)], ["cairn"])

    @unittest.skipUnless(shutil.which("addr2line"), "no addr2line")
    def test_where(self):
        ended = table("--allocators", "cairn", "--rows", "remote free", "--threads", "2", "--where")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stdout, r"\n  0\.00 0\.00 \d\.\d\d 0\.00  cairn::\S+ at gathered_chain\.hpp:\d+\n")

    def test_what_is_not_there(self):
        for arguments in (["--allocators", "nobody"], ["--rows", "nothing"], ["--threads", "0"], ["--seeds", "-1"]):
            ended = table(*arguments, "--rows", "local") if arguments[0] == "--seeds" else table(*arguments)
            self.assertEqual(ended.returncode, 2)
            self.assertEqual(ended.stdout, "")

    def test_a_peer_that_can_not_be_preloaded(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, CAIRN_PEERS=folder):
            os.mkdir(os.path.join(folder, "coherence"))
            with open(os.path.join(folder, "coherence", "empty.so"), "w"):
                pass
            ended = table("--allocators", "cairn,empty", "--rows", "local;remote free", "--threads", "1")
        self.assertEqual((ended.returncode, ended.stderr.count("\n")), (1, 1), ended.stderr)
        self.assertTrue(ended.stderr.startswith("coherence: empty, local, P = 1: "), ended.stderr)
        self.assertEqual([line.split()[-2:] for line in ended.stdout.splitlines()[2:]], [["0.00", "FAILED"], ["-", "-"]])


def peer_counts(library, *arguments):
    ended = subprocess.run([os.path.join(FOLDER, "peer-coherence"), *arguments], capture_output=True, text=True, timeout=100,
                           env={**os.environ, "LD_PRELOAD": library})
    if ended.returncode != 0:
        raise AssertionError("%s: status %d, %s" % (library, ended.returncode, ended.stderr))
    return json.loads(ended.stdout)


@unittest.skipUnless(os.path.exists(program("cairn")) and shutil.which("objcopy"), "not built: no clang++-19, or no objcopy")
class KnownPeer(unittest.TestCase):
    """A peer whose traffic can be told without counting (known_peer.c), built as all are."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.library = os.path.join(cls.folder.name, "known.so")
        source = os.path.join(BENCH, "tests", "known_peer.c")
        instrumented.link(instrumented.compile_all([source], cls.folder.name, []), "known_malloc", "known_free", cls.library,
                          cls.folder.name)

    def test_each_line_moves_once_in_each_call(self):
        for threads in ("2", "7", "64"):
            found = peer_counts(self.library, "--threads", threads)
            self.assertEqual((found["allocator"], found["writes"], found["reads"], found["upgrades"]), ("known", 2, 0, 0))
            self.assertEqual((found["rmws"], found["program"], found["falsely_shared"]), (3, 0, 0))

    def test_nothing_moves_on_one_processor(self):
        found = peer_counts(self.library, "--threads", "1")
        self.assertEqual((found["transfers"], found["rmws"]), (0, 3))

    def test_a_batch_takes_the_line_once(self):
        self.assertEqual(peer_counts(self.library, "--threads", "3", "--batch", "10")["writes"], 0.2)

    def test_a_thread_that_waits_for_the_mutex_gives_the_baton_on(self):
        for seed in range(1, 6):
            arguments = ["--threads", "5", "--seed", str(seed)]
            found = peer_counts(self.library, *arguments)
            self.assertEqual(found["pairs"], 1000)
            self.assertGreaterEqual(found["rmws"], 3)
            self.assertEqual(found, peer_counts(self.library, *arguments))

    def test_threads_end_as_they_do_with_the_c_library(self):
        ended = subprocess.run([os.path.join(FOLDER, "peer-coherence"), "--threads", "9"], capture_output=True, text=True, timeout=100,
                               env={**os.environ, "LD_PRELOAD": self.library})
        self.assertEqual(ended.stderr, "all threads ended\n")

    def test_places_are_the_lines_of_the_source(self):
        found = peer_counts(self.library, "--threads", "2", "--places", "1")
        lines = set()
        for place in found["places"]:
            lines.add(subprocess.run(["addr2line", "-fse", place["module"], hex(place["offset"] - 1)], capture_output=True,
                                     text=True).stdout.split()[0])
        self.assertEqual(lines, {"known_malloc", "known_free"})
        self.assertAlmostEqual(sum(place["transfers"] for place in found["places"]), found["transfers"])

    def test_what_would_wait_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "waits.c")
            with open(source, "w") as file:
                file.write("#include <semaphore.h>\nvoid *m(void *p) { sem_wait(p); return p; }\nvoid f(void *p) { (void)p; }\n")
            with self.assertRaisesRegex(instrumented.Failed, "sem_wait"):
                instrumented.link(instrumented.compile_all([source], folder, []), "m", "f", os.path.join(folder, "w.so"), folder)

    def test_nothing_is_preloaded(self):
        ended = subprocess.run([os.path.join(FOLDER, "peer-coherence")], capture_output=True, text=True, timeout=10)
        self.assertEqual(ended.returncode, 2)
        self.assertEqual(ended.stderr.count("\n"), 1)


@unittest.skipUnless(os.path.exists(program("cairn")), "not built: no clang++-19")
class Peers(unittest.TestCase):
    """Those that are in the cache folder."""

    def library(self, name):
        path = os.path.join(allocators.peers_folder(), "coherence", name + ".so")
        if not os.path.exists(path):
            self.skipTest("bench/peers.py --coherence %s has not been run" % name)
        return path

    def test_two_runs_are_the_same(self):
        for name in ("mimalloc2", "snmalloc", "jemalloc5"):
            with self.subTest(name):
                for seed in ("0", "3"):
                    arguments = ["--workload", "bleeding", "--threads", "4", "--batch", "8", "--seed", seed]
                    self.assertEqual(peer_counts(self.library(name), *arguments), peer_counts(self.library(name), *arguments))

    def test_local_pairs_move_nothing(self):
        for name in ("mimalloc2", "mimalloc3", "jemalloc5"):
            with self.subTest(name):
                self.assertEqual(peer_counts(self.library(name), "--threads", "4")["transfers"], 0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    unittest.main()
