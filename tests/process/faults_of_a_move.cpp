// SPDX-License-Identifier: MIT
//
// The kernel fails to move a huge block after it has unmapped the place where it was to go, and another thread gets a part
// of that place: it keeps it, and the block goes on with its contents.
#include "process_test.hpp"
#include "works_library_code.hpp"

#include <sys/mman.h>

using namespace process_test;

namespace {
unsigned char *foreign;
constexpr std::size_t foreign_bytes = MiB;

void on_mremap(int, siginfo_t *info, void *context) {
    TrappedCall call(context);
    if ((call.argument(3) & MREMAP_FIXED) == 0) { // in place
        call.let_through(info->si_syscall);
        return;
    }
    auto *const place = reinterpret_cast<unsigned char *>(call.argument(4));
    const auto bytes = static_cast<std::size_t>(call.argument(2));
    CHECK(munmap(place, bytes) == 0);
    void *const at = place + bytes - foreign_bytes; // the kernel fills a gap from its end on
    foreign = static_cast<unsigned char *>(mmap(at, foreign_bytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    CHECK(foreign == at);
    std::memset(foreign, 0x77, foreign_bytes);
    call.answer(-ENOMEM);
}
} // namespace

int main() {
    trap_library_calls(SYS_mremap, on_mremap);

    constexpr std::size_t before = 20 * MiB;
    auto *p = static_cast<unsigned char *>(malloc(before));
    CHECK(p != nullptr);
    std::memset(p, 0x11, before);
    // Something behind it, so that it can not grow in place.
    CHECK(mmap(p + before, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
          p + before);
    auto *const q = static_cast<unsigned char *>(realloc(p, 3 * before));
    CHECK(q != nullptr && foreign != nullptr);
    for (std::size_t i = 0; i < before; ++i) {
        CHECK(q[i] == 0x11);
    }
    for (std::size_t i = 0; i < foreign_bytes; ++i) {
        CHECK(foreign[i] == 0x77);
    }
    free(q);
}
