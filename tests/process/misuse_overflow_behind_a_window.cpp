// SPDX-License-Identifier: MIT
//
// A write that runs on behind the last block of a window, or behind a huge block of a whole window, does not reach the
// descriptors of the window that follows: it ends the process there, or it hits nothing. Nor does one before the first
// block.
// env: CAIRN_OPTIONS=huge_pages:off
#include "process_test.hpp"

#include <csignal>

using namespace process_test;

namespace {
constexpr std::size_t window = 32 * MiB;
constexpr std::size_t size = 64 * KiB;
constexpr unsigned count = 3 * window / size;
unsigned char *blocks[count];

bool is_ours(std::uintptr_t at) {
    for (const auto *const p : blocks) {
        if (p != nullptr && reinterpret_cast<std::uintptr_t>(p) / window == at / window) {
            return true;
        }
    }
    return false;
}

void use_all() {
    for (auto *&p : blocks) {
        free(p);
        p = static_cast<unsigned char *>(malloc(size / 2));
        CHECK(p != nullptr);
        std::memset(p, 1, size / 2);
    }
}

const unsigned char *volatile written_from, *volatile written_to;

void at_fault(int, siginfo_t *fault, void *) {
    const auto *const at = static_cast<const unsigned char *>(fault->si_addr);
    _exit(at >= written_from && at < written_to ? 0 : 3);
}

/// In a child, which must end at the write, or be unharmed by it.
void write_to(unsigned char *end, std::size_t bytes) {
    in_child([&] {
        written_from = end;
        written_to = end + bytes;
        struct sigaction action{};
        action.sa_sigaction = at_fault;
        action.sa_flags = SA_SIGINFO;
        CHECK(sigaction(SIGSEGV, &action, nullptr) == 0);
        std::memset(opaque(end), 0xee, bytes);
        written_to = end; // from now on a fault is harm done
        use_all();
    });
}
} // namespace

int main() {
    for (auto *&p : blocks) {
        p = static_cast<unsigned char *>(malloc(size));
        CHECK(p != nullptr);
    }
    unsigned found = 0;
    for (auto *const p : blocks) {
        // The last block of its window, with another one of ours behind it.
        const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(p) + size;
        const std::uintptr_t next = (end + window - 1) / window * window;
        bool last = is_ours(next);
        for (const auto *const other : blocks) {
            const auto at = reinterpret_cast<std::uintptr_t>(other);
            last = last && (at / window != (next - 1) / window || at < end);
        }
        if (last) {
            ++found;
            write_to(p + size, 4 * KiB);
            write_to(p + size, next - end + 4 * KiB);
        }
    }
    CHECK(found > 0);
    unsigned firsts = 0; // a block of four slots fits into what lies in front of superblocks of eight
    for (int i = 0; i < 12; ++i) {
        auto *const p = static_cast<unsigned char *>(malloc(4 * size));
        CHECK(p != nullptr);
        if (reinterpret_cast<std::uintptr_t>(p) % window == 4 * size) {
            ++firsts;
            write_to(p - 4 * KiB, 4 * KiB);
        }
    }
    CHECK(firsts > 0);
    unsigned beside = 0;
    for (int i = 0; i < 4; ++i) {
        auto *const huge = static_cast<unsigned char *>(malloc(window));
        CHECK(huge != nullptr);
        beside += is_ours(reinterpret_cast<std::uintptr_t>(huge) + window) ? 1 : 0;
        write_to(huge + window, 4 * KiB);
        // And where it has grown to that length in place.
        auto *shorter = static_cast<unsigned char *>(malloc(window - 128 * KiB));
        shorter = static_cast<unsigned char *>(realloc(shorter, window));
        CHECK(shorter != nullptr);
        write_to(shorter + window, 4 * KiB);
    }
    dprintf(1, "%u blocks at the end of windows, %u huge ones\n", found, beside);
    use_all();
}
