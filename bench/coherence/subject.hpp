// SPDX-License-Identifier: MIT
//
// The allocator whose traffic is counted. Compiled apart from the rest, with instrumentation.
#pragma once

#include <cstddef>

namespace cairn::coherence {

void *subject_malloc(std::size_t size);
void subject_free(void *p);
/// A thread ends. For allocators that are not told by libc.
void subject_thread_ends();
const char *subject_name();

} // namespace cairn::coherence
