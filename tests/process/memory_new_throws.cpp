// SPDX-License-Identifier: MIT
//
// operator new that finds no memory throws std::bad_alloc, in all throwing forms.
#include "process_test.hpp"

#include <new>

using namespace process_test;

template <class F>
static bool throws(F f) {
    try {
        f();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

int main() {
    const auto size = opaque(std::size_t{PTRDIFF_MAX});
    constexpr std::align_val_t page{4096};
    CHECK(throws([&] { ::operator delete(::operator new(size)); }));
    CHECK(throws([&] { ::operator delete[](::operator new[](size)); }));
    CHECK(throws([&] { ::operator delete(::operator new(size, page), page); }));
    CHECK(throws([&] { ::operator delete[](::operator new[](size, page), page); }));
    int *const p = new int(4);
    CHECK(*p == 4);
    delete p;
}
