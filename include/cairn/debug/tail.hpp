// SPDX-License-Identifier: MIT
//
// Tail: what a check adds behind each block: a guard, and the size in its last word if the block alone has to tell it.
//
// Adds:    the guard's place, whether it is as it was, the size of a block of a SelfSizedHeap.
// Needs:   a heap.
// Keeps:   the guard begins at the byte behind what was asked for, so a write one too far is seen. Over a SelfSizedHeap
//          it reaches to the end of what that heap says the block has.
// Threads: pure functions on memory that is the caller's.
// Cost:    16 bytes a block.
#pragma once

#include <cairn/core/concepts.hpp>
#include <cairn/debug/patterns.hpp>

namespace cairn::debug {

/// Names the way in which sizes are recorded behind blocks of heaps that record theirs in the way Below.
template <class Below>
struct TailSize;

template <Heap Super>
struct Tail {
    using Record = void;
    static constexpr std::size_t least = 16;
    static constexpr std::size_t most = SIZE_MAX - least; ///< that can be asked for

    static std::size_t extent(void *, std::size_t size) { return size + least; }
    static void put(void *p, std::size_t size, std::size_t extent) {
        std::memset(static_cast<unsigned char *>(p) + size, guard_byte, extent - size);
    }
    static void put_freed(void *p, std::size_t size, std::size_t) { fill(p, 0, size, freed_byte); }
    template <FaultPolicy Policy>
    static void look(const void *p, std::size_t size, std::size_t extent) {
        const std::size_t offset = first_other(p, size, extent, guard_byte);
        if (offset != extent) {
            Policy::found({Fault::written_behind_end, p, size, offset});
        }
    }
};

template <SelfSizedHeap Super>
struct Tail<Super> {
    using Record = TailSize<typename Super::SizeRecord>;
    static constexpr std::size_t least = 16;
    static constexpr std::size_t most = SIZE_MAX - least;

    static std::size_t extent(void *p, std::size_t size) { return std::max(Super::getSize(p), size + least); }
    static void put(void *p, std::size_t size, std::size_t extent) {
        std::memset(static_cast<unsigned char *>(p) + size, guard_byte, extent - size - sizeof size);
        write(p, size, extent);
    }
    /// With a size that no block can have.
    static void put_freed(void *p, std::size_t size, std::size_t extent) {
        fill(p, 0, size, freed_byte);
        write(p, SIZE_MAX, extent);
    }
    template <FaultPolicy Policy>
    static void look(const void *p, std::size_t size, std::size_t extent) {
        const std::size_t end = extent - sizeof size;
        const std::size_t offset = first_other(p, size, end, guard_byte);
        if (offset != end || read(p, extent) != size) {
            Policy::found({Fault::written_behind_end, p, size, offset});
        }
    }
    static std::size_t size_of(void *p) { return read(p, Super::getSize(p)); }

private:
    static void write(void *p, std::size_t size, std::size_t extent) {
        std::memcpy(static_cast<unsigned char *>(p) + extent - sizeof size, &size, sizeof size);
    }
    static std::size_t read(const void *p, std::size_t extent) {
        std::size_t size = 0;
        std::memcpy(&size, static_cast<const unsigned char *>(p) + extent - sizeof size, sizeof size);
        return size;
    }
};

} // namespace cairn::debug
