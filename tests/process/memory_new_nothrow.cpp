// SPDX-License-Identifier: MIT
//
// The nothrow forms of operator new answer nullptr.
#include "process_test.hpp"

#include <new>

using namespace process_test;

int main() {
    const auto size = opaque(std::size_t{PTRDIFF_MAX});
    constexpr std::align_val_t page{4096};
    CHECK(::operator new(size, std::nothrow) == nullptr);
    CHECK(::operator new[](size, std::nothrow) == nullptr);
    CHECK(::operator new(size, page, std::nothrow) == nullptr);
    CHECK(::operator new[](size, page, std::nothrow) == nullptr);
    void *const p = ::operator new(100, page, std::nothrow);
    CHECK(p != nullptr && reinterpret_cast<std::uintptr_t>(p) % 4096 == 0);
    ::operator delete(p, page, std::nothrow);
}
