// SPDX-License-Identifier: MIT
//
// Clear: a block's bytes set to zero, as calloc has to.
//
// Adds:    clear_block.
// Needs:   a block, aligned to 8 bytes, that has as many bytes as were asked for, rounded up to 8, and 8 at least.
// Threads: the block's owner.
// Cost:    one to four stores for up to 64 bytes, some eight instructions; a memset for more.
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/platform/features.hpp>

#include <cstring>

namespace cairn::platform {

/// Sets the first `bytes` to zero, and perhaps those up to the next multiple of 8. Returns the block, so that it may end a function
/// as memset may: by a jump.
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
    if (bytes > 2 * step) { // these may overlap
        std::memset(p + step, 0, step);
        std::memset(end - 2 * step, 0, step);
    }
    std::memset(end - step, 0, step);
    return block;
}

} // namespace cairn::platform
