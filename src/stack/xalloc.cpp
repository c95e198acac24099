// SPDX-License-Identifier: MIT
//
// <cairn/xalloc.h>: the paper's composition behind C functions.
#include <cairn/core/compose.hpp>
#include <cairn/core/immortal.hpp>
#include <cairn/layer/fixed_stack.hpp>
#include <cairn/layer/xalloc.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/xalloc.h>

#include <cerrno>
#include <memory>

namespace {

using Heap = cairn::Compose<cairn::MmapHeap, cairn::FixedStack<XALLOC_DEFAULT_LIMIT>, cairn::Xalloc>;

/// Usable before constructors run and after destructors.
constinit cairn::Immortal<Heap> the{};

} // namespace

int xalloc_init(std::size_t limit) {
    std::destroy_at(&the.object);
    std::construct_at(&the.object, limit);
    void *const probe = xalloc(0); // takes the memory
    xfree(probe);
    return probe == nullptr ? -1 : 0;
}

void *xalloc(std::size_t size) {
    void *const block = the.object.malloc(size);
    if (CAIRN_UNLIKELY(block == nullptr)) {
        errno = ENOMEM;
    }
    return block;
}

void xfree(void *block) {
    if (block != nullptr) {
        the.object.free(block);
    }
}

void xalloc_clear() {
    the.object.reset();
}

std::size_t xalloc_remaining() {
    return the.object.remaining();
}
