// SPDX-License-Identifier: MIT
//
// Kingsley's allocator twice: composed from the layers, and written by hand as one would in C, with the same algorithm
// and layout. tests/golden/kingsley.py counts the instructions of both:
//
//     kingsley written|layered reuse|carve SIZE COUNT
//
// reuse: COUNT times a malloc and its free. carve: COUNT times a malloc of memory that was never used.
#include <allocators/kingsley.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

/// Both take this much at once, so that a run asks the system once, which is not what is compared.
constexpr std::size_t chunk_size = std::size_t{6} << 20; // valgrind has a break of 8 MiB

struct Parameters : cairn::KingsleyParameters {
    static constexpr std::size_t chunk_size = ::chunk_size;
};
} // namespace

// Not in the unnamed namespace: there, the compiler would make other functions of a class with one object.
struct Header {
    std::size_t size;
    std::size_t padding;
};
union FreeBlock {
    FreeBlock *next;
    Header header;
};
struct Chunk {
    Chunk *below;
    std::size_t size;
};

class WrittenKingsley {
public:
    void *malloc(std::size_t size) {
        if (__builtin_expect(size > largest_, 0)) {
            return malloc_large(size);
        }
        const unsigned c = class_of(size);
        Class &of = classes_[c];
        const std::size_t rounded = std::size_t{8} << c;
        FreeBlock *block = of.free;
        if (__builtin_expect(block != nullptr, 1)) {
            of.free = block->next;
        } else {
            const std::size_t bytes = (rounded + sizeof(Header) + 15) & ~std::size_t{15};
            if (__builtin_expect(bytes <= of.room, 1)) {
                block = reinterpret_cast<FreeBlock *>(of.next);
                of.next += bytes;
                of.room -= bytes;
            } else {
                block = carve_from_new_chunk(of, bytes);
                if (block == nullptr) {
                    return nullptr;
                }
            }
        }
        block->header.size = rounded;
        return &block->header + 1;
    }

    void free(void *p) {
        Header *const header = static_cast<Header *>(p) - 1;
        const std::size_t size = header->size;
        if (__builtin_expect(size > largest_, 0)) {
            return free_large(p);
        }
        Class &of = classes_[class_of(size)];
        auto *const block = reinterpret_cast<FreeBlock *>(header);
        block->next = of.free;
        of.free = block;
    }

private:
    static constexpr unsigned count_ = 29;
    static constexpr std::size_t largest_ = std::size_t{8} << (count_ - 1);

    struct Class {
        char *stretch; // of the break, the last one of this class
        char *next;
        std::size_t room;
        Chunk *chunks;
        FreeBlock *free;
    };

    static unsigned class_of(std::size_t size) {
        return 61 - static_cast<unsigned>(__builtin_clzl((size - (size != 0 ? 1 : 0)) | 7));
    }

    CAIRN_COLD FreeBlock *carve_from_new_chunk(Class &of, std::size_t size) {
        const std::size_t taken = std::max(sizeof(Chunk) + size, chunk_size);
        of.stretch = static_cast<char *>(sbrk(static_cast<std::intptr_t>(taken)));
        if (reinterpret_cast<std::uintptr_t>(of.stretch) == SIZE_MAX) {
            return nullptr;
        }
        auto *const chunk = reinterpret_cast<Chunk *>(of.stretch);
        *chunk = Chunk{of.chunks, taken};
        of.chunks = chunk;
        of.next = reinterpret_cast<char *>(chunk + 1) + size;
        of.room = taken - sizeof(Chunk) - size;
        return reinterpret_cast<FreeBlock *>(chunk + 1);
    }

    CAIRN_NOINLINE void *malloc_large(std::size_t size) {
        if (size > PTRDIFF_MAX) {
            return nullptr;
        }
        auto *const header = static_cast<Header *>(std::malloc(size + sizeof(Header)));
        if (header == nullptr) {
            return nullptr;
        }
        ++large_blocks_;
        header->size = size;
        return header + 1;
    }
    CAIRN_NOINLINE void free_large(void *p) {
        --large_blocks_;
        std::free(static_cast<Header *>(p) - 1);
    }

    Class classes_[count_] = {};
    std::size_t large_blocks_ = 0;
};

constinit WrittenKingsley written;
constinit cairn::Kingsley<Parameters> layered;

// Functions of their own, so that both are compiled apart from the loop, and can be found in a listing.
extern "C" {
CAIRN_NOINLINE void *written_malloc(std::size_t size) {
    return written.malloc(size);
}
CAIRN_NOINLINE void written_free(void *p) {
    written.free(p);
}
CAIRN_NOINLINE void *layered_malloc(std::size_t size) {
    return layered.malloc(size);
}
CAIRN_NOINLINE void layered_free(void *p) {
    layered.free(p);
}
}

int main(int count, char **arguments) {
    if (count != 5) {
        return 2;
    }
    const bool by_hand = std::strcmp(arguments[1], "written") == 0;
    const bool reuse = std::strcmp(arguments[2], "reuse") == 0;
    const std::size_t size = std::strtoull(arguments[3], nullptr, 10);
    const std::size_t times = std::strtoull(arguments[4], nullptr, 10);
    void *(*const ask)(std::size_t) = by_hand ? written_malloc : layered_malloc;
    void (*const give)(void *) = by_hand ? written_free : layered_free;
    for (std::size_t i = 0; i < times; ++i) {
        void *const p = ask(size);
        if (p == nullptr) {
            return 1;
        }
        std::memset(p, 1, 1);
        if (reuse) {
            give(p);
        }
    }
}
