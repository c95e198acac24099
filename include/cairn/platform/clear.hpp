// SPDX-License-Identifier: MIT
//
// Clear: sets the bytes of a block to zero, for calloc.
//
// Adds:    clear_block.
// Needs:   a block, aligned to 8 bytes, whose length is at least the requested one rounded up to 8, and at least 8.
// Threads: the block's owner.
// Cost:    one to four stores for up to 64 bytes, some eight instructions; a memset for more.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/platform/features.hpp>

#include <cstring>

namespace cairn::platform {

/// Sets the first `bytes` to zero, and perhaps those up to the next multiple of 8. Returns the block, as memset does,
/// so that a function can end with a tail call of it.
CAIRN_INLINE void *clear_block(void *block, std::size_t bytes) {
    constexpr std::size_t step = 16; // one store
    auto *const p = static_cast<unsigned char *>(block);
    if (bytes > 4 * step) {
        return std::memset(block, 0, bytes);
    }
    if (bytes <= step) {
        std::memset(p, 0, step / 2);
        if (bytes > step / 2) {
            std::memset(p + step / 2, 0, step / 2);
        }
        return block;
    }
    unsigned char *const end = p + align_up(bytes, step / 2);
    std::memset(p, 0, step);
    if (bytes > 2 * step) { // the stores may overlap
        std::memset(p + step, 0, step);
        std::memset(end - 2 * step, 0, step);
    }
    std::memset(end - step, 0, step);
    return block;
}

} // namespace cairn::platform
