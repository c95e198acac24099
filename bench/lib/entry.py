# SPDX-License-Identifier: MIT
"""How every word of the lab starts, and how it ends when somebody does not want to hear more of it."""
import argparse
import os
import signal
import sys
from contextlib import contextmanager

from . import outputs

word = "cairn"  # what complains


def complain(text):
    print("%s: %s" % (word, text), file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """Wrong usage is one line."""

    def error(self, message):
        complain("%s (--help lists the options)" % message)
        sys.exit(2)


def named(path):
    """What a variable that is not set leaves of FILE is none."""
    if not path:
        raise argparse.ArgumentTypeError("is empty")
    return path


def interrupt(_signal, _frame):
    raise KeyboardInterrupt


@contextmanager
def ignored_ends():
    """Whoever can not wait for the end must not cost the results, nor leave programs behind."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def reason(why):
    """Of what the system refuses, the name and the reason."""
    if isinstance(why, OSError) and why.strerror:
        return why.strerror if why.filename is None else "%s: %s" % (why.filename, why.strerror)
    return str(why)


def leave_output():
    """What is left of it goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def enter(main, its_word):
    """With the status that main gives for the command line; 130 after Ctrl-C, and what else ends it in the midst, so that no
    temporary folder stays; 141 when the reader has gone. What the system refuses is one line."""
    global word
    word = its_word
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, interrupt)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would take the status of every run away
    while os.open(os.devnull, os.O_RDONLY) <= 2:  # of those that are closed, no file of ours gets the number
        pass
    for name in "stdout", "stderr":
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))
        getattr(sys, name).reconfigure(errors="backslashreplace")  # names of files may be in any encoding
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = 130
    except outputs.Unusable as why:
        complain(str(why))
        status = 1
    except BrokenPipeError:
        leave_output()
        status = 141
    except OSError as why:
        complain(reason(why))
        leave_output()
        status = 1
    sys.exit(status)
