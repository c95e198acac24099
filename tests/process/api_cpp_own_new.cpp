// SPDX-License-Identifier: MIT
//
// A program that replaces the four forms of operator new and delete which the standard lets the others go through, and
// none of the others: all of them reach the program's own, and the form that does not throw gives null where the
// program's throws.
#include "process_test.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

using namespace process_test;

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsized-deallocation" // that there is none is what this is about
#endif

namespace {

// In front of each block, so that one that comes from elsewhere, or goes there, is found out.
struct Header {
    std::size_t size;
    std::uint64_t mark;
};
constexpr std::uint64_t plain = 0x706c61696e;
constexpr std::uint64_t aligned = 0x616c69676e6564;
constexpr std::align_val_t alignment{256};

long live = 0;
long gave = 0;
bool empty = false;

void *give(std::size_t size, std::size_t to, std::uint64_t mark) {
    if (empty) {
        throw std::bad_alloc();
    }
    const std::size_t in_front = to < sizeof(Header) ? sizeof(Header) : to;
    char *const memory = static_cast<char *>(aligned_alloc(in_front, (in_front + size + to - 1) / to * to));
    CHECK(memory != nullptr);
    *reinterpret_cast<Header *>(memory + in_front - sizeof(Header)) = {size, mark};
    ++live;
    ++gave;
    return memory + in_front;
}

void take(void *p, std::size_t to, std::uint64_t mark) {
    if (p == nullptr) {
        return;
    }
    char *const block = static_cast<char *>(p);
    CHECK(reinterpret_cast<Header *>(block - sizeof(Header))->mark == mark);
    --live;
    free(block - (to < sizeof(Header) ? sizeof(Header) : to));
}

template <class New, class Delete>
void pair(New get, Delete give_back) {
    const long before = gave;
    void *const p = opaque(get());
    CHECK(p != nullptr && gave == before + 1 && live == 1);
    std::memset(p, 1, 100);
    give_back(opaque(p));
    CHECK(live == 0);
}

template <class New>
void is_null_when_it_throws(New get) {
    empty = true;
    CHECK(opaque(get()) == nullptr);
    empty = false;
}

} // namespace

void *operator new(std::size_t size) {
    return give(size, 16, plain);
}
void *operator new(std::size_t size, std::align_val_t to) {
    return give(size, static_cast<std::size_t>(to), aligned);
}
void operator delete(void *p) noexcept {
    take(p, 16, plain);
}
void operator delete(void *p, std::align_val_t to) noexcept {
    take(p, static_cast<std::size_t>(to), aligned);
}

int main() {
    const auto one = [] { return ::operator new(100); };
    const auto many = [] { return ::operator new[](100); };
    const auto one_or_null = [] { return ::operator new(100, std::nothrow); };
    const auto many_or_null = [] { return ::operator new[](100, std::nothrow); };
    pair(one, [](void *p) { ::operator delete(p); });
    pair(one, [](void *p) { ::operator delete(p, 100); });
    pair(many, [](void *p) { ::operator delete[](p); });
    pair(many, [](void *p) { ::operator delete[](p, 100); });
    pair(one_or_null, [](void *p) { ::operator delete(p, std::nothrow); });
    pair(many_or_null, [](void *p) { ::operator delete[](p, std::nothrow); });
    is_null_when_it_throws(one_or_null);
    is_null_when_it_throws(many_or_null);

    const auto to = [] { return ::operator new(100, alignment); };
    const auto many_to = [] { return ::operator new[](100, alignment); };
    const auto to_or_null = [] { return ::operator new(100, alignment, std::nothrow); };
    const auto many_to_or_null = [] { return ::operator new[](100, alignment, std::nothrow); };
    pair(to, [](void *p) { ::operator delete(p, alignment); });
    pair(to, [](void *p) { ::operator delete(p, 100, alignment); });
    pair(many_to, [](void *p) { ::operator delete[](p, alignment); });
    pair(many_to, [](void *p) { ::operator delete[](p, 100, alignment); });
    pair(to_or_null, [](void *p) { ::operator delete(p, alignment, std::nothrow); });
    pair(many_to_or_null, [](void *p) { ::operator delete[](p, alignment, std::nothrow); });
    is_null_when_it_throws(to_or_null);
    is_null_when_it_throws(many_to_or_null);

    // The C++ library's own calls, whichever forms it uses.
    {
        const auto array = std::make_unique<int[]>(100);
        std::vector<int> values(1000, 3);
        values[500] = opaque(array[7]);
        std::stable_sort(values.begin(), values.end());
        CHECK(values[0] == 0 && values[999] == 3);
    }
    CHECK(live == 0);
    return 0;
}
