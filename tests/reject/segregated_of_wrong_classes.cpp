// SPDX-License-Identifier: MIT
// expect: SegregatedHeap
// expect: SizeClasses
#include <cairn/combine/segregated.hpp>
#include <cairn/source/system_malloc.hpp>

struct LargestIsNoClass {
    static constexpr std::size_t count = 2;
    static constexpr std::size_t largest = 100;
    static constexpr unsigned class_of(std::size_t n) { return n > 32 ? 1 : 0; }
    static constexpr std::size_t size_of(unsigned c) { return c == 0 ? 32 : 64; }
};

cairn::SegregatedHeap<LargestIsNoClass, cairn::MallocHeap, cairn::MallocHeap> heap;
