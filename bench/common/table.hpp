// SPDX-License-Identifier: MIT
// A zeroed array straight from the OS: the workload's own bookkeeping stays out of the heap under test. With
// CAIRN_BENCH_TABLES in the environment all of it is resident from its first moment to the end of the program, and the
// sum is among the program's figures: so that peak memory can be told without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace cairn::bench {

// Of tables that stay. Relaxed: it is read when all threads have been joined.
inline std::atomic<std::size_t> resident_tables{0};

inline bool tables_stay() {
    static const bool stay = std::getenv("CAIRN_BENCH_TABLES") != nullptr;
    return stay;
}

inline void say_tables() {
    if (tables_stay())
        std::fprintf(stderr, "figures: {\"tables_bytes\": %zu}\n",
                     resident_tables.load(std::memory_order_relaxed));
}

template <class T>
class Table {
public:
    explicit Table(std::size_t count) : count_(count) {
        const int fill = tables_stay() ? MAP_POPULATE : 0;
        void *memory =
            ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fill, -1, 0);
        if (memory == MAP_FAILED) {
            std::perror("mmap");
            std::exit(4);
        }
        items_ = static_cast<T *>(memory);
        if (fill != 0)
            resident_tables.fetch_add(bytes(), std::memory_order_relaxed);
    }
    ~Table() {
        if (!tables_stay())
            ::munmap(items_, bytes());
    }
    Table(const Table &) = delete;
    Table &operator=(const Table &) = delete;

    T &operator[](std::size_t index) { return items_[index]; }
    std::size_t size() const { return count_; }

private:
    std::size_t bytes() const {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        return ((count_ == 0 ? 1 : count_) * sizeof(T) + page - 1) / page * page;
    }

    T *items_ = nullptr;
    std::size_t count_;
};

} // namespace cairn::bench
