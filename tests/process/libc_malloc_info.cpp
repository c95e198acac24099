// SPDX-License-Identifier: MIT
//
// malloc_info: the XML of glibc's form, with the figures of mallinfo2; other options than 0 are refused, and where
// nothing can be written is not well.
#include "process_test.hpp"

#include <cerrno>
#include <malloc.h>

using namespace process_test;

namespace {

char text[64 * KiB];

/// The number that follows `what` in the last place where it stands: the whole process comes after its heaps.
std::size_t number_after(const char *what) {
    const char *found = nullptr;
    for (const char *at = text; (at = std::strstr(at, what)) != nullptr; ++at) {
        found = at;
    }
    CHECK(found != nullptr);
    return std::strtoull(found + std::strlen(what), nullptr, 10);
}

std::size_t count_of(const char *what) {
    std::size_t n = 0;
    for (const char *at = text; (at = std::strstr(at, what)) != nullptr; ++at) {
        ++n;
    }
    return n;
}

} // namespace

int main() {
    void *const huge = std::malloc(100 * MiB);
    std::FILE *const file = fmemopen(text, sizeof text, "w");
    CHECK(file != nullptr);
    const struct mallinfo2 m = mallinfo2();
    CHECK(malloc_info(0, file) == 0);
    CHECK(std::fclose(file) == 0);
    CHECK(std::strncmp(text, "<malloc version=\"1\">\n<heap nr=\"0\">\n", 35) == 0);
    CHECK(std::strcmp(text + std::strlen(text) - 10, "</malloc>\n") == 0);
    CHECK(count_of("<malloc ") == 1 && count_of("<heap ") == count_of("</heap>"));
    CHECK(count_of("<sizes>") == 1 && count_of("</sizes>") == 1 && count_of("  <size from=\"") >= 1);
    CHECK(number_after("<system type=\"current\" size=\"") == m.arena);
    CHECK(number_after("<total type=\"mmap\" count=\"") == 1);
    CHECK(number_after("<total type=\"mmap\" count=\"1\" size=\"") == m.hblkhd);
    CHECK(number_after("<aspace type=\"total\" size=\"") >= 100 * MiB);

    errno = 0;
    CHECK(malloc_info(1, stderr) == -1 && errno == EINVAL);
    std::FILE *const full = std::fopen("/dev/full", "w");
    CHECK(full != nullptr && std::setvbuf(full, nullptr, _IONBF, 0) == 0);
    CHECK(malloc_info(0, full) == -1);
    std::fclose(full);
    std::free(huge);
}
