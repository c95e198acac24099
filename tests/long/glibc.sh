#!/bin/sh
# SPDX-License-Identifier: MIT
# glibc: glibc's own tests of malloc (Debian's glibc-source), built against the system's C library and run under Cairn and
# its peers. glibc-internals.txt lists the tests that are about the insides of glibc, each with its reason; all others must
# pass under Cairn, or be shown to fail on glibc itself. Says a table: a row a test, a column an allocator.
. "$(dirname "$0")/lib/common.sh"
mimalloc=libmimalloc2.0 # of Debian 12
apt-cache policy libmimalloc3 2>/dev/null | grep -q 'Candidate: [^(]' && mimalloc=libmimalloc3
packages glibc-source gcc libc6-dev libjemalloc2 "$mimalloc" libtcmalloc-minimal4 libtbbmalloc2
cd "$work"
archive=$(ls /usr/src/glibc/glibc-*.tar.xz)
source=$work/$(basename "$archive" .tar.xz)
allocators=${CAIRN_LONG_ALLOCATORS:-glibc cairn jemalloc mimalloc tcmalloc tbb}

if [ ! -f "$source/test-skeleton.c" ]; then
    stem=$(basename "$source")
    tar -xJf "$archive" "$stem/malloc" "$stem/support" "$stem/include" "$stem/sysdeps/generic" "$stem/test-skeleton.c"
fi

# What the tests and their support library take from the rest of glibc: a few headers, and glibc's own spellings.
mkdir -p shim objects bin out
for header in array_length libc-diag intprops verify scratch_buffer; do
    cp "$source/include/$header.h" shim
done
cp "$source/sysdeps/generic/malloc-size.h" "$source/sysdeps/generic/malloc-alignment.h" shim
: >shim/config.h
: >shim/libc-config.h
cat >shim/stackinfo.h <<END
#include <elf.h>
#define _STACK_GROWS_DOWN 1
#define DEFAULT_STACK_PERMS (PF_R | PF_W)
END
cat >shim/glibc.h <<END
#include <errno.h>
#include <limits.h>
#define libc_hidden_proto(...)
#define libc_hidden_def(...)
#define __set_errno(value) (errno = (value))
#define __always_inline inline __attribute__((always_inline))
#define __glibc_likely(x) __builtin_expect((x), 1)
#define __glibc_unlikely(x) __builtin_expect((x), 0)
END
cat >shim/paths.c <<END
const char support_srcdir_root[] = "$source", support_objdir_root[] = "$work", support_install_prefix[] = "/usr";
END

# tst-malloc-thread-fail looks for the error of posix_memalign in errno, where glibc leaves it too; POSIX does not say so.
cat >shim/tst-malloc-thread-fail.h <<END
#include <stdlib.h>
#define posix_memalign(out, alignment, size) (errno = posix_memalign(out, alignment, size))
END

compile() {
    gcc -std=gnu11 -O1 -fno-builtin -w -D_GNU_SOURCE -DTIMEOUTFACTOR=1 -DTEST_NO_MALLOPT -include shim/glibc.h -I shim -I "$source" \
        -I "$source/support" "$@"
}

if [ ! -f libsupport.a ]; then
    for file in "$source"/support/*.c "$source"/malloc/scratch_buffer_*.c shim/paths.c; do
        name=$(basename "$file" .c)
        case $name in
        tst-* | README* | test-* | links-* | *-container | *_main | *time64 | support_paths) [ "$name" = support_test_main ] || continue ;;
        esac
        # Some need parts of glibc that are not here; a test that needs them is not built either, and that is said.
        compile -c "$file" -o "objects/$name.o" 2>/dev/null || rm -f "objects/$name.o"
    done
    ar rcs libsupport.new objects/*.o
    mv libsupport.new libsupport.a
fi

tests=$(cd "$source/malloc" && ls mallocbug.c tst-*.c | sed 's/\.c$//' | grep -v -e '-aux' -e '-skeleton' -e '-static-')
internal() { grep -q "^$1 " "$here/glibc-internals.txt"; }

# What became of a run, in a word.
outcome() { # STATUS OUTPUT
    case $1 in
    0) echo ok ;;
    77) echo unsupported ;;
    124 | 137) echo hangs ;;
    *)
        if grep -q 'Timed out' "$2" && ! grep -q '^error:' "$2"; then
            echo hangs
        elif grep -q -e 'Assertion' -e 'got .Aborted' "$2"; then
            echo aborts
        elif [ "$1" -gt 128 ] || grep -q "Didn't expect signal" "$2"; then
            echo crashes
        else
            echo fails
        fi
        ;;
    esac
}

present=
for allocator in $allocators; do
    if library_of "$allocator" >/dev/null; then
        present="$present $allocator"
    fi
done

{
    printf '%-29s' test
    # shellcheck disable=SC2086 # one word each
    printf ' %-11s' $present
    echo
} >table.new
behaviour=0 passed=0 internals=0 failed='' also_glibc='' not_built=''
for test in $tests; do
    if internal "$test"; then
        internals=$((internals + 1))
        continue
    fi
    more=
    [ ! -f "shim/$test.h" ] || more="-include shim/$test.h"
    # shellcheck disable=SC2086 # none or two words
    if [ ! -x "bin/$test" ] && ! compile $more "$source/malloc/$test.c" libsupport.a -pthread -ldl -o "bin/$test" 2>"out/$test.build"; then
        not_built="$not_built $test"
        continue
    fi
    behaviour=$((behaviour + 1))
    printf '%-29s' "$test" >>table.new
    on_glibc=ok
    for allocator in $present; do
        status=0
        out=out/$test.$allocator
        TIMEOUTFACTOR=${CAIRN_LONG_PATIENCE:-3} under "$allocator" bounded 600 "bin/$test" >"$out" 2>&1 || status=$?
        word=$(outcome $status "$out")
        head -c 100000 "$out" >"$out.head" # some fail millions of times
        mv "$out.head" "$out"
        printf ' %-11s' "$word" >>table.new
        [ "$allocator" != glibc ] || on_glibc=$word
        if [ "$allocator" = cairn ]; then
            if [ "$word" = ok ]; then
                passed=$((passed + 1))
            elif [ "$word" = "$on_glibc" ]; then
                also_glibc="$also_glibc $test"
            else
                failed="$failed $test"
            fi
        fi
    done
    echo >>table.new
    tail -n 1 table.new
done
mv table.new table.txt
{
    printf '%-29s' passed
    column=2
    for allocator in $present; do
        printf ' %-11s' "$(awk -v c=$column 'NR > 1 && $c == "ok"' table.txt | wc -l) of $behaviour"
        column=$((column + 1))
    done
    echo
} >>table.txt
echo
cat table.txt
text="$passed of $behaviour tests of behaviour passed, $internals test the insides of glibc"
[ -z "$also_glibc" ] || text="$text; fail on glibc as well:$also_glibc"
[ -z "$not_built" ] || text="$text; NOT BUILT:$not_built"
[ -z "$failed" ] || text="$text; FAILED:$failed"
[ -z "$failed$not_built" ] || fail "$text"
result "$text"
