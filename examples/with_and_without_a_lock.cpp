// SPDX-License-Identifier: MIT
//
// The same heap with a lock and without one in one program: who shares a heap pays for the lock, who does not, does not
// (Heap Layers, section 6.2).
#include "expect.hpp"

#include <allocators/lea.hpp>

#include <thread>
#include <vector>

/// Two heaps of one process should not both move the break: these map what they grow by.
struct Mapped : cairn::LeaParameters {
    using Source = cairn::MmapHeap;
    static constexpr std::size_t growth = 1 << 20;
};

static cairn::LockedLea<Mapped> shared;

static void work(std::vector<void *> &results) {
    cairn::Lea<Mapped> own; // of this thread alone, and gone with it
    for (std::size_t i = 1; i <= 1000; ++i) {
        void *const scratch = own.malloc(i);
        results.push_back(shared.malloc(i));
        own.free(scratch);
    }
}

int main() {
    std::vector<void *> results;
    std::vector<void *> others;
    std::thread thread([&] { work(others); });
    work(results);
    thread.join();
    results.insert(results.end(), others.begin(), others.end());
    for (void *p : results) {
        expect(cairn::Lea<Mapped>::getSize(p) > 0, "lives longer than the thread that asked for it");
        shared.free(p);
    }
}
