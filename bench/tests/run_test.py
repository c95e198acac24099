# SPDX-License-Identifier: MIT
"""The runner itself: what it makes of allocators that crash, hang, give wrong results or are not there, and that its
arithmetic is right. That every workload runs: workloads_test.py."""
import contextlib
import io
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib import allocators, describe, figures, measure, places, report, results, series, workloads  # noqa: E402
from run import main as run_program  # noqa: E402

BUILD = os.environ["BUILD_DIR"]
PROGRAMS = os.path.join(BUILD, "bin", "bench")
RUN = os.path.join(workloads.HERE, "run.py")
BAD = "bad=%s;BAD_MALLOC=" % os.path.join(PROGRAMS, "libbad_malloc.so")


def bench(*arguments):
    """A run of run.py: its result, and the JSON it left (None if it left none)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results.json")
        run = subprocess.run([sys.executable, RUN, "--build", BUILD, "--json", path, *arguments],
                             capture_output=True, text=True)
        found = os.listdir(folder)
        if found == ["results.json"]:
            with open(path) as file:
                return run, json.load(file)
        assert not found, found
        return run, None


def outcomes(data, allocator):
    return [sample["outcome"] for sample in data["samples"] if sample["allocator"] == allocator]


class BadAllocators(unittest.TestCase):
    def check(self, way, expected, *arguments):
        run, data = bench("--scale", "1", "--repeat", "2", "--workloads", "threadtest", "--allocators", BAD + way,
                          "--allocators", "glibc", *arguments)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(set(outcomes(data, "bad")), {expected})
        # So short a limit as that of test_hang, others may not keep on a busy machine.
        self.assertEqual(outcomes(data, "glibc"), ["ok", "ok"] if "--timeout" not in arguments else mock.ANY)
        self.assertIn(expected.upper(), run.stdout)
        return data

    def test_crash(self):
        data = self.check("crash", "crash")
        self.assertIn("SIGSEGV", data["samples"][0]["detail"])

    def test_hang(self):
        data = self.check("hang", "hang", "--timeout", "5")
        self.assertEqual(len(outcomes(data, "bad")), 1, "it is not tried again")

    def test_overlap(self):
        data = self.check("overlap", "wrong")
        self.assertIn("contents", data["samples"][0]["detail"])

    def test_overlap_in_slots_that_all_share(self):
        data = self.check("overlap", "wrong", "--workloads", "shared-slots")
        self.assertIn("handed out", data["samples"][0]["detail"])

    def test_null(self):
        data = self.check("null", "wrong")
        self.assertIn("NULL", data["samples"][0]["detail"])

    def test_realloc_that_forgets(self):
        for workload in ("random", "realloc-steps"):
            data = self.check("forget", "wrong", "--workloads", workload)
            self.assertIn("realloc", data["samples"][0]["detail"])

    def test_calloc_that_is_not_zero(self):
        data = self.check("dirty", "wrong", "--workloads", "random")
        self.assertIn("calloc", data["samples"][0]["detail"])

    def test_wrong_output(self):
        case = workloads.Case("echo", None, ["/bin/sh", "-c", "echo $WORD"])
        launcher = os.path.join(PROGRAMS, "launch")
        with tempfile.TemporaryDirectory() as folder:
            expected = series.references(launcher, [case], folder, None, self.fail)
            for word, outcome in (("", "ok"), ("other", "wrong")):
                sample = measure.run(launcher, case, allocators.Allocator("a", None, {"WORD": word}), folder, 10,
                                     expected=expected["echo"]["output_sha256"])
                self.assertEqual(sample["outcome"], outcome)


    def test_a_signal_without_a_name(self):
        case = workloads.Case("w", None, ["/bin/sh", "-c", "echo oh >&2; kill -40 $$"])
        with tempfile.TemporaryDirectory() as folder:
            sample = measure.run(os.path.join(PROGRAMS, "launch"), case, series.REFERENCE, folder, 10)
        self.assertEqual((sample["outcome"], sample["detail"]), ("crash", "signal 40: oh"))


class Choice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_missing_library_is_one_line(self):
        run, data = bench("--scale", "1", "--repeat", "1", "--workloads", "threadtest", "--allocators", "glibc,none=/nowhere/none.so")
        self.assertEqual(run.returncode, 0)
        self.assertEqual(run.stderr.count("\n"), 1)
        self.assertIn("/nowhere/none.so", run.stderr)
        self.assertEqual(len(data["samples"]), 1)

    def test_a_library_whose_name_is_in_no_encoding(self):
        folder = os.path.join(self.folder, os.fsdecode(b"caf\xe9"))
        os.mkdir(folder)
        library = shutil.copy(os.path.join(PROGRAMS, "libbad_malloc.so"), folder)
        run, data = bench("--scale", "1", "--repeat", "1", "--workloads", "threadtest", "--allocators", "x=" + library,
                          "--baseline", "x")
        self.assertEqual((run.returncode, outcomes(data, "x")), (0, ["ok"]), run.stderr)
        with open(os.path.join(folder, "libempty.so"), "w"):  # the loader names it in its complaint
            pass
        run, _ = bench("--workloads", "threadtest", "--allocators", "y=" + os.path.join(folder, "libempty.so"))
        self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 2), run.stderr)
        self.assertIn("has no effect", run.stderr)

    def test_library_without_malloc_is_refused(self):
        run, data = bench("--scale", "1", "--repeat", "1", "--workloads", "threadtest", "--allocators", "m=%s" % no_malloc())
        self.assertEqual(run.returncode, 2)
        self.assertIn("has no effect", run.stderr)
        self.assertIsNone(data)

    def test_what_is_named_twice_runs_once(self):
        run, data = bench("--scale", "1", "--repeat", "1", "--workloads", "threadtest,threadtest", "--threads", "2,1,2",
                          "--allocators", "glibc,glibc")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual([sample["case"] for sample in data["samples"]], ["threadtest/2", "threadtest/1"])
        self.assertEqual([case["case"] for case in data["cases"]], ["threadtest/2", "threadtest/1"])

    def test_results_name_no_place_of_this_machine(self):
        _, data = bench("--scale", "1", "--repeat", "1", "--workloads", "sqlite", "--allocators", "glibc")
        self.assertNotIn(workloads.HERE, json.dumps(data))

    def test_unknown_workload(self):
        run, _ = bench("--workloads", "nonsense")
        self.assertEqual(run.returncode, 2)
        self.assertIn("nonsense", run.stderr)

    def test_what_is_no_amount(self):
        for script, *words in (("run.py", "--repeat", "0"), ("run.py", "--scale", "nan"), ("run.py", "--threads", "2,a"),
                               ("disciplines.py", "--scale", "0"), ("paper.py", "hoard-4", "--repeat", "-1"),
                               ("report.py", "no.trace", "-o", "no.html", "--process", "x")):
            run = subprocess.run([sys.executable, os.path.join(workloads.HERE, script), *words], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (2, "", 1), (script, run.stderr))
            self.assertIn("must be a whole number", run.stderr)

    def test_an_empty_name_of_a_file(self):
        for option in "--show", "--compare", "--json":
            run, _ = bench("--workloads", "nonsense", option, "")
            self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1), run.stderr)
            self.assertIn("is empty", run.stderr)

    def test_what_is_no_file_is_not_replaced(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)  # or a device
        run, _ = bench("--workloads", "threadtest", "--allocators", "glibc", "--json", pipe)
        self.assertEqual(run.returncode, 1)
        self.assertEqual((run.stdout, run.stderr.count("\n")), ("", 1), run.stderr)
        self.assertIn("no regular file", run.stderr)
        self.assertEqual(os.listdir(self.folder), ["pipe"])

    def test_a_folder_that_is_not_there_is_not_made(self):
        """Nor is anything measured first. As cairn trace and cairn replay have it."""
        trace = os.path.join(self.folder, "trace")
        for script, *words in (("run.py", "--workloads", "threadtest", "--allocators", "glibc"), ("peaks.py", "--allocators", "glibc"),
                               ("coherence.py", "--rows", "local"), ("paper.py", "hoard-4"), ("report.py", trace)):
            output = "--json" if script == "coherence.py" else "-o"
            run = subprocess.run([sys.executable, os.path.join(workloads.HERE, script), "--build", BUILD, *words, output, "none/r.json"],
                                 cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
            self.assertRegex(run.stderr, r"^\w+: none/r.json: No such file or directory\n$")
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_full_disk_is_one_line_and_the_tables_are_shown(self):
        run = subprocess.run(["sh", "-c", 'ulimit -f 1 && exec "$@"', "sh", sys.executable, RUN, "--build", BUILD, "--scale", "1",
                              "--repeat", "2", "--workloads", "threadtest", "--allocators", "glibc", "--json", "results.json"],
                             cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(run.stderr, "bench: results.json: File too large\n")
        self.assertIn("the samples could not be written", run.stdout)
        self.assertIn("threadtest", run.stdout)
        self.assertEqual(os.listdir(self.folder), [])

    def test_nohup(self):
        """A hang-up, and no status of children, by the parent's wish."""
        script = 'trap "" HUP; echo ready; exec "$@"'
        ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
        run = subprocess.Popen(["sh", "-c", script, "sh", sys.executable, "-c", ignore, sys.executable, RUN,
                                "--build", BUILD, "--scale", "1", "--repeat", "5",
                                "--workloads", "threadtest", "--allocators", "glibc", "--json", "results.json"],
                               cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        run.stdout.readline()
        while run.poll() is None:
            run.send_signal(signal.SIGHUP)
            time.sleep(0.05)
        out, err = run.communicate()
        self.assertEqual((run.returncode, err), (0, ""), out)
        with open(os.path.join(self.folder, "results.json")) as file:
            self.assertEqual(outcomes(json.load(file), "glibc"), ["ok"] * 5)

    def test_what_is_ended_leaves_nothing(self):
        script = ("import tempfile, time\nfrom lib.entry import enter\n"
                  "def main(arguments):\n with tempfile.TemporaryDirectory(dir=arguments[0]):\n  print(flush=True)\n  time.sleep(60)\n"
                  "enter(main, 'word')")
        for number in signal.SIGTERM, signal.SIGHUP:
            run = subprocess.Popen([sys.executable, "-c", script, self.folder], cwd=workloads.HERE, stdout=subprocess.PIPE)
            run.stdout.readline()
            run.send_signal(number)
            run.communicate()
            self.assertEqual((run.returncode, os.listdir(self.folder)), (130, []))

    def test_ctrl_c_before_the_beginning_is_silent(self):
        """While a script is still loaded."""
        with open(os.path.join(self.folder, "rich.py"), "w") as file:
            file.write("import time\nprint('loading', flush=True)\ntime.sleep(60)\n")
        for script in "run.py", "peaks.py":
            run = subprocess.Popen([sys.executable, os.path.join(workloads.HERE, script), "--list"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": self.folder})
            self.assertEqual(run.stdout.readline(), "loading\n")
            run.send_signal(signal.SIGINT)
            self.assertEqual((*run.communicate(), run.returncode), ("", "", -signal.SIGINT))

    def test_results_have_the_rights_that_umask_leaves(self):
        path = os.path.join(self.folder, "results.json")
        run = subprocess.run(["sh", "-c", 'umask 077 && exec "$@"', "sh", sys.executable, RUN, "--build", BUILD, "--scale", "1",
                              "--repeat", "1", "--workloads", "threadtest", "--allocators", "glibc", "--json", path],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_damaged_results_are_one_line(self):
        path = os.path.join(self.folder, "results.json")
        _, data = bench("--scale", "1", "--repeat", "2", "--workloads", "threadtest", "--allocators", "glibc")
        for wall in None, 10**400:
            data["samples"][0]["wall"] = wall
            results.write(path, data)
            run = subprocess.run([sys.executable, RUN, "--show", path], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            self.assertEqual((run.stdout, run.stderr.count("\n")), ("", 1), run.stderr)
            self.assertIn("is damaged", run.stderr)

    def test_what_is_no_result_is_not_read_to_its_end(self):
        """/dev/zero has none. Nor is it repeated in the complaint."""
        binary = os.path.join(self.folder, "binary")
        with open(binary, "wb") as file:
            file.write(b"{" + bytes(range(256)) * 100)
        for script in "run.py", "peaks.py":
            for path, said in ("/dev/zero", "is no result of cairn"), (binary, "is damaged, or no result of cairn"), \
                    ("/dev/null", "is empty"), (self.folder, "Is a directory"):
                run = subprocess.run(["sh", "-c", 'ulimit -v 1000000 && exec "$@"', "sh", sys.executable,
                                      os.path.join(workloads.HERE, script), "--show", path], capture_output=True, text=True, timeout=60)
                self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1), run.stderr[-300:])
                self.assertIn("%s: %s" % (path, said), run.stderr)
                self.assertLess(len(run.stderr), 300)

    def test_streams(self):
        """A name in no encoding, and a closed stderr: no complaint goes to stdout."""
        name = os.fsdecode(b"\xff")
        run, _ = bench("--scale", "1", "--repeat", "1", "--workloads", "threadtest", "--allocators", name + "=glibc")
        self.assertEqual(run.returncode, 0, run.stderr)
        run = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, RUN, "--show", "nothing"], capture_output=True)
        self.assertEqual((run.returncode, run.stdout), (1, b""))

    def test_what_the_system_refuses_is_one_line(self):
        gone = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
        for script in gone, 'exec "$@" >/dev/full' if os.geteuid() else 'mknod full c 1 7 && exec "$@" >full':
            run = subprocess.run(["sh", "-c", script, "sh", sys.executable, RUN, "--build", BUILD, "--list"], cwd=self.folder,
                                 capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), run.stderr)

    def test_an_allocator_without_a_name(self):
        run, _ = bench("--workloads", "threadtest", "--allocators", "=glibc")
        self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 2), run.stderr)
        self.assertIn("=glibc: has no name", run.stderr)

    def test_settings(self):
        allocator = allocators.parse("x=glibc;A=b:c,d;E=f", BUILD)
        self.assertEqual(allocator.environment, {"A": "b:c,d", "E": "f"})


class Launcher(unittest.TestCase):
    def launch(self, *arguments):
        run = subprocess.run([os.path.join(PROGRAMS, "launch"), *arguments], capture_output=True, text=True)
        return run, json.loads(run.stdout) if run.returncode == 0 else None

    def test_memory_is_the_programs_own(self):
        ballast = bytearray(64 << 20)
        _, figure = self.launch("--", "/bin/true")
        self.assertLess(figure["peak_kib"], 16 << 10, len(ballast))

    def test_peak(self):
        _, figure = self.launch("--sample", "5", "--", sys.executable, "-c",
                                "import time; b = bytes(1) * (100 << 20); time.sleep(0.2)")
        self.assertGreater(figure["peak_kib"], 100 << 10)
        self.assertGreater(figure["sampled_peak_kib"], 100 << 10)

    def test_missing_program(self):
        run, _ = self.launch("--", "/nowhere/program")
        self.assertEqual(run.returncode, 2)
        self.assertIn("/nowhere/program", run.stderr)

    def test_timeout_takes_the_children_too(self):
        with tempfile.NamedTemporaryFile() as file:
            self.launch("--timeout", "3", "--stdout", file.name, "--", "/bin/sh", "-c", "sleep 60 & echo $!; wait")
            child = int(file.read())
        self.assertTrue(gone(child))

    def test_the_program_ends_with_the_launcher(self):
        with tempfile.NamedTemporaryFile() as file:
            launcher = subprocess.Popen([os.path.join(PROGRAMS, "launch"), "--stdout", file.name, "--", "/bin/sh",
                                         "-c", "sleep 60 & echo $!; wait"])
            while not file.read():
                file.seek(0)
                time.sleep(0.01)
            file.seek(0)
            child = int(file.read())
            self.assertTrue(alive(child))
            launcher.terminate()
            self.assertEqual(launcher.wait(), 2)
        self.assertTrue(gone(child))


    def test_an_interrupted_run_leaves_nobody(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "child")

            def interrupt_once_it_runs():
                while not os.path.exists(path):
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGINT)

            case = workloads.Case("w", None, ["/bin/sh", "-c", "sleep 60 & echo $! >$0.aside; mv $0.aside $0; wait", path])
            threading.Thread(target=interrupt_once_it_runs).start()
            with self.assertRaises(KeyboardInterrupt):
                measure.run(os.path.join(PROGRAMS, "launch"), case, series.REFERENCE, folder, 60)
            with open(path) as file:
                self.assertTrue(gone(int(file.read())))


class Workloads(unittest.TestCase):
    def test_one_that_fails_everywhere_is_left_out(self):
        with mock.patch.object(workloads, "WORKLOADS", [workloads.Workload("w", "threadtest", ["--nonsense", "1"]),
                                                        workloads.Workload("v", "threadtest")]):
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), \
                    contextlib.redirect_stderr(io.StringIO()) as complaints:
                status = run_program(["--build", BUILD, "--quick", "--scale", "1", "--allocators", "glibc", "--workloads",
                                      "w,v",
                                      "--json", os.path.join(folder, "r.json")])
        self.assertEqual(status, 1)
        self.assertIn("w/", complaints.getvalue())

    @unittest.skipUnless(shutil.which("valgrind"), "needs valgrind")
    def test_instructions_of_one_of_many(self):
        """A workload's cases may have other names than it."""
        with mock.patch.object(workloads.ByChance, "SEEDS", [1]), tempfile.TemporaryDirectory() as folder, \
                contextlib.redirect_stdout(io.StringIO()):
            path = os.path.join(folder, "r.json")
            status = run_program(["--build", BUILD, "--quick", "--scale", "1", "--allocators", "glibc", "--workloads", "chance",
                                  "--instructions", "--json", path])
            with open(path) as file:
                data = json.load(file)
        self.assertEqual((status, data["interrupted"]), (0, False))
        [counted] = [extra for extra in data["extras"] if extra["kind"] == "instructions"]
        self.assertEqual(counted["case"], "chance-1")
        self.assertGreater(counted["instructions"], 0)


class Description(unittest.TestCase):
    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_the_source_tree_is_not_written_to(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(places, ROOT=folder, LAB=folder, INSTALLED=False):
            source, index = os.path.join(folder, "a"), os.path.join(folder, ".git", "index")
            with open(source, "w") as file:
                file.write("a")
            for words in ["init", "-q"], ["add", "a"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a"]:
                subprocess.run(["git", "-C", folder, *words], check=True)
            os.utime(source, (1, 1))  # git would note the new time
            before = os.stat(index).st_ino
            told = describe.cairn(BUILD)
            self.assertEqual((len(told["commit"]), told["changed"]), (40, False))
            self.assertEqual(os.stat(index).st_ino, before)


class Figures(unittest.TestCase):
    def sample(self, allocator, repetition, wall, outcome="ok"):
        return {"case": "c", "allocator": allocator, "repetition": repetition, "outcome": outcome, "detail": "why",
                "wall": wall, "user": wall, "system": 0, "peak_kib": 1024, "minor_faults": 1}

    def rows(self, samples):
        return figures.rows(samples, ["c"], ["a", "b"], "a")

    def test_ratios_are_taken_within_a_repetition(self):
        # The machine is ten times slower in the second repetition; the ratio does not see it.
        samples = [self.sample("a", 0, 1.0), self.sample("b", 0, 2.0),
                   self.sample("a", 1, 10.0), self.sample("b", 1, 20.0)]
        self.assertEqual(self.rows(samples)[1].ratio, figures.Spread(2.0, 2.0, 2.0))

    def test_bad_runs_do_not_count(self):
        samples = [self.sample("a", 0, 1.0), self.sample("b", 0, 0.001, "crash"),
                   self.sample("a", 1, 1.0), self.sample("b", 1, 3.0)]
        row = self.rows(samples)[1]
        self.assertEqual((row.ratio.middle, row.good, row.runs), (3.0, 1, 2))
        self.assertEqual(row.trouble, "1 of 2 runs: CRASH, why")

    def test_geometric_mean_is_over_complete_rows(self):
        samples = [self.sample("a", 0, 1.0), self.sample("b", 0, 1.0, "hang")]
        text = report.whole(self.rows(samples), ["a", "b"], "a", "wall")
        self.assertIn("geometric mean (0 complete)", text)

    def test_a_table_of_system_calls_without_rows(self):
        """That of a strace whose form is another one."""
        extra = {"kind": "syscalls", "case": "c", "allocator": "a", "outcome": "ok", "syscalls": {}}
        [row] = figures.rows([self.sample("a", 0, 1.0)], ["c"], ["a"], "a", extras=[extra])
        self.assertIsNone(row.syscalls)
        self.assertNotIn("syscalls", report.whole([row], ["a"], "a", "wall"))

    def test_a_symbolic_link_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            link = os.path.join(folder, "link")
            os.symlink("r.json", link)
            results.write(link, {})
            self.assertTrue(os.path.islink(link))
            self.assertEqual(sorted(os.listdir(folder)), ["link", "r.json"])

    def test_two_runs_of_one_second_have_a_file_each(self):
        started = time.time()
        with multiprocessing.get_context("fork").Pool(1) as other:
            self.assertNotEqual(other.apply(places.unnamed_results, (started,)), places.unnamed_results(started))

    def test_results_are_whole_or_absent(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(TypeError):
                results.write(os.path.join(folder, "r.json"), {"not json": object()})
            self.assertEqual(os.listdir(folder), [])


def no_malloc():
    """A library that preloads well and has no malloc in it."""
    return allocators.installed_library("libm.so")


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pid):
    """Whether a process that was killed is no more; that may take the kernel a moment."""
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    unittest.main()
