// SPDX-License-Identifier: MIT
//
// Virtual memory: the calls of the kernel's memory manager that an allocator needs.
//
// Adds:    map anywhere, map at an address, grow or move a mapping, purge (give pages back, keep the addresses), forbid
//          access.
// Errors:  nullptr or false; errno is never touched.
// Threads: any.
// Cost:    a system call each, and on the first touch of each page a fault (measured at 1.5 microseconds on the virtual
//          machine of the development, most of it the clearing of the page).
#pragma once

#include <cairn/core/bits.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/syscall.hpp>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace cairn::platform::vm {

#if !defined(MAP_FIXED_NOREPLACE)
#define MAP_FIXED_NOREPLACE 0x100000
#endif

inline std::size_t page_size() {
    static constinit std::size_t cached = 0;
    std::size_t size = __atomic_load_n(&cached, __ATOMIC_RELAXED);
    if (size == 0) {
        size = getauxval(AT_PAGESZ);
        __atomic_store_n(&cached, size, __ATOMIC_RELAXED);
    }
    return size;
}

namespace detail {
/// The kernel may give one thread addresses that another thread has unmapped, and orders the two calls; ThreadSanitizer
/// does not see this order, because it does not know the system calls. acquire and release: each call pairs with those
/// before and after it.
inline void kernel_order() {
    if constexpr (sanitized) {
        static constinit std::atomic<unsigned> calls{0};
        calls.fetch_add(1, std::memory_order_acq_rel);
    }
}

inline long map(void *at, std::size_t bytes, int flags, int protection) {
    const long result = raw_syscall(SYS_mmap, static_cast<long>(address_of(at)), static_cast<long>(bytes),
                                    protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    kernel_order();
    return result;
}
} // namespace detail

/// The access that a new mapping allows: none until allow() is called, or reading and writing.
enum Access : int { nothing = PROT_NONE, read_and_write = PROT_READ | PROT_WRITE };

/// Maps zeroed memory at an address that the kernel chooses. `bytes` is a multiple of the page size.
inline void *map(std::size_t bytes, Access access = read_and_write) {
    const long result = detail::map(nullptr, bytes, 0, access);
    return failed(result) ? nullptr : reinterpret_cast<void *>(result);
}

/// Maps zeroed memory at exactly `at`. nullptr on failure; `taken` is set to whether the reason was another mapping
/// there.
inline void *map_at(void *at, std::size_t bytes, bool *taken = nullptr, Access access = read_and_write) {
    const long result = detail::map(at, bytes, MAP_FIXED_NOREPLACE, access);
    const bool elsewhere = !failed(result) && result != static_cast<long>(address_of(at));
    if (elsewhere) { // a kernel before 4.17 takes the address as a hint
        raw_syscall(SYS_munmap, result, static_cast<long>(bytes));
    }
    if (taken != nullptr) {
        *taken = elsewhere || result == -EEXIST;
    }
    return elsewhere || failed(result) ? nullptr : at;
}

inline bool unmap(void *p, std::size_t bytes) {
    detail::kernel_order();
    return !failed(raw_syscall(SYS_munmap, static_cast<long>(address_of(p)), static_cast<long>(bytes)));
}

/// Gives the pages back to the kernel; the addresses stay mapped and read as zero. False when the kernel refuses
/// (locked pages).
inline bool purge(void *p, std::size_t bytes) {
    return !failed(
        raw_syscall(SYS_madvise, static_cast<long>(address_of(p)), static_cast<long>(bytes), MADV_DONTNEED));
}

/// Changes the access to a range. forbid() makes every access fault until allow(). Each may split a mapping into three.
inline bool protect(void *p, std::size_t bytes, Access access) {
    return !failed(
        raw_syscall(SYS_mprotect, static_cast<long>(address_of(p)), static_cast<long>(bytes), access));
}
inline bool forbid(void *p, std::size_t bytes) {
    return protect(p, bytes, nothing);
}
inline bool allow(void *p, std::size_t bytes) {
    return protect(p, bytes, read_and_write);
}

/// Whether the eight bytes at `p` are `value`. Any memory, or none, may be mapped there, by any part of the process:
/// the kernel reads the words, by futex waits whose timeout is zero, so an unmapped address is an error and not a
/// fault.
inline bool holds(const std::uint64_t *p, std::uint64_t value) {
    const auto half_holds = [](std::uintptr_t at, std::uint64_t half) {
        timespec none{0, 0};
        const long result =
            raw_syscall(SYS_futex, static_cast<long>(at), FUTEX_WAIT_PRIVATE,
                        static_cast<long>(half & 0xffffffff), static_cast<long>(address_of(&none)));
        return result == -ETIMEDOUT || result == -EINTR; // otherwise another value, or no memory
    };
    return half_holds(address_of(p), value) && half_holds(address_of(p) + 4, value >> 32);
}

/// Changes the length of a mapping without moving it.
inline bool resize_in_place(void *p, std::size_t old_bytes, std::size_t new_bytes) {
    return !failed(raw_syscall(SYS_mremap, static_cast<long>(address_of(p)), static_cast<long>(old_bytes),
                               static_cast<long>(new_bytes), 0));
}

/// Moves the pages of a mapping to `to` and replaces what is mapped there. After a failure the old mapping of the
/// destination still exists, or all of it is unmapped: Linux (mm/mremap.c, mremap_to) unmaps the whole destination
/// first, and may refuse after that, because of a limit, for want of memory, or because parts of the source mapping
/// differ. The kernel holds the process's mmap_lock meanwhile; once it is released, and before this call returns,
/// another thread may have mapped memory at the destination.
inline bool move(void *from, std::size_t old_bytes, void *to, std::size_t new_bytes) {
    return !failed(raw_syscall(SYS_mremap, static_cast<long>(address_of(from)), static_cast<long>(old_bytes),
                               static_cast<long>(new_bytes), MREMAP_MAYMOVE | MREMAP_FIXED,
                               static_cast<long>(address_of(to))));
}

/// The limit on address space (`ulimit -v`); SIZE_MAX without a limit.
inline std::size_t address_space_limit() {
    rlimit limit{};
    const long result = raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, static_cast<long>(address_of(&limit)));
    return failed(result) || limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur;
}

} // namespace cairn::platform::vm
