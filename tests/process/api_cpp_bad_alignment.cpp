// SPDX-License-Identifier: MIT
//
// operator new for an alignment that is no power of two: std::bad_alloc or nullptr, as libstdc++ has it, and not a
// block that is too short. The new-handler is not asked, who could do nothing about it.
#include "process_test.hpp"

#include <new>

using namespace process_test;

static void must_not_be_asked() {
    CHECK(!"asked");
}

int main() {
    std::set_new_handler(must_not_be_asked);
    for (const std::size_t alignment :
         {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{4097}, SIZE_MAX}) {
        for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{100'000}}) {
            const auto to = opaque(std::align_val_t{alignment});
            CHECK(::operator new(size, to, std::nothrow) == nullptr);
            CHECK(::operator new[](size, to, std::nothrow) == nullptr);
            bool thrown = false;
            try {
                opaque(::operator new(size, to));
            } catch (const std::bad_alloc &) {
                thrown = true;
            }
            CHECK(thrown);
        }
    }
}
