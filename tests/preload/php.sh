#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# php: strings, arrays, json, regular expressions, archives, fork; its extensions, which it loads with RTLD_DEEPBIND.
. "$(dirname "$0")/lib/common.sh"
need php php-cli

work() {
    php "$inputs/work.php"
}

compare work
loaded php sh
