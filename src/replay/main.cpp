// SPDX-License-Identifier: MIT
//
// cairn-replay PLAN OUTCOME LIBRARY TOUCH: makes the calls of a plan; `cairn replay` starts it, with LIBRARY preloaded
// ("" for none). It takes no memory from the malloc that it measures but for the calls of the plan.
#include <src/replay/player.hpp>

#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace cairn::replay;

/// Where the malloc that a call gets is from; the loader only warns of what it can not preload.
bool malloc_is_of(const char *library) {
    Dl_info info{};
    struct stat wanted{};
    struct stat found{};
    return *library == 0 || (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) != 0 &&
                             stat(library, &wanted) == 0 && stat(info.dli_fname, &found) == 0 &&
                             wanted.st_ino == found.st_ino && wanted.st_dev == found.st_dev);
}

} // namespace

int main(int count, char **words) {
    if (count != 5) {
        constexpr char usage[] = "cairn-replay is a part of `cairn replay`: see man 1 cairn\n";
        return write(STDERR_FILENO, usage, sizeof usage - 1) > 0 ? 2 : 1;
    }
    const int file = open(words[2], O_RDWR | O_CLOEXEC);
    void *const shared =
        mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (shared == MAP_FAILED) {
        return 1;
    }
    close(file); // its number may be the last one that is free
    auto &outcome = *static_cast<Outcome *>(shared);
    const int plan = open(words[1], O_RDONLY | O_CLOEXEC);
    const char *const obstacle = plan < 0                  ? "the plan can not be opened"
                                 : !malloc_is_of(words[3]) ? "it can not be preloaded, or has no malloc"
                                                           : nullptr;
    if (obstacle != nullptr) {
        outcome.state = State::can_not_go;
        std::snprintf(outcome.message, sizeof outcome.message, "%s", obstacle);
        return 0;
    }
    // Static: of the size of a page or two, and there before the first call.
    static Player player(plan, std::strcmp(words[4], "1") == 0, outcome);
    player.play();
    // Nothing of the allocator's own end is measured or may spoil what is.
    _exit(0);
}
