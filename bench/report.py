#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one page of a trace, of a replay's results or of a bench's results. See docs/reports.md."""
import importlib
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

from lib import inputs, outputs, places, results  # noqa: E402
from lib.choice import positive  # noqa: E402
from lib.entry import Parser, enter, named  # noqa: E402
from lib.outputs import Unusable  # noqa: E402

TRACE_MARK = b"NCTRACE1"
SYSTEM_PYTHON = "/usr/bin/python3"


def read_arguments(arguments):
    parser = Parser(prog="cairn report", description=__doc__)
    parser.add_argument("file", type=named, help="what `cairn trace`, `cairn replay --json` or `cairn bench` has written")
    parser.add_argument("-o", "--output", type=named, metavar="PAGE.html", required=True, help="the page to write")
    parser.add_argument("--process", type=positive, metavar="N",
                        help="of a trace: which process (the one with the most calls)")
    parser.add_argument("--build", default=places.default_build(), metavar="DIR",
                        help="where the program cairn is, for traces (build/release)")
    return parser.parse_args(arguments)


def trace_figures(path, process, build):
    program = os.path.join(build, "bin", "cairn")
    command = [program, "trace-info", "--json", *(["--process", str(process)] if process else []),
               "./" + path if path.startswith("-") else path]
    try:
        run = subprocess.run(command, capture_output=True, **inputs.TEXT)
    except OSError as why:
        raise Unusable("can not run %s: %s" % (program, why.strerror))
    if run.returncode != 0:
        line = (run.stderr.strip().split("\n")[-1]).removeprefix("cairn: ")
        raise Unusable(line or "%s: trace-info ended with status %d" % (path, run.returncode))
    return json.loads(run.stdout)


def load(options):
    """What kind of page, and its data."""
    path = options.file
    try:
        with inputs.open_bytes(path) as file:
            head = file.read(len(TRACE_MARK))
            if head == TRACE_MARK:
                data = trace_figures(path, options.process, options.build)
                if not data["allocations"]:
                    raise Unusable("%s: process %d allocated nothing" % (path, data["process"]))
                return "trace_page", data
            if not head.strip():
                raise Unusable("%s: is empty" % path)
            if not head.lstrip().startswith(b"{"):
                raise Unusable("%s: is neither a trace nor a result of cairn replay or cairn bench" % path)
            data = json.loads(head + file.read())
    except OSError as why:
        raise Unusable("%s: %s" % (path, why.strerror))
    except (json.JSONDecodeError, UnicodeDecodeError) as why:
        raise Unusable("%s: is damaged or cut: %s" % (path, why))
    except RecursionError:
        raise Unusable("%s: is no result of Cairn's" % path)
    if isinstance(data, dict) and data.get("what") == "cairn replay":
        return "replay_page", data
    if isinstance(data, dict) and "samples" in data and "cases" in data:
        results.check_format(path, data, "cairn bench")
        return "bench_page", data
    raise Unusable("%s: is neither a trace nor a result of cairn replay or cairn bench" % path)


def make(kind, data, path):
    try:
        pages = importlib.import_module("pages." + kind)
        render = importlib.import_module("pages.page").render
    except ModuleNotFoundError as why:
        if why.name.split(".")[0] not in ("jinja2", "matplotlib", "numpy"):
            raise
        # Another Python may come first on the PATH; the packages are for the system's.
        if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
            sys.stdout.flush()
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-BE", os.path.abspath(__file__), *sys.argv[1:]])
        raise Unusable("Python's %s is missing: install python3-jinja2 and python3-matplotlib" % why.name)
    try:
        return render(pages.build(data, path))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as why:
        if os.environ.get("CAIRN_REPORT_DEBUG"):
            raise
        said = "'%s' is missing" % why.args[0] if isinstance(why, KeyError) else str(why)
        raise Unusable("%s: is damaged, or of another version of Cairn: %s" % (path, said.split("\n")[0]))


def write(path, page):
    try:
        outputs.write(path, page)
    except OSError as why:
        raise Unusable("%s: %s" % (path, why.strerror))


def main(arguments):
    options = read_arguments(arguments)
    if all(map(os.path.exists, (options.file, options.output))) and os.path.samefile(options.file, options.output):
        raise Unusable("%s: is what is read" % options.output)
    outputs.check_writable(options.output)
    kind, data = load(options)
    write(options.output, make(kind, data, options.file))
    return 0


if __name__ == "__main__":
    enter(main, "report")
