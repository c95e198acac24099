// SPDX-License-Identifier: MIT
//
// glibc's functions for statistics and settings, for this heap: mallinfo, mallinfo2, malloc_info, malloc_stats,
// malloc_trim, mallopt.
//
// The types and numbers are copied from glibc's <malloc.h>: other C libraries do not define them, and a program that
// was built for glibc may run on one of those.
#include "process.hpp"
#include "report.hpp"

#include <cairn/platform/features.hpp>
#include <cairn/platform/write_all.hpp>

#include <cerrno>
#include <climits>
#include <cstdio>

namespace {

using cairn::Statistics;
namespace process_heap = cairn::process_heap;
namespace report = cairn::report;

template <class Number>
struct Mallinfo {
    Number arena;    ///< bytes of memory of small and large blocks, used or free
    Number ordblks;  ///< number of free blocks
    Number smblks;   ///< 0: there are no fastbins
    Number hblks;    ///< number of huge blocks, each a mapping of its own
    Number hblkhd;   ///< their bytes
    Number usmblks;  ///< 0, as in glibc
    Number fsmblks;  ///< 0: there are no fastbins
    Number uordblks; ///< bytes of small and large blocks that the program holds
    Number fordblks; ///< bytes that are free in between
    Number keepcost; ///< bytes that malloc_trim(0) would give back
};
template struct Mallinfo<int>;
template struct Mallinfo<std::size_t>;

Statistics statistics() {
    Statistics s;
    process_heap::whole_statistics(s);
    return s;
}

/// The largest int for a figure that does not fit: a lower bound, where glibc's int fields of mallinfo wrap around.
template <class Number>
Number clamped(std::uint64_t value) {
    if constexpr (sizeof(Number) < sizeof value) {
        return value > INT_MAX ? INT_MAX : static_cast<Number>(value);
    } else {
        return value;
    }
}

template <class Number>
Mallinfo<Number> mallinfo_of(const Statistics &s) {
    const report::Arena arena = report::arena_of(s);
    Mallinfo<Number> info{};
    info.arena = clamped<Number>(arena.size());
    info.ordblks = clamped<Number>(arena.free_blocks);
    info.hblks = clamped<Number>(s.huge_live_blocks);
    info.hblkhd = clamped<Number>(s.huge_live);
    info.uordblks = clamped<Number>(arena.used);
    info.fordblks = clamped<Number>(arena.free);
    info.keepcost = clamped<Number>(s.free_dirty);
    return info;
}

/// A stream, until something could not be written: what comes behind it would not belong there.
struct Stream {
    std::FILE *file;
    bool good = true;

    static void take(void *to, const char *text, std::size_t length) noexcept {
        auto *const stream = static_cast<Stream *>(to);
        stream->good = stream->good && std::fwrite(text, 1, length, stream->file) == length;
    }
};

/// Writes to the descriptor of stderr and not through stdio, where stderr has no buffer.
void take_to_stderr(void *, const char *text, std::size_t length) noexcept {
    cairn::platform::write_all(2, text, length);
}

enum Parameter : int {
    mxfast = 1,
    trim_threshold = -1,
    top_pad = -2,
    mmap_threshold = -3,
    mmap_max = -4,
    check_action = -5,
    perturb = -6,
    arena_test = -7,
    arena_max = -8,
};

int set_retained(int bytes) {
    // -1 tells glibc never to trim.
    process_heap::retain(bytes < 0 ? static_cast<std::size_t>(INT64_MAX) : static_cast<std::size_t>(bytes));
    return 1;
}

} // namespace

extern "C" {

CAIRN_EXPORT Mallinfo<int> mallinfo() {
    return mallinfo_of<int>(statistics());
}

CAIRN_EXPORT Mallinfo<std::size_t> mallinfo2() {
    return mallinfo_of<std::size_t>(statistics());
}

CAIRN_EXPORT int malloc_info(int options, std::FILE *stream) {
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    const Statistics s = statistics();
    Stream to{stream};
    {
        cairn::TextOut out(Stream::take, &to);
        report::write_xml(out, s);
    }
    return to.good ? 0 : -1;
}

CAIRN_EXPORT void malloc_stats() {
    const Statistics s = statistics();
    cairn::TextOut out(take_to_stderr, nullptr);
    report::write_text(out, s, report::this_process(cairn::process_heap::allocator_name));
}

CAIRN_EXPORT int malloc_trim(std::size_t pad) {
    return process_heap::trim(pad) != 0 ? 1 : 0;
}

CAIRN_EXPORT int mallopt(int parameter, int value) {
    switch (parameter) {
    case trim_threshold:
        return set_retained(value);
    case mxfast: // hints to a heap that is built otherwise: taken, as glibc would, and without a meaning here
        return value >= 0 && static_cast<std::size_t>(value) <= 80 * sizeof(std::size_t) / 4 ? 1 : 0;
    case top_pad:
    case mmap_threshold:
    case mmap_max:
    case arena_test:
    case arena_max:
    case check_action: // misuse is caught whatever it says, and always ends the program
        return 1;
    case perturb: // would change what the program reads, so it must not be said to be done
        return value == 0 ? 1 : 0;
    default:
        return 0;
    }
}

} // extern "C"
