// SPDX-License-Identifier: MIT
//
// The flagship in a file with assertions and in one without, with classes of its own in each. The parts that do not
// depend on the classes are one type in both files.
#include <allocators/cairn.hpp>

#include <semaphore>
#include <thread>
#include <vector>

namespace {

#if defined(NDEBUG)
constexpr std::size_t largest_small = 4096;
#else
constexpr std::size_t largest_small = 8192;
#endif

struct Life {
    static bool attached();
    static void grew() noexcept {}
    static void surplus() {}
    static void returned() {}
};

constinit cairn::OwnerRouted<
    cairn::SpreadSizeClasses<cairn::GeometricSizeClasses<largest_small, largest_small>, 65536>,
    cairn::Emptiness<cairn::FlagshipParameters::slack, 1, 6>, Life>
    heap;

bool Life::attached() {
    struct Ending {
        ~Ending() { heap.detach(); }
    };
    thread_local const Ending ending;
    static_cast<void>(&ending);
    return true;
}

/// A thread frees what another one has allocated, which then does nothing, and needs memory: it visits that one's heap.
void visit() {
    std::vector<void *> blocks(40'000);
    std::binary_semaphore filled(0), ended(0);
    std::thread owner([&] {
        for (void *&block : blocks) {
            block = heap.malloc(1000);
        }
        filled.release();
        ended.acquire();
    });
    filled.acquire();
    std::thread other([&] {
        for (void *const block : blocks) {
            heap.free(block);
        }
        for (void *&block : blocks) {
            block = heap.malloc(4000);
        }
        for (void *const block : blocks) {
            heap.free(block);
        }
        ended.release();
    });
    other.join();
    owner.join();
    heap.trim(0);
}

} // namespace
