#!/bin/sh
# SPDX-License-Identifier: MIT
# sqlite: SQLite's fuzzcheck over its corpora, and of its Tcl tests those where memory runs out at every place in turn and
# those with threads (Debian's source of sqlite3). CAIRN_LONG_TESTS names other ones.
. "$(dirname "$0")/lib/common.sh"
packages gcc make tcl tcl-dev zlib1g-dev dpkg-dev python3
cd "$work"
source=$(debian_source sqlite3)
mkdir -p build
cd build

if [ ! -x fuzzcheck ] || [ ! -x testfixture ]; then
    {
        "$source/configure" --enable-all CFLAGS='-O1 -w'
        make -j "$jobs" fuzzcheck testfixture
    } >build.log 2>&1 || {
        tail -n 20 build.log
        fail "could not be built"
    }
fi

failed='' also_glibc='' passed=0
try() { # NAME COMMAND...
    name=$1
    shift
    status=0
    under cairn timeout -k 5 "${CAIRN_LONG_LIMIT:-3600}" "$@" >"$name.cairn.log" 2>&1 </dev/null || status=$?
    if [ $status = 0 ] && ! grep -q 'cairn: ' "$name.cairn.log"; then
        passed=$((passed + 1))
    elif ! under glibc timeout -k 5 "${CAIRN_LONG_LIMIT:-3600}" "$@" >"$name.glibc.log" 2>&1 </dev/null; then
        also_glibc="$also_glibc $name"
    else
        failed="$failed $name"
    fi
    echo "$name: status $status, $(grep -e " errors out of " -e "fuzzcheck" "$name.cairn.log" | tail -n 1)"
}

tests=${CAIRN_LONG_TESTS:-$(cd "$source/test" && ls malloc*.test fts3malloc.test fkey_malloc.test memsubsys*.test softheap1.test thread*.test | sed 's/\.test$//' |
    grep -v -x mallocAll)} # that one runs the others
cases=0
for test in $tests; do
    try "$test" ./testfixture "$source/test/$test.test"
    cases=$((cases + $(sed -n 's/^[0-9]* errors out of \([0-9]*\) tests.*/\1/p' "$test.cairn.log" | tail -n 1 | grep . || echo 0)))
done
text="$passed of $(echo "$tests" | wc -w) scripts of malloc and threads passed, $cases cases"
passed=0 corpora=0
for corpus in "$source"/test/fuzzdata*.db; do
    corpora=$((corpora + 1))
    try "$(basename "$corpus" .db)" ./fuzzcheck --quiet "$corpus"
done
text="$text; fuzzcheck: $passed of $corpora corpora passed"
[ -z "$also_glibc" ] || text="$text; fail on glibc as well:$also_glibc"
[ -z "$failed" ] || fail "$text; FAILED:$failed"
result "$text"
