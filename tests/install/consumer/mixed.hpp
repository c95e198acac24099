// SPDX-License-Identifier: MIT
//
// For a file with assertions and one without, each with heaps of its own: a heap's members must not depend on which of
// two definitions with one name the linker keeps.
#include <allocators/hardened.hpp>
#include <cairn/core/compose.hpp>
#include <cairn/debug/guarded_pages.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/source/sbrk.hpp>
#include <cairn/thread/locked.hpp>

namespace {

struct Owner {
    cairn::Compose<cairn::MmapHeap, cairn::Bump<>, cairn::Freelist> list;
    unsigned long mark = 42;
    cairn::Compose<cairn::MmapHeap, cairn::Bump<>, cairn::Locked<>> locked;
    cairn::GuardedPagesHeap<> guarded;
    unsigned long another_mark = 42;
};

bool keeps_to_itself() {
    Owner owner;
    owner.list.free(owner.list.malloc(64));
    for (int i = 0; i < 3; ++i) {
        owner.locked.malloc(64);
    }
    static constinit cairn::Hardened<> hardened;
    for (int i = 0; i < 100; ++i) {
        owner.guarded.free(owner.guarded.malloc(64));
        hardened.free(hardened.malloc(1000U << i % 9));
    }
    return owner.mark == 42 && owner.another_mark == 42;
}

} // namespace
