// SPDX-License-Identifier: MIT
//
// A file with assertions in a program that has mixed_release.cpp, without, besides: the linker keeps one of the two
// definitions of what is of the same name, so a heap's members must not depend on it.
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

int main() {
    const bool kept = keeps_to_itself_in_release();
    Owner owner;
    owner.list.free(owner.list.malloc(64));
    for (int i = 0; i < 3; ++i) {
        owner.locked.malloc(64);
    }
    return kept && owner.mark == 42 ? 0 : 1;
}
