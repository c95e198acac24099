// SPDX-License-Identifier: MIT
//
// What all interposed functions share: the same function of the next library, and calls that are recorded.
//
// Threads: any.
// Errors:  nullptr from Next::find where no library has the name.
// Cost:    a call of the next library's function; a record, and the clock.
#pragma once

#include "writer.hpp"

#include <cairn/platform/cpu.hpp>

#include <cstddef>
#include <dlfcn.h>

/// As in <malloc.h>, which declares the standard functions once more.
extern "C" void *memalign(std::size_t alignment, std::size_t size) noexcept;

namespace cairn::trace {

/// Whether dlsym gave the memory to itself, before there was an allocator. It is not to be freed.
bool of_first_memory(const void *p) noexcept;

/// The free of the next library, not recorded.
void plain_free(void *p) noexcept;

/// This thread is in dlsym.
inline constinit thread_local bool looking __attribute__((tls_model("initial-exec"), visibility("hidden"))) =
    false;

/// The same name in the next library; nullptr if there is none.
template <class F>
class Next {
public:
    explicit constexpr Next(const char *name) : name_(name) {}

    /// nullptr also for the calls that dlsym makes while it looks.
    F *find() {
        // relaxed: where it points is code, which was there before.
        F *const found = found_.load(std::memory_order_relaxed);
        return CAIRN_UNLIKELY(found == nullptr) ? look() : found;
    }

private:
    CAIRN_COLD F *look() {
        if (looking) {
            return nullptr;
        }
        looking = true;
        F *const found = reinterpret_cast<F *>(dlsym(RTLD_NEXT, name_));
        looking = false;
        found_.store(found, std::memory_order_relaxed);
        return found;
    }

    const char *name_;
    std::atomic<F *> found_ = nullptr;
};

/// An allocation, made by `call` and recorded if it worked.
///
/// The clock is read without waiting for what stands before it, which would cost more than all the rest: in the midst
/// of a wait for a cache line it may be some hundred nanoseconds early. Where that matters, because another thread
/// freed the block just now, whoever reads the trace sees it, and puts the two in order (cli::TraceFile).
///
/// A signal's handler that allocates in the midst of it is not recorded: it would write over the record.
template <class F>
void *allocate(Op op, std::size_t size, std::size_t alignment, F call) {
    if (!recording()) {
        return call();
    }
    const Inside inside;
    void *const p = call();
    if (p != nullptr) {
        record(op, p, size, platform::ticks(), alignment);
    }
    return p;
}

/// A free, recorded and then made by `call`.
///
/// The clock may be read early, as an allocation's. It may be read late too, but not so late that somebody else could
/// have the block: the allocator hands it on by a release of its own (a lock's, or a list's), which no store before it
/// can pass, and the record, which is stored before the call, needs the clock.
template <class F>
void release(void *p, std::size_t size, F call) {
    if (p == nullptr || of_first_memory(p)) {
        return;
    }
    if (!recording()) {
        return call();
    }
    const Inside inside;
    record(Op::free, p, size, platform::ticks());
    call();
}

} // namespace cairn::trace
