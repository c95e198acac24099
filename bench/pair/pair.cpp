// SPDX-License-Identifier: MIT
// A loop of malloc and free and next to nothing else, for counting instructions: each pair on its own (--batch 1), or a
// batch of mallocs and then their frees, in the same order. With --threads all do the same at one time. Instead of
// malloc, another call that allocates (--call).
#include "../common/crew.hpp"
#include "../common/options.hpp"

#include <array>
#include <cinttypes>
#include <cstring>

using namespace cairn::bench;

namespace {

constexpr std::size_t largest_batch = 1024;

// The compiler must not see that the block is never used.
void keep(void *block) {
    asm volatile("" : : "r"(block) : "memory");
}

// What allocates, chosen when this is compiled, so that the choice takes no instruction.
using Allocate = void *(*)(std::size_t);
void *by_malloc(std::size_t size) {
    return std::malloc(size);
}
void *by_calloc(std::size_t size) {
    return std::calloc(1, size);
}
void *by_aligned_alloc(std::size_t size) {
    return std::aligned_alloc(64, size);
}
void *by_posix_memalign(std::size_t size) {
    void *block = nullptr;
    return posix_memalign(&block, 64, size) == 0 ? block : nullptr;
}

template <Allocate allocate>
void run_pairs(std::size_t size, std::uint64_t pairs) {
    for (std::uint64_t i = 0; i < pairs; ++i) {
        void *block = allocate(size);
        keep(block);
        std::free(block);
    }
}

template <Allocate allocate>
void run_batches(std::size_t size, std::uint64_t pairs, std::size_t batch) {
    std::array<void *, largest_batch> held;
    for (std::uint64_t done = 0; done < pairs; done += batch) {
        for (std::size_t i = 0; i < batch; ++i) {
            held[i] = allocate(size);
            keep(held[i]);
        }
        for (std::size_t i = 0; i < batch; ++i)
            std::free(held[i]);
    }
}

template <Allocate allocate>
void run(std::size_t size, std::uint64_t pairs, std::size_t batch) {
    batch == 1 ? run_pairs<allocate>(size, pairs) : run_batches<allocate>(size, pairs, batch);
}

struct Call {
    const char *name;
    void (*run)(std::size_t size, std::uint64_t pairs, std::size_t batch);
};
constexpr Call calls[] = {{"malloc", run<by_malloc>},
                          {"calloc", run<by_calloc>},
                          {"aligned_alloc", run<by_aligned_alloc>},
                          {"posix_memalign", run<by_posix_memalign>}};

const Call *call_of(const char *name) {
    for (const Call &call : calls)
        if (std::strcmp(call.name, name) == 0)
            return &call;
    return nullptr;
}

} // namespace

int main(int argc, char **argv) {
    Options options(argc, argv, "malloc and free in a loop, for instruction counts");
    const std::size_t size = options.number("size", 64, "bytes of a block");
    const std::uint64_t pairs = options.work("pairs", 100000, "pairs of malloc and free");
    const std::size_t batch = options.number("batch", 1, "blocks allocated before the first is freed");
    const Call *const call = call_of(options.word(
        "call", "malloc", "malloc, calloc, aligned_alloc or posix_memalign, the latter two to 64 bytes"));
    const std::size_t threads = options.some("threads", 1, "threads, each with so many pairs");
    options.finish();
    if (batch == 0 || batch > largest_batch)
        options.refuse("batch", "outside 1 to 1024");
    if (call == nullptr)
        options.refuse("call", "none of malloc, calloc, aligned_alloc and posix_memalign");
    const auto work = [=](std::size_t) {
        call->run(size, pairs, batch);
        return pairs;
    };
    threads == 1 ? work(0) : run_crew(threads, work);
    std::printf("pair: %" PRIu64 " pairs\n", pairs);
}
