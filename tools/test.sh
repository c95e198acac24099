#!/bin/sh
# SPDX-License-Identifier: MIT
#
# test.sh [CTEST OPTIONS]: the work of `./cairn test`. Builds everything in release and debug, the kit and its
# tests under the sanitizers, then runs all of it as one ctest run, so that its closing lines speak of everything.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
presets='release debug clang-sanitize clang-tsan'
jobs=$(getconf _NPROCESSORS_ONLN)

tools/setup.sh test
if command -v ccache >/dev/null; then
    export CCACHE_SLOPPINESS=pch_defines,time_macros
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
mkdir -p build/test
: >build/test/CTestTestfile.cmake
for preset in $presets; do
    echo "cairn: building $preset" >&2
    more=OFF # the lab, the program and the libraries of the family, once
    [ "$preset" = release ] && more=ON
    case $preset in
    release) kit='unit-release;conformance-release;concurrent;examples' ;; # the others run under sanitizers, and each library of the family
    debug) kit=OFF ;; # the sanitizers' builds have assertions too: no need of these tests in a third one
    *) kit=ON ;;
    esac
    programs='' # under a library that is preloaded: those of the first build are good for all
    [ "$preset" = release ] || programs=$root/build/release/bin/process
    (
        flock -n 9 || { echo "cairn: waiting for another build of this tree" >&2 && flock 9; }
        cmake --preset "$preset" -DCAIRN_TESTS=ON -DCAIRN_BENCH=$more -DCAIRN_PROGRAM=$more -DCAIRN_FAMILY=$more "-DCAIRN_KIT_TESTS=$kit" \
            "-DCAIRN_PROCESS_PROGRAMS=$programs" >build/test/configure.log 2>&1 || {
            cat build/test/configure.log >&2
            exit 1
        }
        cmake --build "build/$preset" --parallel "$jobs"
    ) 9>build/lock
    echo "subdirs(\"$root/build/$preset\")" >>build/test/CTestTestfile.cmake
done
# One more than there are processors: many tests wait for a clock. A tenth less time on two.
exec ctest --test-dir build/test --output-on-failure --parallel "$((jobs + 1))" "$@"
