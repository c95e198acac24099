// SPDX-License-Identifier: MIT
//
// CountingHeap: a heap that counts the live blocks of all its objects, and refuses when it is told to.
#pragma once

#include <cairn/core/concepts.hpp>

template <cairn::Heap Below>
class CountingHeap {
public:
    void *malloc(std::size_t size) {
        if (refuses) {
            return nullptr;
        }
        ++live;
        return below_.malloc(size);
    }
    void free(void *p) {
        --live;
        below_.free(p);
    }
    void clear()
        requires cairn::ClearableHeap<Below>
    {
        live = 0;
        below_.clear();
    }
    static inline int live = 0;
    static inline bool refuses = false;

private:
    Below below_;
};
