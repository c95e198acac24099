// SPDX-License-Identifier: MIT
#include <src/replay/memory.hpp>

#include <cairn/core/bits.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cairn::replay {
namespace {

char text[8192]; // of files in /proc

/// The number of kB behind `name`, in bytes.
std::uint64_t field(const char *name) {
    const char *const found = std::strstr(text, name);
    return found == nullptr ? 0 : std::strtoull(found + std::strlen(name), nullptr, 10) * 1024;
}

void read_text(int file) {
    const ssize_t length = pread(file, text, sizeof text - 1, 0);
    text[length < 0 ? 0 : length] = 0;
}

/// Pages of files, the code of the libraries above all, are there from the beginning: that they would come bit by bit
/// is not the allocator's doing.
void load_files() {
    static char maps[65536];
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    std::size_t length = 0;
    for (ssize_t got = 0; (got = read(file, maps + length, sizeof maps - 1 - length)) > 0;) {
        length += static_cast<std::size_t>(got);
    }
    close(file);
    maps[length] = 0;
    for (char *line = maps; line != nullptr && *line != 0;) {
        char *const next = std::strchr(line, '\n');
        if (next != nullptr) {
            *next = 0;
        }
        char *at = line;
        const std::uint64_t from = std::strtoull(at, &at, 16);
        const std::uint64_t to = std::strtoull(at + 1, &at, 16);
        if (std::strchr(line, '/') != nullptr && at[1] == 'r') {
            constexpr int populate_read = 22; // MADV_POPULATE_READ, since Linux 5.14
            madvise(reinterpret_cast<void *>(from), to - from, populate_read);
        }
        line = next == nullptr ? nullptr : next + 1;
    }
}

} // namespace

void *take_pages(std::size_t bytes) noexcept {
    void *const p = mmap(nullptr, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED) {
        return nullptr;
    }
    std::memset(p, 0, bytes);
    return p;
}

void Memory::begin() noexcept {
    page_shift_ = static_cast<unsigned>(log2_floor(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))));
    rollup_ = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    pagemap_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    part_pages_ = std::size_t{8} << page_shift_;
    const std::size_t all_pages = std::size_t{1} << (address_bits - page_shift_);
    part_words_ = all_pages / part_pages_ / 64;
    parts_ = static_cast<std::uint64_t *>(take_pages(part_words_ * sizeof *parts_));
    void *const bits = mmap(nullptr, all_pages / 8, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bits != MAP_FAILED && parts_ != nullptr && pagemap_ >= 0) {
        madvise(bits, all_pages / 8, MADV_NOHUGEPAGE);
        pages_ = static_cast<std::uint64_t *>(bits);
    }
    load_files();
    Sample once{};
    sample(once); // its own memory is touched
    base_ = 0;
    sample(once);
    base_ = once.resident;
    // The kernel's own mark of the most that was resident starts anew.
    if (const int marks = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC); marks >= 0) {
        [[maybe_unused]] const ssize_t written = write(marks, "5", 1);
        close(marks);
    }
}

void Memory::mark(std::uint64_t page) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (page % 64);
    std::uint64_t &word = pages_[page / 64];
    const std::uint64_t part = page / part_pages_;
    if (const std::uint64_t part_bit = std::uint64_t{1} << (part % 64); (parts_[part / 64] & part_bit) == 0) {
        parts_[part / 64] |= part_bit;
        ++parts_touched_;
    }
    word |= bit;
}

void Memory::note(const void *block, std::size_t size) noexcept {
    if (pages_ == nullptr || address_of(block) >> address_bits != 0) {
        return;
    }
    const std::uint64_t first = address_of(block) >> page_shift_;
    const std::uint64_t last = (address_of(block) + (size == 0 ? 0 : size - 1)) >> page_shift_;
    for (std::uint64_t page = first; page <= last; ++page) {
        mark(page);
    }
}

std::uint64_t Memory::of_blocks() noexcept {
    constexpr std::uint64_t there = std::uint64_t{1} << 63;
    constexpr std::size_t together = 8; // words
    static std::uint64_t entries[together * 64];
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < part_words_; ++i) {
        for (std::uint64_t left = parts_[i]; left != 0; left &= left - 1) {
            const std::size_t part = i * 64 + static_cast<unsigned>(__builtin_ctzll(left));
            const std::size_t end = (part + 1) * (part_pages_ / 64);
            for (std::size_t word = part * (part_pages_ / 64); word != end; word += together) {
                const std::uint64_t *const bits = pages_ + word;
                if (std::all_of(bits, bits + together, [](std::uint64_t w) { return w == 0; }) ||
                    pread(pagemap_, entries, sizeof entries,
                          static_cast<off_t>(word * 64 * sizeof entries[0])) !=
                        static_cast<ssize_t>(sizeof entries)) {
                    continue;
                }
                for (std::size_t page = 0; page < together * 64; ++page) {
                    found += (bits[page / 64] >> (page % 64) & 1) != 0 && (entries[page] & there) != 0;
                }
            }
        }
    }
    return found << page_shift_;
}

void Memory::sample(Sample &to) noexcept {
    read_text(rollup_);
    const std::uint64_t counted = field("\nRss:");
    const std::uint64_t others = base_ + (own_pages() << page_shift_);
    to.resident = counted > others ? counted - others : 0;
    to.lazy_free = field("\nLazyFree:");
    to.huge_pages = field("\nAnonHugePages:");
    to.of_blocks = pages_ == nullptr ? 0 : of_blocks();
}

std::uint64_t Memory::peak() noexcept {
    const int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (status < 0) {
        return 0;
    }
    read_text(status);
    close(status);
    const std::uint64_t counted = field("\nVmHWM:");
    const std::uint64_t others = base_ + (own_pages() << page_shift_);
    return counted > others ? counted - others : 0;
}

} // namespace cairn::replay
