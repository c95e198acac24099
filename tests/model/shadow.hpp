// SPDX-License-Identifier: MIT
//
// Shadow: what is remembered of the program's memory: who accessed what when, so that races between plain accesses are
// seen, and what it was before the execution, so that the next one starts from the same.
//
// Memory is an arena at a fixed address, in which the kernel's object lies and what it maps, and whatever else its code
// writes to (static data).
#pragma once

#include "memory.hpp"

#include <cstdio>
#include <memory>
#include <unordered_map>

#include <sys/mman.h>

extern "C" char __data_start, _end; // the linker's: the program's static data

namespace cairn::model {

class Shadow {
public:
    static constexpr std::uintptr_t arena = std::uintptr_t{1} << 44;
    static constexpr std::size_t arena_size = std::size_t{512} << 20;
    static constexpr std::size_t window = std::size_t{32} << 20;

    Shadow() {
        void *const p = mmap(reinterpret_cast<void *>(arena), arena_size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (p != reinterpret_cast<void *>(arena)) {
            std::perror("the arena");
            std::_Exit(2);
        }
        blocks_.resize(arena_size / block_size);
        is_made_.resize(arena_size / block_size);
    }

    /// Another kernel: everything anew.
    void reset() {
        madvise(reinterpret_cast<void *>(arena), arena_size, MADV_DONTNEED);
        take_back(made_);
        for (std::size_t i = 0; i < end_of_blocks_; ++i) {
            blocks_[i].reset();
        }
        end_of_blocks_ = 0;
        is_made_.assign(arena_size / block_size, false);
        of_statics_.clear();
        dirty_.clear();
        racy_.clear();
        used_ = 0;
        used_at_start_ = 0;
    }
    /// The kernel is made: executions start from here.
    void start() {
        used_at_start_ = used_;
        recording_ = true;
    }
    void stop() { recording_ = false; }

    /// Back to the start.
    void restore() {
        for (Block *block : dirty_) {
            std::memcpy(reinterpret_cast<void *>(block->address), block->before, block_size);
            block->dirty = false;
        }
        dirty_.clear();
        take_back(undo_);
        mappings_.clear();
        unmapped_.clear();
        gone_.clear();
        used_ = used_at_start_;
        ++epoch_;
    }

    void *take(std::size_t bytes, std::size_t alignment) {
        const std::uintptr_t at = (arena + used_ + alignment - 1) / alignment * alignment;
        if (at + bytes > arena + arena_size) {
            return nullptr;
        }
        used_ = at + bytes - arena;
        return reinterpret_cast<void *>(at);
    }
    /// At exactly this place, as mmap with MAP_FIXED_NOREPLACE; what is skipped is lost.
    bool take_at(std::uintptr_t at, std::size_t bytes) {
        if (at < arena + used_ || at + bytes > arena + arena_size) {
            return false;
        }
        used_ = at + bytes - arena;
        return true;
    }

    /// What is unmapped may be had again, all of it or a part.
    void give(std::uintptr_t at, std::size_t bytes) { unmapped_.push_back({at, bytes}); }
    /// `at`: 0 for any place. 0: there is none.
    std::uintptr_t take_again(std::uintptr_t at, std::size_t bytes) {
        for (std::size_t i = 0; i < unmapped_.size(); ++i) {
            const auto [start, size] = unmapped_[i];
            const std::uintptr_t from = at == 0 ? start : at;
            if (from >= start && from + bytes <= start + size) {
                unmapped_[i] = {start, from - start};
                unmapped_.push_back({from + bytes, start + size - from - bytes});
                return from;
            }
        }
        return 0;
    }

    /// What a thread has unmapped is no memory, until somebody maps it anew.
    void goes(std::uintptr_t at, std::size_t bytes) { gone_.push_back({at, at + bytes}); }
    void comes(std::uintptr_t at, std::size_t bytes) {
        for (std::size_t i = gone_.size(); i-- > 0;) {
            const auto [begin, end] = gone_[i];
            if (at < end && begin < at + bytes) {
                gone_[i] = {begin, std::max(begin, at)};
                gone_.push_back({std::min(end, at + bytes), end});
            }
        }
    }
    bool is_gone(std::uintptr_t address) const {
        return std::any_of(gone_.begin(), gone_.end(), [=](const auto &range) {
            return address >= range.first && address < range.second;
        });
    }

    /// A thread has mapped memory: that it is zero there is the thread's doing, and others see it only behind that.
    void is_mapped_by(unsigned thread, std::uint32_t clock, std::uintptr_t address, std::size_t bytes) {
        mappings_.push_back({address, address + bytes, thread, clock});
    }

    /// Before each write of the program: its threads', and those to static data when the kernel is made.
    void writes(std::uintptr_t address, std::size_t size) {
        if (!in_arena(address)) {
            while (size > 0) {
                Undo u{address, std::min<std::size_t>(size, sizeof u.before), {}};
                std::memcpy(u.before, reinterpret_cast<const void *>(address), u.size);
                (recording_ ? undo_ : made_).push_back(u);
                address += u.size;
                size -= u.size;
            }
            return;
        }
        const std::uintptr_t end = address + size;
        for (; address < end; address = (address / block_size + 1) * block_size) {
            if (!recording_) {
                is_made_[(address - arena) / block_size] = true;
                continue;
            }
            Block &block = block_of(address);
            if (!block.dirty) {
                block.dirty = true;
                dirty_.push_back(&block);
                std::memcpy(block.before, reinterpret_cast<const void *>(block.address), block_size);
            }
        }
    }

    /// Memory that is given back reads as zero: where it was ever written to. Before there are threads, all of it.
    void zero(std::uintptr_t address, std::size_t size) {
        if (!recording_) {
            madvise(reinterpret_cast<void *>(address), size, MADV_DONTNEED);
            return;
        }
        for (std::uintptr_t at = address; at < address + size; at += block_size) {
            if (was_written(at)) {
                writes(at, block_size);
                std::memset(reinterpret_cast<void *>(at), 0, block_size);
            }
        }
    }

    /// What was ever written to; the rest of it is zero.
    void move(std::uintptr_t from, std::uintptr_t to, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; i += block_size) {
            if (was_written(from + i)) {
                writes(to + i, block_size);
                std::memcpy(reinterpret_cast<void *>(to + i), reinterpret_cast<const void *>(from + i),
                            block_size);
            }
        }
    }

    enum Access { plain_read = 0, plain_write = 1, atomic_read = 2, atomic_write = 3 };

    /// Whether an access of `thread` at most 16 bytes long meets one that nothing orders before it: that thread, else
    /// -1.
    int access(unsigned thread, const View &now, std::uintptr_t address, std::size_t size, Access kind) {
        if (!watches(address)) {
            return -1;
        }
        int other = -1;
        for (const Mapping &m : mappings_) {
            if (address >= m.begin && address < m.end && m.thread != thread &&
                m.clock > now.clock[m.thread]) {
                other = static_cast<int>(m.thread);
            }
        }
        const std::uintptr_t end = address + size;
        while (address < end) {
            const std::uintptr_t granule_end = (address | 7) + 1;
            const std::uintptr_t stop = std::min(end, granule_end);
            const unsigned mask = ((1u << (stop - address)) - 1) << (address & 7);
            Granule &g = granule(address);
            const int met = meet(g, thread, now, static_cast<std::uint8_t>(mask), kind);
            other = met >= 0 ? met : other;
            address = stop;
        }
        return other;
    }

    /// Whether there may be an atomic location in the bytes; plain writes to it end it.
    bool has_atomics(std::uintptr_t address, std::size_t size) {
        if (!watches(address)) {
            return true;
        }
        for (std::uintptr_t a = address & ~std::uintptr_t{7}; a < address + size; a += 8) {
            if (granule(a).atomics) {
                return true;
            }
        }
        return false;
    }

    void racy(std::uintptr_t address, std::size_t size) { racy_.push_back({address, address + size}); }
    bool is_racy(std::uintptr_t address) const {
        for (const auto &[begin, end] : racy_) {
            if (address >= begin && address < end) {
                return true;
            }
        }
        return false;
    }
    static bool in_arena(std::uintptr_t address) { return address - arena < arena_size; }
    /// Not what is on a stack or thread-local.
    static bool watches(std::uintptr_t address) {
        return in_arena(address) || (address >= reinterpret_cast<std::uintptr_t>(&__data_start) &&
                                     address < reinterpret_cast<std::uintptr_t>(&_end));
    }

private:
    static constexpr std::size_t block_size = 256;

    /// The last accesses of one thread and kind, by byte. Few have more than two times in eight bytes; then the oldest
    /// is forgotten.
    struct Cell {
        std::uint32_t clock[3] = {};
        std::uint8_t mask[3] = {};

        bool later_than(std::uint32_t seen, std::uint8_t bytes) const {
            bool later = false;
            for (unsigned i = 0; i < 3; ++i) {
                later = later || ((mask[i] & bytes) != 0 && clock[i] > seen);
            }
            return later;
        }
        void note(std::uint32_t now, std::uint8_t bytes) {
            unsigned at = 0;
            for (unsigned i = 0; i < 3; ++i) {
                mask[i] = static_cast<std::uint8_t>(clock[i] == now ? mask[i] : mask[i] & ~bytes);
                at = clock[i] == now ||
                             (clock[at] != now && (mask[i] == 0 || (mask[at] != 0 && clock[i] < clock[at])))
                         ? i
                         : at;
            }
            mask[at] = static_cast<std::uint8_t>(clock[at] == now ? mask[at] | bytes : bytes);
            clock[at] = now;
        }
    };
    struct Granule {
        std::uint32_t epoch = 0;
        bool atomics = false;
        Cell of[most_threads][4];
    };
    struct Block {
        std::uintptr_t address = 0;
        bool dirty = false;
        char before[block_size];
        Granule granules[block_size / 8];
    };
    struct Mapping {
        std::uintptr_t begin, end;
        unsigned thread;
        std::uint32_t clock;
    };
    struct Undo {
        std::uintptr_t address;
        std::size_t size;
        char before[16];
    };

    static void take_back(std::vector<Undo> &writes) {
        for (std::size_t i = writes.size(); i-- > 0;) {
            std::memcpy(reinterpret_cast<void *>(writes[i].address), writes[i].before, writes[i].size);
        }
        writes.clear();
    }

    bool was_written(std::uintptr_t address) const {
        const std::size_t i = (address - arena) / block_size;
        return is_made_[i] || blocks_[i] != nullptr;
    }
    Block &block_of(std::uintptr_t address) {
        const std::size_t i = (address - arena) / block_size;
        std::unique_ptr<Block> &block = blocks_[i];
        if (block == nullptr) {
            end_of_blocks_ = std::max(end_of_blocks_, i + 1);
            block = std::make_unique<Block>();
            block->address = address / block_size * block_size;
        }
        return *block;
    }
    Granule &granule(std::uintptr_t address) {
        Granule &g = in_arena(address) ? block_of(address).granules[address % block_size / 8]
                                       : of_statics_[address / 8];
        if (g.epoch != epoch_) {
            g = Granule{};
            g.epoch = epoch_;
        }
        return g;
    }

    static int meet(Granule &g, unsigned thread, const View &now, std::uint8_t mask, Access kind) {
        const bool write = (kind & 1) != 0;
        const bool atomic = (kind & 2) != 0;
        int other = -1;
        for (unsigned u = 0; u < most_threads; ++u) {
            if (u == thread) {
                continue;
            }
            const auto unordered = [&](Access earlier) {
                return g.of[u][earlier].later_than(now.clock[u], mask);
            };
            if (unordered(plain_write) || (write && unordered(plain_read)) ||
                (!atomic && (unordered(atomic_write) || (write && unordered(atomic_read))))) {
                other = static_cast<int>(u);
            }
        }
        g.atomics = g.atomics || atomic;
        g.of[thread][kind].note(now.clock[thread], mask);
        return other;
    }

    std::vector<std::unique_ptr<Block>> blocks_;
    std::size_t end_of_blocks_ = 0; ///< behind the last one that is there
    std::vector<bool> is_made_;     ///< blocks that the kernel's constructor has written to
    std::unordered_map<std::uintptr_t, Granule> of_statics_;
    std::vector<Block *> dirty_;
    std::vector<Undo> undo_;        ///< of this execution
    std::vector<Undo> made_;        ///< of the kernel's constructor
    std::vector<Mapping> mappings_; ///< of this execution
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> racy_;
    std::vector<std::pair<std::uintptr_t, std::size_t>> unmapped_; ///< of this execution
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> gone_;  ///< of this execution, from and to
    std::size_t used_ = 0;
    std::size_t used_at_start_ = 0;
    std::uint32_t epoch_ = 1;
    bool recording_ = false;
};

} // namespace cairn::model
