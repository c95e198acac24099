// SPDX-License-Identifier: MIT
// expect: DictionaryHeap
// expect: Dictionary
#include <cairn/layer/dictionary.hpp>
#include <cairn/source/mmap.hpp>

struct Stack {
    static constexpr std::size_t smallest = 8;
    void insert(void *);
    void *take();
    void clear();
    bool empty() const;
};

cairn::DictionaryHeap<cairn::MmapHeap, Stack> heap;
