// SPDX-License-Identifier: MIT
//
// Memory of this process: how much is resident, and how much of that in pages that hold blocks.
//
// What is needed for it is taken and touched before the first call, so that it is not mistaken for the allocator's; the
// one part that grows later is known exactly and left out.
#pragma once

#include <src/replay/plan.hpp>

#include <cstddef>
#include <cstdint>

namespace cairn::replay {

/// Zeroed, touched pages straight from the system; nullptr if there are none.
void *take_pages(std::size_t bytes) noexcept;

class Memory {
public:
    /// Before the first call: what is resident from now on counts.
    void begin() noexcept;

    /// A block was handed out.
    void note(const void *block, std::size_t size) noexcept;

    /// Fills in what is resident now.
    void sample(Sample &to) noexcept;

    /// The most that was resident at any moment so far.
    std::uint64_t peak() noexcept;

    /// Taken by this object since the beginning.
    std::uint64_t own_pages() const { return parts_touched_; }

    bool knows_resident() const { return rollup_ >= 0; }
    bool knows_blocks() const { return pages_ != nullptr; }

private:
    std::uint64_t of_blocks() noexcept;
    void mark(std::uint64_t page) noexcept;

    // A bit for each page of the address space, in memory that is there only where it was written to; and a bit for
    // each page of that memory which is.
    static constexpr unsigned address_bits = 47;
    std::uint64_t *pages_ = nullptr;
    std::uint64_t *parts_ = nullptr;
    std::size_t part_words_ = 0;
    std::size_t part_pages_ = 0; ///< pages that a page of bits is about
    std::size_t parts_touched_ = 0;
    unsigned page_shift_ = 12;
    int rollup_ = -1;
    int pagemap_ = -1;
    std::uint64_t base_ = 0;
};

} // namespace cairn::replay
