#!/bin/sh
# SPDX-License-Identifier: MIT
#
# <cairn/xalloc.h>: a parser on Cairn's xalloc and on one that is written by hand puts every block in the same place,
# meets the limit at the same request and prints the same. It needs no C++ runtime.
set -eu
. "$(dirname "$0")/lib/common.sh"
here=$SOURCE_DIR/tests/cli/xalloc
command -v gcc >/dev/null || exit 77
warnings="-Wall -Wextra -pedantic -Wshadow -Werror"
# shellcheck disable=SC2086
gcc -std=c11 -O1 $warnings -I"$SOURCE_DIR/include" "$here/parser.c" "$here/original.c" -o "$scratch/original"
"$scratch/original" >"$scratch/original.txt"
[ "$(wc -l <"$scratch/original.txt")" -gt 150 ] || fail "the parser prints too little to compare"
grep -q '^failures [1-9]' "$scratch/original.txt" || fail "the limit was never met"
for c in gcc clang-19; do
    command -v "$c" >/dev/null || continue
    # shellcheck disable=SC2086
    "$c" -std=c99 -O1 $warnings -I"$SOURCE_DIR/include" "$here/parser.c" "$BUILD_DIR/lib/libcairn-stack.a" \
        -o "$scratch/ours"
    "$scratch/ours" | diff "$scratch/original.txt" - || fail "$c: another result"
done
if ldd "$scratch/ours" | grep -E 'stdc\+\+|libgcc'; then fail "a C program needs a C++ runtime"; fi
