#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A library whose constructor registers a handler of fork that allocates in the child: it runs on a heap in order,
# although the library's constructor runs before those of what the program was linked with later.
. "$(dirname "$0")/lib/common.sh"
need gcc gcc
mkdir "$scratch/build"
gcc -O1 -fno-builtin -fPIC -shared -pthread "$inputs/fork_library.c" -o "$scratch/build/libfork.so"
gcc -O1 -fno-builtin -pthread "$inputs/fork_program.c" -L "$scratch/build" -lfork -Wl,-rpath,"$scratch/build" \
    -o "$scratch/build/fork_program"

work() {
    "$scratch/build/fork_program"
}

compare work
loaded fork_program
