// SPDX-License-Identifier: MIT
//
// HoardSupply: superblocks from the operating system, many to a mapping.
//
// Adds:    fresh superblocks; a walk over all that there are.
// Needs:   a PageSource.
// Keeps:   superblocks lie at multiples of S. Nothing goes back before release(): "Hoard does not currently return
//          empty superblocks to the operating system".
// Threads: who holds the lock of the global heap.
// Errors:  nullptr when not even one superblock can be mapped.
// Cost:    a mapping for Chunk bytes of superblocks, or for fewer where memory is short.
// Source:  Hoard, section 3.1; the chunks are ours, to keep mappings few.
#pragma once

#include <cairn/family/hoard_superblock.hpp>
#include <cairn/source/pages.hpp>

#include <new>

namespace cairn {

template <std::size_t S, std::size_t Chunk>
class HoardSupply {
public:
    using Superblock = HoardSuperblock<S>;
    static_assert(is_power_of_two(Chunk) && Chunk >= S && Chunk / S <= UINT16_MAX);

    template <PageSource Pages>
    Superblock *fresh(Pages &pages) {
        const bool new_chunk = next_ == end_;
        if (new_chunk && !map_chunk(pages)) {
            return nullptr;
        }
        auto *const s = new (next_) Superblock;
        if (new_chunk) {
            s->older_chunk = newest_;
            s->in_chunk = static_cast<std::uint16_t>((end_ - next_) / static_cast<std::ptrdiff_t>(S));
            newest_ = s;
        }
        next_ += S;
        return s;
    }

    /// f(s) for each superblock that was ever given out: all of a chunk, but for what is left of the newest one.
    template <class F>
    void for_each(F f) {
        auto left = static_cast<std::size_t>(end_ - next_) / S;
        for (Superblock *first = newest_; first != nullptr; first = first->older_chunk) {
            char *const start = reinterpret_cast<char *>(first);
            for (std::size_t i = 0; i < first->in_chunk - left; ++i) {
                f(*reinterpret_cast<Superblock *>(start + i * S));
            }
            left = 0;
        }
    }

    /// Gives all chunks back.
    template <PageSource Pages>
    void release(Pages &pages) {
        while (newest_ != nullptr) {
            Superblock *const first = newest_;
            newest_ = first->older_chunk;
            pages.unmap(first, first->in_chunk * S);
        }
        next_ = end_ = nullptr;
        mapped_ = 0;
    }

    /// Bytes of address space.
    std::size_t mapped() const { return mapped_; }

private:
    template <PageSource Pages>
    bool map_chunk(Pages &pages) {
        for (std::size_t bytes = Chunk; bytes >= S; bytes /= 2) {
            if (void *const start = pages.map(bytes, S)) {
                next_ = static_cast<char *>(start);
                end_ = next_ + bytes;
                mapped_ += bytes;
                return true;
            }
        }
        return false;
    }

    char *next_ = nullptr; ///< what is left of the newest chunk
    char *end_ = nullptr;
    Superblock *newest_ = nullptr; ///< the first superblock of the newest chunk
    std::size_t mapped_ = 0;
};

} // namespace cairn
