#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# g++: compiles sources of this project (of the drop-in and headers of the kit) and a program of templates, which is
# linked and run. Objects and programs are compared byte for byte.
. "$(dirname "$0")/lib/common.sh"
need g++ g++
own_sources

export all=yes
[ "${CAIRN_TEST_BRIEF-}" != 1 ] || all=

work() {
    local flags=(-std=c++20 -I "$sources/include" -I "$sources" -I "$sources/src/malloc" -frandom-seed=cairn
        -ffile-prefix-map="$scratch=.") header # the same objects wherever they are made
    if [ -n "$all" ]; then
        for header in "$sources"/include/cairn/{core,sizeclass}/*.hpp; do
            echo "#include \"$header\""
        done >kit.cpp
        g++ "${flags[@]}" -O2 -c kit.cpp -o keep/kit.o
        g++ "${flags[@]}" -O2 -g -fno-exceptions -fno-rtti -c "$sources/src/malloc/process_heap.cpp" -o keep/process_heap.o
    fi
    g++ "${flags[@]}" ${all:+-O1} -c "$inputs/build.cpp" -o keep/build.o
    g++ -pthread keep/build.o -o keep/program
    keep/program
}

compare work
loaded g++ cc1plus as ld program
