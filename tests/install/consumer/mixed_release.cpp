// SPDX-License-Identifier: MIT
//
// See mixed.cpp.
#include <cairn/core/compose.hpp>
#include <cairn/layer/bump.hpp>
#include <cairn/layer/freelist.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

bool keeps_to_itself_in_release();

namespace {
struct Owner {
    cairn::Compose<cairn::MmapHeap, cairn::Bump<>, cairn::Freelist> list;
    unsigned long mark = 42;
    cairn::Compose<cairn::MmapHeap, cairn::Bump<>, cairn::Locked<>> locked;
};
} // namespace

bool keeps_to_itself_in_release() {
    Owner owner;
    owner.list.free(owner.list.malloc(64));
    for (int i = 0; i < 3; ++i) {
        owner.locked.malloc(64);
    }
    return owner.mark == 42;
}
