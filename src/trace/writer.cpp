// SPDX-License-Identifier: MIT
#include "writer.hpp"

#include <cairn/core/bits.hpp>
#include <cairn/platform/cpu.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/syscall.hpp>
#include <src/malloc/environment.hpp>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

namespace cairn::trace {

namespace {

using platform::failed;
using platform::raw_syscall;

/// Where a thread's next record goes.
struct Cursor {
    Record *next = nullptr;
    Record *end = nullptr;
    std::uint64_t last = 0; ///< the clock of the record before
    bool inside = false;
};

thread_local constinit Cursor cursor __attribute__((tls_model("initial-exec")));

constinit Shared *shared = nullptr;
constinit int memory = -1;         ///< file descriptor of the shared memory
constinit int file = -1;           ///< of the trace
constinit std::uint64_t image = 0; ///< this process image's number
constinit std::atomic<bool> on{false};
constinit pthread_key_t key{};
constinit bool have_key = false;

/// Slots of threads that have ended, for those that come.
constinit std::atomic<Record *> left_over[1024] = {};

void stop(const char *why) noexcept {
    // relaxed: whoever sees it late finds no chunk either.
    if (on.exchange(false, std::memory_order_relaxed)) {
        shared->over.store(1, std::memory_order_relaxed); // for the other processes
        platform::write_line({"trace: ", why, ": the rest of the program is not recorded"});
    }
}

/// Records that may come at once: a thread's name, a process's, the clock twice, a call.
constexpr std::ptrdiff_t room_ = 8;

void put(const Record &record) noexcept {
    Record *const to = cursor.next++;
    to->when = record.when;
    // release: who reads the file after a kill finds a whole record or none.
    std::atomic_ref(to->where).store(record.where, std::memory_order_release);
}

void put_time(std::uint64_t ticks) noexcept {
    put({ticks, static_cast<std::uint64_t>(Op::time)});
    cursor.last = ticks;
}

Record *map_slot() noexcept {
    // relaxed: a number of one's own is all that is asked for.
    const std::uint64_t number = shared->slots.fetch_add(1, std::memory_order_relaxed);
    const long mapped = number >= most_slots
                            ? -ENOMEM
                            : raw_syscall(SYS_mmap, 0, chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                          memory, static_cast<long>((number + 1) * chunk_bytes));
    if (failed(mapped)) {
        stop("there is no memory for another thread's calls");
        return nullptr;
    }
    return reinterpret_cast<Record *>(mapped);
}

/// The first record of a slot that was not written.
Record *end_of_written(Record *slot) noexcept {
    Record *at = slot;
    while (at != slot + chunk_records && at->where != 0) {
        ++at;
    }
    return at;
}

void name_thread() noexcept {
    put(Record::make(Op::thread, 0, image, static_cast<std::uint64_t>(raw_syscall(SYS_gettid))));
    put_time(platform::ticks());
}

bool take_slot() noexcept {
    Record *slot = nullptr;
    for (auto &place : left_over) {
        // relaxed: a hint. acquire: pairs with the release in leave_slot(), so that its records are seen.
        if (place.load(std::memory_order_relaxed) != nullptr &&
            (slot = place.exchange(nullptr, std::memory_order_acquire)) != nullptr) {
            break;
        }
    }
    if (slot == nullptr && (slot = map_slot()) == nullptr) {
        return false;
    }
    cursor.end = slot + chunk_records;
    cursor.next = end_of_written(slot);
    if (have_key) {
        pthread_setspecific(key, &key);
    }
    return true;
}

void leave_slot() noexcept {
    Record *const slot = cursor.end - chunk_records;
    cursor.next = cursor.end = nullptr;
    for (auto &place : left_over) {
        Record *none = nullptr;
        // release: pairs with the acquire in take_slot(). relaxed where it fails: nothing was given.
        if (place.compare_exchange_strong(none, slot, std::memory_order_release, std::memory_order_relaxed)) {
            return;
        }
    }
    // So many threads at one time: `cairn trace` still has the slot.
    raw_syscall(SYS_munmap, reinterpret_cast<long>(slot), chunk_bytes);
}

void thread_ends(void *) {
    if (cursor.end != nullptr) {
        leave_slot();
    }
}

/// A full slot becomes a chunk of the file.
bool write_slot() noexcept {
    Record *const slot = cursor.end - chunk_records;
    if (shared->over.load(std::memory_order_relaxed) != 0) { // relaxed: said once, seen sooner or later
        on.store(false, std::memory_order_relaxed);
        return false;
    }
    const std::uint64_t number = shared->chunks.fetch_add(1, std::memory_order_relaxed); // one's own
    const long written = raw_syscall(SYS_pwrite64, file, reinterpret_cast<long>(slot), chunk_bytes,
                                     static_cast<long>(header_bytes + number * chunk_bytes));
    if (written != static_cast<long>(chunk_bytes)) {
        stop("there is no room for its file to grow");
        return false;
    }
    std::memset(static_cast<void *>(slot), 0, chunk_bytes);
    cursor.next = slot;
    return true;
}

/// Room for a record and, before it, the clock.
CAIRN_COLD bool make_room() noexcept {
    if (cursor.end == nullptr) {
        if (!take_slot()) {
            return false;
        }
    } else if (!write_slot()) {
        return false;
    }
    if (cursor.end - cursor.next < room_ && !write_slot()) {
        return false;
    }
    name_thread();
    return true;
}

void join() noexcept {
    image = shared->processes.fetch_add(1, std::memory_order_relaxed) + 1; // relaxed: a number of one's own
    on.store(true, std::memory_order_relaxed);                             // the process has one thread now
    if (make_room()) {
        put(Record::make(Op::process, 0, image, static_cast<std::uint64_t>(raw_syscall(SYS_getpid))));
    }
}

/// Opens a file at a high number: programs count on the low ones.
int open_high(const char *path, int flags) noexcept {
    const long low = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), flags | O_CLOEXEC);
    if (failed(low)) {
        return -1;
    }
    const long high = raw_syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, 700);
    if (failed(high)) {
        return static_cast<int>(low);
    }
    raw_syscall(SYS_close, low);
    return static_cast<int>(high);
}

} // namespace

void begin() noexcept {
    const char *const names = environment_value("CAIRN_TRACE");
    if (names == nullptr || *names == 0) {
        return;
    }
    char name[4096];
    std::size_t length = 0;
    while (names[length] != 0 && names[length] != ':' && length < sizeof name - 1) {
        name[length] = names[length];
        ++length;
    }
    name[length] = 0;
    memory = open_high(name, O_RDWR);
    file = names[length] == ':' ? open_high(names + length + 1, O_WRONLY) : -1;
    const long mapped = memory < 0 || file < 0 ? -EBADF
                                               : raw_syscall(SYS_mmap, 0, chunk_bytes, PROT_READ | PROT_WRITE,
                                                             MAP_SHARED, memory, 0);
    if (failed(mapped)) {
        platform::write_line({"trace: ", names, " can not be opened: nothing is recorded"});
        return;
    }
    shared = reinterpret_cast<Shared *>(mapped);
    const Inside inside;
    have_key = pthread_key_create(&key, thread_ends) == 0;
    pthread_atfork(nullptr, nullptr, begin_in_child);
    join();
}

void begin_in_child() noexcept {
    if (!on.load(std::memory_order_relaxed)) { // relaxed: the child has one thread
        return;
    }
    // The parent's slots stay the parent's.
    for (auto &place : left_over) {
        place.store(nullptr, std::memory_order_relaxed);
    }
    cursor.next = cursor.end = nullptr;
    const Inside inside;
    join();
}

bool recording() noexcept {
    return !cursor.inside &&
           on.load(std::memory_order_relaxed); // relaxed: a flag, what it allows is looked at
}

Inside::Inside() noexcept {
    cursor.inside = true;
}
Inside::~Inside() {
    cursor.inside = false;
}

void record(Op op, const void *address, std::size_t size, std::uint64_t ticks,
            std::size_t alignment) noexcept {
    if (CAIRN_UNLIKELY(cursor.end - cursor.next < room_) && !make_room()) {
        return;
    }
    // Another processor's clock may be a little behind: then the step is none.
    std::uint64_t step = ticks > cursor.last ? ticks - cursor.last : 0;
    if (CAIRN_UNLIKELY(step > Record::most_ticks)) {
        put_time(ticks);
        step = 0;
    }
    cursor.last += step;
    put(Record::make(op, step, address_of(address), size,
                     alignment <= 1 ? 0 : static_cast<unsigned>(log2_floor(alignment))));
}

} // namespace cairn::trace
