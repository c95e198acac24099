# SPDX-License-Identifier: MIT
"""What only a terminal gets: a progress bar on stderr, colours in the tables. Elsewhere, or without python3-rich,
there is silence and plain text."""
import re
import sys

try:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeRemainingColumn
    from rich.text import Text
except ImportError:
    Console = None


class Progress:
    """A bar for a number of steps, as long as the block of its `with` lasts."""

    def __init__(self, total):
        self.bar = None
        if Console is not None and sys.stderr.isatty():
            self.bar = Bar(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"),
                           console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("", total=total)
        self.begun = False

    def step(self, text):
        """The next step begins; the one before it is done."""
        if self.bar is not None:
            self.bar.update(self.task, advance=1 if self.begun else 0, description=text)
            self.begun = True

    def __enter__(self):
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.stop()


TROUBLE = re.compile(r"(?:\d+ of \d+ runs: )?\b(?:CRASH|HANG|WRONG|FAILED)\b.*")


def show(text):
    """Prints tables: their first lines stand out, and so does what went wrong."""
    if Console is None or not sys.stdout.isatty():
        print(text)
        return
    console = Console(highlight=False, soft_wrap=True)
    before = ""
    for line in text.split("\n"):
        styled = Text(line, style="bold" if before == "" else "")
        styled.highlight_regex(TROUBLE, "bold red")
        styled.highlight_regex(r"\b(?:slower|more)\b", "red")
        styled.highlight_regex(r"\b(?:faster|less|fewer)\b", "green")
        console.print(styled)
        before = line
