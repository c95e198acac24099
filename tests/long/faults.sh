#!/bin/sh
# SPDX-License-Identifier: MIT
#
# faults.sh BUILD_FOLDER: every system call that the malloc makes in a run that uses all of it fails once, three times,
# and from there on; first by a filter inside the process (tests/process/faults_of_the_kernel.cpp), then by strace, which
# reaches what libc asks for as well: stacks of threads, mprotect.
set -u
name=faults
build=$(cd "${1:?a build folder}" && pwd) || exit 1
library=${CAIRN_LIB:-$build/lib/libcairn.so}
finished() {
    echo "RESULT $name: $2"
    exit "$1"
}
[ -e "$library" ] || finished 1 "$library is missing"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

root=$(cd "$(dirname "$0")/../.." && pwd)
# Compiled here: a build without tests has none of these programs.
for name_of_program in faults_of_the_kernel faults_of_the_system life_fork_in_handler life_stopped_and_killed; do
    g++ -std=c++20 -O2 -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free -I"$root/include" \
        -I"$root" "$root/tests/process/$name_of_program.cpp" -o "$scratch/$name_of_program" -pthread ||
        finished 1 "$name_of_program does not compile"
done
program=$scratch/faults_of_the_kernel

# By the filter: what the library itself calls, counted over all threads.
for options in purge_delay:0 background:off,purge_delay:1; do
    CAIRN_OPTIONS=$options LD_PRELOAD=$library "$program" --all >"$scratch/filter" 2>&1 || {
        cat "$scratch/filter"
        finished 1 "by the filter with CAIRN_OPTIONS=$options"
    }
    cat "$scratch/filter"
    plans=$((${plans:-0} + $(sed -n 's/^\([0-9]*\) plans: .*/\1/p' "$scratch/filter")))
done

# By strace: the N-th call of each thread. It is attached before the program begins its work.
# traced STRACE_OPTION...: the program's status
traced() {
    LD_PRELOAD=$library "$program" --stopped >"$scratch/output" 2>&1 &
    traced_program=$!
    until grep -q '^State:.*T (stopped' "/proc/$traced_program/status" 2>/dev/null; do sleep 0.01; done
    strace -f -qq -o "$scratch/trace" -p "$traced_program" "$@" 2>"$scratch/strace" &
    tracer=$!
    until grep -q "^TracerPid:[[:space:]]*$tracer\$" "/proc/$traced_program/status" 2>/dev/null; do
        kill -0 "$tracer" 2>/dev/null || {
            kill -9 "$traced_program"
            return 77
        }
        sleep 0.01
    done
    kill -CONT "$traced_program"
    wait "$traced_program"
    status=$?
    wait "$tracer"
    return $status
}
injected=0
if command -v strace >/dev/null && traced -e trace=none; then
    for options in '' purge_delay:2; do
        export CAIRN_OPTIONS="$options"
        for call in mmap mremap munmap madvise mprotect membarrier; do
            traced -e "trace=$call" || finished 1 "without a fault, under strace"
            # The most calls of one thread, and some more, as the order of threads is not always the same.
            last=$(grep -c . "$scratch/trace")
            most=$(sed -n "s/^\([0-9]*\)  *$call(.*/\1/p" "$scratch/trace" | sort | uniq -c | sort -rn | sed -n '1s/^ *\([0-9]*\).*/\1/p')
            most=$((${most:-0} + 2))
            echo "strace${options:+, $options}: $call: $last calls, at most $((most - 2)) of one thread"
            for error in ENOMEM EPERM ENOSYS; do
                for when in '' '+'; do
                    n=1
                    while [ $n -le $most ]; do
                        traced -e "trace=$call" -e "inject=$call:error=$error:when=$n$when" || {
                            status=$?
                            cat "$scratch/output"
                            finished 1 "status $status with inject=$call:error=$error:when=$n$when, CAIRN_OPTIONS=$options"
                        }
                        injected=$((injected + 1))
                        # All from the N-th on: a few N stand for the others.
                        if [ -n "$when" ]; then n=$((n + most / 10 + 1)); else n=$((n + 1)); fi
                    done
                done
            done
        done
    done
    unset CAIRN_OPTIONS
else
    echo "strace cannot attach to a process here: only the filter was used"
fi

# Limits of a process: address space, the last of all mappings, huge pages. Then forks in handlers and deaths, many times.
LD_PRELOAD=$library "$scratch/faults_of_the_system" --all || finished 1 "under the limits of a process"
for other in life_fork_in_handler life_stopped_and_killed; do
    LD_PRELOAD=$library "$scratch/$other" many || finished 1 "$other"
done
finished 0 "$plans plans by the filter, $injected injections by strace, limits of a process, forks in handlers, deaths: all answered right"
