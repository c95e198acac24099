# SPDX-License-Identifier: MIT
#
# What the tests of real programs share; sourced, never run. A test looks like this:
#
#     . "$(dirname "$0")/lib/common.sh"
#     need gs ghostscript             # skipped only when the program cannot be found
#     work() { gs ... > page; cat page; }
#     compare work                    # once on glibc's malloc, once under $CAIRN_LIB
#     loaded gs                       # the library was mapped into a process named gs
#
# compare runs `work` in a fresh bash, in a fresh directory of one and the same name, and fails unless both
# runs end with status 0, print the same bytes on stdout and leave the same files below ./keep. It also fails
# when the run under Cairn prints a line with "cairn:" on stderr (a complaint of the malloc), when the loader
# says that it could not preload something, and when any dynamically linked process started without the library.
#
# The bash that runs `work` is preloaded too, and so is each program that it starts. Functions of the test are
# visible in `work`; variables must be exported. What is still running after a run is killed.
#
# until_true COMMAND...: in `work`, waits for what a program does on its own; a run that waits for ever is ended by its limit.
#
# Environment: CAIRN_LIB (the library), SOURCE_DIR (root of the source tree), both required.
#   CAIRN_TEST_KEEP=1      keep the scratch directory and say where it is
#   CAIRN_TEST_REFERENCES=DIR  where to keep runs on glibc for other tests, and to find them
#   CAIRN_TEST_BRIEF=1     less of the same work, where many libraries are tested
#   CAIRN_TEST_LIMIT=SEC   how long one run may take before it counts as a hang (600)

set -euo pipefail
: "${CAIRN_LIB:?the path of libcairn.so}" "${SOURCE_DIR:?the root of the source tree}"
unset LD_PRELOAD LD_DEBUG LD_DEBUG_OUTPUT
ulimit -c 0
export LC_ALL=C.UTF-8 TZ=UTC
export CAIRN_LIB SOURCE_DIR

test_name=$(basename "$0" .sh)
inputs=$(cd "$(dirname "$0")" && pwd)/work # the programs' own inputs, one file each
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cairn-$test_name.XXXXXX")
chmod 755 "$scratch" # some programs change user while they run
mkdir "$scratch/home"
export inputs scratch CAIRN_TEST_SCRATCH=$scratch

# Kills whatever carries this test's mark in its environment: servers that left the process group, for example. Until there is
# nothing more: one may start another while it is looked for. One grep for all of them, which has not the mark itself.
stop_leftovers() {
    local environment pid found=1 times
    for ((times = 0; found && times < 100; times++)); do
        found=
        while read -r environment; do
            pid=${environment#/proc/}
            kill -KILL "${pid%/environ}" 2>/dev/null || true
            found=1
        done < <(env -u CAIRN_TEST_SCRATCH grep -lzxF "CAIRN_TEST_SCRATCH=$scratch" /proc/[0-9]*/environ 2>/dev/null)
    done
}

finish() {
    local status=$?
    stop_leftovers
    if [ -n "${CAIRN_TEST_KEEP:-}" ]; then
        echo "$test_name: kept $scratch" >&2
    else
        rm -rf "$scratch"
    fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

skip() {
    echo "$test_name: skipped: $*"
    exit 77
}

fail() {
    echo "$test_name: FAILED: $*" >&2
    exit 1
}

# need COMMAND PACKAGE: the test makes no sense without COMMAND.
need() {
    command -v "$1" >/dev/null || skip "$1 is not installed (Debian package $2)"
}

# own_sources: for tests that compile or store this project's own sources. Both runs have the same ones in $sources,
# also when somebody edits the tree meanwhile.
own_sources() {
    export sources=$scratch/sources
    mkdir "$sources"
    (cd "$SOURCE_DIR" && cp -r include allocators src man "$sources")
}

until_true() {
    until "$@"; do
        sleep 0.05
    done
}

show_tail() {
    if [ -s "$1" ]; then
        echo "--- end of $(basename "$1")" >&2
        tail -n 25 "$1" >&2
    fi
}

# run_side NAME LIBRARY FUNCTION: one run; leaves NAME/ (its directory), NAME.out, NAME.err and NAME.loader/.
run_side() {
    local side=$1 library=$2 function=$3 status=0 limit=${CAIRN_TEST_LIMIT:-600}
    local settings=(LD_DEBUG=files "LD_DEBUG_OUTPUT=$scratch/$side.loader/process" "HOME=${work_home:-$scratch/home}")
    if [ -n "$library" ]; then
        settings+=("LD_PRELOAD=$library")
    fi
    mkdir "$scratch/run" "$scratch/run/keep" "$scratch/$side.loader"
    chmod 1777 "$scratch/$side.loader"
    (
        cd "$scratch/run"
        exec timeout -k 5 "$limit" env "${settings[@]}" \
            bash -euo pipefail -c "$(declare -f); $function" work </dev/null
    ) >"$scratch/$side.out" 2>"$scratch/$side.err" || status=$?
    stop_leftovers
    mv "$scratch/run" "$scratch/$side"
    if [ "$status" -ne 0 ]; then
        show_tail "$scratch/$side.out"
        show_tail "$scratch/$side.err"
        case $status in
        124 | 137) fail "$side: no end within $limit s" ;;
        *) fail "$side: ended with status $status" ;;
        esac
    fi
}

# The loader's own account, a line a started program: "PROGRAM yes|no" (was the library mapped into it?).
started_programs() {
    awk -v library="file=$CAIRN_LIB " '
        FNR == 1 { mapped = "no" }
        index($0, library) && /generating link map/ { mapped = "yes" }
        match($0, /initialize program: /) {
            program = substr($0, RSTART + RLENGTH)
            sub(/.*\//, "", program)
            sub(/^-/, "", program)
            sub(/^[a-z0-9_]+-linux-gnu-/, "", program)
            print program, mapped
            mapped = "no"
        }' "$scratch"/cairn.loader/*
}

# Being mapped is not enough: the library has to answer when a program says malloc.
check_bindings() {
    LD_PRELOAD=$CAIRN_LIB LD_BIND_NOW=1 LD_DEBUG=bindings LD_DEBUG_OUTPUT=$scratch/bindings bash -c : 2>/dev/null || true
    grep -qsF "to $CAIRN_LIB [0]: normal symbol \`malloc'" "$scratch"/bindings.* ||
        fail "$CAIRN_LIB does not become the malloc of a program"
}

# reference FUNCTION: the run on glibc. Where many libraries are tested, the first test leaves it in a folder for the others,
# under a name that changes with what it was made from.
reference() {
    local folder=${CAIRN_TEST_REFERENCES:-} made_from kept
    if [ -z "$folder" ]; then
        run_side glibc "" "$1"
        return
    fi
    made_from=$(cd "$SOURCE_DIR" && find include allocators src man tests/preload -type f -print0 | sort -z | xargs -0 cat | cksum)
    kept=$folder/$test_name${CAIRN_TEST_BRIEF:+-brief}-${made_from// /-}
    if [ ! -d "$kept" ]; then
        run_side glibc "" "$1"
        mkdir -p "$folder"
        mkdir "$scratch/kept"
        cp -r "$scratch/glibc" "$scratch/glibc.out" "$scratch/kept"
        cp -rT "$scratch/kept" "$kept.$$" && { mv -T "$kept.$$" "$kept" 2>/dev/null || rm -rf "$kept.$$"; }
        return
    fi
    cp -r "$kept/glibc" "$kept/glibc.out" "$scratch"
}

# compare FUNCTION
compare() {
    rm -rf "$scratch"/glibc* "$scratch"/cairn*
    check_bindings
    reference "$1"
    run_side cairn "$CAIRN_LIB" "$1"
    if grep -n -i -e 'cairn:' -e 'ERROR: ld.so' "$scratch/cairn.err" >&2; then
        fail "the run under Cairn complained (above)"
    fi
    if ! cmp "$scratch/glibc.out" "$scratch/cairn.out" >&2; then
        diff -a "$scratch/glibc.out" "$scratch/cairn.out" | head -n 40 >&2 || true
        fail "another output than on glibc"
    fi
    if ! diff -rq "$scratch/glibc/keep" "$scratch/cairn/keep" >&2; then
        fail "other files than on glibc"
    fi
    [ -s "$scratch/cairn.out" ] || fail "no output to compare"
    if started_programs | grep ' no$' | sort | uniq -c >&2; then
        fail "started without the library (above)"
    fi
}

# loaded NAME...: after compare; each NAME was started at least once with the library in it.
loaded() {
    local name
    for name in "$@"; do
        started_programs | grep -xF "$name yes" >/dev/null || fail "$name never ran with $CAIRN_LIB in it"
    done
    echo "$test_name: same output on both, $(started_programs | wc -l) programs started with the library"
}
