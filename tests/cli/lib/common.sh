# SPDX-License-Identifier: MIT
#
# What the tests of the program `cairn` and of the C headers share; sourced, never run.
#
#   $cairn, $scratch                the program; a folder that goes when the test ends
#   fail WORDS...                   ends the test
#   one_line STATUS TEXT WORDS...   `cairn WORDS` ends with STATUS and says one line, in which TEXT is
set -u
: "${SOURCE_DIR:?the root of the source tree}" "${BUILD_DIR:?}"
cairn=$BUILD_DIR/bin/cairn
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cairn-test-$(basename "$0" .sh).XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
unset LD_PRELOAD CAIRN_STATS CAIRN_OPTIONS CAIRN_TRACE BAD_MALLOC

fail() { echo "failed: $*" >&2 && exit 1; }

one_line() {
    wanted=$1
    text=$2
    shift 2
    "$cairn" "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    [ "$status" = "$wanted" ] || fail "cairn $*: status $status, not $wanted"
    [ "$(cat "$scratch/err" "$scratch/out" | wc -l)" = 1 ] || fail "cairn $*: not one line: $(cat "$scratch/err" "$scratch/out")"
    grep -qF -e "$text" "$scratch/err" || fail "cairn $*: '$text' is not said: $(cat "$scratch/err")"
}
