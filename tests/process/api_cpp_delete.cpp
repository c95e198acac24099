// SPDX-License-Identifier: MIT
//
// Each form of operator delete frees what the form of operator new that it belongs to gave: the next one gets that
// block. Those that take an alignment keep it.
#include "process_test.hpp"

#include <new>

using namespace process_test;

namespace {

constexpr std::size_t size = 200;
constexpr std::align_val_t alignment{128};

template <class New, class Delete>
void same_block(New get, Delete give_back) {
    void *const p = opaque(get());
    CHECK(p != nullptr);
    std::memset(p, 1, size);
    give_back(p);
    void *const q = opaque(get());
    CHECK(q == p);
    give_back(q);
}

/// Several in a row: one may be aligned by chance.
template <class New>
void is_aligned(New get) {
    for (int i = 0; i < 20; ++i) {
        CHECK(reinterpret_cast<std::uintptr_t>(opaque(get())) % static_cast<std::size_t>(alignment) == 0);
    }
}

} // namespace

int main() {
    const auto one = [] { return ::operator new(size); };
    const auto many = [] { return ::operator new[](size); };
    const auto one_or_null = [] { return ::operator new(size, std::nothrow); };
    const auto many_or_null = [] { return ::operator new[](size, std::nothrow); };
    same_block(one, [](void *p) { ::operator delete(p); });
    same_block(many, [](void *p) { ::operator delete[](p); });
    same_block(one, [](void *p) { ::operator delete(p, size); });
    same_block(many, [](void *p) { ::operator delete[](p, size); });
    same_block(one_or_null, [](void *p) { ::operator delete(p, std::nothrow); });
    same_block(many_or_null, [](void *p) { ::operator delete[](p, std::nothrow); });

    const auto aligned = [] { return ::operator new(size, alignment); };
    const auto many_aligned = [] { return ::operator new[](size, alignment); };
    const auto aligned_or_null = [] { return ::operator new(size, alignment, std::nothrow); };
    const auto many_aligned_or_null = [] { return ::operator new[](size, alignment, std::nothrow); };
    same_block(aligned, [](void *p) { ::operator delete(p, alignment); });
    same_block(many_aligned, [](void *p) { ::operator delete[](p, alignment); });
    same_block(aligned, [](void *p) { ::operator delete(p, size, alignment); });
    same_block(many_aligned, [](void *p) { ::operator delete[](p, size, alignment); });
    same_block(aligned_or_null, [](void *p) { ::operator delete(p, alignment, std::nothrow); });
    same_block(many_aligned_or_null, [](void *p) { ::operator delete[](p, alignment, std::nothrow); });
    is_aligned(aligned);
    is_aligned(many_aligned);
    is_aligned(aligned_or_null);
    is_aligned(many_aligned_or_null);
}
