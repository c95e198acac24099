#!/bin/sh
# SPDX-License-Identifier: MIT
# allocators: other allocators' own tests, as far as they call malloc's names, or jemalloc's that Cairn has (mallocx and so on):
# jemalloc's test/integration, mimalloc's test-stress, gperftools' unit tests (Debian's sources). What asks an allocator about
# itself is left out: mallctl, MallocExtension, hooks.
. "$(dirname "$0")/lib/common.sh"
packages gcc g++ libc6-dev dpkg-dev make
cd "$work"
jemalloc=$(debian_source jemalloc) mimalloc=$(debian_source mimalloc) gperftools=$(debian_source google-perftools)
mkdir -p bin out fake/gperftools

failed='' also_glibc='' passed=0 all=0
count() { # NAME STATUS: how a program of NAME ended
    all=$((all + 1))
    echo "$1: $2"
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    elif [ -n "${3:-}" ] && ! under glibc bounded 600 "bin/$1" >"out/$1.glibc" 2>&1; then
        also_glibc="$also_glibc $1"
    else
        failed="$failed $1"
    fi
}

# jemalloc. Each program has several cases and says how each one ended. Left out, as name.case: those that expect jemalloc's size
# classes, or a block as long as nallocx says where Cairn's may be longer.
left_out='mallocx.test_basic mallocx.test_alignment_and_size mallocx.test_oom rallocx.test_grow_and_shrink rallocx.test_align_enum'
if [ ! -f configured/config.status ]; then
    rm -rf configured
    cp -r "$jemalloc" configured
    (cd configured && ./configure --with-jemalloc-prefix= && : >include/jemalloc/internal/private_namespace.h) >out/configure 2>&1 ||
        fail "jemalloc could not be configured"
fi
cat >fake/mallctl.c <<'END'
#include <errno.h>
#include <string.h>
static int is(void *to, size_t *length, size_t value) {
    memcpy(to, &value, *length);
    return 0;
}
int mallctl(const char *name, void *to, size_t *length, void *from, size_t from_length) {
    if (strcmp(name, "arena.0.purge") == 0) return 0;
    if (strcmp(name, "arenas.nlextents") == 0 || strcmp(name, "arenas.create") == 0) return is(to, length, 1);
    return strcmp(name, "arenas.lextent.0.size") == 0 ? is(to, length, (size_t)1 << 45) : ENOENT;
}
int mallctlnametomib(const char *name, size_t *mib, size_t *length) {
    return strcmp(name, "arenas.lextent.0.size") == 0 ? 0 : ENOENT;
}
int mallctlbymib(const size_t *mib, size_t n, void *to, size_t *length, void *from, size_t from_length) {
    return is(to, length, (size_t)1 << 45);
}
void (*test_hooks_arena_new_hook)(void), (*test_hooks_libc_hook)(void);
END
for test in aligned_alloc malloc mallocx overflow posix_memalign rallocx sdallocx; do
    (cd configured && gcc -w -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -I include -I test/include -D JEMALLOC_INTEGRATION_TEST \
        test/integration/$test.c test/src/[!t]*.c test/src/test.c test/src/thd.c test/src/timer.c src/nstime.c src/malloc_io.c \
        src/ticker.c ../fake/mallctl.c -o ../bin/$test "$library" -pthread -lm) >"out/$test.build" 2>&1 || {
        failed="$failed $test(not built)"
        continue
    }
    LD_LIBRARY_PATH=$build/lib bounded 600 bin/$test >"out/$test" 2>&1 || true
    for case in $(sed -n 's/^TEST_BEGIN(\(.*\)) {$/\1/p' "configured/test/integration/$test.c"); do
        case " $left_out " in *" $test.$case "*) continue ;; esac
        status=0
        [ "$(grep -c "^$case (.*): pass" "out/$test")" -gt 0 ] && ! grep -q "^$case (.*): fail" "out/$test" || status=1
        count "$test.$case" $status
    done
done

# mimalloc
gcc -w -O2 -fno-builtin -D USE_STD_MALLOC -I "$mimalloc/include" "$mimalloc/test/test-stress.c" -o bin/stress -pthread ||
    fail "test-stress could not be built"
for words in '32 50 10' '8 100 10' '64 10 20'; do
    status=0
    # shellcheck disable=SC2086
    under cairn bounded 1200 bin/stress $words >"out/stress $words" 2>&1 || status=$?
    count "stress $words" $status
done

# gperftools
cat >fake/config.h <<'END'
#pragma once
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#define HAVE_UNISTD_H 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_MMAP 1
#define HAVE_MALLOC_H 1
#define HAVE_PTHREAD 1
#define HAVE_SYS_SYSCALL_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE___ATTRIBUTE__ 1
#define HAVE_TLS 1
#define PRIuPTR "lu"
#define PERFTOOLS_DLL_DECL
#ifdef __cplusplus
struct MallocExtension {
    static MallocExtension *instance() { return nullptr; }
    void GetStats(char *text, int) { *text = 0; }
    bool GetNumericProperty(const char *, size_t *value) { return *value = 0, true; }
    void ReleaseFreeMemory() {}
};
#endif
END
for header in config_for_unittests tcmalloc common gperftools/tcmalloc gperftools/malloc_extension; do
    echo '#include <config.h>' >fake/$header.h
done
cat >fake/verbose.cc <<'END'
#include <config.h>
#include "base/commandlineflags.h"
DEFINE_int32(verbose, 0, "");
END
for test in realloc memalign thread_dealloc large_heap_fragmentation tcmalloc_large; do
    g++ -w -std=c++17 -O1 -fno-builtin -I fake -I "$gperftools/src" "$gperftools/src/tests/${test}_unittest.cc" \
        "$gperftools/src/tests/testutil.cc" fake/verbose.cc -o bin/$test -pthread >"out/$test.build" 2>&1 || {
        failed="$failed $test(not built)"
        continue
    }
    status=0
    under cairn bounded 600 bin/$test >"out/$test" 2>&1 || status=$?
    count $test $status glibc
done

text="$passed of $all tests passed"
[ -z "$also_glibc" ] || text="$text; fail on glibc as well:$also_glibc"
[ -z "$failed" ] || fail "$text; FAILED:$failed"
result "$text"
