# SPDX-License-Identifier: MIT
"""How every word of the lab starts, and how it ends when somebody does not want to hear more of it."""
import argparse
import os
import sys

from . import outputs


class Parser(argparse.ArgumentParser):
    """Wrong usage is one line."""

    def error(self, message):
        print("%s: %s (--help lists the options)" % (self.prog.split()[-1], message), file=sys.stderr)
        sys.exit(2)


def enter(main):
    """With the status that main gives for the command line; 130 after Ctrl-C, 141 when the reader has gone."""
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = 130
    except outputs.Unusable as why:
        print(why, file=sys.stderr)
        status = 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        status = 141
    sys.exit(status)
