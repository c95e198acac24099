#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fuzz.sh BUILD_FOLDER: libFuzzer on every heap of the family and on Cairn's own, each for SECONDS (60, or what
# CAIRN_FUZZ_SECONDS says), beginning with the inputs in tests/fuzz/corpus. An input that stops a heap is kept and named.
set -u
name=fuzz
build=$(cd "${1:?a build folder}" && pwd) || exit 1
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
seconds=${CAIRN_FUZZ_SECONDS:-60}
compiler=$(command -v clang++-19) || {
    echo "clang++-19 is not here"
    echo "RESULT $name: SKIP"
    exit 0
}
work=$build/fuzz
mkdir -p "$work"
heaps=0 units=0 wrong=
for header in "$root/tests/fuzz/flagship.hpp" "$root"/src/family/*.hpp; do
    heap=$(basename "$header" .hpp)
    [ "$heap" = process_heap ] && continue
    [ $# -lt 2 ] || case " $* " in *" $heap "*) ;; *) continue ;; esac
    "$compiler" -std=c++20 -O1 -g1 -fsanitize=fuzzer -I"$root/include" -I"$root" "-DCAIRN_ALLOCATOR=<${header#"$root/"}>" \
        "$root/tests/fuzz/heap_fuzz.cpp" -o "$work/$heap" -pthread || {
        wrong="$wrong $heap(compile)"
        continue
    }
    mkdir -p "$work/corpus-$heap"
    "$work/$heap" -max_len=2000 -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4000 -print_final_stats=1 \
        -artifact_prefix="$work/$heap-" "$work/corpus-$heap" "$root/tests/fuzz/corpus" >"$work/$heap.log" 2>&1 || {
        grep -E 'does not hold|cairn: |ERROR|SUMMARY|Test unit' "$work/$heap.log"
        wrong="$wrong $heap"
    }
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$heap.log")
    echo "$heap: ${inputs:-0} inputs"
    heaps=$((heaps + 1)) units=$((units + ${inputs:-0}))
done
if [ -n "$wrong" ]; then
    echo "RESULT $name: wrong:$wrong; see $work"
    exit 1
fi
echo "RESULT $name: $units inputs on $heaps heaps, none wrong"
