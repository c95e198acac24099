// SPDX-License-Identifier: MIT
// Counts the most bytes that a program holds at once, as it asked for them: preloaded, over the C library's heap.
// The environment's CAIRN_BENCH_LIVE names a file of 8 bytes, in which the figure stands: the most of any process
// that has it in its environment, whatever way each of them ends.
// A header of 16 bytes in front of each block holds its length. Changes are gathered in one of 64 places, by
// thread, and added to the sum when they are an 8,192nd of the peak: the figure is less than 1 % too low.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *block, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void *block);
}

namespace {

struct Header {
    std::size_t size;
    std::uint64_t mark; // how far the header's end is from the start of the C library's block, and a sign
};
constexpr std::size_t header = sizeof(Header);
constexpr std::uint64_t sign = 0xca1a'5eed'0000'0000U;
constexpr std::size_t most = PTRDIFF_MAX / 2;

using Count = std::atomic<std::int64_t>;
struct alignas(64) Place {
    Count change{0};
};
constexpr unsigned places = 64;
constexpr std::int64_t parts = 8192;

Place gathered[places];
Count live{0};
Count own_peak{0};
std::atomic<Count *> shared_peak{&own_peak};
std::atomic<unsigned> threads{0};
thread_local unsigned place = places;

// All orders here are relaxed: nothing but the figures depends on them.
void raise(std::int64_t now) {
    Count &peak = *shared_peak.load(std::memory_order_relaxed);
    std::int64_t before = peak.load(std::memory_order_relaxed);
    while (before < now && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
    }
}

void change(std::int64_t bytes) {
    if (place == places)
        place = threads.fetch_add(1, std::memory_order_relaxed) % places;
    Count &mine = gathered[place].change;
    const std::int64_t sum = mine.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const std::int64_t step =
        shared_peak.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) / parts;
    if (sum > step || sum < -step) {
        const std::int64_t taken = mine.exchange(0, std::memory_order_relaxed);
        raise(live.fetch_add(taken, std::memory_order_relaxed) + taken);
    }
}

[[gnu::constructor]] void share() {
    const char *path = std::getenv("CAIRN_BENCH_LIVE");
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *memory = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return;
    shared_peak.store(static_cast<Count *>(memory), std::memory_order_relaxed);
    raise(own_peak.load(std::memory_order_relaxed));
}

Header &header_of(void *block) {
    return static_cast<Header *>(block)[-1];
}

// Not so for what was allocated before this library was there.
bool known(void *block) {
    return (header_of(block).mark & ~std::uint64_t{0xffff'ffff}) == sign;
}

void *start_of(void *block) {
    return static_cast<char *>(block) - static_cast<std::uint32_t>(header_of(block).mark);
}

void *enter(void *start, std::size_t distance, std::size_t size) {
    if (start == nullptr)
        return nullptr;
    void *block = static_cast<char *>(start) + distance;
    header_of(block) = {size, sign | distance};
    change(static_cast<std::int64_t>(size));
    return block;
}

void *refuse() {
    errno = ENOMEM;
    return nullptr;
}

void *aligned(std::size_t alignment, std::size_t size) {
    const std::size_t distance = std::max(std::bit_ceil(alignment), header);
    return size > most || distance > UINT32_MAX
               ? refuse()
               : enter(__libc_memalign(distance, size + distance), distance, size);
}

std::size_t whole_pages(std::size_t size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (size + page - 1) / page * page;
}

} // namespace

extern "C" {

void *malloc(std::size_t size) {
    return size > most ? refuse() : enter(__libc_malloc(size + header), header, size);
}

void *calloc(std::size_t count, std::size_t size) {
    std::size_t bytes = 0;
    const bool too_many = __builtin_mul_overflow(count, size, &bytes) || bytes > most;
    return too_many ? refuse() : enter(__libc_calloc(1, bytes + header), header, bytes);
}

void free(void *block) {
    if (block == nullptr)
        return;
    if (!known(block)) {
        __libc_free(block);
        return;
    }
    change(-static_cast<std::int64_t>(header_of(block).size));
    void *start = start_of(block);
    header_of(block).mark = 0;
    __libc_free(start);
}

void *realloc(void *block, std::size_t size) {
    if (block == nullptr)
        return malloc(size);
    if (size == 0) {
        free(block);
        return nullptr;
    }
    if (size > most)
        return refuse();
    if (!known(block))
        return __libc_realloc(block, size);
    const std::size_t old = header_of(block).size;
    if (start_of(block) == &header_of(block)) {
        void *start = __libc_realloc(&header_of(block), size + header);
        if (start != nullptr)
            change(-static_cast<std::int64_t>(old));
        return enter(start, header, size);
    }
    void *moved = malloc(size);
    if (moved != nullptr) {
        std::memcpy(moved, block, std::min(old, size));
        free(block);
    }
    return moved;
}

void *reallocarray(void *block, std::size_t count, std::size_t size) {
    std::size_t bytes = 0;
    return __builtin_mul_overflow(count, size, &bytes) ? refuse() : realloc(block, bytes);
}

void *memalign(std::size_t alignment, std::size_t size) {
    return aligned(alignment, size);
}

void *aligned_alloc(std::size_t alignment, std::size_t size) {
    return aligned(alignment, size);
}

int posix_memalign(void **result, std::size_t alignment, std::size_t size) {
    if (alignment % sizeof(void *) != 0 || !std::has_single_bit(alignment))
        return EINVAL;
    const int before = errno;
    void *block = aligned(alignment, size);
    errno = before;
    if (block == nullptr)
        return ENOMEM;
    *result = block;
    return 0;
}

void *valloc(std::size_t size) {
    return aligned(whole_pages(1), size);
}

void *pvalloc(std::size_t size) {
    return aligned(whole_pages(1), whole_pages(size));
}

std::size_t malloc_usable_size(void *block) {
    return block == nullptr ? 0 : header_of(block).size;
}

} // extern "C"
