# SPDX-License-Identifier: MIT
"""The load of the workload `redis`: strings, lists, hashes, sets and sorted sets that come, change their sizes and go, by
pipelined commands over a unix socket. Every reply is part of the digest that is printed, and so is what is in the
database at the end."""
import hashlib
import random
import socket
import sys

import server

KEYS = 100000
CHANGES = 200000  # commands, of up to a dozen elements each
BATCH = 200
WINDOW = 4  # batches on their way: the server works while the next ones are made


def bulk(word):
    return b"$%d\r\n%b\r\n" % (len(word), word)


def names(kind, count):
    return [bulk(b"%b:%d" % (kind, i)) for i in range(count)]


class Connection:
    """Commands go out in batches, each with an ECHO at its end: when that comes back, all have been answered."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.digest = hashlib.sha256()
        self.waiting, self.commands, self.sent, self.answered, self.rest = [], 0, 0, 0, b""

    def put(self, verb, *words):
        """Words that went through bulk() before, as most are used more than once."""
        self.waiting.append(b"*%d\r\n%b%b" % (len(words) + 1, bulk(verb), b"".join(words)))
        if len(self.waiting) == BATCH:
            self.send()

    def send(self):
        self.commands += len(self.waiting)
        mark = b"batch-%d" % self.sent
        self.waiting.append(b"*2\r\n$4\r\nECHO\r\n" + bulk(mark))
        self.socket.sendall(b"".join(self.waiting))
        self.waiting.clear()
        self.sent += 1
        if self.sent - self.answered >= WINDOW:
            self.receive()

    def receive(self):
        end = bulk(b"batch-%d" % self.answered)
        while end not in self.rest:
            piece = self.socket.recv(1 << 20)
            if not piece:
                raise server.Failed("the server closed the connection")
            self.rest += piece
        replies, _, self.rest = self.rest.partition(end)
        self.digest.update(replies)
        self.answered += 1
        return replies

    def drain(self):
        """Sends what waits, and returns the replies to the last batch."""
        self.send()
        while self.answered < self.sent:
            replies = self.receive()
        return replies


class Words:
    """What commands are made of. Short values are much more frequent than long ones."""

    def __init__(self, chance, keys):
        self.chance = chance
        text = bytes(chance.randrange(32, 127) for _ in range(4000))
        self.values = [bulk(text[i:i + 1 + int(chance.random() ** 3 * 1500)]) for i in range(2000)]
        self.texts, self.lists, self.hashes = names(b"text", keys), names(b"list", 5000), names(b"hash", 3000)
        self.sorted, self.sets, self.fields = names(b"sorted", 500), names(b"set", 700), names(b"field", 211)
        self.members, self.scores = names(b"member", 5000), [bulk(b"%d" % i) for i in range(1009)]

    def some(self, words, count):
        return self.chance.choices(words, k=count)

    def pairs(self, first, second, count):
        return [word for pair in zip(self.some(first, count), self.some(second, count)) for word in pair]


def fill(connection, words):
    for first in range(0, len(words.texts), 10):
        keys = words.texts[first:first + 10]
        connection.put(b"MSET", *(word for pair in zip(keys, words.some(words.values, len(keys))) for word in pair))


def change(connection, words, changes):
    choose, some, pairs = words.chance.choice, words.some, words.pairs
    for i in range(changes):
        kind = i * 7919 % 20
        if kind < 5:
            connection.put(b"MSET", *pairs(words.texts, words.values, 8))
        elif kind < 6:
            connection.put(b"MGET", *some(words.texts, 8))
        elif kind < 7:
            connection.put(b"APPEND", choose(words.texts), choose(words.values))
        elif kind < 9:
            connection.put(b"UNLINK", *some(words.texts, 10))
        elif kind < 11:
            connection.put(b"RPUSH", choose(words.lists), *some(words.values, 8))
        elif kind < 13:
            connection.put(b"LPOP", choose(words.lists), words.scores[4])
        elif kind < 15:
            connection.put(b"HSET", choose(words.hashes), *pairs(words.fields, words.values, 8))
        elif kind < 16:
            connection.put(b"HDEL", choose(words.hashes), *some(words.fields, 8))
        elif kind < 17:
            connection.put(b"ZADD", choose(words.sorted), *pairs(words.scores, words.members, 8))
        elif kind < 19:
            connection.put(b"SADD", choose(words.sets), *some(words.members, 12))
        else:
            connection.put(b"DEL", choose(words.sets if i % 2 else words.sorted))


def load(scale):
    server.wait_for("socket")
    connection = Connection("socket")
    words = Words(random.Random(7), max(10, KEYS * scale // 100))
    fill(connection, words)
    change(connection, words, max(1, CHANGES * scale // 100))
    for first in range(0, len(words.texts), 15):
        connection.put(b"UNLINK", *words.texts[first:first + 10])
    connection.put(b"DBSIZE")
    connection.put(b"DEBUG", bulk(b"DIGEST"))
    size, digest = connection.drain().split(b"\r\n")[-3:-1]
    print("redis: %d commands, replies %s, %s keys %s" % (connection.commands, connection.digest.hexdigest()[:16],
                                                          size[1:].decode(), digest[1:17].decode()))
    connection.socket.sendall(b"SHUTDOWN NOSAVE\r\n")


if __name__ == "__main__":
    sys.exit(server.work(lambda: load(int(sys.argv[1]))))
