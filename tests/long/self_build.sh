#!/bin/sh
# SPDX-License-Identifier: MIT
# self_build: cmake, ninja and g++ build this project, its programs and libraries, once on glibc and once under Cairn, in a
# folder of one name; what comes out is compared byte for byte.
. "$(dirname "$0")/lib/common.sh"
packages g++ cmake ninja-build libcli11-dev nlohmann-json3-dev
cd "$work"
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER # nothing out of a cache
target=${CAIRN_LONG_TARGET:-cairn_product}

# The sources as they are now, also when somebody edits the tree meanwhile.
rm -rf sources build glibc
mkdir sources
(cd "$root" && cp -r CMakeLists.txt cmake include allocators src man LICENSE "$work/sources")

for allocator in glibc cairn; do
    log=$work/$allocator.log
    under "$allocator" cmake -S sources -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAIRN_TESTS=OFF -DCAIRN_BENCH=OFF \
        >"$log" 2>&1 || fail "cmake fails on $allocator: $(tail -n 1 "$log")"
    under "$allocator" cmake --build build --target "$target" --parallel "$jobs" >>"$log" 2>&1 ||
        fail "the build fails on $allocator: $(tail -n 1 "$log")"
    ! grep -n 'cairn: ' "$log" || fail "a complaint of the malloc"
    [ "$allocator" = cairn ] || mv build glibc
done
files=$(cd glibc && find . -name '*.o' -o -path './lib/*' -type f -o -path './bin/*' -type f)
all=0 different=''
for file in $files; do
    all=$((all + 1))
    cmp -s "glibc/$file" "build/$file" || different="$different $file"
done
[ $all != 0 ] || fail "nothing was built"
[ -z "$different" ] || fail "$all files, other than on glibc:$different"
rm -rf sources build glibc
result "$all objects, libraries and programs, each the same as on glibc"
