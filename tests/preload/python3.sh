#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# python3: json, threads, subprocess, multiprocessing; with its own allocator of small objects (which asks malloc
# for the rest) and with PYTHONMALLOC=malloc (every object is malloc's). The hash seed is fixed.
. "$(dirname "$0")/lib/common.sh"
need python3 python3

# The interpreter itself, where `python3` is a script that picks one.
python=$(python3 -c 'import sys; print(sys.executable)')
export python PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1

work() {
    [ "${CAIRN_TEST_BRIEF-}" = 1 ] || "$python" "$inputs/work.py"
    PYTHONMALLOC=malloc "$python" "$inputs/work.py"
}

compare work
loaded "$(basename "$python")" sort
