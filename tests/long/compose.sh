#!/bin/sh
# SPDX-License-Identifier: MIT
# compose: compositions by chance of all layers of the kit (tests/compose/) with other seeds than the short test, those that
# CAIRN_LONG_SEEDS names (2 3 4 5 6), CAIRN_LONG_COUNT (150) of each: by g++ with AddressSanitizer and UndefinedBehaviorSanitizer, and
# by clang without assertions. One that has no end in CAIRN_LONG_LIMIT (1200) seconds is wrong too.
. "$(dirname "$0")/lib/common.sh"
packages clang-19 libclang-rt-19-dev libgtest-dev
tests=$root/tests
ran=0 wrong=
run() { # NAME SEED COMPILER FLAGS...
    name=$1-$2 seed=$2
    shift 2
    : >"$work/$name.log" # no other run's, if nothing is compiled
    python3 "$tests/compose/generate.py" "$seed" "${CAIRN_LONG_COUNT:-150}" >"$work/$name.inc"
    "$@" -std=c++20 -Wall -Wextra -Werror -I"$root/include" -I"$root" "-DCAIRN_COMPOSITIONS=\"$work/$name.inc\"" \
        "$tests/compose/compose_test.cpp" "$tests"/conformance/suite.cpp "$tests"/conformance/driver.cpp \
        "$tests"/conformance/model.cpp -o "$work/$name" -lgtest -lgtest_main -pthread &&
        timeout "${CAIRN_LONG_LIMIT:-1200}" "$work/$name" --gtest_brief=1 >"$work/$name.log" 2>&1 || wrong="$wrong $name"
    passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$work/$name.log")
    echo "$name: ${passed:-0} tests, two of each composition"
    ran=$((ran + ${passed:-0}))
}
for seed in ${CAIRN_LONG_SEEDS:-2 3 4 5 6}; do
    run sanitized "$seed" g++ -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
    run fast "$seed" clang++-19 -O2 -DNDEBUG
done
[ -z "$wrong" ] || fail "wrong:$wrong; see $work"
result "$ran tests, two of each composition, none wrong"
