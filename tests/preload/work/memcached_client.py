# SPDX-License-Identifier: MIT
"""A small client of memcached: memcached_client.py SOCKET. Four threads, each with keys of its own."""

import hashlib
import random
import socket
import sys
import threading
import time


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except ConnectionRefusedError:  # the server has a name already, but does not listen yet
                time.sleep(0.05)
        self.stream = self.socket.makefile("rb")

    def command(self, line, data=None):
        self.socket.sendall(line + b"\r\n" + (data + b"\r\n" if data is not None else b""))
        return self.stream.readline().rstrip()

    def get(self, *keys):
        self.socket.sendall(b"get " + b" ".join(keys) + b"\r\n")
        found = {}
        while (line := self.stream.readline().rstrip()) != b"END":
            _, key, _, length = line.split()
            found[key] = self.stream.read(int(length) + 2)[:-2]
        return found


def run(path, number, results):
    client, rng, model = Client(path), random.Random(number), {}
    for step in range(4000):
        key = b"thread%d-key%d" % (number, rng.randrange(400))
        match rng.randrange(8):
            case 0 | 1 | 2:
                value = rng.randbytes(int(2 ** rng.uniform(0, 14)))
                assert client.command(b"set %s 0 0 %d" % (key, len(value)), value) == b"STORED"
                model[key] = value
            case 3:
                more = rng.randbytes(rng.randrange(1, 200))
                answer = client.command(b"append %s 0 0 %d" % (key, len(more)), more)
                assert answer == (b"STORED" if key in model else b"NOT_STORED"), answer
                if key in model:
                    model[key] += more
            case 4:
                answer = client.command(b"delete " + key)
                assert answer == (b"DELETED" if key in model else b"NOT_FOUND"), answer
                model.pop(key, None)
            case _:
                keys = sorted({key, *rng.sample(sorted(model), min(len(model), 8))})
                found = client.get(*keys)
                assert found == {k: model[k] for k in keys if k in model}, step
    counter = b"counter%d" % number
    client.command(b"set %s 0 0 1" % counter, b"0")
    for _ in range(500):
        last = client.command(b"incr %s 3" % counter)
    results[number] = (last, hashlib.sha256(b"".join(k + v for k, v in sorted(model.items()))).hexdigest())


results = {}
threads = [threading.Thread(target=run, args=(sys.argv[1], n, results)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for number, (last, digest) in sorted(results.items()):
    print(number, last.decode(), digest)
client = Client(sys.argv[1])
print(client.command(b"version").split()[0].decode())
client.command(b"flush_all")
sys.exit(0 if len(results) == 4 else 1)
