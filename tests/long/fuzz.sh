#!/bin/sh
# SPDX-License-Identifier: MIT
# fuzz: libFuzzer on every heap of the family and on Cairn's own, or on those that CAIRN_LONG_HEAPS names, each for
# CAIRN_LONG_SECONDS (60), beginning with the inputs in tests/fuzz/corpus. An input that stops a heap is kept and named.
. "$(dirname "$0")/lib/common.sh"
packages clang-19 libclang-rt-19-dev
seconds=${CAIRN_LONG_SECONDS:-60}
compiler=clang++-19
heaps=0 units=0 wrong=
for header in "$root/tests/fuzz/flagship.hpp" "$root"/src/family/*.hpp; do
    heap=$(basename "$header" .hpp)
    [ "$heap" = process_heap ] && continue
    case " ${CAIRN_LONG_HEAPS:-$heap} " in *" $heap "*) ;; *) continue ;; esac
    "$compiler" -std=c++20 -O1 -g1 -fsanitize=fuzzer -I"$root/include" -I"$root" "-DCAIRN_ALLOCATOR=<${header#"$root/"}>" \
        "$root/tests/fuzz/heap_fuzz.cpp" -o "$work/$heap" -pthread || {
        wrong="$wrong $heap(compile)"
        continue
    }
    mkdir -p "$work/corpus-$heap"
    "$work/$heap" -max_len=2000 -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4000 -print_final_stats=1 \
        -artifact_prefix="$work/$heap-" "$work/corpus-$heap" "$root/tests/fuzz/corpus" >"$work/$heap.log" 2>&1 || {
        grep -E 'does not hold|cairn: |ERROR|SUMMARY|Test unit' "$work/$heap.log" || true
        wrong="$wrong $heap"
    }
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$heap.log")
    echo "$heap: ${inputs:-0} inputs"
    heaps=$((heaps + 1)) units=$((units + ${inputs:-0}))
done
[ -z "$wrong" ] || fail "wrong:$wrong; see $work"
result "$units inputs on $heaps heaps, $seconds s each, none wrong"
