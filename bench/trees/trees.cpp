// SPDX-License-Identifier: MIT
// Binary trees that are built and taken down, depth first, by many small calls of new and delete. As in GCBench (Ellis,
// Kovac and Boehm) and the binary-trees program of the Benchmarks Game, each thread has one tree that stays and one
// that is built beside it again and again: first as large as that one, then smaller and smaller, so that each size
// makes as many nodes.
#include "../common/crew.hpp"
#include "../common/options.hpp"

#include <cinttypes>

using namespace cairn::bench;

namespace {

struct Node {
    Node *left;
    Node *right;
};

Node *build(std::uint64_t depth) {
    Node *const node = new Node;
    node->left = depth == 0 ? nullptr : build(depth - 1);
    node->right = depth == 0 ? nullptr : build(depth - 1);
    return node;
}

std::uint64_t count(const Node *node) {
    return node == nullptr ? 0 : 1 + count(node->left) + count(node->right);
}

void take_down(Node *node) {
    if (node == nullptr)
        return;
    take_down(node->left);
    take_down(node->right);
    delete node;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv,
                    "binary trees, built and taken down depth first (this lab's own, after GCBench)");
    const std::size_t threads = options.some("threads", 2, "threads");
    const std::uint64_t depth = options.number("depth", 20, "of the largest tree: 2^(depth+1) - 1 nodes");
    const std::uint64_t rounds = options.work("rounds", 6, "trees of the largest depth, of a thread");
    options.finish();
    if (depth > 40)
        options.refuse("depth", "more than 40");

    const std::uint64_t nodes = run_crew(threads, [=](std::size_t) {
        Node *const stays = build(depth);
        std::uint64_t seen = 0;
        for (std::uint64_t smaller = 0; smaller <= depth; smaller += 4) {
            for (std::uint64_t round = 0; round < rounds << smaller; ++round) {
                Node *const tree = build(depth - smaller);
                seen += count(tree);
                take_down(tree);
            }
        }
        seen += count(stays);
        take_down(stays);
        return seen;
    });
    std::printf("trees: %" PRIu64 " nodes\n", nodes);
}
