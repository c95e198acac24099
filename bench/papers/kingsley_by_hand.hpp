// SPDX-License-Identifier: MIT
//
// Kingsley's allocator written by hand, without layers: the same algorithm, layout and chunks as
// allocators/kingsley.hpp, in its place below the same lock and the same memalign. What Heap Layers compares in section
// 6.3; tests/golden/kingsley.py compares the instructions of both.
#pragma once

#include <cairn/core/compose.hpp>
#include <cairn/layer/aligned_header.hpp>
#include <cairn/source/mmap.hpp>
#include <cairn/thread/locked.hpp>

#include <unistd.h>

namespace cairn::process_heap {

/// Chunk: what a class takes from the break, unless a block is larger.
template <std::size_t Chunk = 4096>
class KingsleyByHand {
public:
    static constexpr std::size_t alignment = alignof(SizeHeaderWord);
    using SizeRecord = SizeHeaderWord;

    constexpr KingsleyByHand() = default;
    KingsleyByHand(const KingsleyByHand &) = delete;
    KingsleyByHand &operator=(const KingsleyByHand &) = delete;
    ~KingsleyByHand() = default; // the heap of a process, never destroyed

    void *malloc(std::size_t size) {
        if (CAIRN_UNLIKELY(size > largest_)) {
            return malloc_large(size);
        }
        const unsigned c = class_of(size);
        Class &of = classes_[c];
        const std::size_t rounded = std::size_t{8} << c;
        FreeBlock *block = of.free;
        if (CAIRN_LIKELY(block != nullptr)) {
            of.free = block->next;
        } else {
            const std::size_t bytes = (rounded + sizeof(SizeHeaderWord) + 15) & ~std::size_t{15};
            if (CAIRN_LIKELY(bytes <= of.room)) {
                block = carve(of, bytes);
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
        auto *const block = reinterpret_cast<FreeBlock *>(static_cast<SizeHeaderWord *>(p) - 1);
        const std::size_t size = block->header.size;
        if (CAIRN_UNLIKELY(size > largest_)) {
            large_.free(block);
            return;
        }
        Class &of = classes_[class_of(size)];
        block->next = of.free;
        of.free = block;
    }

    static std::size_t getSize(void *p) { return (static_cast<SizeHeaderWord *>(p) - 1)->size; }

private:
    union FreeBlock {
        FreeBlock *next;
        SizeHeaderWord header;
    };
    struct Class {
        char *next;
        std::size_t room;
        FreeBlock *free;
    };
    static constexpr unsigned count_ = 29;
    static constexpr std::size_t largest_ = std::size_t{8} << (count_ - 1);

    static unsigned class_of(std::size_t size) {
        return 61 - static_cast<unsigned>(__builtin_clzl((size - (size != 0 ? 1 : 0)) | 7));
    }

    static FreeBlock *carve(Class &of, std::size_t bytes) {
        auto *const block = reinterpret_cast<FreeBlock *>(of.next);
        of.next += bytes;
        of.room -= bytes;
        return block;
    }

    CAIRN_COLD static FreeBlock *carve_from_new_chunk(Class &of, std::size_t bytes) {
        const std::size_t taken = align_up(bytes, Chunk);
        void *const chunk = sbrk(static_cast<std::intptr_t>(taken));
        if (reinterpret_cast<std::uintptr_t>(chunk) == SIZE_MAX) {
            return nullptr;
        }
        of.next = reinterpret_cast<char *>(align_up(address_of(chunk), 16));
        of.room = taken - static_cast<std::size_t>(of.next - static_cast<char *>(chunk));
        return bytes <= of.room ? carve(of, bytes) : carve_from_new_chunk(of, bytes + 16);
    }

    CAIRN_COLD void *malloc_large(std::size_t size) {
        if (size > PTRDIFF_MAX) {
            return nullptr;
        }
        auto *const header = static_cast<SizeHeaderWord *>(large_.malloc(size + sizeof(SizeHeaderWord)));
        if (header == nullptr) {
            return nullptr;
        }
        header->size = size;
        return header + 1;
    }

    Class classes_[count_] = {};
    MmapHeap large_;
};

using Allocator = LockedHeap<AlignedHeaderHeap<KingsleyByHand<>>>;

} // namespace cairn::process_heap
