// SPDX-License-Identifier: MIT
//
// Large blocks of which the program touches a page or two, as stacks of coroutines are: a process of them that has
// grown beyond 48 MiB gets no huge pages for them, also where blocks that are used as a whole come between.
#include "process_test.hpp"

using namespace process_test;

namespace {

constexpr std::size_t stack = 200'000;
constexpr unsigned stacks = 3000;

char *write_some(std::size_t size, std::size_t length) {
    char *const p = static_cast<char *>(malloc(size));
    CHECK(p != nullptr);
    std::memset(p, 1, length);
    return p;
}

} // namespace

int main() {
    std::size_t touched = 0;
    for (unsigned i = 0; i < stacks; ++i) {
        write_some(stack, 1000);
        write_some(2000, 2000);
        touched += 4 * KiB + 2000;
    }
    dprintf(1, "%u blocks of %zu bytes: %.1f MiB touched, %.1f resident\n", stacks, stack, mebibytes(touched),
            mebibytes(resident()));
    CHECK(kernel_gives_huge_pages_unasked() || resident() < touched + touched / 2 + 16 * MiB);
}
