// SPDX-License-Identifier: MIT
//
// The driver: random operations on a heap and its model, the same for every seed on every machine.
#pragma once

#include "model.hpp"

namespace cairn::conformance {

/// What the source below is going to do.
enum class Below {
    gives,        ///< every request must succeed
    refuses_once, ///< a request that fails must succeed when it is repeated
    refuses,      ///< every request may fail
};

class AnyDriver {
public:
    /// No request above `largest`.
    AnyDriver(AnyHeap heap, const Requests &requests, std::uint64_t seed, std::size_t largest,
              Below below = Below::gives)
        : model(heap), heap_(heap), requests_(requests), random_(seed),
          largest_(std::min(largest, requests.max_size)), below_(below) {}

    void run(std::size_t operations, std::size_t most_blocks);
    void malloc_one(std::size_t size);
    std::size_t random_size();

    Model model;

private:
    static constexpr std::size_t most_live_bytes_ = 32_MiB;

    void malloc_in_some_way();
    void reallocate_one(void *from, std::size_t size);
    template <class F>
    void request(std::size_t size, std::size_t alignment, F ask);

    AnyHeap heap_;
    Requests requests_;
    Random random_;
    std::size_t largest_;
    Below below_;
};

/// T is the row, H its heap or the same over another source.
template <class T, Heap H = typename T::Heap>
class Driver : public AnyDriver {
public:
    Driver(H &heap, std::uint64_t seed, std::size_t largest, Below below = Below::gives)
        : AnyDriver(AnyHeap(heap), requests_of<T, H>, seed, largest, below) {}
};

} // namespace cairn::conformance
