#!/bin/sh
# SPDX-License-Identifier: MIT
# gnulib: gnulib's tests of the malloc family, against the C library's own functions and not gnulib's replacements for them,
# so what is tested is the malloc that is preloaded. Left out: tests of gnulib's own allocators and wrappers (ssfmalloc,
# xalloc, alignalloc, scratch-buffer), which call malloc for memory and no more.
. "$(dirname "$0")/lib/common.sh"
packages gnulib gcc g++ libc6-dev
cd "$work"
lib=/usr/share/gnulib/lib
tests=/usr/share/gnulib/tests
mkdir -p shim bin out

# What gnulib's configure would find on a system that has these functions; but for the alignment of small blocks. It finds
# glibc's 16; Cairn and all of its peers align blocks of up to 8 bytes by 8, which C allows, and aligned-malloc fails with 16.
cat >shim/config.h <<END
#include <stdbool.h>
#include <assert.h>
#include <stddef.h>
#define HAVE_ALIGNED_ALLOC 1
#define HAVE_MALLOC_H 1
#define HAVE_MEMALIGN 1
#define HAVE_POSIX_MEMALIGN 1
#define MALLOC_ALIGNMENT 8
#define _GL_UNUSED __attribute__((unused))
#define _GL_ATTRIBUTE_MAYBE_UNUSED __attribute__((unused))
#define _GL_ATTRIBUTE_DEALLOC(f, i)
#define _GL_ATTRIBUTE_MALLOC
#define _GL_ATTRIBUTE_DEALLOC_FREE
#define _GL_ATTRIBUTE_ALLOC_SIZE(a)
#define _GL_INLINE_HEADER_BEGIN
#define _GL_INLINE_HEADER_END
END
cat >shim/stdckdint.h <<END
#define ckd_add(result, a, b) __builtin_add_overflow(a, b, result)
END

failed='' also_glibc='' passed=0 all=0
for test in aligned_alloc aligned-malloc calloc-gnu free malloca malloc-gnu malloc-h malloc-h-c++ memalign posix_memalign realloc-gnu \
    reallocarray; do
    all=$((all + 1))
    more='' compiler=gcc file=$tests/test-$test.c
    case $test in
    malloca) more=$lib/malloca.c ;;
    malloc-h-c++) compiler=g++ file=$tests/test-$test.cc ;;
    esac
    # shellcheck disable=SC2086 # none or one
    if ! $compiler -w -D_GNU_SOURCE -fno-builtin -I shim -I "$tests" -iquote "$lib" "$file" $more -o "bin/$test" >"out/$test.build" 2>&1; then
        failed="$failed $test(not built)"
        head -n 3 "out/$test.build"
        continue
    fi
    status=0
    under cairn timeout 300 "bin/$test" >"out/$test.cairn" 2>&1 || status=$?
    if [ $status = 0 ]; then
        passed=$((passed + 1))
    elif ! under glibc timeout 300 "bin/$test" >"out/$test.glibc" 2>&1; then
        also_glibc="$also_glibc $test"
    else
        failed="$failed $test"
    fi
    echo "$test: $status"
done
text="$passed of $all tests passed"
[ -z "$also_glibc" ] || text="$text; fail on glibc as well:$also_glibc"
[ -z "$failed" ] || fail "$text; FAILED:$failed"
result "$text"
