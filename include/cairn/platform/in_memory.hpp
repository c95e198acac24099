// SPDX-License-Identifier: MIT
//
// In memory: which pages of a mapping are resident.
//
// Adds:    whether a page, or at least half of a range, is resident; clearing a range without touching pages that are
//          not; backing a range with one huge page.
// Needs:   vm.hpp.
// Errors:  false, and nothing has changed; errno is never touched.
// Threads: any; no other thread uses the range.
// Cost:    a system call or two; three or four, and the clearing of 2 MiB, for a huge page.
// Source:  docs/decisions/calloc-clearing.md, docs/decisions/huge-page-growth.md
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

/// Backs a range that has the length and alignment of a huge page, and no resident page, with one huge page. False, and
/// no page is resident, when the kernel has no huge page, or gives none without being asked (`asks` says that the range
/// is to be marked for huge pages), or when it cannot be found out whether it gave one: small pages may be there
/// instead. The mark is taken off at once: with it the kernel would back purged parts of the range again.
inline bool fault_huge_page(void *p, std::size_t bytes, bool asks) {
    if (asks && !huge_pages(p, bytes, true)) {
        return false;
    }
    __atomic_store_n(static_cast<char *>(p), 0, __ATOMIC_RELAXED); // compilers may leave out a plain store
    if (asks) {
        huge_pages(p, bytes, false);
    }
    return is_in_memory(static_cast<char *>(p) + bytes - page_size()) || !purge(p, bytes);
}

} // namespace cairn::platform::vm
