#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gcc: compiles, assembles and links C with this project's C header, plainly and with link-time optimisation in two
# processes. Objects and programs are compared byte for byte; the programs run too.
. "$(dirname "$0")/lib/common.sh"
need gcc gcc
own_sources

work() {
    # -frandom-seed names the sections that link-time optimisation would otherwise name at random.
    local flags=(-std=c17 -Wall -pthread -I "$sources/include" -frandom-seed=cairn)
    gcc "${flags[@]}" -O2 -g -c "$inputs/build.c" -o keep/build.o
    gcc "${flags[@]}" -O3 -S "$inputs/build.c" -o keep/build.s
    gcc -pthread keep/build.o -lm -o keep/program
    gcc "${flags[@]}" -O2 -flto=2 -flto-partition=max -c "$inputs/build.c" -o keep/lto.o
    gcc "${flags[@]}" -O2 -flto=2 -flto-partition=max keep/lto.o -lm -o keep/program-lto
    keep/program
    keep/program-lto
    # A diagnostic, with its notes and its caret.
    ! echo 'int f(void) { retrun undeclared + 1 }' | gcc -x c -c - -o /dev/null 2>keep/diagnostic
}

compare work
loaded gcc cc1 as ld program
