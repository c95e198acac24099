// SPDX-License-Identifier: MIT
//
// Two children of one process get blocks at the same addresses, but what malloc writes into a free one is not the same,
// nor what their parent finds there: who can read one process's memory learns nothing that helps to forge a link in
// another one.
#include "process_test.hpp"

using namespace process_test;

namespace {

struct Link {
    std::uintptr_t block;
    std::uint64_t word;
};

/// What is in the first block of a superblock that this process makes, when it is free.
Link link_of_a_free_block() {
    void *const p = malloc(3000);
    const volatile std::uint64_t *const words = static_cast<std::uint64_t *>(p);
    const auto block = reinterpret_cast<std::uintptr_t>(p);
    free(p);
    return {block, *words};
}

} // namespace

int main() {
    free(malloc(100));
    const Link links[] = {of_child(link_of_a_free_block), of_child(link_of_a_free_block),
                          link_of_a_free_block()};
    for (const Link &one : links) {
        for (const Link &other : links) {
            CHECK(one.block == other.block && (&one == &other || one.word != other.word));
        }
    }
}
