// SPDX-License-Identifier: MIT
//
// Replays inputs of the fuzzers on the malloc of this process, through all entry points of C and C++:
// replay [--no-madvise] FILE_OR_FOLDER...
#include "operations.hpp"

#include "../process/works_filter.hpp"

#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <vector>

namespace {

/// Which of the functions that do the same is called changes from call to call.
std::atomic<unsigned> turn{0};

/// Twice that and a size is the size, where the product loses its upper bit.
constexpr std::size_t half_of_all = SIZE_MAX / 2 + 1;

struct Target {
    static void *malloc(std::size_t size) {
        if (turn++ % 4 == 0) {
            return ::operator new(size, std::nothrow);
        }
        errno = 0;
        void *const p = std::malloc(size);
        FUZZ_CHECK(p != nullptr || errno == ENOMEM);
        return p;
    }
    static void *malloc_zeroed(std::size_t size) {
        FUZZ_CHECK(std::calloc(cairn::fuzz::hidden(half_of_all + size / 2), 2) == nullptr);
        return size % 8 == 0 ? std::calloc(8, size / 8) : std::calloc(1, size);
    }
    static void *reallocate(void *p, std::size_t size) {
        FUZZ_CHECK(::reallocarray(p, 2, cairn::fuzz::hidden(half_of_all + size / 2)) == nullptr);
        return turn++ % 2 == 0 ? ::reallocarray(p, 1, size) : std::realloc(p, size);
    }
    static void *memalign(std::size_t alignment, std::size_t size) {
        void *p = &turn;
        switch (turn++ % 4) {
        case 0:
            if (posix_memalign(&p, alignment, size) != 0) {
                FUZZ_CHECK(p == &turn);
                return nullptr;
            }
            return p;
        case 1:
            return ::memalign(alignment, size);
        case 2:
            return ::operator new(size, std::align_val_t{alignment}, std::nothrow);
        default:
            return std::aligned_alloc(alignment, size);
        }
    }
    static void free(void *p, unsigned seed) {
        errno = EILSEQ;
        if (seed % 4 == 0) {
            ::operator delete(p);
        } else {
            std::free(p);
        }
        FUZZ_CHECK(errno == EILSEQ);
    }
    static std::size_t usable_size(void *p) { return malloc_usable_size(p); }
    static void trim(std::size_t keep) { malloc_trim(keep); }
};

std::size_t inputs = 0;

void replay(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    cairn::fuzz::Work<Target>::run(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
    ++inputs;
}

} // namespace

int main(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--no-madvise") == 0) {
            process_test::Filter().deny(SYS_madvise, EPERM).install();
        } else if (std::filesystem::is_directory(argv[i])) {
            for (const auto &entry : std::filesystem::directory_iterator(argv[i])) {
                replay(entry.path());
            }
        } else {
            replay(argv[i]);
        }
    }
    std::printf("%zu inputs\n", inputs);
    return inputs == 0 ? 1 : 0;
}
