#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A library that is loaded with RTLD_DEEPBIND has the program's malloc, and is who it is for the C library: what it loads
# itself is found by its own RUNPATH. With the option deep_binding it has the C library's malloc, as the program asks for.
. "$(dirname "$0")/lib/common.sh"
need gcc gcc
mkdir "$scratch/build" "$scratch/build/beside"
library=(gcc -O1 -fno-builtin -fPIC -shared)
"${library[@]}" "$inputs/fork_library.c" -o "$scratch/build/beside/libanother.so"
# shellcheck disable=SC2016 # the loader's word
"${library[@]}" "$inputs/deep_library.c" -o "$scratch/build/libdeep.so" -Wl,--enable-new-dtags,-rpath,'$ORIGIN/beside'
gcc -O1 -fno-builtin "$inputs/deep_program.c" -o "$scratch/build/deep_program"

work() {
    "$scratch/build/deep_program" "$scratch/build/libdeep.so"
}

compare work
loaded deep_program
grep -qx 'one malloc: yes' "$scratch/cairn.out" && grep -qx "the library's RUNPATH: used" "$scratch/cairn.out" ||
    fail "not as on the C library's dlopen: $(cat "$scratch/cairn.out")"
[ "${CAIRN_TEST_BRIEF-}" != 1 ] || exit 0 # the family has no options
LD_PRELOAD=$CAIRN_LIB CAIRN_OPTIONS=deep_binding:on work | grep -qx 'one malloc: no' || fail "deep_binding:on binds no deeper"
