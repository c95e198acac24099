// SPDX-License-Identifier: MIT
//
// The flagship as a subject: threads tell of their ends themselves.
#pragma once

#include <allocators/cairn.hpp>

namespace cairn::process_heap {

struct NoLife {
    static bool attached() noexcept { return true; }
    static void grew() noexcept {}
    static void surplus() noexcept {}
    static void returned() noexcept {}
};
using Allocator = Flagship<NoLife>;

} // namespace cairn::process_heap
