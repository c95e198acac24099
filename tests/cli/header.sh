#!/bin/sh
# SPDX-License-Identifier: MIT
#
# <cairn/cairn.h> on its own: C99 to C17, C++11 and C++20 compile it without a warning, and a C program links.
set -eu
. "$(dirname "$0")/lib/common.sh"
cat >"$scratch/use.c" <<'END'
#include <cairn/cairn.h>
#include <cairn/cairn.h>
int main(void) {
    struct cairn_statistics statistics;
    cairn_heap *heap = cairn_heap_create();
    void *block = cairn_heap_alloc(heap, 100);
    statistics.size = sizeof statistics;
    if (block == NULL || cairn_version()[0] != CAIRN_VERSION_STRING[0] || cairn_get_statistics(&statistics) != 0)
        return 1;
    cairn_heap_free(heap, block);
    cairn_heap_destroy(heap);
    return 0;
}
END
cp "$scratch/use.c" "$scratch/use.cpp"
warnings="-Wall -Wextra -pedantic -Wshadow -Wundef -Wconversion -Werror -I$SOURCE_DIR/include"
for c in gcc clang-19; do
    command -v "$c" >/dev/null || continue
    for standard in c99 c11 c17; do
        # shellcheck disable=SC2086
        "$c" -std=$standard $warnings -Wstrict-prototypes -fsyntax-only "$scratch/use.c"
    done
done
for cxx in g++ clang++-19; do
    command -v "$cxx" >/dev/null || continue
    for standard in c++11 c++20; do
        # shellcheck disable=SC2086
        "$cxx" -std=$standard $warnings -fsyntax-only "$scratch/use.cpp"
    done
done
# shellcheck disable=SC2086
gcc -std=c99 $warnings "$scratch/use.c" -o "$scratch/use" "$BUILD_DIR/lib/libcairn.so" -Wl,-rpath,"$BUILD_DIR/lib"
"$scratch/use"
