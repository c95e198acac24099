#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sqlite3: tables, indexes, sorts by helper threads, json, full text, in one process; then two processes on one database.
# Answers and a complete dump are compared.
. "$(dirname "$0")/lib/common.sh"
need sqlite3 sqlite3

work() {
    sqlite3 -batch -bail base <"$inputs/work.sql"
    [ "${CAIRN_TEST_BRIEF-}" != 1 ] || return 0
    sqlite3 -batch -readonly base .dump >keep/dump
    sqlite3 -batch -bail copy <keep/dump &
    sqlite3 -batch -cmd ".timeout 20000" base "SELECT count(*) FROM block a, block b WHERE a.id = b.size"
    wait %1
    sqlite3 -batch -json copy "SELECT id, name, size FROM block WHERE id % 997 = 1 ORDER BY name"
}

compare work
loaded sqlite3
