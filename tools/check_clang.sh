#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_clang.sh BUILD: builds the malloc with clang, in BUILD/clang, checks its shape, and that a program's own operator new and
# delete are called, which depends on what the compiler takes for certain. The other tests of the library run what the compiler
# of BUILD made. Skipped (77) without clang.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$1/clang
command -v clang++-19 >/dev/null || exit 77
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
    -DCAIRN_TESTS=OFF -DCAIRN_BENCH=OFF -DCAIRN_FAMILY=OFF
cmake --build "$build" --target cairn_shared cairn_static
python3 "$root/tools/check_library.py" "$build/lib/libcairn.so" "$build/lib/libcairn.a"

program=$build/api_cpp_own_new
clang++-19 -std=c++20 -Wno-deprecated-declarations -I "$root/include" -I "$root" "$root/tests/process/api_cpp_own_new.cpp" -o "$program"
python3 "$root/tools/run_process_test.py" --link=preload "--library=$build/lib/libcairn.so" "$root/tests/process/api_cpp_own_new.cpp" "$program"
