// SPDX-License-Identifier: MIT
//
// The file with assertions.
#include "mixed.hpp"

#include <atomic>
#include <chrono>
#include <thread>

bool adapts_in_plain();
bool keeps_to_itself_in_release();
void use_the_break_in_release();

namespace {

/// Heaps at the break share its lock.
bool waits_for_the_break() {
    std::atomic<bool> done = false;
    cairn::SbrkHeap::lock_break();
    std::thread other([&done] {
        use_the_break_in_release();
        done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const bool waited = !done;
    cairn::SbrkHeap::unlock_break();
    other.join();
    return waited;
}

/// Out of memory is an exception here, and two resources of one heap are equal.
bool has_exceptions_and_types() {
    Little heap;
    try {
        Numbers numbers(1000, 0, heap);
        return false;
    } catch (const std::bad_alloc &) {
        cairn::HeapResource one(heap), other(heap);
        return one == other;
    }
}

} // namespace

int main() {
    return keeps_to_itself_in_release() && keeps_to_itself() && waits_for_the_break() && adapts_in_plain() &&
                   adapts() && has_exceptions_and_types()
               ? 0
               : 1;
}
