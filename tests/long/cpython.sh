#!/bin/sh
# SPDX-License-Identifier: MIT
# cpython: the tests of cpython-tests.txt with PYTHONMALLOC=malloc, where each object is a block of malloc (Debian's python3
# and its testsuite package). What fails is run once more on glibc. CAIRN_LONG_TESTS names other ones.
. "$(dirname "$0")/lib/common.sh"
packages python3
cd "$work"
python=/usr/bin/python3
packages "libpython$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-testsuite"
export PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1
tests=${CAIRN_LONG_TESTS:-$(sed 's/#.*//' "$here/cpython-tests.txt")}

run() { # ALLOCATOR TEST
    under "$1" bounded "${CAIRN_LONG_LIMIT:-1800}" "$python" -m test -w "$2" >"$2.$1.log" 2>&1 </dev/null
}

failed='' also_glibc='' passed=0 all=0
for test in $tests; do
    all=$((all + 1))
    status=0
    run cairn "$test" || status=$?
    if [ $status = 0 ] && ! grep -q 'cairn: ' "$test.cairn.log"; then
        passed=$((passed + 1))
    elif ! run glibc "$test"; then
        also_glibc="$also_glibc $test"
    else
        failed="$failed $test"
    fi
    echo "$test: status $status"
done
text="$passed of $all tests passed"
[ -z "$also_glibc" ] || text="$text; fail on glibc as well:$also_glibc"
[ -z "$failed" ] || fail "$text; FAILED:$failed"
result "$text"
