// SPDX-License-Identifier: MIT
//
// The kernel fails to move a huge block after it has unmapped the place where it was to go, and another thread gets a
// part of that place, or all of it: it keeps it. Where the kernel fails before that, the place goes back. The block
// goes on with its contents.
#include "process_test.hpp"
#include "works_library_code.hpp"

#include <malloc.h>
#include <sys/mman.h>

using namespace process_test;

namespace {
/// How much of the place another thread gets; `kept`: nothing was unmapped.
constexpr std::size_t all = SIZE_MAX;
constexpr std::size_t kept = 0;
std::size_t share;
unsigned char *place;
std::size_t place_bytes;
unsigned char *foreign;
std::size_t foreign_bytes;

unsigned char *map(void *at, std::size_t bytes) {
    void *const p =
        mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return p == at ? static_cast<unsigned char *>(p) : nullptr;
}

void on_mremap(int, siginfo_t *info, void *context) {
    TrappedCall call(context);
    if ((call.argument(3) & MREMAP_FIXED) == 0) { // in place
        call.let_through(info->si_syscall);
        return;
    }
    place = reinterpret_cast<unsigned char *>(call.argument(4));
    place_bytes = static_cast<std::size_t>(call.argument(2));
    foreign_bytes = share == all ? place_bytes : share;
    if (share != kept) {
        CHECK(munmap(place, place_bytes) == 0);
        unsigned char *const at =
            place + place_bytes - foreign_bytes; // the kernel fills a gap from its end on
        foreign = map(at, foreign_bytes);
        CHECK(foreign != nullptr);
        foreign[0] = foreign[foreign_bytes / 2] = foreign[foreign_bytes - 1] = 0x77;
    }
    call.answer(-ENOMEM);
}

void move_fails() {
    constexpr std::size_t before = 20 * MiB;
    malloc_trim(0); // what is kept of the last round's mapping would be room to grow in place
    auto *p = static_cast<unsigned char *>(malloc(before));
    CHECK(p != nullptr);
    std::memset(p, 0x11, before);
    // Something behind it, so that it can not grow in place. By chance something may be there.
    unsigned char *const behind = map(p + before, 4096);
    place = foreign = nullptr;
    auto *const q = static_cast<unsigned char *>(realloc(p, 3 * before));
    CHECK(q != nullptr && place != nullptr);
    for (std::size_t i = 0; i < before; ++i) {
        CHECK(q[i] == 0x11);
    }
    if (share != kept) {
        CHECK(foreign[0] == 0x77 && foreign[foreign_bytes / 2] == 0x77 && foreign[foreign_bytes - 1] == 0x77);
        CHECK(munmap(foreign, foreign_bytes) == 0);
    } else { // what had been mapped for it is the block's new place, or is free
        CHECK(q == place || map(place, place_bytes) != nullptr);
    }
    free(q);
    CHECK(behind == nullptr || munmap(behind, 4096) == 0);
}
} // namespace

int main() {
    trap_library_calls(SYS_mremap, on_mremap);
    for (const std::size_t each : {MiB, all, kept}) {
        share = each;
        move_fails();
    }
}
