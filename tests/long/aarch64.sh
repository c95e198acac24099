#!/bin/sh
# SPDX-License-Identifier: MIT
# aarch64: the library and its tests built for aarch64 and run under qemu-user. What qemu-user cannot show is left out: seccomp
# filters (such tests say so themselves), and what has a reason below. The order of memory is that of the machine below,
# not that of an aarch64.
. "$(dirname "$0")/lib/common.sh"
packages g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user cmake ninja-build
launcher=
! command -v ccache >/dev/null || launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache
# shellcheck disable=SC2086 # none or one
cmake --fresh -S "$root" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAIRN_TESTS=OFF -DCAIRN_BENCH=OFF -DCAIRN_FAMILY=OFF \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
    -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ $launcher >"$work/build.log" 2>&1 &&
    cmake --build "$work" --target cairn_shared >>"$work/build.log" 2>&1 || {
    tail -20 "$work/build.log"
    fail "the library does not build"
}
# docs/decisions/address-dependencies.md: up to its return a fast path waits for no store.
for function in malloc free calloc _Znwm _ZdlPv; do
    aarch64-linux-gnu-objdump --disassemble="$function" --no-show-raw-insn "$work/lib/libcairn.so" >"$work/$function.txt"
    sed -n "/<$function>:/,/\bret\b/p" "$work/$function.txt" >"$work/$function.fast"
    grep -q '\bret\b' "$work/$function.fast" || fail "$function has no fast path"
    ! grep -E '\b(ldar|ldaxr|dmb|dsb|cas|swp)' "$work/$function.fast" || fail "the fast path of $function waits for stores"
done
mkdir -p "$work/tests"
right=0 wrong='' left=0
for source in "$root"/tests/process/*.cpp; do
    test=$(basename "$source" .cpp)
    reason=
    case $test in
    life_fork_huge | life_fork_in* | life_fork_same_pid | life_fork_threaded | life_fork_while_* | life_stopped_and_killed | \
        memory_goes_back_in_a_child* | misuse_overflow_*)
        reason="forks among threads, in handlers and before a fault: its own locks hang or fail in the child"
        ;;
    faults_no_keys | memory_class_shift_huge | memory_goes_back_by_trim | memory_goes_back_gathered | memory_goes_back_sleepers | \
        memory_goes_back_around_locked_pages | memory_huge_pages | memory_locked | memory_sparse_blocks | memory_sparse_calloc | memory_sleeping_owners | life_first_call_in_destructor | life_short_threads | \
        life_thread_destructors)
        reason="resident memory is its own too: 20 MiB from the start, and more with each thread"
        ;;
    faults_of_the_system | memory_limit_data | memory_limit_few_calls | memory_limit_full_superblocks | works_private_limit | \
        works_commit_charge)
        reason="limits and charges of the kernel are its own too"
        ;;
    libc_mallopt | life_purger_leaves_before_fork)
        reason="it has a thread of its own"
        ;;
    works_100000_threads | memory_class_shift | memory_goes_back_partly | memory_huge_sizes | life_many_threads)
        reason="it takes minutes"
        ;;
    esac
    ! grep -q -E '^// *(link|ulimit-v|library):' "$source" || reason="built or limited in another way"
    if [ -n "$reason" ]; then
        echo "$test: left out: $reason"
        left=$((left + 1))
        continue
    fi
    aarch64-linux-gnu-g++ -std=c++20 -O2 -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free \
        -I"$root/include" -I"$root" "$source" -o "$work/tests/$test" -pthread -Wl,--as-needed 2>"$work/tests/$test.log" || {
        wrong="$wrong $test(compile)"
        continue
    }
    # The library goes to the program under qemu, not to qemu itself.
    options=$(sed -n 's|^// *env: *||p' "$source")
    status=0
    # shellcheck disable=SC2086
    env $options timeout 300 qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_PRELOAD=$work/lib/libcairn.so" "$work/tests/$test" \
        </dev/null >"$work/tests/$test.out" 2>"$work/tests/$test.err" || status=$?
    if [ $status = 77 ]; then
        left=$((left + 1))
        continue
    elif grep -q '^// *expect-death:' "$source"; then
        # Nobody reads the line of a test that expects none.
        { grep -q '^cairn: ' "$work/tests/$test.err" || grep -q '^// *expect-death: ^\$$' "$source"; } && [ $status = 134 ]
    else
        [ $status = 0 ]
    fi && right=$((right + 1)) || {
        echo "$test: status $status: $(tail -1 "$work/tests/$test.err")"
        wrong="$wrong $test"
    }
done
[ -z "$wrong" ] || fail "$right right, $left left out, wrong:$wrong"
result "$right programs right under qemu-user, $left left out"
