// SPDX-License-Identifier: MIT
//
// A pool for the objects of one class: its operator new and delete go to a heap of its own, nothing else
// changes. (Heap Layers, section 3.1: a per-class allocator.)
#include "expect.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>

#include <memory>
#include <new>

using namespace cairn;

class Node {
public:
    explicit Node(int v) : value(v) {}
    int value;
    std::unique_ptr<Node> next;

    static void *operator new(std::size_t size) {
        void *const p = pool_.malloc(size);
        if (p == nullptr) {
            throw std::bad_alloc();
        }
        return p;
    }
    static void operator delete(void *p) { pool_.free(p); }

private:
    static inline Compose<MmapHeap, Bump<>, Freelist> pool_;
};

int main() {
    auto first = std::make_unique<Node>(1);
    first->next = std::make_unique<Node>(2);
    Node *const second = first->next.get();
    first->next.reset();
    first->next = std::make_unique<Node>(3);
    expect(first->next.get() == second, "the freed node's memory is used again");
    expect(reinterpret_cast<char *>(second) - reinterpret_cast<char *>(first.get()) == sizeof(Node),
           "nodes lie side by side, without headers");
}
