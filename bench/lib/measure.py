# SPDX-License-Identifier: MIT
"""One run of one program under one allocator. Whatever happens, the answer is a sample."""
import hashlib
import json
import os
import signal
import subprocess

WRONG_RESULT = 3  # the exit status of bench/common/block.hpp


def clean_environment():
    """The few variables that programs need: settings for an allocator must not slip in unseen."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "LC_ALL": "C"}


def last_line(path):
    with open(path, errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1][:200] if lines else ""


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def judge(figures, output, expected, complaint):
    """The outcome of a run, and what is known about it: ok, crash, hang, wrong or failed."""
    if figures["timed_out"]:
        return "hang", "killed after %.0f s" % figures["wall"]
    if figures["signal"]:
        return "crash", ("%s: %s" % (signal.Signals(figures["signal"]).name, complaint)).rstrip(": ")
    if figures["status"] == WRONG_RESULT and complaint.startswith("wrong result"):
        return "wrong", complaint
    if figures["status"] != 0:
        return "failed", ("exit status %d: %s" % (figures["status"], complaint)).rstrip(": ")
    if expected is not None and output != expected:
        return "wrong", "the output differs from the reference run's"
    return "ok", ""


def own_figures(path):
    """What a workload measured itself: the line of its stderr that begins with "figures:"."""
    with open(path, errors="replace") as file:
        for line in file:
            if line.startswith("figures: "):
                return {"figures": json.loads(line.removeprefix("figures: "))}
    return {}


def run(launcher, case, allocator, folder, timeout, sample_ms=0, expected=None):
    out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
    command = [launcher, "--timeout", str(timeout), "--sample", str(sample_ms), "--stdout", out, "--stderr", err]
    if allocator.library is not None:
        command += ["--preload", allocator.library]
    environment = {**clean_environment(), **case.environment, **allocator.environment}
    launch = subprocess.run([*command, "--", *case.command], env=environment, capture_output=True, text=True)
    if launch.returncode != 0:
        return {"outcome": "failed", "detail": launch.stderr.strip() or "the launcher failed"}
    figures = json.loads(launch.stdout)
    output = digest(out)
    outcome, detail = judge(figures, output, expected, last_line(err))
    return {"outcome": outcome, "detail": detail, **figures, **own_figures(err), "output_sha256": output}
