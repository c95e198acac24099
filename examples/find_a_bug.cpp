// SPDX-License-Identifier: MIT
//
// Finding a buggy layer by elimination (Heap Layers, section 7): a general heap hands out memory that is in use, and a
// check between any two of its layers tells on which side of it the bug is.
#include "expect.hpp"

#include <cairn/core/compose.hpp>
#include <cairn/debug/check.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/size_header.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

#include <array>
#include <cstdio>

using namespace cairn;

namespace {

/// The bug: a list of freed blocks that looks at no size, so a small block is handed out for a large request. Layers
/// that ask for one size only never notice.
template <Heap Super>
class CarelessListHeap : private Super {
public:
    static constexpr std::size_t alignment = alignment_of<Super>;

    void *malloc(std::size_t size) {
        if (first_ == nullptr) {
            return Super::malloc(size < sizeof(Link) ? sizeof(Link) : size);
        }
        Link *const block = first_;
        first_ = block->next;
        return block;
    }
    void free(void *p) {
        auto *const block = static_cast<Link *>(p);
        block->next = first_;
        first_ = block;
    }

private:
    struct Link {
        Link *next;
    };
    Link *first_ = nullptr;
};
struct CarelessList {
    template <class Super>
    using on = CarelessListHeap<Super>;
};

/// What the check at one border has found. Only faults of the heap below count: the others are consequences.
template <int Border>
struct Blame {
    static inline int below = 0;
    static constexpr bool leaks = false;
    static void found(const Finding &finding) {
        const bool of_below = finding.fault == Fault::handed_out_twice ||
                              finding.fault == Fault::overlapping || finding.fault == Fault::misaligned ||
                              finding.fault == Fault::too_small;
        below += of_below ? 1 : 0;
    }
};

/// What a program does that works with the heap until it does not. It writes into its own blocks only.
template <class H>
int faults(H &heap, const int &count) {
    heap.free(heap.malloc(16));
    heap.free(heap.malloc(16));
    auto *const large = static_cast<char *>(heap.malloc(200));
    heap.malloc(16);
    large[199] = 1;
    return count;
}

// The heap as it is, with one more layer at one border after the other. A check that holds nothing back lets the
// layers below see the same calls as without.
template <int Border>
using C = Check<Blame<Border>, 0>;
using Above1 = Compose<MmapHeap, C<1>, Bump<>, CarelessList, SizeHeader, Locked<>>;
using Above2 = Compose<MmapHeap, Bump<>, C<2>, CarelessList, SizeHeader, Locked<>>;
using Above3 = Compose<MmapHeap, Bump<>, CarelessList, C<3>, SizeHeader, Locked<>>;
using Above4 = Compose<MmapHeap, Bump<>, CarelessList, SizeHeader, C<4>, Locked<>>;

} // namespace

int main() {
    Above1 above_source;
    Above2 above_bump;
    Above3 above_list;
    Above4 above_header;
    const std::array<int, 4> found = {
        faults(above_source, Blame<1>::below), faults(above_bump, Blame<2>::below),
        faults(above_list, Blame<3>::below), faults(above_header, Blame<4>::below)};
    const std::array<const char *, 4> layer = {"MmapHeap", "Bump", "CarelessList", "SizeHeader"};
    std::size_t first = 0;
    while (first < found.size() && found[first] == 0) {
        ++first;
    }
    expect(first < found.size(), "a check finds it");
    std::printf("what comes out of %s is not sound, what goes into it is\n", layer[first]);
    expect(first == 2, "it is the list");
}
