# SPDX-License-Identifier: MIT
"""What the words of the lab share. Until entry.enter() Ctrl-C just ends the script, instead of with the place in Python where it
was: loading all of this takes a moment."""
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
