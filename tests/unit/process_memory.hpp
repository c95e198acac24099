// SPDX-License-Identifier: MIT
//
// What the kernel says of this process's memory, for tests of what goes to it and comes back.
#pragma once

#include <cairn/platform/vm.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cairn::test {

/// Is the page at p mapped?
inline bool mapped(const void *p) {
    unsigned char residency = 0;
    void *const page = reinterpret_cast<void *>(align_down(address_of(p), platform::vm::page_size()));
    return mincore(page, 1, &residency) == 0;
}

/// Bytes of the range [p, p + bytes), page-aligned and mapped, that have memory behind them.
inline std::size_t resident(const void *p, std::size_t bytes) {
    const std::size_t page = platform::vm::page_size();
    std::vector<unsigned char> pages(bytes / page);
    mincore(const_cast<void *>(p), bytes, pages.data());
    return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](auto b) { return b & 1; })) *
           page;
}

/// Bytes of address space that are mapped, of the whole process. Allocates nothing: a free could shorten the C
/// library's heap after the measurement.
inline std::size_t address_space() {
    char text[32] = {};
    const int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const bool known = read(statm, text, sizeof text - 1) > 0;
    close(statm);
    return known ? std::strtoull(text, nullptr, 10) * platform::vm::page_size() : 0;
}

inline std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

/// The flags of the mapping that p is in, as `smaps` has them.
inline std::string flags_of(const void *p) {
    std::ifstream smaps("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(smaps, line);) {
        std::size_t end = 0;
        if (line.find('-') < 17 && line.find(':') > line.find('-')) {
            const std::uintptr_t from = std::stoull(line, &end, 16);
            here = address_of(p) >= from && address_of(p) < std::stoull(line.substr(end + 1), nullptr, 16);
        } else if (here && line.starts_with("VmFlags:")) {
            return line;
        }
    }
    return {};
}

/// From now on at most `bytes` of address space beyond what is in use. For a child process.
inline void limit_address_space(std::size_t bytes) {
    const rlimit limit{address_space() + bytes, address_space() + bytes};
    setrlimit(RLIMIT_AS, &limit);
}

} // namespace cairn::test
