// SPDX-License-Identifier: MIT
// Runs one function on N threads that start together, and adds up what they return.
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace cairn::bench {

template <class Work>
std::uint64_t run_crew(std::size_t threads, Work work) {
    std::barrier start(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::uint64_t> results(threads);
    std::vector<std::thread> crew;
    crew.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i)
        crew.emplace_back([&, i] {
            start.arrive_and_wait();
            results[i] = work(i);
        });
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < threads; ++i) {
        crew[i].join();
        sum += results[i];
    }
    return sum;
}

} // namespace cairn::bench
