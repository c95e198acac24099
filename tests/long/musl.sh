#!/bin/sh
# SPDX-License-Identifier: MIT
# musl: the library built against musl (Debian's musl-tools), with assertions, a C program run on it, and the process tests. Debian
# has no C++ library for musl: the headers of glibc's libstdc++ are made to do by a few declarations, of which nothing is linked.
# Left out is what needs more than headers, or asks glibc for what musl has not; each has its reason below.
. "$(dirname "$0")/lib/common.sh"
packages musl-tools g++ clang-19 linux-libc-dev python3
machine=$(uname -m)-linux
mkdir -p "$work/include"
for folder in linux asm-generic; do ln -sfn /usr/include/$folder "$work/include/$folder"; done
ln -sfn "/usr/include/$machine-gnu/asm" "$work/include/asm"
cat >"$work/shim.hpp" <<'END'
#include <pthread.h>
#include <time.h>
extern "C" int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const timespec *);
extern "C" int pthread_mutex_clocklock(pthread_mutex_t *, clockid_t, const timespec *);
END
version=$(g++ -dumpversion)

# compile SOURCE OBJECT OPTIONS...
compile() {
    source=$1 object=$2
    shift 2
    g++ -std=c++20 -O2 -nostdinc++ '-D__GLIBC_PREREQ(a,b)=0' -D__locale_t=locale_t \
        -isystem "/usr/include/c++/$version" -isystem "/usr/include/$machine-gnu/c++/$version" \
        -specs="/usr/lib/$machine-musl/musl-gcc.specs" -idirafter "$work/include" -include "$work/shim.hpp" \
        -I"$root/include" -I"$root" -fno-rtti -fno-threadsafe-statics -fno-builtin-malloc -fno-builtin-calloc \
        -fno-builtin-realloc -fno-builtin-free "$@" -c "$source" -o "$object"
}

for source in "$root"/src/malloc/*.cpp; do
    exceptions=-fno-exceptions
    case $source in */new_handler.cpp) exceptions=-fexceptions ;; esac
    compile "$source" "$work/$(basename "$source").o" -fPIC -I"$root/src/malloc" '-DCAIRN_VERSION="0.1.0"' $exceptions \
        -fvisibility=hidden -ftls-model=initial-exec || fail "$source does not compile"
    # What clang says of the same headers: it is stricter where a definition differs from them.
    clang++-19 -fsyntax-only -std=c++20 -nostdinc++ -nostdlibinc '-D__GLIBC_PREREQ(a,b)=0' -D__locale_t=locale_t \
        -isystem "/usr/include/c++/$version" -isystem "/usr/include/$machine-gnu/c++/$version" \
        -isystem "/usr/include/$machine-musl" -idirafter "$work/include" -include "$work/shim.hpp" -I"$root/include" -I"$root" \
        -I"$root/src/malloc" '-DCAIRN_VERSION="0.1.0"' $exceptions "$source" || fail "$source does not compile with clang"
done
musl-gcc -shared -o "$work/libcairn.so" "$work"/*.cpp.o -nodefaultlibs -lgcc -lc -lgcc || fail "the library does not link"

cat >"$work/work.c" <<'END'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile passed[4][500];
static void *work(void *argument) {
    long me = (long)argument;
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 500; ++i) {
            size_t size = 1 + (size_t)(i * 37 + round * 101) % (i % 50 == 0 ? 300000 : 5000);
            char *p = i % 3 ? malloc(size) : calloc(1, size);
            if (p == NULL || (i % 3 == 0 && (p[0] != 0 || p[size - 1] != 0))) abort();
            memset(p, (int)me, size < 200 ? size : 200);
            p = realloc(p, size + 1000);
            if (p == NULL || p[0] != me) abort();
            free(__atomic_exchange_n(&passed[(me + i) % 4][i], p, __ATOMIC_ACQ_REL));
        }
    }
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t threads[4];
    if (argc > 1) {
        char *volatile p = malloc(64);
        free(p + (argv[1][0] == 'i' ? 16 : 0));
        free(p);
        return 0;
    }
    for (long i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, (void *)i);
    pid_t child = fork();
    if (child == 0) {
        work((void *)1);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    void *aligned = NULL;
    if (posix_memalign(&aligned, 1 << 20, 100) != 0 || (size_t)aligned % (1 << 20) != 0) return 1;
    free(aligned);
    errno = 0;
    if (malloc((size_t)-100) != NULL || errno != ENOMEM) return 2;
    char *huge = malloc(40 << 20);
    huge = realloc(huge, 90 << 20);
    free(huge);
    return status;
}
END
musl-gcc -O1 -fno-builtin "$work/work.c" -o "$work/work" || fail "the program does not compile"
LD_PRELOAD=$work/libcairn.so "$work/work" || fail "the program ended with $?"
for misuse in twice interior; do
    status=0
    LD_PRELOAD=$work/libcairn.so "$work/work" $misuse 2>"$work/line" || status=$?
    [ $status = 134 ] && grep -q '^cairn: ' "$work/line" || fail "misuse ($misuse) was not stopped"
done
LD_PRELOAD=$work/libcairn.so CAIRN_STATS=json:$work/statistics.json "$work/work" || fail "with CAIRN_STATS"
grep -q cairn "$work/statistics.json" 2>/dev/null || fail "the library was not in the process"

# The process tests, linked with the library: what they start is linked with glibc, where nothing of musl's may be preloaded.
mkdir -p "$work/tests"
cat >>"$work/shim.hpp" <<'END'
#include <stddef.h>
extern "C" int malloc_trim(size_t);
extern "C" void *pvalloc(size_t);
inline const char *strerrorname_np(int) { return "an error"; }
END
echo '#include <new>
const std::nothrow_t std::nothrow{};' >"$work/nothrow.cpp"
compile "$work/nothrow.cpp" "$work/nothrow.o" || fail "nothrow.cpp does not compile"
right=0 wrong='' left=0
for source in "$root"/tests/process/*.cpp; do
    test=$(basename "$source" .cpp)
    reason=
    case $test in
    memory_new_handler* | memory_new_of_late_runtime | memory_new_throws | api_cpp_bad_alignment | api_cpp_own_new | life_thread_destructors | sharing_passive_false)
        reason="exceptions, destructors of threads, streams: of the C++ library"
        ;;
    libc_* | api_libc_names) reason="the declarations are glibc's" ;;
    api_cpp_own_new_archive | api_cpp_own_new_static | heap_statistics_in_a_fork | heap_touches | memory_new_throws_static | memory_small_process | report_static) reason="linked with the archive" ;;
    hardened_*) reason="another library" ;;
    life_before_and_after_main) reason="musl runs no .preinit_array" ;;
    life_fork_in_handler) reason="musl does not tell whether there are threads: a child may not return from the handler" ;;
    life_fork_while_streams_flush) reason="musl does not lock its streams for fork: a child's fflush(nullptr) hangs on musl's own malloc too" ;;
    life_main_ends_with_purger) reason="in a child of fork, musl's other threads hang when main has ended by pthread_exit, without Cairn too" ;;
    esac
    if [ -n "$reason" ]; then
        echo "$test: left out: $reason"
        left=$((left + 1))
        continue
    fi
    status=0
    {
        compile "$source" "$work/tests/$test.o" -fno-exceptions &&
            musl-gcc -o "$work/tests/$test" "$work/tests/$test.o" "$work/nothrow.o" "$work/libcairn.so" -Wl,-rpath,"$work" &&
            timeout 600 python3 "$root/tools/run_process_test.py" --link=so --library="$work/libcairn.so" "$source" "$work/tests/$test"
    } >"$work/tests/$test.log" 2>&1 || status=$?
    case $status in
    0) right=$((right + 1)) ;;
    77)
        echo "$test: can not run here"
        left=$((left + 1))
        ;;
    *)
        echo "$test: status $status: $(tail -n 1 "$work/tests/$test.log")"
        wrong="$wrong $test"
        ;;
    esac
done
[ -z "$wrong" ] || fail "$right of the process tests right, $left left out, wrong:$wrong"
result "built, a threaded C program with forks right, misuse stopped; $right of the process tests right, $left left out"
