// SPDX-License-Identifier: MIT
//
// Huge pages: where the kernel may back memory with huge pages of 2 MiB.
//
// Adds:    the mark of a range for huge pages, or against them; backing a range with one; the setting of the system.
// Needs:   in_memory.hpp.
// Errors:  false; errno is never touched.
// Threads: any; no other thread uses the range.
// Cost:    a system call; three or four, and the clearing of 2 MiB, for a huge page; three for the setting.
// Source:  docs/decisions/huge-page-growth.md
#pragma once

#include <cairn/platform/in_memory.hpp>

#include <fcntl.h>

namespace cairn::platform::vm {

inline constexpr std::size_t huge_page = 2_MiB;

/// Asks the kernel to back the range with huge pages, or not to.
inline bool huge_pages(void *p, std::size_t bytes, bool wanted) {
    return !failed(raw_syscall(SYS_madvise, static_cast<long>(address_of(p)), static_cast<long>(bytes),
                               wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
}

/// Backs a range that has the length and alignment of a huge page, and no resident page, with one huge page. False, and
/// no page is resident, when the kernel has no huge page, or when it cannot be found out whether it gave one: small
/// pages may be there instead. Afterwards the range is marked to get no huge pages: the kernel would back purged parts
/// of it again.
inline bool fault_huge_page(void *p, std::size_t bytes) {
    if (!huge_pages(p, bytes, true)) {
        return false;
    }
    __atomic_store_n(static_cast<char *>(p), 0, __ATOMIC_RELAXED); // compilers may leave out a plain store
    huge_pages(p, bytes, false);
    return is_in_memory(static_cast<char *>(p) + bytes - page_size()) || !purge(p, bytes);
}

/// Whether the system gives huge pages to memory that has no mark: the setting `always`. False where it is not to be
/// found out.
inline bool gives_huge_pages_unasked() {
    static constexpr char setting[] = "/sys/kernel/mm/transparent_hugepage/enabled";
    static constexpr char always[] = "[always]";
    const long file =
        raw_syscall(SYS_openat, AT_FDCWD, static_cast<long>(address_of(setting)), O_RDONLY | O_CLOEXEC);
    if (failed(file)) {
        return false;
    }
    char text[sizeof always - 1] = {};
    raw_syscall(SYS_read, file, static_cast<long>(address_of(text)), sizeof text);
    raw_syscall(SYS_close, file);
    return std::memcmp(text, always, sizeof text) == 0;
}

} // namespace cairn::platform::vm
