# SPDX-License-Identifier: MIT
"""One run of one program under one allocator. Whatever happens, the answer is a sample."""
import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from . import inputs
from .entry import ignored_ends

WRONG_RESULT = 3  # the exit status of bench/common/block.hpp


def clean_environment():
    """The few variables that programs need: settings for an allocator must not slip in unseen."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "LC_ALL": "C"}


def last_line(path):
    with open(path, errors="replace") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("figures: ")]
    return lines[-1][:200] if lines else ""


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def signal_name(number):
    """Those between the first and the last of real time have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


def judge(figures, output, expected, complaint):
    """The outcome of a run, and what is known about it: ok, crash, hang, wrong or failed."""
    if figures["timed_out"]:
        spent = figures["user"] + figures["system"]
        return "hang", "killed after %.0f s, of which it ran for %.1f" % (figures["wall"], spent)
    if figures["signal"]:
        return "crash", ("%s: %s" % (signal_name(figures["signal"]), complaint)).rstrip(": ")
    if figures["status"] == WRONG_RESULT and complaint.startswith("wrong result"):
        return "wrong", complaint
    if figures["status"] != 0:
        return "failed", ("exit status %d: %s" % (figures["status"], complaint)).rstrip(": ")
    if expected is not None and output != expected:
        return "wrong", "the output differs from the reference run's"
    return "ok", ""


def own_figures(path):
    """What a workload measured itself: the lines of its stderr that begin with "figures:"."""
    found = {}
    with open(path, errors="replace") as file:
        for line in file:
            if line.startswith("figures: "):
                try:
                    found.update(json.loads(line.removeprefix("figures: ")))
                except (ValueError, TypeError):  # it ended in the middle of the line
                    continue
    return {"figures": found} if found else {}


running = set()  # processes, each with a group of its own
broken_off = set()  # by end_all()


class BrokenOff(Exception):
    """In the thread whose program end_all() has ended: there is nothing to say of it."""


def end(process, number=signal.SIGTERM):
    with contextlib.suppress(ProcessLookupError):  # its thread may just have waited for it
        if process.poll() is None:
            os.killpg(process.pid, number)


def end_all(number=signal.SIGTERM):
    """Of all threads: what they run ends without figures."""
    for process in list(running):
        broken_off.add(process)
        end(process, number)


def call(command, timeout=None, **how):
    """As subprocess.run. Whoever interrupts this also ends what the program has started. Ctrl-C reaches this process only."""
    process = subprocess.Popen(command, start_new_session=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how})
    running.add(process)
    try:
        out, err = process.communicate(timeout=timeout)
        if process in broken_off:
            raise BrokenOff
        return subprocess.CompletedProcess(command, process.returncode, out, err)
    except BaseException:
        end(process)
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            end(process, signal.SIGKILL)
            process.wait()
        raise
    finally:
        running.discard(process)


def count_instructions(command, allocator):
    """One process under callgrind: how it ended, and all its instructions, None if it did not end well."""
    preload = {} if allocator.library is None else {"LD_PRELOAD": allocator.library}
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as folder:
        counts = os.path.join(folder, "callgrind.out")
        run = call(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + counts, *command],
                   env={**clean_environment(), **allocator.environment, **preload}, **inputs.TEXT)
        if run.returncode != 0 or not os.path.exists(counts):
            return run, None
        with open(counts) as file:
            found = re.search(r"^(?:summary|totals): (\d+)", file.read(), re.MULTILINE)
        return run, found and int(found.group(1))


def at_once(function, tasks, jobs=None):
    """Gives each task and the function's answer as soon as there is one, of as many at a time as there are processors.
    Interrupted, it ends what they call(), and gives no more answers."""
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        futures = {pool.submit(function, task): task for task in tasks}
        try:
            for future in concurrent.futures.as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            with ignored_ends():
                pool.shutdown(wait=False, cancel_futures=True)
                for number in itertools.chain([signal.SIGTERM] * 10, itertools.repeat(signal.SIGKILL)):
                    end_all(number)  # again and again: one may have been about to start the next program
                    if all(future.done() for future in futures):
                        raise
                    time.sleep(0.1)


def run(launcher, case, allocator, folder, timeout, sample_ms=0, expected=None, through=None, environment=None):
    """`through` is the beginning of a command that starts the program by itself, the allocator's library too."""
    out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
    command = [launcher, "--timeout", str(timeout), "--sample", str(sample_ms), "--stdout", out, "--stderr", err]
    if allocator.library is not None and through is None:
        command += ["--preload", allocator.library]
    variables = {**clean_environment(), **case.environment, **allocator.environment, **(environment or {})}
    launched = call([*command, "--", *(through or []), *case.command], env=variables, **inputs.TEXT)
    if launched.returncode != 0:
        return {"outcome": "failed", "detail": launched.stderr.strip() or "the launcher failed"}
    figures = json.loads(launched.stdout)
    output = digest(out)
    outcome, detail = judge(figures, output, expected, last_line(err))
    return {"outcome": outcome, "detail": detail, **figures, **own_figures(err), "output_sha256": output}
