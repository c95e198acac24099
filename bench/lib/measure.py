# SPDX-License-Identifier: MIT
"""One run of one program under one allocator. Whatever happens, the answer is a sample."""
import hashlib
import json
import os
import signal
import subprocess

from . import inputs

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


running = set()  # launchers


def end_all():
    """Of all threads: what they run ends without figures."""
    for launcher in list(running):
        launcher.terminate()


def launch(command, environment):
    """Whoever interrupts this also ends what the launcher has started: it does so when it is told to end."""
    launcher = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **inputs.TEXT)
    running.add(launcher)
    try:
        return *launcher.communicate(), launcher.returncode
    except BaseException:
        launcher.terminate()
        launcher.wait()
        raise
    finally:
        running.discard(launcher)


def run(launcher, case, allocator, folder, timeout, sample_ms=0, expected=None, through=None, environment=None):
    """`through` is the beginning of a command that starts the program by itself, the allocator's library too."""
    out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
    command = [launcher, "--timeout", str(timeout), "--sample", str(sample_ms), "--stdout", out, "--stderr", err]
    if allocator.library is not None and through is None:
        command += ["--preload", allocator.library]
    variables = {**clean_environment(), **case.environment, **allocator.environment, **(environment or {})}
    said, complaint, status = launch([*command, "--", *(through or []), *case.command], variables)
    if status != 0:
        return {"outcome": "failed", "detail": complaint.strip() or "the launcher failed"}
    figures = json.loads(said)
    output = digest(out)
    outcome, detail = judge(figures, output, expected, last_line(err))
    return {"outcome": outcome, "detail": detail, **figures, **own_figures(err), "output_sha256": output}
