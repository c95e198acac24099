#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_format.sh [--fix] [FILES]: are the sources formatted as .clang-format says? Version 19, because the same
# settings give different text in another one.
set -eu
cd -- "$(dirname -- "$0")/.."
mode='--dry-run --Werror'
if [ "${1-}" = --fix ]; then
    mode=-i
    shift
fi
if [ $# = 0 ]; then
    set -- include allocators src tests examples bench tools
fi
# shellcheck disable=SC2086
find "$@" -type f \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' \) -print0 |
    xargs -0 -r clang-format-19 $mode
