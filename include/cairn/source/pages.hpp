// SPDX-License-Identifier: MIT
//
// KernelPages: aligned ranges of pages from the operating system. The caller keeps their lengths.
//
// Adds:    map(bytes, alignment): zeroed memory; unmap(start, bytes). This is not a heap: free of a heap gets no
//          length. The concept PageSource states what a heap that keeps lengths itself needs below.
// Needs:   nothing below.
// Keeps:   address space that was mapped only for an alignment above the page size is unmapped at once.
// Threads: any; an object has no state.
// Errors:  nullptr when the kernel refuses.
// Cost:    a system call each way, up to two more where the alignment is above the page size.
#pragma once

#include <cairn/platform/vm.hpp>

#include <concepts>

namespace cairn {

/// `bytes` and `alignment`, a power of two, are at least 1; unmap gets a whole range that map returned.
template <class P>
concept PageSource = requires(P &pages, void *start, std::size_t bytes, std::size_t alignment) {
    { pages.map(bytes, alignment) } -> std::same_as<void *>;
    { pages.unmap(start, bytes) } -> std::same_as<void>;
};

class KernelPages {
public:
    void *map(std::size_t bytes, std::size_t alignment) {
        const std::size_t page = platform::vm::page_size();
        const std::size_t slack = alignment > page ? alignment - page : 0;
        if (bytes > max_size_ || slack > max_size_) {
            return nullptr;
        }
        const std::size_t length = align_up(bytes, page);
        void *const start = platform::vm::map(length + slack);
        return start == nullptr || slack == 0 ? start : trim(start, length, slack, alignment);
    }

    /// A hole in a mapping makes one mapping more, which the kernel may refuse: then the pages are given back and the
    /// addresses stay mapped.
    void unmap(void *start, std::size_t bytes) {
        const std::size_t length = align_up(bytes, platform::vm::page_size());
        if (!platform::vm::unmap(start, length)) {
            platform::vm::purge(start, length);
        }
    }

private:
    /// Unmaps all but the aligned `length` bytes in a mapping of length + slack.
    void *trim(void *start, std::size_t length, std::size_t slack, std::size_t alignment) {
        const std::size_t before = align_up(address_of(start), alignment) - address_of(start);
        char *const kept = static_cast<char *>(start) + before;
        if (before != 0) {
            unmap(start, before);
        }
        if (before != slack) {
            unmap(kept + length, slack - before);
        }
        return kept;
    }

    /// Larger requests are refused, so that rounding up and the slack of an alignment cannot overflow.
    static constexpr std::size_t max_size_ = SIZE_MAX / 4;
};

static_assert(PageSource<KernelPages>);

} // namespace cairn
