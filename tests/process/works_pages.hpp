// SPDX-License-Identifier: MIT
//
// Larger pages: the library is told that pages are `page_bytes` long, and a filter over its own system calls
// plays the kernel that has such pages: ranges that do not lie on their borders kill the process, and what the
// kernel places, it places on a border. Only calls made by the library's own code are looked at.
//
// For programs that are linked with the library: they define getauxval, and the library's calls find it.
#pragma once

#include "works_library_code.hpp"

#include <malloc.h>
#include <sys/auxv.h>
#include <sys/mman.h>

namespace process_test::pages {

inline bool on_border(const void *p, std::size_t page_bytes) {
    return reinterpret_cast<std::uintptr_t>(p) % page_bytes == 0;
}

/// What the auxiliary vector really says.
inline unsigned long true_auxval(unsigned long type) {
    static unsigned long vector[128];
    if (vector[0] == 0) {
        const int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
        const ssize_t length = read(fd, vector, sizeof vector - 2 * sizeof *vector);
        close(fd);
        CHECK(length > 0);
    }
    for (const unsigned long *entry = vector; entry[0] != AT_NULL; entry += 2) {
        if (entry[0] == type) {
            return entry[1];
        }
    }
    return 0;
}

/// How many mappings the kernel was asked to place.
inline std::size_t placed = 0;
inline std::size_t page_bytes = 0;

/// mmap(nullptr, ...) of the library: the same, on a border.
inline void place(int, siginfo_t *, void *context) {
    ++placed;
    TrappedCall call(context);
    const auto bytes = static_cast<std::size_t>(call.argument(1));
    auto *const raw =
        static_cast<char *>(mmap(nullptr, bytes + page_bytes, static_cast<int>(call.argument(2)),
                                 static_cast<int>(call.argument(3)), -1, 0));
    CHECK(raw != MAP_FAILED);
    const std::size_t before = (std::uintptr_t{0} - reinterpret_cast<std::uintptr_t>(raw)) % page_bytes;
    if (before != 0) {
        munmap(raw, before);
    }
    munmap(raw + before + bytes, page_bytes - before);
    call.answer(reinterpret_cast<long>(raw + before));
}

/// From here on the kernel has such pages, as far as the library can see.
inline void play_kernel() {
    handle_traps(place);
    const Range code = library_code();
    const auto within = static_cast<std::uint32_t>(page_bytes - 1);
    Filter filter;
    const auto load = [&](std::uint32_t offset) { filter.add(BPF_LD | BPF_W | BPF_ABS, offset); };
    const auto kill_off_border = [&](long number, unsigned argument) {
        filter.only_if_number(number, 3);
        load(Filter::offset_of_argument(argument));
        filter.add(BPF_JMP | BPF_JSET | BPF_K, within, 0, 1);
        filter.add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    };
    only_calls_from(code, filter);
    for (const long number : {SYS_mmap, SYS_munmap, SYS_madvise, SYS_mremap}) {
        kill_off_border(number, 0);
        kill_off_border(number, 1);
    }
    kill_off_border(SYS_mremap, 2);
    filter.only_if_number(SYS_mmap, 5);
    load(Filter::offset_of_argument(0));
    filter.add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
    load(Filter::offset_of_argument(0) + 4);
    filter.add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
    filter.add(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    filter.install();
}

inline void fill_and_check(std::size_t size) {
    auto *p = static_cast<unsigned char *>(calloc(1, size));
    CHECK(p != nullptr);
    for (std::size_t i = 0; i < size; i += 61) {
        CHECK(p[i] == 0);
    }
    std::memset(p, 0x5a, size);
    p = static_cast<unsigned char *>(realloc(p, size + size / 2));
    CHECK(p != nullptr);
    for (std::size_t i = 0; i < size; i += 61) {
        CHECK(p[i] == 0x5a);
    }
    std::memset(p, 0x5a, size + size / 2);
    p = static_cast<unsigned char *>(realloc(p, size / 3 + 1));
    CHECK(p != nullptr && p[size / 3] == 0x5a);
    free(p);
}

inline void work() {
    play_kernel();
    for (const std::size_t size : {8 * KiB, 60 * KiB, 500 * KiB, 5 * MiB, 17 * MiB, 33 * MiB, 70 * MiB}) {
        for (const std::size_t odd : {std::size_t{0}, std::size_t{1}, std::size_t{4097}}) {
            fill_and_check(size + odd);
            malloc_trim(0);
        }
    }
    in_threads(4, [](unsigned thread) {
        Random random(thread + 1);
        static unsigned char *blocks[4][3000];
        for (int i = 0; i < 60000; ++i) {
            auto &p = blocks[thread][random.below(3000)];
            CHECK(p == nullptr || *p == thread + 1);
            free(p);
            p = static_cast<unsigned char *>(malloc(1 + random.below(random.below(50) == 0 ? 200000 : 2000)));
            CHECK(p != nullptr);
            *p = static_cast<unsigned char>(thread + 1);
            if (i % 10000 == 0) {
                malloc_trim(0);
            }
        }
        for (auto *const p : blocks[thread]) {
            free(p);
        }
    });
    void *const page = valloc(100);
    CHECK(on_border(page, page_bytes));
    free(page);
    void *const pages = pvalloc(page_bytes + 1);
    CHECK(on_border(pages, page_bytes) && malloc_usable_size(pages) >= 2 * page_bytes);
    free(pages);
    void *const aligned = aligned_alloc(4 * MiB, 100);
    CHECK(on_border(aligned, 4 * MiB));
    free(aligned);
    const std::size_t after = bytes_after_a_second(resident, 32 * MiB);
    dprintf(1, "%zu mappings placed, %.1f MiB resident at the end\n", placed, mebibytes(after));
    CHECK(after <= 32 * MiB);
}

} // namespace process_test::pages
