// SPDX-License-Identifier: MIT
#include "writer.hpp"

#include "kept_file.hpp"

#include <cairn/core/bits.hpp>
#include <cairn/platform/cpu.hpp>
#include <cairn/platform/fatal.hpp>
#include <cairn/platform/features.hpp>
#include <cairn/platform/syscall.hpp>
#include <src/malloc/environment.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace cairn::trace {

namespace detail {

thread_local constinit Cursor cursor;

} // namespace detail

namespace {

using detail::cursor;
using platform::failed;
using platform::raw_syscall;

void put_record(const Record &record) noexcept {
    Word words[Coder::most_words];
    const std::size_t bytes = cursor.coder.write(record, words);
    if (bytes > sizeof words[0]) {
        std::memcpy(cursor.next + sizeof words[0], &words[1], sizeof words[1]);
    }
    detail::put(words[0], bytes);
}

void put_time(std::uint64_t ticks) noexcept {
    put_record({Op::time, ticks, 0, 0});
    cursor.last = ticks;
}

/// Whether new slots may be begun. A thread that has one goes on until it is full. relaxed: a flag, what it allows is
/// looked at; with two exceptions at join() and record_long().
constinit std::atomic<bool> on{false};
/// Whether begin() has done its work, or is at it. relaxed: the exchange lets one thread do it.
constinit std::atomic<bool> begun{false};
constinit Shared *shared = nullptr;
constinit KeptFile memory;         ///< shared
constinit KeptFile file;           ///< the trace
constinit std::uint64_t image = 0; ///< this process image's number
constinit pthread_key_t key{};
constinit bool have_key = false;

/// Slots of threads that have ended, for those that come.
constinit std::atomic<Word *> left_over[1024] = {};

void stop(std::uint64_t why) noexcept {
    on.store(false, std::memory_order_relaxed); // relaxed: whoever sees it late finds no chunk either
    std::uint64_t goes_on = 0;
    shared->over.compare_exchange_strong(goes_on, why, std::memory_order_relaxed);
}

/// The other processes go on.
void stop_this_process() noexcept {
    on.store(false, std::memory_order_relaxed); // relaxed: as in stop()
    shared->left.store(static_cast<std::uint64_t>(raw_syscall(SYS_getpid)), std::memory_order_relaxed);
}

Word *map_slot() noexcept {
    if (!memory.is_there()) {
        stop_this_process();
        return nullptr;
    }
    // relaxed: a number of one's own is all that is asked for.
    const std::uint64_t number = shared->slots.fetch_add(1, std::memory_order_relaxed);
    const long mapped = number >= shared->room
                            ? -ENOMEM
                            : raw_syscall(SYS_mmap, 0, chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                          memory.number(), static_cast<long>((number + 1) * chunk_bytes));
    if (failed(mapped)) {
        stop(over_without_memory);
        return nullptr;
    }
    return reinterpret_cast<Word *>(mapped);
}

/// Behind the last record of a slot, or where the program has overwritten it.
Byte *end_of_written(Word *slot) noexcept {
    Coder coder;
    Record record{};
    auto *at = reinterpret_cast<Byte *>(slot);
    std::size_t bytes = 1;
    while (bytes != 0 && !Coder::at_end(at)) {
        bytes = coder.read(at, reinterpret_cast<Byte *>(slot + slot_chunk), record);
        at += bytes;
    }
    return at;
}

void name_thread() noexcept {
    cursor.coder = {};
    put_record({Op::thread, 0, image, static_cast<std::uint64_t>(raw_syscall(SYS_gettid))});
    put_time(platform::ticks());
}

bool take_slot() noexcept {
    Word *slot = nullptr;
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
    cursor.slot = slot;
    cursor.limit = reinterpret_cast<Byte *>(slot + slot_chunk) - detail::room;
    cursor.next = end_of_written(slot);
    if (have_key && !cursor.ends) {
        pthread_setspecific(key, &key);
    }
    return true;
}

void forget_slot() noexcept {
    cursor.slot = nullptr;
    cursor.next = cursor.limit = nullptr;
}

void leave_slot() noexcept {
    Word *const slot = cursor.slot;
    forget_slot();
    for (auto &place : left_over) {
        Word *none = nullptr;
        // release: pairs with the acquire in take_slot(). relaxed where it fails: nothing was given.
        if (place.compare_exchange_strong(none, slot, std::memory_order_release, std::memory_order_relaxed)) {
            return;
        }
    }
    // So many threads at one time: `cairn trace` still has the slot.
    raw_syscall(SYS_munmap, reinterpret_cast<long>(slot), chunk_bytes);
}

/// What the thread still frees, in later destructors and in the C library, comes without another call of this: from
/// here on it takes a slot for each record.
void thread_ends(void *) {
    cursor.ends = true;
    if (cursor.slot != nullptr) {
        leave_slot();
    }
}

/// What `ulimit -f` allows; a write beyond it does not only fail, but kills the program with SIGXFSZ.
std::uint64_t most_file_bytes() noexcept {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, reinterpret_cast<long>(&limit));
    return limit.rlim_cur;
}

/// A full slot becomes a chunk of the file.
bool write_slot() noexcept {
    Word *const slot = cursor.slot;
    if (shared->over.load(std::memory_order_relaxed) != 0) { // relaxed: seen sooner or later
        on.store(false, std::memory_order_relaxed);
        return false;
    }
    if (!file.is_there()) {
        stop_this_process();
        return false;
    }
    const std::uint64_t number = shared->chunks.fetch_add(1, std::memory_order_relaxed); // one's own
    const std::uint64_t place = header_bytes + number * chunk_bytes;
    slot[slot_chunk] = number + 1;
    const long written = place + chunk_bytes > most_file_bytes()
                             ? -EFBIG
                             : raw_syscall(SYS_pwrite64, file.number(), reinterpret_cast<long>(slot),
                                           chunk_bytes, static_cast<long>(place));
    if (written != static_cast<long>(chunk_bytes)) {
        stop(over_without_room);
        return false;
    }
    // release: a slot is empty before it is no chunk any more, or `cairn trace` would take it for another one.
    std::atomic_ref(slot[0]).store(0, std::memory_order_relaxed);
    std::atomic_ref(slot[slot_chunk]).store(0, std::memory_order_release);
    cursor.next = reinterpret_cast<Byte *>(slot);
    return true;
}

/// Room for a record and, before it, the clock.
CAIRN_COLD bool make_room() noexcept {
    if (cursor.slot == nullptr) {
        if (!take_slot()) {
            return false;
        }
    } else if (!write_slot()) {
        return false;
    }
    if (cursor.next >= cursor.limit && !write_slot()) {
        return false;
    }
    name_thread();
    return true;
}

void join() noexcept {
    image = shared->processes.fetch_add(1, std::memory_order_relaxed) + 1; // relaxed: a number of one's own
    // release: pairs with the acquire in record_long(): a thread that a constructor has started sees what begin() set.
    on.store(true, std::memory_order_release);
    if (make_room()) {
        put_record({Op::process, 0, image, static_cast<std::uint64_t>(raw_syscall(SYS_getpid))});
    }
}

} // namespace

void begin() noexcept {
    if (environ == nullptr || begun.exchange(true, std::memory_order_relaxed)) {
        return;
    }
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
    const bool opened =
        names[length] == ':' && memory.open(name, memory_mark) && file.open(names + length + 1, file_mark);
    const long mapped = !opened ? -EBADF
                                : raw_syscall(SYS_mmap, 0, chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                              memory.number(), 0);
    if (failed(mapped)) {
        platform::write_line({"trace: ", names, " can not be opened: nothing is recorded"});
        return;
    }
    shared = reinterpret_cast<Shared *>(mapped);
    have_key = pthread_key_create(&key, thread_ends) == 0;
    pthread_atfork(nullptr, nullptr, begin_in_child);
    join();
}

void begin_in_child() noexcept {
    forget_slot();                             // the parent's slots stay the parent's
    if (!on.load(std::memory_order_relaxed)) { // relaxed: the child has one thread
        return;
    }
    for (auto &place : left_over) {
        place.store(nullptr, std::memory_order_relaxed);
    }
    const Inside inside;
    join();
}

CAIRN_COLD void detail::record_long(Op op, const void *address, std::size_t size, std::uint64_t ticks,
                                    unsigned alignment_log2) noexcept {
    // acquire: pairs with the release in join().
    if (!on.load(std::memory_order_acquire)) {
        if (!begun.load(std::memory_order_relaxed)) {
            begin(); // the caller is the constructor of another library
        }
        if (!on.load(std::memory_order_relaxed)) {
            return;
        }
    }
    if (cursor.next >= cursor.limit && !make_room()) {
        return;
    }
    // Another processor's clock may be a little behind: then the step is none.
    std::uint64_t step = ticks > cursor.last ? ticks - cursor.last : 0;
    if (step > Record::most_ticks) {
        put_time(ticks);
        step = 0;
    }
    cursor.last += step;
    put_record({op, step, address_of(address), size, alignment_log2});
    if (cursor.ends) {
        leave_slot();
    }
}

} // namespace cairn::trace
