// SPDX-License-Identifier: MIT
//
// libFuzzer on one heap as an object, with the coverage of its headers: CAIRN_ALLOCATOR names the header of src/family/
// that says which, or that of this folder for Cairn's own. The program's malloc is the system's.
#include "operations.hpp"

#include <cairn/adapt/ansi.hpp>
#include <cairn/core/immortal.hpp>

#include CAIRN_ALLOCATOR

namespace {

using Allocator = cairn::AnsiHeap<cairn::process_heap::Allocator>;
constinit cairn::Immortal<Allocator> immortal;

struct Target {
    static void *malloc(std::size_t size) { return immortal.object.malloc(size); }
    static void *malloc_zeroed(std::size_t size) { return immortal.object.malloc_zeroed(size); }
    static void *reallocate(void *p, std::size_t size) { return immortal.object.reallocate(p, size); }
    static void *memalign(std::size_t alignment, std::size_t size) {
        return immortal.object.memalign(alignment, size);
    }
    static void free(void *p, unsigned) { immortal.object.free(p); }
    static std::size_t usable_size(void *p) { return immortal.object.getSize(p); }
    static void trim(std::size_t) {}
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    cairn::fuzz::Work<Target>::run(data, size);
    return 0;
}
