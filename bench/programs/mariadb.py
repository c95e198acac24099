# SPDX-License-Identifier: MIT
"""The load of the workload `mariadb`: sysbench with mariadb.lua over a unix socket. Its figures are times and are not
printed; what is printed are sums of the tables."""
import os
import subprocess
import sys

import server

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mariadb.lua")
THREADS = 2
TRANSACTIONS = 1500


def sysbench(scale, command):
    run = subprocess.run(["sysbench", SCRIPT, "--db-driver=mysql", "--mysql-socket=socket", "--mysql-user=root",
                          "--mysql-db=%s" % ("" if command == "prepare" else "sbtest"), "--verbosity=0",
                          "--time=0", "--events=1", "--threads=%d" % (THREADS if command == "run" else 1), "--tables=%d" % THREADS,
                          "--transactions=%d" % max(1, TRANSACTIONS * scale // 100), command],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode != 0:
        said = [line for line in (run.stdout + run.stderr).splitlines() if "FATAL" in line or "rror" in line]
        raise server.Failed("sysbench %s: %s" % (command, said[0] if said else "status %d" % run.returncode))
    return run.stdout


def load(scale):
    server.wait_for("socket")
    for command in ("prepare", "run"):
        sysbench(scale, command)
    print("mariadb:\n" + sysbench(scale, "check"), end="", flush=True)
    sysbench(scale, "stop")


if __name__ == "__main__":
    sys.exit(server.work(lambda: load(int(sys.argv[1]))))
