// SPDX-License-Identifier: MIT
// Runs one function on N threads that start together, and adds up what they return. Where the system refuses so many
// threads, the program ends with one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <latch>
#include <thread>
#include <vector>

namespace cairn::bench {

template <class Work>
std::uint64_t run_crew(std::size_t threads, Work work) {
    std::latch start(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::uint64_t> results;
    std::vector<std::thread> crew;
    try {
        results.resize(threads);
        crew.reserve(threads);
        for (std::size_t i = 0; i < threads; ++i)
            crew.emplace_back([&, i] {
                start.arrive_and_wait();
                results[i] = work(i);
            });
    } catch (const std::exception &refused) { // those that have begun wait for the others
        std::fprintf(stderr, "%zu threads: %s\n", threads, refused.what());
        std::_Exit(1);
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < threads; ++i) {
        crew[i].join();
        sum += results[i];
    }
    return sum;
}

} // namespace cairn::bench
