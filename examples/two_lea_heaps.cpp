// SPDX-License-Identifier: MIT
//
// Two heaps of Lea's kind in one program, each in memory of its own: what one does can not reach the other's blocks,
// and a heap that is not needed any more takes all its blocks along (Heap Layers, section 6.2).
#include "expect.hpp"

#include <allocators/lea.hpp>

#include <cairn/source/static_buffer.hpp>

#include <memory>

/// All of Lea's parameters, but for the memory: a buffer in the heap itself.
struct InABuffer : cairn::LeaParameters {
    using Source = cairn::StaticBufferHeap<1 << 20>;
};
using Heap = cairn::Lea<InABuffer>;

static bool within(const Heap &heap, const void *p) {
    return cairn::address_of(p) - cairn::address_of(&heap) < sizeof heap;
}

int main() {
    const auto names = std::make_unique<Heap>();
    auto pictures = std::make_unique<Heap>();
    for (std::size_t i = 1; i <= 1000; ++i) {
        expect(within(*names, names->malloc(20)), "in the one range");
        expect(within(*pictures, pictures->malloc(i)), "in the other");
    }
    pictures.reset(); // a thousand blocks, in one step
    expect(within(*names, names->malloc(20)), "the names do not notice");
}
