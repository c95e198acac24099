// SPDX-License-Identifier: MIT
//
// The library's own data: a program that allocates a little has a few pages of it resident, not what eight threads
// need.
#include "process_test.hpp"

using namespace process_test;

namespace {

/// The resident bytes of the writable mappings of libcairn.so.
std::size_t resident_data() {
    static char text[256 * KiB];
    read_proc("/proc/self/smaps", text, sizeof text);
    std::size_t bytes = 0;
    for (const char *at = text; (at = std::strstr(at, " rw-p ")) != nullptr; ++at) {
        const char *const line_end = std::strchr(at, '\n');
        const char *const name = std::strstr(at, "libcairn");
        if (name != nullptr && name < line_end) {
            const char *const resident = std::strstr(line_end, "Rss:");
            CHECK(resident != nullptr);
            bytes += std::strtoull(resident + std::strlen("Rss:"), nullptr, 10) * KiB;
        }
    }
    return bytes;
}

} // namespace

int main() {
    std::free(opaque(std::malloc(100)));
    const std::size_t bytes = resident_data();
    dprintf(1, "%zu KiB\n", bytes / KiB);
    CHECK(bytes != 0);
    CHECK(bytes <= 96 * KiB + static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}
