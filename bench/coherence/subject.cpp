// SPDX-License-Identifier: MIT
//
// One allocator, as an object of its own beside the program's malloc. CAIRN_ALLOCATOR is the header that names it.
#include "subject.hpp"

#include <cairn/core/immortal.hpp>

#include CAIRN_ALLOCATOR

namespace cairn::coherence {
namespace {

using process_heap::Allocator;

constinit Immortal<Allocator> immortal;

template <class H>
void end_thread(H &heap) {
    if constexpr (requires { heap.detach(); }) {
        heap.detach();
    }
}

} // namespace

void *subject_malloc(std::size_t size) {
    return immortal.object.malloc(size);
}
void subject_free(void *p) {
    immortal.object.free(p);
}
void subject_thread_ends() {
    end_thread(immortal.object);
}
const char *subject_name() {
    return CAIRN_ALLOCATOR_NAME;
}

} // namespace cairn::coherence
