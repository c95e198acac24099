# SPDX-License-Identifier: MIT
"""Work for python: json, containers, threads, subprocesses, multiprocessing by fork and by spawn. CAIRN_TEST_BRIEF=1: less of each."""

import collections
import gc
import hashlib
import json
import multiprocessing
import os
import queue
import random
import re
import subprocess
import sys
import threading
import time
import zlib

BRIEF = os.environ.get("CAIRN_TEST_BRIEF") == "1"


def digest(data):
    if isinstance(data, str):
        data = data.encode()
    return hashlib.sha256(data).hexdigest()[:16]


def tree(rng, depth):
    kind = rng.randrange(6)
    if depth == 0 or kind == 0:
        return rng.choice([None, True, rng.random(), rng.randrange(10**12), "é" * rng.randrange(60)])
    if kind < 3:
        return [tree(rng, depth - 1) for _ in range(rng.randrange(7))]
    return {f"key{rng.randrange(1000)}": tree(rng, depth - 1) for _ in range(rng.randrange(7))}


def json_work():
    rng = random.Random(1)
    value = [tree(rng, 7) for _ in range(20 if BRIEF else 90)]
    text = json.dumps(value, sort_keys=True)
    pretty = json.dumps(json.loads(text), sort_keys=True, indent=2)
    assert json.loads(pretty) == value
    return len(text), digest(text), digest(pretty)


def container_work(seed):
    rng = random.Random(seed)
    live = collections.deque()
    words = collections.Counter()
    for step in range(4000 if BRIEF else 12000):
        size = rng.choice([8, 24, 100, 400, 700, 3000]) + rng.randrange(64)
        live.append(bytearray(rng.randbytes(size)))
        if len(live) > 800:
            live.rotate(rng.randrange(100))
            words[zlib.crc32(live.pop()) % 257] += 1
        if step % 3000 == 0:
            gc.collect()
    return digest(json.dumps(sorted(words.items())))


def thread_work():
    """Each block travels from a maker through a queue to a taker, which frees it."""
    jobs, results = queue.Queue(maxsize=64), queue.Queue()

    def maker(number):
        rng = random.Random(number)
        for _ in range(250):
            jobs.put(rng.randbytes(rng.randrange(1, 20000)))

    def taker():
        total = 0
        while (block := jobs.get()) is not None:
            total += sum(zlib.crc32(piece) for piece in re.findall(rb"[a-z]{2,}", zlib.decompress(zlib.compress(block, 1))))
        results.put(total)

    makers = [threading.Thread(target=maker, args=(n,)) for n in range(4)]
    takers = [threading.Thread(target=taker) for _ in range(4)]
    for thread in makers + takers:
        thread.start()
    for thread in makers:
        thread.join()
    for _ in takers:
        jobs.put(None)
    for thread in takers:
        thread.join()
    return sum(results.get() for _ in takers)


def many_threads():
    """Threads that live for a moment, one after another and together."""
    found = []
    for _ in range(10 if BRIEF else 40):
        batch = [threading.Thread(target=lambda n=n: found.append(len([bytes(n + i) for i in range(50)]))) for n in range(10)]
        for thread in batch:
            thread.start()
        for thread in batch:
            thread.join()
    return sum(found)


def subprocess_work():
    """Children started by several threads at once."""
    answers = {}

    def start(number):
        program = f"import hashlib; print(hashlib.sha256(b'{number}' * 100000).hexdigest()[:16])"
        answers[number] = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, check=True).stdout.decode().strip()

    threads = [threading.Thread(target=start, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    filtered = subprocess.run(["sort", "-r"], input="".join(f"{n}\n" for n in range(3000)), capture_output=True, text=True, check=True)
    return sorted(answers.items()), digest(filtered.stdout)


def pool_work(method):
    """A pool made while other threads allocate: the children start from a heap in full use."""
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            [bytearray(n) for n in range(0, 4000, 7)]
            time.sleep(0.0005)

    noise = [threading.Thread(target=busy) for _ in range(2)]
    for thread in noise:
        thread.start()
    try:
        with multiprocessing.get_context(method).Pool(3) as pool:
            return pool.map(container_work, range(4))
    finally:
        stop.set()
        for thread in noise:
            thread.join()


if __name__ == "__main__":
    print("json", *json_work())
    print("containers", container_work(7))
    print("threads", thread_work())
    print("many threads", many_threads())
    print("subprocesses", *subprocess_work())
    print("fork", *pool_work("fork"))
    print("spawn", *pool_work("spawn"))
