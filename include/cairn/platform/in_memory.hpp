// SPDX-License-Identifier: MIT
//
// In memory: which pages of a mapping are resident.
//
// Adds:    whether a page, or at least half of a range, is resident; how much of a short range is; clearing a range
//          without touching pages that are not.
// Needs:   vm.hpp.
// Errors:  false, and nothing has changed; errno is never touched.
// Threads: any; no other thread uses the range.
// Cost:    a system call or two.
// Source:  docs/decisions/calloc-clearing.md
#pragma once

#include <cairn/platform/vm.hpp>

#include <cstring>

namespace cairn::platform::vm {

/// Whether less than half of the pages are resident. Pages that were swapped out count as not resident.
inline bool is_sparse(const void *p, std::size_t bytes) {
    constexpr std::size_t most = 4096; // pages in one call
    unsigned char in_memory[most];
    const std::size_t pages = ceil_div(bytes, page_size());
    std::size_t there = 0;
    for (std::size_t done = 0; done < pages && there < ceil_div(pages, 2); done += most) {
        const std::size_t count = pages - done < most ? pages - done : most;
        const std::uintptr_t at = address_of(p) + done * page_size();
        if (failed(raw_syscall(SYS_mincore, static_cast<long>(at), static_cast<long>(count * page_size()),
                               static_cast<long>(address_of(in_memory))))) {
            return false;
        }
        for (std::size_t i = 0; i < count; ++i) {
            there += in_memory[i] & 1;
        }
    }
    return there < ceil_div(pages, 2);
}

/// The bytes of resident pages in a range of 64 KiB at most; all of them where that cannot be found out.
inline std::size_t resident_bytes(const void *p, std::size_t bytes) {
    unsigned char in_memory[64_KiB / smallest_page]{};
    if (failed(raw_syscall(SYS_mincore, static_cast<long>(address_of(p)), static_cast<long>(bytes),
                           static_cast<long>(address_of(in_memory))))) {
        return bytes;
    }
    std::size_t pages = 0;
    for (std::size_t i = 0; i < bytes / page_size(); ++i) {
        pages += in_memory[i] & 1;
    }
    return pages * page_size();
}

/// Makes memory read as zero. In a long range of which less than half is resident, the whole pages are purged, so that
/// pages that were never touched stay so.
inline void clear(void *p, std::size_t bytes) {
    constexpr std::size_t long_enough = 1_MiB; // a system call or two cost little beside clearing this much
    const std::size_t before = align_up(address_of(p), page_size()) - address_of(p);
    const std::size_t length = bytes < long_enough ? 0 : align_down(bytes - before, page_size());
    char *const pages = static_cast<char *>(p) + before;
    const bool given = length != 0 && is_sparse(pages, length) && purge(pages, length);
    std::memset(p, 0, given ? before : bytes);
    std::memset(pages + length, 0, given ? bytes - before - length : 0);
}

/// Whether the page at `p`, which is mapped, is resident.
inline bool is_in_memory(const void *p) {
    unsigned char in_memory = 0;
    return !failed(raw_syscall(SYS_mincore, static_cast<long>(address_of(p)), static_cast<long>(page_size()),
                               static_cast<long>(address_of(&in_memory)))) &&
           (in_memory & 1) != 0;
}

} // namespace cairn::platform::vm
