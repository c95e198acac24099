// SPDX-License-Identifier: MIT
//
// LKmalloc with a single subheap: "LkmalloC 1" of the document's section 7.
#pragma once

#include <allocators/lkmalloc.hpp>

namespace cairn::process_heap {

struct OneSubheap : LkmallocParameters {
    static constexpr unsigned subheaps = 1;
};

using Allocator = Lkmalloc<OneSubheap>;

} // namespace cairn::process_heap
