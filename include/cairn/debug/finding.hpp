// SPDX-License-Identifier: MIT
//
// Finding: what a check of a heap has found, and what becomes of it.
//
// Adds:    Fault, all that can be found; FaultPolicy, who is told; StopAtFault, the default; is_live, for a layer that
//          has a question before a free.
// Keeps:   of misuse the policy is told before the heap below is called.
// Threads: any.
// Cost:    none until something is found.
#pragma once

#include <cairn/platform/fatal.hpp>

#include <concepts>
#include <cstddef>
#include <cstdlib>

namespace cairn {

enum class Fault {
    // What the layers above, or the program, did. A reallocate counts as a free of the block that it is given.
    invalid_free,       ///< of what is no block
    interior_free,      ///< of the middle of a live block, `offset` bytes into it
    multiple_free,      ///< of a block that was freed
    invalid_use,        ///< getSize of what is no live block
    written_behind_end, ///< `offset` bytes from its start
    written_after_free, ///< `offset` bytes from its start
    leaked,             ///< live when its heap was destroyed
    // What the layers below did.
    handed_out_twice, ///< a block that is live
    overlapping,      ///< handed out `offset` bytes from the start of a live block
    too_small,        ///< a block that says it has less than was asked for
    misaligned,       ///< a block at an address that is less aligned than promised
    not_zero,         ///< a block of malloc_zeroed or calloc; at `offset`
};

struct Finding {
    Fault fault;
    const void *block;    ///< where it starts, or the pointer that is none
    std::size_t size = 0; ///< that was asked for, of the block that lives or lived there; 0: there is none
    std::size_t offset = 0;
};

/// found(finding) is told of each. It may return: what was wrong is then left undone. It must not call the heap that
/// is checked. `leaks`: whether to tell of blocks that are live when their heap is destroyed.
template <class P>
concept FaultPolicy = requires(const Finding &finding) {
    { P::found(finding) } -> std::same_as<void>;
    { P::leaks } -> std::convertible_to<bool>;
};

constexpr const char *text_of(Fault fault) {
    switch (fault) {
    case Fault::invalid_free:
        return "free of what is no block: ";
    case Fault::interior_free:
        return "free of the middle of a live block: ";
    case Fault::multiple_free:
        return "free of a block that was freed: ";
    case Fault::invalid_use:
        return "use of what is no live block: ";
    case Fault::written_behind_end:
        return "written behind the end of a block: ";
    case Fault::written_after_free:
        return "written into a freed block: ";
    case Fault::leaked:
        return "not freed: ";
    case Fault::handed_out_twice:
        return "the heap below handed out a live block: ";
    case Fault::overlapping:
        return "the heap below handed out memory of a live block: ";
    case Fault::too_small:
        return "the heap below handed out a block that is too small: ";
    case Fault::misaligned:
        return "the heap below handed out a misaligned block: ";
    case Fault::not_zero:
        return "the heap below handed out a zeroed block that is not zero: ";
    }
    return "";
}

/// Whether p is a live block of a heap that finds faults. True for any p of another heap. The policy is not told: the
/// free that follows tells it what p is.
template <class H>
bool is_live(const H &heap, const void *p) {
    if constexpr (requires { heap.is_live(p); }) {
        return heap.is_live(p);
    }
    return true;
}

/// One line on stderr: what, where, of which size.
inline void write_finding(const Finding &finding) {
    platform::write_line({text_of(finding.fault), finding.block, ", ", std::uint64_t{finding.size},
                          " bytes, at offset ", std::uint64_t{finding.offset}});
}

/// Stops the program at the first fault. Leaks are not looked for.
struct StopAtFault {
    static constexpr bool leaks = false;
    [[noreturn]] static void found(const Finding &finding) {
        write_finding(finding);
        std::abort();
    }
};
static_assert(FaultPolicy<StopAtFault>);

/// Tells of leaks as well, and goes on after them.
struct StopAtFaultTellLeaks {
    static constexpr bool leaks = true;
    static void found(const Finding &finding) {
        if (finding.fault != Fault::leaked) {
            StopAtFault::found(finding);
        }
        write_finding(finding);
    }
};
static_assert(FaultPolicy<StopAtFaultTellLeaks>);

} // namespace cairn
