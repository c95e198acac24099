// SPDX-License-Identifier: MIT
//
// Heap memory: memory for thread heaps, which is never unmapped.
//
// Adds:    take.
// Needs:   the operating system; free runs where that has no memory.
// Threads: under the registry's lock.
// Errors:  nullptr when out of memory.
// Cost:    a mapping for every 16 heaps or so.
#pragma once

#include <cairn/run/metadata.hpp>

#include <cstddef>
#include <utility>

namespace cairn {

template <std::size_t Bytes>
class HeapMemory {
public:
    constexpr HeapMemory() = default;

    /// Zeroed memory for one more heap, aligned as the length of one is.
    void *take(RunHeap &runs) {
        if (left_ == 0) {
            void *const memory = memory_for_ever(runs, chunk_bytes_);
            if (memory == nullptr) {
                return nullptr;
            }
            chunk_ = static_cast<std::byte *>(memory);
            left_ = chunk_bytes_ / Bytes;
        }
        --left_;
        return std::exchange(chunk_, chunk_ + Bytes);
    }

private:
    static constexpr std::size_t chunk_bytes_ = align_up(16 * Bytes, 64_KiB);
    std::byte *chunk_ = nullptr; ///< what is left of it
    std::size_t left_ = 0;       ///< heaps
};

} // namespace cairn
