#!/bin/sh
# SPDX-License-Identifier: MIT
# adversary: searches for sequences of mallocs and frees by several threads that break an inequality of docs/bound.md, from
# each of four seeds for CAIRN_LONG_SECONDS (60).
. "$(dirname "$0")/lib/common.sh"
packages libgtest-dev
c++ -std=c++20 -O2 -DNDEBUG -I "$root/include" -I "$root" "$root/tests/unit/bound_test.cpp" -o "$work/search" -lgtest_main \
    -lgtest -pthread
export CAIRN_SEARCH_SECONDS="${CAIRN_LONG_SECONDS:-60}"
for seed in 2 3 4 5; do
    CAIRN_SEARCH_SEED=$seed "$work/search" --gtest_brief=1 --gtest_filter=Bound.SearchForTheWorst ||
        fail "a sequence from seed $seed breaks the bound"
done
result "none found from 4 seeds in $CAIRN_SEARCH_SECONDS s each"
