// SPDX-License-Identifier: MIT
//
// All memory that there is to be had, in blocks of one size.
#pragma once

#include "process_test.hpp"

namespace process_test {

/// As many blocks as there are to be had, all freed. Bytes.
inline std::size_t fill_and_free(std::size_t size) {
    void **all = nullptr;
    std::size_t bytes = 0;
    while (auto *const block = static_cast<void **>(malloc(size))) {
        *block = all;
        all = block;
        bytes += size;
    }
    while (all != nullptr) {
        void *const block = all;
        all = static_cast<void **>(*all);
        free(block);
    }
    return bytes;
}

} // namespace process_test
