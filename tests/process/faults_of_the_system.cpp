// SPDX-License-Identifier: MIT
//
// Limits of a process: address space from 64 MB up, the last of the 65,530 mappings that the kernel allows, huge pages
// forbidden and wanted, and asked for where the option says. Each holds from the start of a process of its own;
// contents stay, refusals are NULL and ENOMEM, and once the limit is gone everything can be had. With --all in finer
// steps.
#include "faults_work.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

using namespace process_test;
using namespace process_test::faults;

namespace {

const char *here;

/// Runs `mode value` in a process of its own.
void run(const char *mode, unsigned value) {
    char text[16];
    std::snprintf(text, sizeof text, "%u", value);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const rlim_t bytes = value * MiB;
        const rlimit limit{bytes, bytes};
        CHECK(std::strcmp(mode, "address-space") != 0 || setrlimit(RLIMIT_AS, &limit) == 0);
        if (std::strncmp(mode, "huge", 4) == 0) {
            CHECK(prctl(PR_SET_THP_DISABLE, value, 0, 0, 0) == 0);
            char options[32];
            std::snprintf(options, sizeof options, "huge_pages:%s", mode + 4);
            setenv("CAIRN_OPTIONS", options, 1);
        }
        execl(here, here, mode, text, nullptr);
        _exit(126);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (status != 0) {
        dprintf(2, "%s %u: wait status %#x\n", mode, value, static_cast<unsigned>(status));
        _exit(1);
    }
}

/// Mappings of a page each that do not join, but for `left` of all that the kernel allows: a page that may be read
/// beside one that may not. Whatever else is mapped, the kernel says when there are no more.
struct Mappings {
    static constexpr std::size_t page = 4 * KiB;
    static constexpr std::size_t most = 70000;
    char *from = nullptr;
    std::size_t used = 0;

    explicit Mappings(unsigned left) {
        from = static_cast<char *>(mmap(nullptr, most * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        CHECK(from != MAP_FAILED);
        while (used + 2 < most && mprotect(from + used * page, page, PROT_READ) == 0) {
            used += 2;
        }
        CHECK(used + 2 < most);
        for (unsigned i = 0; i < left / 2; ++i) { // each had cost two
            used -= 2;
            CHECK(mprotect(from + used * page, page, PROT_NONE) == 0);
        }
    }
    void release() { CHECK(munmap(from, most * page) == 0); }
};

std::size_t allowed_mappings() {
    char text[64];
    read_proc("/proc/sys/vm/max_map_count", text, sizeof text);
    return std::strtoull(text, nullptr, 10);
}

/// Whether the kernel has been asked for huge pages where p is (hg).
bool huge_pages_asked_for(const void *p) {
    static char text[1 * MiB];
    read_proc("/proc/self/smaps", text, sizeof text);
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    for (const char *line = text; line != nullptr; line = std::strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        unsigned long from = 0, to = 0;
        if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2 && address >= from && address < to) {
            const char *const flags = std::strstr(line, "\nVmFlags:");
            CHECK(flags != nullptr);
            const char *const end = std::strchr(flags + 1, '\n');
            const char *const hg = std::strstr(flags, " hg");
            return hg != nullptr && hg < end;
        }
    }
    failed(__FILE__, __LINE__, "a mapping that p is in");
}

/// Of `growth`: for none that lasts. Of `dense`: for huge blocks only, which are used as a whole. Before any memory is
/// there that has been in other use.
void look_at_huge_pages(const char *option) {
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) {
        return;
    }
    void *const small = malloc(100);
    void *const huge = malloc(64 * MiB);
    CHECK(small != nullptr && huge != nullptr);
    CHECK(huge_pages_asked_for(small) == (std::strcmp(option, "always") == 0));
    CHECK(huge_pages_asked_for(huge) ==
          (std::strcmp(option, "dense") == 0 || std::strcmp(option, "always") == 0));
    free(huge);
    free(small);
}

void in_the_process(const char *mode, unsigned value) {
    alarm(hang_limit);
    if (std::strncmp(mode, "huge", 4) == 0) {
        look_at_huge_pages(mode + 4);
    }
    if (std::strcmp(mode, "mappings") == 0) {
        Mappings all_but(value);
        work();
        dprintf(1, "mappings %u: %u refused\n", value, refused.load());
        all_but.release();
    } else {
        work();
        dprintf(1, "%s %u: %u refused\n", mode, value, refused.load());
    }
    const bool unlimited = std::strcmp(mode, "address-space") != 0;
    const unsigned before = refused;
    small_and_medium(4);
    CHECK(refused == before);
    if (unlimited) {
        large_and_huge();
        CHECK(refused == before);
    }
}

} // namespace

int main(int argc, char **argv) {
    here = argv[0];
    if (argc == 3) {
        in_the_process(argv[1], static_cast<unsigned>(std::atoi(argv[2])));
        return 0;
    }
    const bool all = argc == 2;
    for (unsigned limit = 64; limit <= (all ? 1024 : 256); limit += all ? 16 : 64) {
        run("address-space", limit);
    }
    if (allowed_mappings() < Mappings::most / 2 * 2 - 100) {
        for (unsigned left = 0; left <= (all ? 80 : 40); left += all ? 2 : 20) {
            run("mappings", left);
        }
    }
    run("hugeoff", 0);
    for (const unsigned forbidden : {0u, 1u}) {
        run("hugegrowth", forbidden);
        run("hugedense", forbidden);
        run("hugealways", forbidden);
    }
}
