// SPDX-License-Identifier: MIT
// A pattern of allocation as programs have it: its name, and the function that does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cairn::bench::patterns {

// How much there is to do, and by how many threads.
struct Job {
    std::size_t threads;
    std::uint64_t percent; // of the usual amount

    // A thread's share of `whole`; at least 1.
    std::uint64_t share(std::uint64_t whole) const {
        const std::uint64_t part = whole * percent / 100 / threads;
        return part == 0 ? 1 : part;
    }
};

struct Pattern {
    const char *name;
    const char *what;
    std::uint64_t (*run)(const Job &job); // returns a sum that depends on the work alone
};

std::span<const Pattern> of_blocks();     // malloc and free
std::span<const Pattern> of_containers(); // the C++ library's
std::span<const Pattern> of_threads();    // that hand memory to each other

} // namespace cairn::bench::patterns
