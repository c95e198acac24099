// SPDX-License-Identifier: MIT
//
// Kingsley's allocator twice: composed from the layers, and written by hand as one would in C, with the same algorithm
// and layout. tests/golden/kingsley.py counts the instructions of both:
//
//     kingsley written|layered reuse|carve SIZE COUNT
//
// reuse: COUNT times a malloc and its free. carve: COUNT times a malloc of memory that was never used.
#include <allocators/kingsley.hpp>
#include <bench/papers/kingsley_by_hand.hpp>

#include <cstdlib>
#include <cstring>

namespace {

/// Both take this much at once, so that a run asks the system once, which is not what is compared.
constexpr std::size_t chunk_size = std::size_t{6} << 20; // valgrind has a break of 8 MiB

struct Parameters : cairn::KingsleyParameters {
    static constexpr std::size_t chunk_size = ::chunk_size;
};
} // namespace

constinit cairn::process_heap::KingsleyByHand<chunk_size> written;
constinit cairn::Kingsley<Parameters> layered;

// Functions of their own, so that both are compiled apart from the loop, and can be found in a listing.
extern "C" {
CAIRN_NOINLINE void *written_malloc(std::size_t size) {
    return written.malloc(size);
}
CAIRN_NOINLINE void written_free(void *p) {
    written.free(p);
}
CAIRN_NOINLINE void *layered_malloc(std::size_t size) {
    return layered.malloc(size);
}
CAIRN_NOINLINE void layered_free(void *p) {
    layered.free(p);
}
}

int main(int count, char **arguments) {
    if (count != 5) {
        return 2;
    }
    const bool by_hand = std::strcmp(arguments[1], "written") == 0;
    const bool reuse = std::strcmp(arguments[2], "reuse") == 0;
    const std::size_t size = std::strtoull(arguments[3], nullptr, 10);
    const std::size_t times = std::strtoull(arguments[4], nullptr, 10);
    void *(*const ask)(std::size_t) = by_hand ? written_malloc : layered_malloc;
    void (*const give)(void *) = by_hand ? written_free : layered_free;
    for (std::size_t i = 0; i < times; ++i) {
        void *const p = ask(size);
        if (p == nullptr) {
            return 1;
        }
        std::memset(p, 1, 1);
        if (reuse) {
            give(p);
        }
    }
}
