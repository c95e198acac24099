#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bash: a script of strings, arrays, maps and many sub-shells, as a script file and with its lines piped in.
. "$(dirname "$0")/lib/common.sh"
need bash bash

work() {
    bash "$inputs/script.bash"
    bash <"$inputs/script.bash" | cksum
}

compare work
loaded bash
