// SPDX-License-Identifier: MIT
//
// The driver: random operations on a heap and its model, the same for every seed on every machine.
#pragma once

#include "model.hpp"
#include "traits.hpp"

#include <random>

namespace cairn::conformance {

using Random = std::mt19937_64;

/// What the source below is going to do.
enum class Below {
    gives,        ///< every request must succeed
    refuses_once, ///< a request that fails must succeed when it is repeated
    refuses,      ///< every request may fail
};

/// T is the row, H its heap or the same over another source.
template <class T, Heap H = typename T::Heap>
class Driver {
public:
    /// No request above `largest`.
    Driver(H &heap, std::uint64_t seed, std::size_t largest, Below below = Below::gives)
        : model(heap), heap_(heap), random_(seed), largest_(std::min(largest, T::max_size)), below_(below) {}

    void run(std::size_t operations, std::size_t most_blocks) {
        for (std::size_t i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) {
            const bool full = model.size() >= most_blocks || model.live_bytes() >= most_live_bytes_;
            if (model.size() > 0 && (full || random_() % 5 < 2)) {
                model.free_one(model.any(random_));
            } else {
                malloc_in_some_way();
            }
        }
        model.check_all();
    }

    void malloc_one(std::size_t size) {
        request(size, alignment_for(size), [&] { return heap_.malloc(size); });
    }

    std::size_t random_size() {
        if constexpr (T::fixed_size != 0) {
            return T::fixed_size;
        }
        const unsigned kind = random_() % 16;
        const std::size_t most = kind < 8 ? 128 : kind < 12 ? 4_KiB : kind < 15 ? 64_KiB : 1_MiB;
        return random_() % (std::min(most, largest_) + 1);
    }

    Model<H> model;

private:
    static constexpr std::size_t most_live_bytes_ = 32_MiB;

    static std::size_t alignment_for(std::size_t size) {
        const std::size_t promised = T::alignment_for(size);
        return std::same_as<H, typename T::Heap> ? promised : std::min(promised, alignment_of<H>);
    }

    void malloc_in_some_way() {
        const std::size_t size = random_size();
        const unsigned way = random_() % 8;
        if constexpr (AlignedHeap<H>) {
            if (way == 0) {
                const std::size_t wanted = quantum << random_() % 9;
                request(size, wanted, [&] { return heap_.memalign(wanted, size); });
                return;
            }
        }
        if constexpr (ZeroingHeap<H>) {
            if (way == 1) {
                request(size, alignment_for(size), [&] { return zeroed(heap_.malloc_zeroed(size), size); });
                return;
            }
        }
        if constexpr (ReallocatingHeap<H>) {
            if (way < 4 && model.size() > 0) {
                reallocate_one(model.any(random_), std::max<std::size_t>(1, size % Model<H>::filled_whole));
                return;
            }
        }
        malloc_one(size);
    }

    static void *zeroed(void *p, std::size_t size) {
        if (p != nullptr) {
            const auto *const bytes = static_cast<const unsigned char *>(p);
            EXPECT_TRUE(std::all_of(bytes, bytes + size, [](unsigned char b) { return b == 0; }));
        }
        return p;
    }

    void reallocate_one(void *from, std::size_t size) {
        if (model.size_of(from) > Model<H>::filled_whole) {
            return;
        }
        const std::uintptr_t start = address_of(from);
        void *const to = heap_.reallocate(from, size);
        if (to != nullptr) {
            model.admit_moved(start, to, size, alignment_for(size));
        } else {
            EXPECT_NE(below_, Below::gives) << "no memory to reallocate to " << size << " bytes";
            model.check(from);
        }
    }

    template <class F>
    void request(std::size_t size, std::size_t alignment, F ask) {
        void *p = ask();
        if (p == nullptr && below_ == Below::refuses_once) {
            p = ask();
        }
        if (p != nullptr) {
            model.admit(p, size, alignment);
        } else if (size != 0 && below_ != Below::refuses) {
            bool excused = false;
            if constexpr (BoundedHeap<H>) {
                excused = size > heap_.remaining();
            }
            EXPECT_TRUE(excused) << "no memory for " << size << " bytes";
        }
    }

    H &heap_;
    Random random_;
    std::size_t largest_;
    Below below_;
};

} // namespace cairn::conformance
