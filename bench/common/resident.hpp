// SPDX-License-Identifier: MIT
// What /proc says of a process's memory, without a call of malloc: the one who asks may be on the heap under test.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace cairn::bench {

// Of smaps_rollup, in KiB. Pages given back by MADV_FREE stay resident until the kernel wants them; they are
// told apart as `lazy_free`.
struct Resident {
    std::uint64_t rss = 0, lazy_free = 0, huge = 0;
};

// False for a process that is gone, or a zombie. `path` is a smaps_rollup.
inline bool read_resident(const char *path, Resident &resident) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    char text[4096];
    std::size_t length = 0;
    for (ssize_t got = 1; got > 0 && length < sizeof text - 1; length += static_cast<std::size_t>(got)) {
        got = ::read(file, text + length, sizeof text - 1 - length);
        if (got < 0)
            break;
    }
    ::close(file);
    text[length] = '\0';
    const auto field = [&text](const char *name) {
        const char *found = std::strstr(text, name);
        return found == nullptr ? 0 : std::strtoull(found + std::strlen(name), nullptr, 10);
    };
    resident = {field("\nRss:"), field("\nLazyFree:"), field("\nAnonHugePages:")};
    return resident.rss != 0;
}

} // namespace cairn::bench
