#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# redis: redis-benchmark with pipelines against two I/O threads, then known contents of every type, BGSAVE (a fork of the
# busy server) while they change, and a restart from the saved file. Digests of the contents and answers are compared;
# the benchmark's figures are times and are not. A unix socket, no port.
. "$(dirname "$0")/lib/common.sh"
need redis-server redis-server
need redis-benchmark redis-tools
need redis-cli redis-tools

client() {
    redis-cli -s "$PWD/socket" "$@"
}

serve() {
    redis-server --port 0 --unixsocket "$PWD/socket" --save "" --dir "$PWD" --io-threads 2 --daemonize no \
        --enable-debug-command yes --list-max-listpack-size 64 --lazyfree-lazy-user-del yes --logfile "$PWD/log" &
    until_true is_up
}

is_up() {
    [ "$(client ping 2>/dev/null)" = PONG ]
}

saved() {
    client INFO persistence | grep '^rdb_bgsave_in_progress:0' >/dev/null
}

stop() {
    client shutdown nosave
    wait
}

contents() {
    awk 'BEGIN {
        for (i = 0; i < 15000; i++) {
            k = (i * 7919) % 5003
            pad = sprintf("%*s", (i * 31) % 700, "")
            print "SET text:" k " \"" i pad "\""
            print "RPUSH list:" k % 97 " " i " \"" k pad "\""
            print "HSET hash:" k % 211 " field" i % 900 " \"" pad i "\""
            print "ZADD sorted:" k % 37 " " (i * 13) % 1009 " member" i
            print "SADD set:" k % 53 " " i " m" k
            print "APPEND grown:" k % 11 " abcdefgh" i
            if (i % 5 == 0) print "UNLINK text:" (i * 3) % 5003
            if (i % 7 == 0) print "LTRIM list:" i % 97 " 3 -2"
            if (i % 11 == 0) print "HDEL hash:" i % 211 " field" i % 900
            if (i % 13 == 0) print "XADD stream:" i % 9 " " i + 1 "-1 field \"" k pad "\""
        }
    }'
}

work() {
    serve
    redis-benchmark -s "$PWD/socket" -q -n 1000 -c 20 -P 8 -r 2000 -d 300 \
        -t ping,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset >/dev/null
    redis-benchmark -s "$PWD/socket" -q -n 1000 -c 10 -r 2000 --threads 2 -t set,get,lpush,zadd >/dev/null
    client FLUSHALL

    contents | client --pipe --pipe-timeout 0 | tail -n 1
    client DBSIZE
    client DEBUG DIGEST
    client EVAL 'local t = {} for i = 1, 5000 do t[i] = tostring(i) .. ":" .. redis.sha1hex(i) end
                 return redis.sha1hex(table.concat(t))' 0
    # The child saves the contents of this moment, whatever the parent does to them meanwhile.
    client DEBUG DIGEST >before
    client BGSAVE
    redis-benchmark -s "$PWD/socket" -q -n 1000 -c 10 -P 4 -r 500 -d 900 -t set,lpush,hset,sadd >/dev/null
    until_true saved
    client INFO persistence | tr -d '\r' | grep '^rdb_last_bgsave_status:ok$'
    redis-check-rdb dump.rdb | grep -o 'Checksum OK'
    stop

    serve
    client DEBUG DIGEST | cmp - before
    client DBSIZE
    client MEMORY DOCTOR >/dev/null
    client MEMORY PURGE
    client FLUSHALL ASYNC
    stop
}

compare work
loaded redis-server redis-benchmark redis-cli redis-check-rdb
