# SPDX-License-Identifier: MIT
#
# What the long tests share; sourced, never run. A test looks like this:
#
#     . "$(dirname "$0")/lib/common.sh"
#     packages spin                     # Debian's; installed where that is allowed, else the test is skipped
#     cd "$work"                        # a folder of its own, outside of the repo, kept from run to run
#     under cairn program words         # runs it with libcairn.so preloaded (under glibc: with nothing)
#     result "3 of 3 passed"            # the last line
#
# The argument is the build folder. Environment: CAIRN_LONG, where the work folders are.
set -eu
ulimit -c 0
unset LD_PRELOAD
export LC_ALL=C.UTF-8 TZ=UTC

test_name=$(basename "$0" .sh)
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
: "${1:?the build folder}"
build=$(CDPATH='' cd -- "$1" && pwd)
library=$build/lib/libcairn.so
work=${CAIRN_LONG:-${XDG_CACHE_HOME:-$HOME/.cache}/cairn/long}/$test_name
here=$root/tests/long
mkdir -p "$work"
jobs=$(getconf _NPROCESSORS_ONLN)
: "${here:?}" "${jobs:?}"

result() {
    echo "RESULT $test_name: $*"
}

fail() {
    result "$*"
    exit 1
}

skip() {
    echo "SKIP $test_name: $*"
    exit 77
}

[ -f "$library" ] || fail "$library is not there"

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

packages() {
    missing=
    for package in "$@"; do
        is_installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null; then
        skip "needs Debian's packages$missing"
    elif [ "$(id -u)" = 0 ]; then
        as_root=
    elif sudo -n true 2>/dev/null; then
        as_root='sudo -n'
    else
        skip "needs packages: sudo apt-get install --no-install-recommends$missing"
    fi
    # shellcheck disable=SC2086 # one word each
    apt_get install $missing || { apt_get update && apt_get install $missing; } || skip "could not install$missing"
}

apt_get() {
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

# The folder of a Debian source package, fetched and unpacked once, with no change to the system.
debian_source() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/bench python3 -c '
import sys
from lib import debian
try:
    print(debian.source(*sys.argv[1:]))
except debian.Unavailable as why:
    print(why, file=sys.stderr)
    sys.exit(1)' "$work" "$1" || skip "no source of Debian's $1" >&2
}

# The library that a name stands for; nothing for glibc. Status 1: it is not installed.
library_of() {
    case $1 in
    glibc) ;;
    cairn) echo "$library" ;;
    jemalloc) installed_library libjemalloc.so ;;
    mimalloc) installed_library libmimalloc.so ;;
    tcmalloc) installed_library libtcmalloc_minimal.so ;;
    tbb) installed_library libtbbmalloc_proxy.so ;;
    *) echo "$1" ;;
    esac
}

installed_library() {
    /sbin/ldconfig -p | sed -n "s,^[[:space:]]*$1[.0-9]* .* => ,,p" | head -n 1 | grep .
}

# under NAME COMMAND...
under() (
    preloaded=$(library_of "$1")
    shift
    if [ -n "$preloaded" ]; then
        export LD_PRELOAD="$preloaded"
    fi
    "$@"
)

# bounded SECONDS COMMAND...: in a session of its own; what is left of it after the end, whoever its parent is, is ended too.
bounded() {
    seconds=$1
    shift
    setsid sh -c 'echo $$ >"$0"; exec "$@"' "$work/session" timeout -k 5 "$seconds" "$@" &
    ended=0
    wait $! || ended=$?
    pkill -KILL -s "$(cat "$work/session")" || true
    return $ended
}
