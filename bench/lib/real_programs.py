# SPDX-License-Identifier: MIT
"""Real programs on real work, of bench/programs/. What each prints is the same on any sound allocator, and is compared.
A server is a program as well: it is what runs under the allocator and is measured, its client runs beside it (bench/serve)."""
from __future__ import annotations

import atexit
import importlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field

from . import places
from .case import HERE, Case, Missing

# Where Debian has servers, which a user's PATH does not name.
SYSTEM_FOLDERS = "/usr/sbin:/sbin"


def source(name):
    return os.path.join(HERE, "programs", name)


def find(workload, program, package):
    # The interpreter that runs this: what the PATH calls python3 may be a wrapper script.
    path = (os.path.realpath(sys.executable) if program == "python3" else
            shutil.which(program) or shutil.which(program, path=SYSTEM_FOLDERS))
    if path is None:
        raise Missing("%s: %s is not installed (Debian package %s)" % (workload, program, package))
    return path


class Inputs:
    """Files that a module of bench/programs/ makes, for as long as this process lives."""
    folder = None

    @classmethod
    def file(cls, module, scale):
        if cls.folder is None:
            cls.folder = tempfile.mkdtemp(prefix="cairn-bench-")
            atexit.register(shutil.rmtree, cls.folder, ignore_errors=True)
        path = os.path.join(cls.folder, "%s-%d" % (module, scale))
        with open(path, "w") as file:
            file.write(importlib.import_module("programs." + module).text(scale))
        return path


@dataclass
class RealProgram:
    """`arguments` gets the scale in percent; `package` is Debian's, if its name is another."""
    name: str
    program: str
    arguments: callable
    package: str | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def cases(self, _build, _threads, scale):
        path = find(self.name, self.program, self.package or self.program)
        return [Case(self.name, None, [path, *self.arguments(scale)], self.environment)]


@dataclass
class FedProgram(RealProgram):
    """Reads its input from stdin: `arguments` are followed by the file. The shell becomes the program."""

    def cases(self, build, threads, scale):
        [case] = super().cases(build, threads, scale)
        case.command = ["/bin/sh", "-c", 'input=$1; shift; exec "$@" <"$input"', "sh", case.command[-1],
                        *case.command[:-1]]
        return [case]


@dataclass
class Server:
    """`arguments` are the server's. The client is a script of bench/programs/ and gets the scale in percent; of the
    programs that it needs, each is given with its package."""
    name: str
    program: str
    package: str
    arguments: list[str]
    client: str
    needs: dict[str, str] = field(default_factory=dict)

    def cases(self, build, _threads, scale):
        launcher = places.program(build, "serve")
        if not os.path.exists(launcher):
            raise Missing("%s: %s is not built" % (self.name, launcher))
        path = find(self.name, self.program, self.package)
        with open(path, "rb") as file:
            if b"\0mallocx\0" in file.read():  # Debian 13's Redis
                raise Missing("%s: %s calls functions that only jemalloc has, and runs on no other malloc" % (self.name, path))
        for program, package in self.needs.items():
            find(self.name, program, package)
        client = source(self.client)
        return [Case(self.name, None, [launcher, os.path.realpath(sys.executable), "-B", client, str(scale), "--", path,
                                       *self.arguments], client=client)]


def compile_arguments(scale):
    return ["-std=c++20", "-O1", "-S", "-o", "-", *(["-DQUICK"] if scale < 100 else []), source("compile.cpp")]


def sqlite_arguments(scale):
    rows = max(1, 200000 * scale // 100)
    return ["-batch", "-cmd", "CREATE TABLE work(rows); INSERT INTO work VALUES(%d);" % rows, ":memory:",
            ".read '%s'" % source("sqlite.sql")]


def ghostscript_arguments(scale):
    # Two threads draw the bands of a page.
    return ["-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE=png16m", "-r100", "-dTextAlphaBits=4",
            "-dGraphicsAlphaBits=4", "-dNumRenderingThreads=2", "-dMaxBitmap=0", "-dBufferSpace=1000000",
            "-dPages=%d" % max(1, 20 * scale // 100), "-o", "-", source("ghostscript.ps")]


REDIS = ["--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
         "--lazyfree-lazy-user-del", "yes", "--list-max-listpack-size", "64"]

# An empty folder is enough: without grant tables there is nobody to know, and statistics need no tables of their own. Room
# for a buffer pool that grows would be terabytes of addresses, which valgrind does not have.
MARIADB = ["--no-defaults", *(["--user=root"] if os.geteuid() == 0 else []), "--datadir=.", "--tmpdir=.",
           "--socket=socket", "--pid-file=pid", "--skip-networking", "--skip-grant-tables", "--performance-schema=0",
           "--innodb-buffer-pool-size=32M", "--loose-innodb-buffer-pool-size-max=32M", "--innodb-log-file-size=8M",
           "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-use-native-aio=0",
           "--innodb-stats-persistent=0", "--open-files-limit=1024"]

WORKLOADS = [
    RealProgram("python", "python3", lambda scale: ["-s", source("python.py"), str(scale)],
                environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    RealProgram("g++", "g++", compile_arguments),
    RealProgram("perl", "perl", lambda scale: [source("perl.pl"), str(scale)], environment={"PERL_HASH_SEED": "0"}),
    RealProgram("ruby", "ruby", lambda scale: ["--disable-gems", source("ruby.rb"), str(scale)]),
    RealProgram("sqlite", "sqlite3", sqlite_arguments),
    RealProgram("ghostscript", "gs", ghostscript_arguments, "ghostscript"),
    RealProgram("z3", "z3", lambda scale: ["-smt2", Inputs.file("puzzles", scale)]),
    FedProgram("link-parser", "link-parser",
               lambda scale: ["en", "-verbosity=0", "-limit=20", "-spell=0", Inputs.file("sentences", scale)],
               "link-grammar"),
    Server("redis", "redis-server", "redis-server", REDIS, "redis.py"),
    Server("mariadb", "mariadbd", "mariadb-server-core", MARIADB, "mariadb.py", {"sysbench": "sysbench"}),
]


def has_client(name):
    """Whether what is counted of all processes is a client's as well."""
    return any(isinstance(workload, Server) and workload.name == name for workload in WORKLOADS)
