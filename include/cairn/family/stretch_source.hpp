// SPDX-License-Identifier: MIT
//
// StretchSource: memory for one heap in stretches of 1 MiB, at whose start its name can be found from any block.
//
// Adds:    malloc, clear. free does nothing. Stretch::of(p): the header of the stretch that p lies in.
// Needs:   MmapHeap.
// Keeps:   blocks follow each other without a gap while a stretch lasts; a stretch starts at a multiple of 1 MiB, and
//          its header, written by who owns the heap, is zero at first.
// Threads: one at a time.
// Errors:  nullptr when a request is longer than a stretch, and from the kernel.
// Cost:    a mapping for 1 MiB, whose pages are touched as they are handed out.
// Source:  ours, for what Hoard, section 6.1 calls ownership: it does not say how Ptmalloc finds a block's heap.
#pragma once

#include <cairn/source/mmap.hpp>

namespace cairn::family {

struct alignas(platform::cache_line) Stretch {
    static constexpr std::size_t bytes = 1_MiB;

    void *owner = nullptr;
    std::size_t used =
        0; ///< bytes from here to the end of the last block that was handed out, at the most so far
    /// Of a long block, which has a stretch of its own.
    void *mapping = nullptr;
    char *end = nullptr;

    static Stretch &of(void *p) { return *reinterpret_cast<Stretch *>(align_down(address_of(p) - 1, bytes)); }
    bool is_long() const { return mapping != nullptr; }
};

class StretchSource {
public:
    static constexpr std::size_t alignment = quantum;
    static constexpr bool contiguous = true; ///< so a layer above may join blocks: free does nothing
    static constexpr std::size_t largest = Stretch::bytes - sizeof(Stretch);

    void *malloc(std::size_t size) {
        const std::size_t need = align_up(size == 0 ? 1 : size, alignment);
        if (size > largest) {
            return nullptr;
        }
        if (need > static_cast<std::size_t>(end_ - next_)) {
            auto *const stretch = static_cast<char *>(mappings_.memalign(Stretch::bytes, Stretch::bytes));
            if (stretch == nullptr) {
                return nullptr;
            }
            next_ = stretch + sizeof(Stretch);
            end_ = stretch + Stretch::bytes;
        }
        next_ += need;
        return next_ - need;
    }

    void free(void *) {}

    void clear() {
        mappings_.clear();
        next_ = nullptr;
        end_ = nullptr;
    }

private:
    MmapHeap mappings_;
    char *next_ = nullptr;
    char *end_ = nullptr;
};

static_assert(ClearableHeap<StretchSource>);

} // namespace cairn::family
