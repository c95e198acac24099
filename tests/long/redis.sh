#!/bin/sh
# SPDX-License-Identifier: MIT
# redis: the units of Redis' own Tcl suite, on a server that was built with MALLOC=libc (Debian's source). Left out, with
# reasons: integration/, cluster/, sentinel/ (several servers, and waits that a busy machine does not keep), moduleapi/ (needs
# its modules built), tls, oom-score-adj and printver (nothing of memory). CAIRN_LONG_UNITS names other ones.
. "$(dirname "$0")/lib/common.sh"
packages gcc make tcl dpkg-dev pkg-config python3 procps
cd "$work"
source=$(debian_source redis)
left_out='tls oom-score-adj printver'

if [ ! -x "$source/src/redis-server" ] || ! "$source/src/redis-server" --version | grep -q 'malloc=libc'; then
    (cd "$source" && make -j "$jobs" MALLOC=libc USE_JEMALLOC=no USE_SYSTEMD=no BUILD_TLS=no OPTIMIZATION=-O1) >build.log 2>&1 || {
        tail -n 20 build.log
        fail "could not be built"
    }
fi

units=${CAIRN_LONG_UNITS:-}
if [ -z "$units" ]; then
    for file in "$source"/tests/unit/*.tcl "$source"/tests/unit/type/*.tcl; do
        unit=${file#"$source/tests/"}
        unit=${unit%.tcl}
        case " $left_out " in
        *" ${unit#unit/} "*) continue ;;
        esac
        units="$units $unit"
    done
fi

run() { # ALLOCATOR UNIT
    log=$work/$(echo "$2" | tr / _).$1.log
    (cd "$source" && under "$1" bounded "${CAIRN_LONG_LIMIT:-1800}" tclsh tests/test_helper.tcl --clients 1 --single "$2") >"$log" 2>&1 </dev/null
}

# Is it Cairn that the servers run on? They inherit the environment from tclsh.
under cairn "$source/src/redis-server" --version >/dev/null || fail "redis-server does not start"

failed='' also_glibc='' passed=0 all=0 cases=0
for unit in $units; do
    all=$((all + 1))
    status=0
    run cairn "$unit" || status=$?
    log=$work/$(echo "$unit" | tr / _).cairn.log
    ok=$(grep -c '\[.*ok.*\]: ' "$log" || true)
    cases=$((cases + ok))
    if [ $status = 0 ] && ! grep -q 'cairn: ' "$log"; then
        passed=$((passed + 1))
    elif ! run glibc "$unit"; then
        also_glibc="$also_glibc $unit"
    else
        failed="$failed $unit"
    fi
    echo "$unit: status $status, $ok cases"
done
text="$passed of $all units passed, $cases cases"
[ -z "$also_glibc" ] || text="$text; fail on glibc as well:$also_glibc"
[ -z "$failed" ] || fail "$text; FAILED:$failed"
result "$text"
