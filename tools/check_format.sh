#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_format.sh [--fix] [FILES]: are the sources formatted as .clang-format says? Version 19, because the same
# settings give different text in another one.
set -eu
cd -- "$(dirname -- "$0")/.."
command -v clang-format-19 >/dev/null || { echo "clang-format-19 is missing" >&2 && exit 1; }
fix=
if [ "${1-}" = --fix ]; then
    fix=yes
    shift
fi
if [ $# = 0 ]; then
    set -- include allocators src tests examples bench tools
fi
sources() { find "$@" -type f \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print0; }
if [ -n "$fix" ]; then
    sources "$@" | xargs -0 -r clang-format-19 -i
    exit
fi
complaints=$(sources "$@" | xargs -0 -r clang-format-19 --dry-run --Werror --ferror-limit=1 2>&1 | grep ' error: ') || exit 0
printf '%s\n' "$complaints" >&2
echo "tools/check_format.sh --fix formats them" >&2
exit 1
