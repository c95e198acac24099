#!/bin/sh
# SPDX-License-Identifier: MIT
# coverage: which lines and branches of the headers and of the malloc the tests run: unit, conformance, concurrent, process, and
# the library in real programs and under those of the command line; it is instrumented too. Left out, since they need what is not
# in this build: cli.replay (other allocators), cli.trace (counts each malloc, also those of the counters), preload.cmake and
# preload.gdb (gcc's own programs; the compiler is clang). Counters are a file that is mapped into each process, so that those
# that are stopped for a misuse count, and nothing is written at the end. Prints a table; the lines that nothing runs are in
# uncovered.txt.
. "$(dirname "$0")/lib/common.sh"
packages clang-19 llvm-19 libclang-rt-19-dev cmake ninja-build libgtest-dev python3
cd "$work"
launcher=
! command -v ccache >/dev/null || launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache
# The malloc is linked with the C library alone, behind which the runtime of the counters has to come.
runtime=$(clang++-19 -print-resource-dir)/lib/linux/libclang_rt.profile-$(uname -m).a
# shellcheck disable=SC2086 # none or one
cmake --fresh -S "$root" -B build -G Ninja -DCMAKE_BUILD_TYPE=Coverage -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
    -DCMAKE_CXX_FLAGS_COVERAGE='-O0 -g0 -DNDEBUG' -DCAIRN_COVERAGE=ON -DCAIRN_WERROR=OFF \
    -DCMAKE_CXX_STANDARD_LIBRARIES="$runtime -lc" -DCAIRN_TESTS=ON -DCAIRN_BENCH=OFF -DCAIRN_FAMILY=OFF $launcher >build.log 2>&1 &&
    cmake --build build --parallel "$jobs" >>build.log 2>&1 || {
    tail -n 20 build.log
    fail "could not be built"
}
rm -rf profiles
mkdir profiles
status=0
LLVM_PROFILE_FILE=$work/profiles/%m%c.profraw ctest --test-dir build --parallel "$jobs" --timeout 600 \
    -L '^(unit|conformance|concurrent|process|preload|cli)$' -E '\.(cli\.(replay|trace)|preload\.(cmake|gdb))$' >test.log 2>&1 || status=$?
sed -n '/tests passed/,$p' test.log

objects=
for file in build/bin/unit/* build/bin/conformance/* build/bin/concurrent/*; do
    [ ! -x "$file" ] || objects="$objects -object $file"
done
llvm-profdata-19 merge -sparse --failure-mode=all profiles/*.profraw -o all.profdata
for format in lcov text; do
    # shellcheck disable=SC2086 # two words each
    llvm-cov-19 export -format=$format -skip-functions -instr-profile=all.profdata build/lib/libcairn.so $objects \
        -sources "$root/include/cairn" "$root/allocators" "$root/src/malloc" >all.$format
done
python3 "$here/lib/coverage.py" "$root" all.lcov all.text uncovered.txt >table.txt
cat table.txt
echo
echo "what no test runs: $work/uncovered.txt, $(wc -l <uncovered.txt) lines"
text="lines and branches: $(tail -n 1 table.txt | tr -s ' ')"
[ $status = 0 ] || fail "$text; a test failed: $work/test.log"
result "$text"
