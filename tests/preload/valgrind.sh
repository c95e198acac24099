#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# valgrind's memcheck puts its own malloc in the place of whichever a program has: it must find the same mistakes in a program on Cairn,
# preloaded or linked with, as in one on glibc. Addresses, process numbers and the sum of all blocks are left out, nothing else.
. "$(dirname "$0")/lib/common.sh"
need valgrind valgrind
need g++ g++

g++ -g -O0 -w -pthread "$inputs/checked.cpp" -o "$scratch/checked"
# Linked with, there is nothing to preload: memcheck has to know the malloc by its names alone.
g++ -g -O0 -w -pthread "$inputs/checked.cpp" "$CAIRN_LIB" -Wl,-rpath,"$(dirname "$CAIRN_LIB")" -o "$scratch/linked"

# check PROGRAM: the report, without what differs from run to run.
check() {
    local status=0
    valgrind --error-exitcode=9 --leak-check=full --show-leak-kinds=definite "$1" >found 2>&1 || status=$?
    echo "ended with $status"
    sed -E 's/^==[0-9]+==/==/; s/0x[0-9A-Fa-f]+/ADDRESS/g; s/\(in [^)]*\)//; /^== Command:/d; /total heap usage/d' found
}

work() { check "$scratch/checked"; }

compare work
loaded checked

linked=$(cd "$scratch" && check ./linked)
for found in 'Invalid read of size 1' 'Conditional jump' 'Invalid free() / delete' 'Mismatched free() / delete' \
    '0 bytes after a block of size 40' '333 bytes in 1 blocks are definitely lost' '200 bytes in 1 blocks are definitely lost'; do
    grep -qF "$found" <<<"$linked" || fail "memcheck did not say '$found' of a program that is linked with the library"
done
