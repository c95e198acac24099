// SPDX-License-Identifier: MIT
//
// ClassChunk: the header of 64 KiB of blocks of one size class, at their start, or of one long block's mapping.
//
// Adds:    the way from any address in a block to the size, the owner and the start of the block.
// Needs:   chunks at multiples of 64 KiB; a long block begins in the first 64 KiB after its header, or just behind
//          them.
// Keeps:   the header does not change while the chunk has live blocks.
// Threads: reading, any. It is written before its first block is handed out.
// Cost:    a mask, a load, and a multiplication for the start of a block.
// Source:  ours. The documents whose heaps are made of these chunks say nothing of how blocks are found.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>

namespace cairn::family {

struct alignas(platform::cache_line) ClassChunk {
    static constexpr std::size_t bytes = 64_KiB;

    std::uint32_t block_size = 0; ///< 0: one long block
    std::uint32_t reciprocal = 0; ///< 2^32 / block_size, rounded up
    unsigned size_class = 0;
    void *owner = nullptr; ///< the heap that takes freed blocks back, where there is one
    /// Of a long block: its mapping, and the end of what can be used.
    void *mapping = nullptr;
    char *end = nullptr;

    static constexpr std::size_t capacity(std::size_t block_size);

    /// The chunk of an address in it. An aligned long block may begin right where the next chunk would.
    static ClassChunk &of(void *p) {
        return *reinterpret_cast<ClassChunk *>(align_down(address_of(p) - 1, bytes));
    }

    void format(unsigned of_class, std::size_t size, void *heap) {
        block_size = static_cast<std::uint32_t>(size);
        reciprocal = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / size + 1);
        size_class = of_class;
        owner = heap;
    }

    bool is_long() const { return block_size == 0; }
    char *blocks() { return reinterpret_cast<char *>(this + 1); }

    /// The start of the block that p lies in: p itself, but for blocks of memalign. The product is exact enough for
    /// offsets below 2^16 and sizes up to 2^16.
    char *block_of(void *p) {
        const std::uint64_t offset = address_of(p) - address_of(blocks());
        const std::uint64_t index = (offset * reciprocal) >> 32;
        if constexpr (platform::checked) {
            if (index != offset / block_size || index >= capacity(block_size)) {
                platform::fatal({"no block of the chunk at ", static_cast<const void *>(this), " is at ", p});
            }
        }
        return blocks() + index * block_size;
    }

    std::size_t size_from(void *p) {
        return address_of(is_long() ? end : block_of(p) + block_size) - address_of(p);
    }
};

constexpr std::size_t ClassChunk::capacity(std::size_t block_size) {
    return (bytes - sizeof(ClassChunk)) / block_size;
}

} // namespace cairn::family
