#!/bin/sh
# SPDX-License-Identifier: MIT
# stress_ng: the stressors that live on malloc, or move what is around it (mappings, forks, threads, signals), each for
# a fixed time within 2 GB of address space, with stress-ng's own checks. Operations are counted and not compared: they are
# times.
. "$(dirname "$0")/lib/common.sh"
packages stress-ng
cd "$work"
seconds=${CAIRN_LONG_SECONDS:-5}
limit=2000000 # KiB: where memory ends, NULL is an answer

# One line a run: its name, and what it is started with.
runs='malloc --malloc 2
malloc-threads --malloc 1 --malloc-pthreads 8
malloc-touched --malloc 2 --malloc-touch --malloc-zerofree
malloc-large --malloc 2 --malloc-bytes 64M --malloc-max 64
bigheap --bigheap 2
mmap --mmap 2 --mmap-bytes 64M
mmapmany --mmapmany 2
mremap --mremap 2 --mremap-bytes 64M
vm --vm 2 --vm-bytes 128M
fork --fork 2
forkheavy --forkheavy 1 --forkheavy-procs 64
vfork --vfork 2
pthread --pthread 2
clone --clone 1 --clone-max 64
dynlib --dynlib 2
sigsegv --sigsegv 2
stack --stack 1
list --list 2
tree --tree 2
hsearch --hsearch 2
tsearch --tsearch 2
skiplist --skiplist 2
randlist --randlist 2
str --str 2
zlib --zlib 2
judy --judy 2'

stress() { # ALLOCATOR NAME OPTIONS...
    allocator=$1 run=$2
    shift 2
    log=$work/$run.$allocator.log
    (
        ulimit -v $limit
        under "$allocator" timeout -k 5 $((seconds * 3 + 30)) stress-ng --verbose --verify --metrics-brief --timeout "${seconds}s" "$@"
    ) >"$log" 2>&1 &&
        ! grep -q -e 'cairn: ' -e 'died: signal' -e 'No stress workers invoked' "$log" # stress-ng calls these no failure
}

failed='' also_glibc='' passed=0
printf '%s\n' "$runs" >runs
while read -r run options; do
    # shellcheck disable=SC2086 # one word each
    if stress cairn "$run" $options; then
        passed=$((passed + 1))
        echo "$run: $(sed -n 's/^stress-ng: metrc: *\[[0-9]*\] \([a-z]*\)  *\([0-9][0-9]*\) .*/\2/p' "$work/$run.cairn.log" | tail -n 1) operations"
    elif ! stress glibc "$run" $options; then
        also_glibc="$also_glibc $run"
        echo "$run: fails, on glibc as well"
    else
        failed="$failed $run"
        echo "$run: FAILED"
        grep -e fail: -e error: -e cairn: -e died: -e invoked "$work/$run.cairn.log" | head -n 5
    fi
done <runs
text="$passed of $(grep -c . runs) stressors passed, $seconds s each"
[ -z "$also_glibc" ] || text="$text; on glibc fail as well:$also_glibc"
[ -z "$failed" ] || fail "$text; FAILED:$failed"
result "$text"
