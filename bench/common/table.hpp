// SPDX-License-Identifier: MIT
// A zeroed array straight from the OS: the workload's own bookkeeping stays out of the heap under test.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace cairn::bench {

template <class T>
class Table {
public:
    explicit Table(std::size_t count) : count_(count) {
        void *memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            std::perror("mmap");
            std::exit(4);
        }
        items_ = static_cast<T *>(memory);
    }
    ~Table() { ::munmap(items_, bytes()); }
    Table(const Table &) = delete;
    Table &operator=(const Table &) = delete;

    T &operator[](std::size_t index) { return items_[index]; }
    std::size_t size() const { return count_; }

private:
    std::size_t bytes() const { return (count_ == 0 ? 1 : count_) * sizeof(T); }

    T *items_ = nullptr;
    std::size_t count_;
};

} // namespace cairn::bench
