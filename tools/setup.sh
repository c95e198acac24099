#!/bin/sh
# SPDX-License-Identifier: MIT
#
# setup.sh run|bench|test: installs the Debian packages that are missing, or says what to install and stops.
# The lists are tools/packages-*.txt: one package a line, # starts a comment. a|b: either, as releases of Debian have one
# or the other.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")"
case ${1-} in
run) lists='packages-run.txt' ;;
bench) lists='packages-run.txt packages-bench.txt packages-bench-programs.txt' ;;
test) lists='packages-run.txt packages-bench.txt packages-test.txt packages-real-programs.txt' ;;
*) echo "usage: $0 run|bench|test" >&2 && exit 2 ;;
esac

# shellcheck disable=SC2086 # one word a list
packages=$(sed "s/#.*//" $lists | tr -s " \t" "\n" | sort -u)

if ! command -v dpkg-query >/dev/null; then
    # Another distribution: its package names are not known here, its tools can be looked for.
    for tool in g++ cmake ninja; do
        command -v "$tool" >/dev/null && continue
        echo "cairn: $tool is missing. Install what these Debian packages hold:" $packages >&2
        exit 1
    done
    exit 0
fi

# shellcheck disable=SC2086
installed=$(dpkg-query --show --showformat='${db:Status-Status} ${binary:Package} ${Provides}\n' 2>/dev/null |
    sed -n 's/^installed //p' | sed 's/([^)]*)//g; s/:[a-z0-9]*//g' | tr -s ', ' '\n' | sort -u)
missing=
for package in $packages; do
    printf '%s\n' "$installed" | grep -qxF -e "$(echo "$package" | tr '|' '\n')" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif sudo -n true 2>/dev/null; then
    as_root='sudo -n'
else
    echo "cairn: packages are missing, and there is no permission to install them. Run this, then try again:" >&2
    echo "    sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
fi

echo "cairn: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt() { $as_root apt-get -q -o DPkg::Lock::Timeout=300 "$@" >&2; }
# The first of a|b that this release has, or the first.
chosen() {
    for name in $(echo "$1" | tr '|' ' '); do
        apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]' && echo "$name" && return
    done
    echo "${1%%|*}"
}
# shellcheck disable=SC2046,SC2086
install() { apt install -y --no-install-recommends $(for package in $missing; do chosen "$package"; done); }
# Package lists may be absent or out of date: fetch them only when the install says so.
install || { apt update && install; } || {
    echo "cairn: could not install$missing" >&2
    exit 1
}
