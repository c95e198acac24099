#!/bin/sh
# SPDX-License-Identifier: MIT
#
# <cairn/obstack.h>: a program that includes <obstack.h> is built with the C library's and with Cairn's and prints the
# same. It needs no C++ runtime. From C++, functions of the program may throw, and the usual handler ends it.
set -eu
. "$(dirname "$0")/lib/common.sh"
here=$SOURCE_DIR/tests/cli/obstack
command -v gcc >/dev/null || exit 77
printf '#include <obstack.h>\n' | gcc -fsyntax-only -x c - 2>/dev/null || exit 77 # a C library without obstacks
ours="-I$SOURCE_DIR/include -I$SOURCE_DIR/include/cairn-obstack"
library=$BUILD_DIR/lib/libcairn-stack.a

# Text with scopes, macros, strings, words of up to 5,000 letters and scopes of up to 2,000 symbols.
{
    cat "$here/scopes.c" "$SOURCE_DIR/src/stack/obstack.cpp"
    awk 'BEGIN {
        srand(5); print "def twice one one\ndef deep twice two twice"
        for (i = 0; i < 400; ++i) {
            printf "scope_%d {", i
            n = i % 50 == 0 ? 2000 : int(rand() * 40)
            for (j = 0; j < n; ++j) printf "%s name_%d %s", j % 9 ? "" : "\n", int(rand() * n), j % 7 ? "" : "deep"
            if (i % 3 == 0) printf "\"text %d \\\\ with \\\" in it\"", i
            if (i % 40 == 0) { for (j = 0; j < 125 * i / 40 * 4; ++j) printf "abcdefghij"; printf " " }
            if (i % 5) printf "inner { a b c "
            if (i % 5) printf "} "
            if (i % 4) print "}"
        }
    }'
} >"$scratch/text"

gcc -std=gnu99 -O1 "$here/scopes.c" -o "$scratch/theirs"
"$scratch/theirs" <"$scratch/text" >"$scratch/theirs.txt"
[ "$(wc -l <"$scratch/theirs.txt")" -gt 2000 ] || fail "the program prints too little to compare"

for c in gcc clang-19; do
    command -v "$c" >/dev/null || continue
    for standard in gnu99 gnu17; do
        # The second time with the C library's own checked forms of printf.
        for more in "-Wall -Wextra -pedantic -Wshadow -Wundef -Werror" -D_FORTIFY_SOURCE=2; do
            # shellcheck disable=SC2086
            "$c" -std=$standard -O1 $more $ours "$here/scopes.c" "$library" -o "$scratch/ours"
            "$scratch/ours" <"$scratch/text" >"$scratch/ours.txt"
            cmp "$scratch/theirs.txt" "$scratch/ours.txt" || fail "$c -std=$standard $more: another result"
        done
    done
done
if ldd "$scratch/ours" | grep -E 'stdc\+\+|libgcc'; then fail "a C program needs a C++ runtime"; fi

# Without the folder on the include path; and <obstack.h> later is the same header.
gcc -std=gnu99 -I"$SOURCE_DIR/include" -include cairn/obstack.h "$here/scopes.c" "$library" -o "$scratch/forced"
"$scratch/forced" <"$scratch/text" | cmp - "$scratch/theirs.txt"
if printf '#include <obstack.h>\n#include <cairn/obstack.h>\n' |
    gcc -I"$SOURCE_DIR/include" -fsyntax-only -x c - 2>"$scratch/both"; then fail "both headers at once compile"; fi
grep -q "included before <cairn/obstack.h>" "$scratch/both"

cat >"$scratch/use.cpp" <<'END'
#include <cairn/obstack.h>
#include <cstring>
#include <new>
#include <stdexcept>
static bool none;
static void *take(std::size_t size) { return none ? nullptr : ::operator new(size); }
static void *take_or_throw(std::size_t size) {
    if (none) throw std::runtime_error("none");
    return ::operator new(size);
}
#define obstack_chunk_alloc take
#define obstack_chunk_free ::operator delete
int main(int argc, char **) {
    struct obstack h;
    obstack_init(&h);
    char *const name = static_cast<char *>(obstack_copy0(&h, "name", 4));
    obstack_printf(&h, "%d", argc);
    obstack_chunkfun(&h, take_or_throw);
    none = true;
    try {
        obstack_blank(&h, 10000);
        return 1;
    } catch (const std::runtime_error &) {
        if (std::strcmp(name, "name") != 0 || obstack_object_size(&h) != 1) return 2;
    }
    obstack_exit_failure = 5;
    obstack_chunkfun(&h, take);
    obstack_blank(&h, 10000);
    return 3;
}
END
for cxx in g++ clang++-19; do
    command -v "$cxx" >/dev/null || continue
    # shellcheck disable=SC2086
    "$cxx" -std=c++11 -Wall -Wextra -pedantic -Werror $ours "$scratch/use.cpp" "$library" -o "$scratch/use"
    status=0
    "$scratch/use" 2>"$scratch/said" || status=$?
    [ "$status" = 5 ] || fail "$cxx: ended with $status"
    [ "$(cat "$scratch/said")" = "memory exhausted" ] || fail "$cxx: said $(cat "$scratch/said")"
done
