#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memcached: four worker threads, four clients that check every answer against a model of their own. A unix socket.
. "$(dirname "$0")/lib/common.sh"
need memcached memcached
need python3 python3

python=$(python3 -c 'import sys; print(sys.executable)')
export python

work() {
    memcached -u "$(id -un)" -s "$PWD/socket" -t 4 -m 64 -c 64 -o slab_automove=2,hash_algorithm=murmur3 &
    until_true test -S socket
    "$python" "$inputs/memcached_client.py" "$PWD/socket"
    kill -TERM %1
    wait %1
}

compare work
loaded memcached
