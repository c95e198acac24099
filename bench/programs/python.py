# SPDX-License-Identifier: MIT
"""Objects of every usual kind, made and dropped: json there and back, dictionaries, lists, strings, classes.

Run with PYTHONMALLOC=malloc, or python's own small-object allocator does the work.
"""
import hashlib
import json
import sys

SCALE = int(sys.argv[1]) if len(sys.argv) > 1 else 100


class Node:
    def __init__(self, key, parent):
        self.key = key
        self.parent = parent
        self.children = []


def records(count):
    return [{"id": i, "name": "item-%06d" % i, "tags": [str(i % k) for k in range(2, 8)],
             "price": i * 1.25, "nested": {"a": [i, i + 1], "b": None, "c": i % 3 == 0}}
            for i in range(count)]


def through_json(count):
    text = json.dumps(records(count), sort_keys=True)
    again = json.loads(text)
    return hashlib.sha256(json.dumps(again, sort_keys=True, indent=1).encode()).hexdigest()


def count_words(count):
    words = {}
    for i in range(count):
        for word in ("alpha %d beta %d gamma" % (i % 997, i * 7919 % 10007)).split():
            words.setdefault(word, []).append(i)
    return sum(len(word) * len(places) for word, places in words.items())


def build_tree(count):
    nodes = [Node(0, None)]
    for i in range(1, count):
        parent = nodes[i * 31 % len(nodes)]
        node = Node(i, parent)
        parent.children.append(node)
        nodes.append(node)
    return max(len(node.children) for node in nodes)


def main():
    digest = hashlib.sha256()
    for turn in range(max(1, 3 * SCALE // 100)):
        size = 6000 + 500 * turn
        digest.update(repr((through_json(size), count_words(8 * size), build_tree(8 * size))).encode())
    print("python:", digest.hexdigest())


main()
