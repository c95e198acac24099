// SPDX-License-Identifier: MIT
//
// malloc_info: the XML of glibc's form, with the figures of mallinfo2; other options than 0 are refused. Where
// something cannot be written, that is said, and nothing is written behind it; an older error of the stream is none of
// its own.
#include "process_test.hpp"

#include <cerrno>
#include <cwchar>
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

/// A disk that is full, and then is not.
void stops_at_an_error() {
    static int writes;
    cookie_io_functions_t disk{};
    disk.write = [](void *, const char *, std::size_t length) -> ssize_t {
        errno = ENOSPC;
        return ++writes == 1 ? 0 : static_cast<ssize_t>(length);
    };
    std::FILE *const file = fopencookie(nullptr, "w", disk);
    CHECK(file != nullptr && std::setvbuf(file, nullptr, _IONBF, 0) == 0);
    for (std::size_t size = 8; size < 60 * KiB; size += size / 16 + 1) {
        CHECK(std::malloc(size) != nullptr); // for a text of several writes
    }
    CHECK(malloc_info(0, file) == -1 && errno == ENOSPC && writes == 1);
    std::fclose(file);
}

void is_not_an_older_error() {
    int ends[2];
    CHECK(pipe2(ends, O_NONBLOCK) == 0);
    std::FILE *const file = fdopen(ends[1], "w");
    CHECK(file != nullptr && std::setvbuf(file, nullptr, _IONBF, 0) == 0);
    while (std::fwrite(text, 1, sizeof text, file) == sizeof text) {
    }
    CHECK(std::ferror(file) != 0);
    while (read(ends[0], text, sizeof text) > 0) {
    }
    CHECK(malloc_info(0, file) == 0);
    const ssize_t n = read(ends[0], text, sizeof text);
    CHECK(n > 10 && std::memcmp(text + n - 10, "</malloc>\n", 10) == 0);
    std::fclose(file);
    close(ends[0]);
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
    stops_at_an_error();
    is_not_an_older_error();
    std::FILE *const wide = std::fopen("/dev/null", "w");
    CHECK(wide != nullptr && std::fwide(wide, 1) > 0 && malloc_info(0, wide) == -1);
    std::fclose(wide);
    std::free(huge);
}
