#!/bin/sh
# SPDX-License-Identifier: MIT
# limits: limits of the whole machine, where root may set them. A memory cgroup (version 1 or 2) of 96 MiB without swap, in
# which a program holds 30 MiB at a time in blocks of one size after the other; the same in a cgroup that is too small, which
# the kernel ends: that shows that the limit holds. Overcommit mode 2, with CAIRN_LONG_OVERCOMMIT=1 only, since it is every
# process's: for seconds, with so large a ratio that it refuses nobody.
. "$(dirname "$0")/lib/common.sh"
packages gcc libc6-dev
[ "$(id -u)" = 0 ] || skip "needs root"
cd "$work"
gcc -O1 -fno-builtin "$here/limits.c" -o limits -pthread
text=

# ---- a memory cgroup
group=
if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
    group=/sys/fs/cgroup/memory/cairn-$$ limit_file=memory.limit_in_bytes swap_file=memory.memsw.limit_in_bytes swap=yes
elif grep -q memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    group=/sys/fs/cgroup/cairn-$$ limit_file=memory.max swap_file=memory.swap.max swap=0
fi
mode=$(cat /proc/sys/vm/overcommit_memory) ratio=$(cat /proc/sys/vm/overcommit_ratio)
as_before() {
    echo "$mode" >/proc/sys/vm/overcommit_memory
    echo "$ratio" >/proc/sys/vm/overcommit_ratio
}
changed=
clean_up() {
    [ -z "$changed" ] || as_before
    [ ! -d "$group" ] || rmdir "$group"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# within MIB COMMAND...: in the cgroup with that limit
within() {
    mib=$1
    shift
    if [ "$swap" = 0 ]; then
        echo "${mib}M" >"$group/$limit_file"
        echo 0 >"$group/$swap_file"
    else # a limit with swap is never below one without
        echo -1 >"$group/$swap_file" || true
        echo "${mib}M" >"$group/$limit_file"
        echo "${mib}M" >"$group/$swap_file" || true
    fi
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then
    for options in '' background:off; do
        status=0
        CAIRN_OPTIONS=$options under cairn within 96 timeout 120 ./limits 30 || status=$?
        [ $status = 0 ] || fail "status $status in a cgroup of 96 MiB, with CAIRN_OPTIONS=$options"
    done
    status=0
    under cairn within 24 timeout 120 ./limits 30 || status=$?
    [ $status = 137 ] || fail "status $status in a cgroup of 24 MiB, which is less than it holds"
    text='30 MiB at a time within a memory cgroup of 96 MiB'
else
    text='no memory cgroup can be made here'
fi

# ---- overcommit mode 2
if [ "${CAIRN_LONG_OVERCOMMIT:-}" = 1 ] && [ -w /proc/sys/vm/overcommit_memory ]; then
    changed=1
    echo 100000000 >/proc/sys/vm/overcommit_ratio
    echo 2 >/proc/sys/vm/overcommit_memory
    status=0
    under cairn timeout 60 ./limits 60 || status=$?
    as_before
    changed=
    [ $status = 0 ] || fail "status $status in overcommit mode 2"
    text="$text; 60 MiB at a time in overcommit mode 2"
fi
result "$text"
