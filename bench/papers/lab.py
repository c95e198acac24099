# SPDX-License-Identifier: MIT
"""What the recipes measure with: interleaved times, instructions, coherence counts, traces and their replay."""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from dataclasses import replace

from lib import allocators, figures, measure, places, series, workloads

from .form import spread_of

# Allocators that only a table needs: built on demand from the headers beside this file, by their targets' names.
VARIANTS = ("hoard-f8", "hoard-f4", "hoard-f2", "hoard-apart", "lkmalloc-1", "kingsley-by-hand", "kingsley-coalescing-rounded",
            "lea-without-lock")
LIMIT = 900  # seconds for one run of anything


class Missing(Exception):
    """Why something can not be measured; one line."""


class Lab:
    def __init__(self, build, folder, quick, repeat, complain):
        self.build, self.folder, self.quick, self.complain = os.path.abspath(build), folder, quick, complain
        self.repeat = repeat
        self.processors = len(os.sched_getaffinity(0))
        self.known, self.built, self.building = {}, set(), threading.Lock()

    # --- what there is

    def program(self, name):
        path = places.program(self.build, name)
        if not os.path.exists(path):
            raise Missing("%s is not built" % path)
        return path

    def target(self, name):
        """A file of build/papers, built if it is not, or not of today's sources."""
        path = os.path.join(self.build, "papers", name)
        if places.INSTALLED and not os.path.exists(path):
            raise Missing("needs Cairn's source tree, where %s is built: ./cairn paper" % name)
        with self.building:
            if name not in self.built and not places.INSTALLED:
                made = measure.call(["cmake", "--build", self.build, "--target", "paper_" + os.path.splitext(name)[0]], text=True)
                if made.returncode != 0:
                    raise Missing("%s can not be built: %s" % (name, made.stdout.strip()[-200:]))
                self.built.add(name)
        return path

    def allocator(self, word):
        """NAME, or NAME=SPECIFICATION as for cairn bench, that really takes part."""
        if word not in self.known:
            name, _, rest = word.partition("=")
            if name in VARIANTS:
                rest = name + "=" + self.target("lib%s.so" % name)
            try:
                found = allocators.parse(rest or name, self.build)
                allocators.confirm(found, self.program("probe"), measure.clean_environment())
            except allocators.Unavailable as why:
                raise Missing(str(why))
            self.known[word] = replace(found, name=name)
        return self.known[word]

    def allocators(self, words):
        """Those of them that there are."""
        found = []
        for word in words:
            try:
                found.append(self.allocator(word))
            except Missing as why:
                self.complain("skipped: %s" % why)
        return found

    def workload(self, name, threads, *arguments, program=None):
        """A case of a workload of bench/; `arguments` come last, and win."""
        return workloads.Case(name, threads, [self.program(program or name.replace("-", "_")), "--threads",
                                              str(threads), *arguments])

    # --- times

    def samples(self, cases, words, repeat=None, sample_ms=0):
        """All runs, interleaved: within a repetition and a case one allocator right after the other."""
        chosen = self.allocators(words)
        if not chosen:
            return []
        launcher = self.program("launch")
        expected = series.references(launcher, cases, self.folder, LIMIT, self.complain)
        cases = [case for case in cases if case.label in expected]
        return list(series.run(launcher, cases, chosen, repeat or self.repeat, self.folder, expected, LIMIT, sample_ms))

    @staticmethod
    def of(samples, case, name):
        return [sample for sample in samples if sample["case"] == case.label and sample["allocator"] == name]

    @staticmethod
    def value(samples, of):
        """The spread of a figure over good runs, or the trouble that there was."""
        good = [of(sample) for sample in samples if sample["outcome"] == "ok"]
        return spread_of(good) if good else (figures.trouble_of(samples).split(",")[0] or None) if samples else None

    @staticmethod
    def ratio(samples, baseline, of):
        """The spread of ratios within repetitions."""
        return spread_of(figures.pair_ratios(samples, baseline, of))

    # --- counts

    def instructions(self, case, word):
        """All instructions of a program and of what it starts."""
        allocator = self.allocator(word)
        environment = {**measure.clean_environment(), **case.environment, **allocator.environment}
        if allocator.library is not None: # valgrind has 8 MiB of break
            environment["LD_PRELOAD"] = allocator.library + ":" + self.target("libbreak.so")
        folder = tempfile.mkdtemp(dir=self.folder)
        try:
            run = measure.call(["valgrind", "--tool=callgrind", "--trace-children=yes",
                                "--callgrind-out-file=%s.%%p" % os.path.join(folder, "out"), *case.command], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT)
            total = 0
            for path in glob.glob(os.path.join(glob.escape(folder), "out.*")):
                with open(path, errors="replace") as file:
                    found = re.findall(r"^(?:summary|totals): (\d+)", file.read(), re.MULTILINE)
                total += int(found[-1]) if found else 0
            return total if run.returncode == 0 and total else None
        except FileNotFoundError:
            raise Missing("valgrind is not installed")
        except subprocess.TimeoutExpired:
            return None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def all_instructions(self, cases, words):
        """{(case label, allocator name): instructions}, as many at once as there are processors."""
        chosen = {allocator.name: word for word in words for allocator in self.allocators([word])}
        tasks = {(case.label, name): case for case in cases for name in chosen}
        counted = measure.at_once(lambda task: self.instructions(tasks[task], chosen[task[1]]), tasks, self.processors)
        return dict(counted)

    def coherence(self, name, *arguments):
        """The counts of bench/coherence, None where there are none."""
        try:
            program = self.target("coherence-" + name) if name in VARIANTS else self.program("coherence-" + name)
        except Missing as why:
            self.complain("skipped: %s" % why)
            return None
        try:
            run = measure.call([program, *map(str, arguments)], text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(run.stdout) if run.returncode == 0 else None

    def transfers(self, tasks):
        """{key: lines moved a pair} for {key: (allocator, arguments)}."""
        counted = measure.at_once(lambda key: self.coherence(tasks[key][0], *tasks[key][1]), tasks, self.processors)
        return {key: found and found["transfers"] for key, found in counted}

    def statistics(self, case, word):
        """What an allocator tells of itself at the end of a run."""
        path, allocator = os.path.join(self.folder, "statistics.json"), self.allocator(word)
        run = measure.call(case.command, stdout=subprocess.DEVNULL, text=True, timeout=LIMIT, env={
            **measure.clean_environment(), **case.environment, "LD_PRELOAD": allocator.library, "CAIRN_STATS": "json:" + path})
        if run.returncode != 0 or not os.path.exists(path):
            raise Missing("%s: no statistics of %s: %s" % (case.label, allocator.name, run.stderr.strip()[-200:]))
        with open(path) as file:
            told = json.load(file)
        os.unlink(path)
        return told

    # --- traces

    def cairn(self):
        for path in (os.path.join(self.build, "bin", "cairn"),):
            if os.path.exists(path):
                return path
        raise Missing("%s/bin/cairn is not built" % self.build)

    def trace(self, case, word=None):
        """A file with the calls of the case, and of all that it starts, on the usual malloc or another one."""
        path = os.path.join(self.folder, re.sub(r"\W", "_", case.label + "-" + (word or "usual")) + ".trace")
        if not os.path.exists(path):
            option = [] if word is None else ["--allocator", self.allocator(word).library]
            run = measure.call([self.cairn(), "trace", "-o", path, *option, "--", *case.command],
                               env={**measure.clean_environment(), **case.environment},
                               stdout=subprocess.DEVNULL, text=True, timeout=LIMIT)
            if run.returncode != 0:
                raise Missing("%s: its trace failed: %s" % (case.label, run.stderr.strip()[-200:]))
        return path

    def main_process(self, case):
        """The process image of the case's trace that makes the most calls: compilers start others."""
        def calls(number):
            run = measure.call([self.cairn(), "trace-info", "--process", str(number), self.trace(case)], text=True)
            told = dict(line.split(None, 1) for line in run.stdout.splitlines() if " " in line)
            return sum(int(told.get(word, 0)) for word in ("malloc", "calloc", "aligned", "realloc"))
        whole = measure.call([self.cairn(), "trace-info", self.trace(case)], text=True)
        found = re.search(r"^processes (\d+)", whole.stdout, re.MULTILINE)
        if whole.returncode != 0 or not found:
            raise Missing("%s: its trace can not be read: %s" % (case.label, whole.stderr.strip()))
        return max(range(1, int(found.group(1)) + 1), key=calls) if int(found.group(1)) > 1 else 1

    def forget(self):
        """Traces are long."""
        for path in glob.glob(os.path.join(glob.escape(self.folder), "*.trace")):
            os.unlink(path)

    def replay(self, case, words, process=1, touch=True):
        """The answer of cairn replay, with {allocator name: medians} as `rows`."""
        path, answer = self.trace(case), os.path.join(self.folder, "replay.json")
        chosen = self.allocators(words)
        names = ",".join("%s=%s" % (one.name, one.library) if one.library else "glibc" for one in chosen)
        settings = {name: value for one in chosen for name, value in one.environment.items()}
        run = measure.call([self.cairn(), "replay", path, "--allocators", names, "--process", str(process),
                            "--repeat", "1", "--json", answer, *([] if touch else ["--no-touch"])],
                           env={**measure.clean_environment(), **settings}, text=True, timeout=LIMIT)
        if not os.path.exists(answer):
            raise Missing("%s: its replay failed: %s" % (case.label, run.stderr.strip()[-200:]))
        with open(answer) as file:
            whole = json.load(file)
        os.unlink(answer)
        return whole

    def told(self, case, word=None, process=1):
        """What the case's trace says of a process image: objects, requested bytes, falsely_shared objects."""
        run = measure.call([self.target("lines"), self.trace(case, word), str(process)], text=True)
        if run.returncode != 0:
            raise Missing("%s: %s" % (case.label, run.stderr.strip()))
        return json.loads(run.stdout)
